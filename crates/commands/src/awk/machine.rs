//! Runs a program: statements, rules, records.

use std::ops::Range;
use std::sync::Arc;

use super::arithmetic::{Partial, calculate};
use super::array::{Array, Seed};
use super::code::{
    Argument, Code, Do, Function, Get, LValue, OFS, ORS, Rule, SUBSEP, Table, When, is_number, is_text,
};
use super::compile::Compiled;
use super::fields::Separator;
use super::format::{Conversion, Piece, Size};
use super::gawk_messages::{GawkMessages, Text};
use super::made_format;
use super::made_pattern::MadePatterns;
use super::next_record::Upcoming;
use super::number::{self, Style};
use super::output_files::OutputFiles;
use super::pattern::Pattern;
use super::random_numbers::Generator;
use super::read_lines;
use super::record::{Found, Record};
use super::recursion::Depth;
use super::rules;
use super::sort_order::SortOrder;
use super::string_switch::Choice;
use super::tree::Arith;
use super::value::Value;

/// Why a program ends before its input does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Exit,
    /// The program goes on with the next input.
    NextFile,
    /// As in the real awk; the message is in [`Machine::said`].
    Fatal,
    /// A sum depends on the order.
    Inexact,
    /// The real awk runs again from the beginning ([`restart`](super::restart)).
    Again,
}

/// What ends a program with a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum RuntimeError {
    /// A field with this number.
    NegativeField(f64),
    /// NF set to a negative number.
    NegativeCount,
    /// `/` or `%`; whether it also assigns.
    DivisionByZero(Arith, bool),
    /// A string made by `sprintf`.
    LongText,
}

impl RuntimeError {
    fn in_mawk(self) -> String {
        match self {
            RuntimeError::NegativeField(number) => {
                let mut shown = Vec::new();
                number::general(number, 6, &Style::default(), &mut shown);
                format!("run time error: negative field index ${}", shown.escape_ascii())
            }
            RuntimeError::NegativeCount => "run time error: negative value assigned to NF".to_owned(),
            // It computes infinity, or NaN.
            RuntimeError::DivisionByZero(..) => String::new(),
            RuntimeError::LongText => "program limit exceeded: sprintf buffer size=8192".to_owned(),
        }
    }

    fn in_gawk(self, messages: &GawkMessages) -> Vec<u8> {
        let text = match self {
            RuntimeError::NegativeField(number) => {
                return messages.say(Text::Field, &[(number as i64).to_string().as_bytes()]);
            }
            RuntimeError::NegativeCount => Text::FieldCount,
            RuntimeError::DivisionByZero(Arith::Divide, false) => Text::Division,
            RuntimeError::DivisionByZero(Arith::Divide, true) => Text::DivisionAssigned,
            RuntimeError::DivisionByZero(_, false) => Text::Remainder,
            RuntimeError::DivisionByZero(_, true) => Text::RemainderAssigned,
            // It has no such limit.
            RuntimeError::LongText => return Vec::new(),
        };
        messages.say(text, &[])
    }

    fn in_one_true(self) -> String {
        match self {
            RuntimeError::NegativeField(number) => {
                format!("trying to access out of range field {}", number::to_integer(number))
            }
            RuntimeError::NegativeCount => "cannot set NF to a negative value".to_owned(),
            RuntimeError::DivisionByZero(Arith::Divide, false) => "division by zero".to_owned(),
            RuntimeError::DivisionByZero(Arith::Divide, true) => "division by zero in /=".to_owned(),
            RuntimeError::DivisionByZero(_, false) => "division by zero in mod".to_owned(),
            RuntimeError::DivisionByZero(_, true) => "division by zero in %=".to_owned(),
            // It has no such limit.
            RuntimeError::LongText => String::new(),
        }
    }
}

/// The control flow after a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Go,
    Break,
    Continue,
    Next,
    Return,
}

pub(super) type Ran<T> = Result<T, Stop>;

/// A program with its state.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) code: Arc<Code>,
    pub(super) patterns: Vec<Pattern>,
    pub(super) separators: Vec<Separator>,
    pub(super) made: MadePatterns,
    pub(super) formats: Vec<made_format::Latest>,
    pub(super) globals: Vec<Value>,
    pub(super) tables: Vec<Array>,
    /// Parameters of the running calls.
    pub(super) locals: Vec<Value>,
    pub(super) local_tables: Vec<usize>,
    /// The start of those of the innermost call, in both.
    pub(super) base: usize,
    pub(super) table_base: usize,
    pub(super) record: Record,
    pub(super) records: u64,
    pub(super) file_records: u64,
    pub(super) file_name: Vec<u8>,
    pub(super) returned: Value,
    pub(super) status: i32,
    /// Calls of functions within themselves.
    pub(super) depth: Depth,
    /// Output not yet passed on.
    pub(super) out: Vec<u8>,
    /// The real awk's error message.
    pub(super) said: Vec<u8>,
    /// Output to standard error.
    pub(super) aside: Vec<u8>,
    /// The files that it prints into, if it prints into any.
    pub(super) files: Option<Box<OutputFiles>>,
    /// How far each of the files of which it reads lines was read.
    read_until: Vec<usize>,
    /// Records of the block that follow the one that is processed.
    pub(super) upcoming: Upcoming,
    /// The number of files that the real awk reads now.
    pub(super) inputs: usize,
    /// Whether it shares another machine's records, and refuses order-dependent sums.
    pub(super) exactly: bool,
    /// Whether an order-dependent value was added, or the order matters anyway.
    pub(super) inexact: bool,
    /// Once a random number was wanted.
    pub(super) random: Option<Box<Generator>>,
    /// The order of loops over arrays, if the program has set one.
    sorted_in: Option<SortOrder>,
    /// The line of the program that runs, as far as messages name lines.
    line: usize,
    /// What goes to standard error before anything more in `aside`.
    pub(super) warning: Vec<u8>,
    /// Whether it has warned of bytes that are no characters.
    has_warned: bool,
    ranges: Vec<bool>,
    seed: Seed,
    buffers: Vec<Vec<u8>>,
    /// Empty arrays that were local to functions.
    spare: Vec<Array>,
}

impl Machine {
    pub(super) fn new(compiled: &Compiled) -> Self {
        let code = Arc::new(compiled.code.clone());
        Machine {
            patterns: compiled.patterns.clone(),
            separators: compiled.separators.clone(),
            made: MadePatterns::new(
                code.limits,
                code.made,
                compiled.patterns.len(),
                compiled.separators.len(),
            ),
            formats: vec![None; code.made],
            globals: code.globals.clone(),
            tables: code.tables(),
            locals: Vec::new(),
            local_tables: Vec::new(),
            base: 0,
            table_base: 0,
            record: Record::new(code.fields.clone(), code.record_end),
            records: 0,
            file_records: 0,
            file_name: Vec::new(),
            returned: Value::Unset,
            status: 0,
            depth: Depth::default(),
            out: Vec::new(),
            said: Vec::new(),
            aside: Vec::new(),
            files: code.prints_into_files.then(Box::default),
            read_until: vec![0; code.read_files.len()],
            upcoming: Upcoming::new(),
            inputs: 0,
            exactly: false,
            inexact: code.in_kept_order.is_some(),
            random: None,
            sorted_in: None,
            line: 1,
            warning: Vec::new(),
            has_warned: false,
            ranges: vec![false; code.ranges],
            seed: Seed::new(),
            buffers: Vec::new(),
            spare: Vec::new(),
            code,
        }
    }

    /// Returns an empty buffer.
    #[inline]
    pub(super) fn buffer(&mut self) -> Vec<u8> {
        let mut buffer = self.buffers.pop().unwrap_or_default();
        buffer.clear();
        buffer
    }

    /// Returns a buffer for reuse.
    #[inline]
    pub(super) fn give_back(&mut self, buffer: Vec<u8>) {
        self.buffers.push(buffer);
    }

    pub(super) fn begin(&mut self) -> Ran<()> {
        let code = Arc::clone(&self.code);
        self.run(&code.begin).map(|_| ())
    }

    pub(super) fn end(&mut self) -> Ran<()> {
        let code = Arc::clone(&self.code);
        self.run(&code.end).map(|_| ())
    }

    /// Counts records without an effect.
    pub(super) fn skip(&mut self, records: u64) {
        self.records += records;
        self.file_records += records;
    }

    /// Runs all rules for one record of the block.
    #[inline]
    pub(super) fn record(&mut self, code: &Code, span: Range<usize>) -> Ran<()> {
        match &code.choice {
            Some(choice) => self.chosen(choice, &code.rules, span),
            None => {
                self.record.enter(span);
                self.rules(&code.rules)
            }
        }
    }

    /// Runs all rules for the entered record.
    #[inline]
    pub(super) fn rules(&mut self, rules: &[Rule]) -> Ran<()> {
        self.records += 1;
        self.file_records += 1;
        self.rules_from(rules, 0)
    }

    /// Runs the rules, looking up the first of them.
    #[inline]
    fn chosen(&mut self, choice: &Choice, rules: &[Rule], span: Range<usize>) -> Ran<()> {
        self.records += 1;
        self.file_records += 1;
        let mut first = choice.first(self.record.lying(&span));
        if choice.is_unseen(first) {
            return Ok(());
        }
        self.record.enter(span);
        if choice.is_judged(first) {
            if self.run(&rules[first].action)? == Flow::Next {
                return Ok(());
            }
            // The record may have changed: the later rules are tested.
            first += 1;
        }
        self.rules_from(rules, first)
    }

    #[inline]
    fn rules_from(&mut self, rules: &[Rule], first: usize) -> Ran<()> {
        for rule in &rules[first..] {
            if let Some(line) = rule.line {
                self.line = line;
            }
            let chosen = match &rule.when {
                When::Always => true,
                When::If(test) => self.is_true(test)?,
                When::Range(number, start, end) => self.is_in_range(*number, start, end)?,
            };
            if chosen && self.run(&rule.action)? == Flow::Next {
                break;
            }
        }
        Ok(())
    }

    fn is_in_range(&mut self, number: usize, start: &Get, end: &Get) -> Ran<bool> {
        if !self.ranges[number] && !self.is_true(start)? {
            return Ok(false);
        }
        self.ranges[number] = !self.is_true(end)?;
        Ok(true)
    }

    pub(super) fn run(&mut self, body: &[Do]) -> Ran<Flow> {
        for statement in body {
            // Frequent cases are inlined.
            let flow = match statement {
                Do::Run(Get::Step { place, by, .. }) if let Some(number) = self.number_at(place) => {
                    *number += by;
                    continue;
                }
                Do::Run(Get::Update(arith, place, value))
                    if matches!(**place, LValue::Global(_) | LValue::Local(_))
                        && !matches!(arith, Arith::Divide | Arith::Remainder) =>
                {
                    let by = self.number(value)?;
                    match self.number_at(place) {
                        Some(number) => *number = calculate(*arith, *number, by),
                        None => {
                            self.change(place, |number| calculate(*arith, number, by))?;
                        }
                    }
                    continue;
                }
                Do::Run(Get::Assign(place, value)) => {
                    self.assign(place, value)?;
                    continue;
                }
                Do::Add(place, value, sign) => {
                    self.add(place, value, *sign)?;
                    continue;
                }
                Do::If(test, yes, no) => {
                    let body = if self.is_true(test)? { yes } else { no };
                    self.run(body)?
                }
                Do::Next => return Ok(Flow::Next),
                statement => self.statement(statement)?,
            };
            if flow != Flow::Go {
                return Ok(flow);
            }
        }
        Ok(Flow::Go)
    }

    /// Runs a statement that is less frequent. It stays by itself: what it needs on the stack would slow down all others.
    #[inline(never)]
    fn statement(&mut self, statement: &Do) -> Ran<Flow> {
        match statement {
            Do::Run(expr) => self.run_expr(expr)?,
            Do::PrintRecord if rules::is_mawk_2025() => self.print(&[Get::Of(LValue::Record)], false)?,
            Do::PrintRecord => {
                self.record.whole(&self.globals[OFS]).write(&mut self.out);
                self.globals[ORS].write(&mut self.out);
            }
            Do::Print(args, calls) => self.print(args, *calls)?,
            Do::Aside(print) => {
                std::mem::swap(&mut self.out, &mut self.aside);
                let start = self.out.len();
                let printed = self.run(std::slice::from_ref(print));
                std::mem::swap(&mut self.out, &mut self.aside);
                // What is printed was evaluated first.
                let warning = std::mem::take(&mut self.warning);
                self.aside.splice(start..start, warning);
                return printed;
            }
            Do::ToFile(to) => return self.print_into_file(to),
            Do::Close(name) => self.close_file(name)?,
            Do::Printf(pieces, args, calls) => {
                self.printing(*calls, |machine, out| {
                    let start = out.len();
                    machine.printf(pieces, args, out).inspect_err(|_| out.truncate(start))
                })?;
            }
            Do::Seed(seed) => {
                let generator = seed.map_or_else(Generator::of_the_time, Generator::new);
                self.random = Some(Box::new(generator));
            }
            Do::Line(line) => self.line = *line,
            Do::PrintMadeFormat(made) => self.printing(false, |machine, out| {
                let start = out.len();
                machine.format_made(made, out).inspect_err(|_| out.truncate(start))
            })?,
            Do::PrintFormat(format, _) => self.print_format(format)?,
            Do::Add(..) | Do::If(..) | Do::Next => return self.run(std::slice::from_ref(statement)),
            Do::Loop(test, body, step) => return self.repeat(test.as_ref(), body, step),
            Do::Again(body, test) => return self.do_while(body, test),
            Do::Each(place, table, body) => return self.each(place, *table, body),
            Do::SortedIn(order) => self.sorted_in = *order,
            Do::Switch(switch) => return self.switch(switch),
            Do::CompileKeys(keys) => self.compile_keys(keys)?,
            Do::Delete(table, index) => self.at_key(*table, index, |array, key| array.remove(key))?,
            Do::Clear(table) => self.table(*table).clear(),
            Do::Exit(value) => {
                if let Some(value) = value {
                    // A variable that was never set is no status to gawk.
                    let value = self.value(value)?;
                    if !(rules::is_gawk() && matches!(value, Value::Unset)) {
                        self.status = number::to_status(value.number()) & 0xFF;
                    }
                }
                return Err(Stop::Exit);
            }
            Do::Return(value) => {
                match value {
                    None => self.returned = Value::Unset,
                    Some(value) => self.give_back_value(value)?,
                }
                return Ok(Flow::Return);
            }
            Do::NextFile => return Err(Stop::NextFile),
            Do::Break => return Ok(Flow::Break),
            Do::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Go)
    }

    /// Reads the next line of a file into a variable; returns whether there is one.
    pub(super) fn read_line(&mut self, file: usize, place: &LValue) -> Ran<f64> {
        let content = Arc::clone(&self.code.read_files[file]);
        let Some((line, behind)) = read_lines::line_at(&content, self.read_until[file]) else {
            return Ok(0.0);
        };
        self.read_until[file] = behind;
        self.set(place, Value::input(line))?;
        Ok(1.0)
    }

    /// Evaluates an expression for its effect.
    #[inline]
    fn run_expr(&mut self, expr: &Get) -> Ran<()> {
        match expr {
            Get::Step { place, by, .. } => self.step(place, *by).map(|_| ()),
            Get::Update(arith, place, value) => self.update(*arith, place, value).map(|_| ()),
            Get::Assign(place, value) => self.assign(place, value),
            Get::Substitute { all, pattern, by, place } => {
                self.substitute(*all, *pattern, by, place).map(|_| ())
            }
            Get::Call(function, args) => self.call_for(function, args, |_| ()),
            Get::Recurse(function, args) => {
                self.recurse(function, |machine, function| machine.call_for(function, args, |_| ()))
            }
            expr if is_number(expr) => self.number(expr).map(|_| ()),
            expr => self.value(expr).map(|_| ()),
        }
    }

    /// Prints after evaluation if it calls functions: their output comes first, and a failed evaluation
    /// prints nothing.
    fn printing(&mut self, calls: bool, print: impl FnOnce(&mut Self, &mut Vec<u8>) -> Ran<()>) -> Ran<()> {
        if calls {
            let mut text = self.buffer();
            print(self, &mut text)?;
            self.out.extend_from_slice(&text);
            self.give_back(text);
            return Ok(());
        }
        let mut out = std::mem::take(&mut self.out);
        let start = out.len();
        let printed = print(self, &mut out);
        // The one true awk has printed the arguments before.
        if printed.is_err() && !rules::is_one_true() {
            out.truncate(start);
        }
        self.out = out;
        printed
    }

    fn print(&mut self, args: &[Get], calls: bool) -> Ran<()> {
        if let [Get::Of(LValue::Field(field))] = args
            && !rules::is_mawk_2025()
        {
            self.record.field(*field).write(&mut self.out);
            self.globals[ORS].write(&mut self.out);
            return Ok(());
        }
        self.printing(calls, |machine, out| {
            for (index, arg) in args.iter().enumerate() {
                if index > 0 {
                    machine.globals[OFS].write(out);
                }
                let at = out.len();
                machine.print_arg(arg, out).inspect_err(|_| out.truncate(at))?;
            }
            machine.globals[ORS].write(out);
            Ok(())
        })
    }

    /// Appends an argument of `print`. Mawk from 2025 on prints some numbers otherwise than it converts them to strings.
    fn print_arg(&mut self, arg: &Get, out: &mut Vec<u8>) -> Ran<()> {
        if !rules::is_mawk_2025() {
            return self.write(arg, out);
        }
        if let Some(number) = self.write_unless_number(arg, out)? {
            number::write_printed(number, out);
        }
        Ok(())
    }

    /// Appends an argument, unless it is a number, which is returned instead. Evaluates it once.
    fn write_unless_number(&mut self, arg: &Get, out: &mut Vec<u8>) -> Ran<Option<f64>> {
        if is_number(arg) {
            return self.number(arg).map(Some);
        }
        if is_text(arg) {
            return self.write(arg, out).map(|()| None);
        }
        let take = |value: &Value, out: &mut Vec<u8>| match value {
            Value::Number(number) => Some(*number),
            value => {
                value.write(out);
                None
            }
        };
        match (self.field_of(arg)?, arg) {
            (Some(field), _) => match self.found(field) {
                Found::Own(value) => Ok(take(value, out)),
                found => {
                    found.write(out);
                    Ok(None)
                }
            },
            (None, Get::Of(place)) => self.with(place, |value| take(value, out)),
            (None, arg) => self.value(arg).map(|value| take(&value, out)),
        }
    }

    /// Formats into `out`.
    pub(super) fn printf(&mut self, pieces: &[Piece], args: &[Get], out: &mut Vec<u8>) -> Ran<()> {
        let mut args = args.iter();
        for piece in pieces {
            let conversion = match piece {
                Piece::Text(text) => {
                    out.extend_from_slice(text);
                    continue;
                }
                Piece::Conversion(conversion) => conversion,
            };
            let mut sized;
            let mut conversion = conversion;
            if conversion.width == Size::Argument || conversion.precision == Size::Argument {
                sized = conversion.clone();
                if conversion.width == Size::Argument {
                    sized.set_width(self.next_integer(&mut args)?);
                }
                if conversion.precision == Size::Argument {
                    sized.set_precision(self.next_integer(&mut args)?);
                }
                conversion = &sized;
            }
            let Some(arg) = args.next() else { break };
            match conversion.what {
                b's' if rules::is_mawk_2025() => self.format_text(conversion, arg, out)?,
                b's' => {
                    let start = out.len();
                    self.write(arg, out)?;
                    if !conversion.is_bare() {
                        conversion.finish_text(start, out);
                    }
                }
                b'c' => {
                    let value = self.value(arg)?;
                    conversion.write_character(&value, out);
                }
                _ => {
                    let (number, is_text) = self.formatted_number(arg)?;
                    if is_text {
                        conversion.write_infinite_text(number, out);
                        continue;
                    }
                    conversion.write_number(number, out);
                }
            }
        }
        for arg in args {
            self.run_expr(arg)?;
        }
        Ok(())
    }

    /// Returns a number to be formatted, and whether mawk from 2025 on takes it for a text with an infinite number.
    fn formatted_number(&mut self, arg: &Get) -> Ran<(f64, bool)> {
        if rules::is_one_true() {
            return self.number_without_negative_zero(arg).map(|number| (number, false));
        }
        if !rules::is_mawk_2025() || is_number(arg) {
            return Ok((self.number(arg)?, false));
        }
        let (number, is_text) = self.number_and_is_text(arg)?;
        Ok((number, is_text && !number.is_finite()))
    }

    /// Returns the number that a value is taken for, and whether it is a text.
    fn number_and_is_text(&mut self, arg: &Get) -> Ran<(f64, bool)> {
        Ok(match self.field_of(arg)? {
            Some(field) => {
                let found = self.found(field);
                (found.number(), !matches!(found, Found::Own(Value::Number(_))))
            }
            None => {
                let value = self.value(arg)?;
                (value.number(), !matches!(value, Value::Number(_)))
            }
        })
    }

    /// Returns a number as the one true awk stores it: only a text can be a zero with a sign.
    fn number_without_negative_zero(&mut self, arg: &Get) -> Ran<f64> {
        if is_number(arg) {
            return self.number(arg).map(|number| number + 0.0);
        }
        let (number, is_text) = self.number_and_is_text(arg)?;
        Ok(if is_text { number } else { number + 0.0 })
    }

    /// Formats by `%s` as mawk from 2025 on: infinity and NaN with a sign, without a width.
    fn format_text(&mut self, conversion: &Conversion, arg: &Get, out: &mut Vec<u8>) -> Ran<()> {
        let start = out.len();
        match self.write_unless_number(arg, out)? {
            Some(number) if !number.is_finite() => {
                number::write_large(number, out);
                return Ok(());
            }
            Some(number) => number::write(number, out),
            None => {}
        }
        conversion.finish_text(start, out);
        Ok(())
    }

    fn next_integer<'a>(&mut self, args: &mut impl Iterator<Item = &'a Get>) -> Ran<i32> {
        let number = args.next().map_or(Ok(0.0), |arg| self.number(arg))?;
        Ok(number::to_integer(number))
    }

    #[inline(never)]
    fn repeat(&mut self, test: Option<&Get>, body: &[Do], step: &[Do]) -> Ran<Flow> {
        while test.map_or(Ok(true), |test| self.is_true(test))? {
            match self.run(body)? {
                Flow::Go | Flow::Continue => {}
                Flow::Break => break,
                flow => return Ok(flow),
            }
            // The usual step, `i++`, needs no call.
            match step {
                [Do::Run(Get::Step { place, by, .. })] if let Some(number) = self.number_at(place) => {
                    *number += by;
                }
                step => _ = self.run(step)?,
            }
        }
        Ok(Flow::Go)
    }

    fn do_while(&mut self, body: &[Do], test: &Get) -> Ran<Flow> {
        loop {
            match self.run(body)? {
                Flow::Go | Flow::Continue => {}
                Flow::Break => return Ok(Flow::Go),
                flow => return Ok(flow),
            }
            if !self.is_true(test)? {
                return Ok(Flow::Go);
            }
        }
    }

    fn each(&mut self, place: &LValue, table: Table, body: &[Do]) -> Ran<Flow> {
        if let Some(order) = self.sorted_in {
            return self.each_sorted(place, table, order, body);
        }
        let keys = self.table(table).found_keys();
        self.each_of(place, keys, body)
    }

    /// Runs the body of a loop for each key.
    pub(super) fn each_of(
        &mut self,
        place: &LValue,
        keys: impl Iterator<Item = Value>,
        body: &[Do],
    ) -> Ran<Flow> {
        for key in keys {
            self.set(place, key)?;
            match self.run(body)? {
                Flow::Go | Flow::Continue => {}
                Flow::Break => break,
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Go)
    }

    #[inline]
    pub(super) fn table(&mut self, table: Table) -> &mut Array {
        let number = self.table_number(table);
        &mut self.tables[number]
    }

    /// Returns the string key of an element, in a buffer to be given back.
    #[inline]
    pub(super) fn key(&mut self, index: &[Get]) -> Ran<Vec<u8>> {
        let mut key = self.buffer();
        for (at, part) in index.iter().enumerate() {
            if at > 0 {
                self.globals[SUBSEP].write(&mut key);
            }
            self.write(part, &mut key)?;
        }
        Ok(key)
    }

    pub(super) fn call(&mut self, function: &Function, args: &[Argument]) -> Ran<Value> {
        self.inside(function, args, |machine| {
            if let Some(result) = function.result() {
                return machine.value(result);
            }
            machine.run_function(function)?;
            Ok(std::mem::take(&mut machine.returned))
        })
    }

    /// Calls a function and converts its result.
    pub(super) fn call_for<T>(
        &mut self,
        function: &Function,
        args: &[Argument],
        want: impl FnOnce(&Value) -> T,
    ) -> Ran<T> {
        self.inside(function, args, |machine| {
            machine.run_function(function)?;
            Ok(want(&machine.returned))
        })
    }

    fn run_function(&mut self, function: &Function) -> Ran<()> {
        if self.run(&function.body)? != Flow::Return {
            // A called function may have left a value there.
            self.returned = Value::Unset;
        }
        Ok(())
    }

    #[inline]
    fn give_back_value(&mut self, value: &Get) -> Ran<()> {
        match value {
            Get::Of(LValue::Local(place)) => self.returned.be_like(&self.locals[self.base + *place]),
            value if is_number(value) => {
                let number = self.number(value)?;
                self.returned.be_number(number);
            }
            value => self.returned = self.value(value)?,
        }
        Ok(())
    }

    /// Calls `with` with the parameters in place: arguments are pushed as they are evaluated, and removed
    /// when the call ends.
    #[inline]
    pub(super) fn inside<T>(
        &mut self,
        function: &Function,
        args: &[Argument],
        run: impl FnOnce(&mut Self) -> Ran<T>,
    ) -> Ran<T> {
        if function.arrays.is_empty() {
            return run(self);
        }
        let (values, tables, made) = (self.locals.len(), self.local_tables.len(), self.tables.len());
        let given = self.give(function, args);
        let outer = (self.base, self.table_base, self.line);
        (self.base, self.table_base) = (values, tables);
        let ran = given.and_then(|()| run(self));
        if ran.is_ok() {
            self.line = outer.2;
        }
        (self.base, self.table_base) = (outer.0, outer.1);
        self.locals.truncate(values);
        if function.has_arrays {
            self.local_tables.truncate(tables);
            self.drop_tables(made);
        }
        ran
    }

    #[inline]
    fn give(&mut self, function: &Function, args: &[Argument]) -> Ran<()> {
        for arg in args {
            let value = match arg {
                Argument::Value(expr) if is_number(expr) => Value::Number(self.number(expr)?),
                Argument::Value(expr) => match self.quick(expr) {
                    Some(number) => Value::Number(number),
                    None => self.value(expr)?,
                },
                Argument::Table(_) => Value::Unset,
            };
            self.locals.push(value);
        }
        for _ in args.len()..function.arrays.len() {
            self.locals.push(Value::Unset);
        }
        if function.has_arrays {
            self.give_tables(function, args);
        }
        Ok(())
    }

    /// Passes arrays. A missing one is local to the function.
    fn give_tables(&mut self, function: &Function, args: &[Argument]) {
        for (place, is_array) in function.arrays.iter().enumerate() {
            let table = match args.get(place) {
                Some(Argument::Table(table)) => self.table_number(*table),
                None if *is_array => {
                    let array = self.spare.pop().unwrap_or_else(|| Array::new(self.seed));
                    self.tables.push(array);
                    self.tables.len() - 1
                }
                _ => 0,
            };
            self.local_tables.push(table);
        }
    }

    /// Drops the local arrays from an index on. Small ones are kept for the next calls.
    fn drop_tables(&mut self, from: usize) {
        for mut array in self.tables.drain(from..) {
            if array.takes_little() {
                array.clear();
                self.spare.push(array);
            }
        }
    }

    /// Stores the message that the real awk would print, without the leading `awk: `. Returns the stop that ends the
    /// program.
    pub(super) fn fatal(&mut self, error: &RuntimeError) -> Stop {
        if rules::is_gawk() {
            return self.fatal_in_gawk(&error.in_gawk(&self.code.messages));
        }
        if rules::is_one_true() {
            return self.fatal_in_one_true(error.in_one_true().as_bytes());
        }
        self.fatal_in_mawk(error.in_mawk().as_bytes())
    }

    /// Stores the message of the one true awk.
    pub(super) fn fatal_in_one_true(&mut self, said: &[u8]) -> Stop {
        self.said = [said, &self.place_in_one_true()].concat();
        Stop::Fatal
    }

    /// Returns where the messages of the one true awk say that it is, in a program of one line.
    fn place_in_one_true(&self) -> Vec<u8> {
        if self.records == 0 {
            return b"\n source line number 1\n".to_vec();
        }
        let record = format!("\n input record number {}", self.file_records);
        [record.as_bytes(), b", file ", &self.file_name, b"\n source line number 1\n"].concat()
    }

    /// Stores gawk's message.
    pub(super) fn fatal_in_gawk(&mut self, said: &[u8]) -> Stop {
        let fatal = self.code.messages.say(Text::Fatal, &[]);
        self.said = [self.place_in_gawk(self.line).as_slice(), &fatal, said, b"\n"].concat();
        Stop::Fatal
    }

    /// Stores mawk's message, which names the record.
    pub(super) fn fatal_in_mawk(&mut self, said: &[u8]) -> Stop {
        let (file, all, name) = (self.file_records, self.records, self.file_name.escape_ascii());
        let place = format!("\n\tFILENAME=\"{name}\" FNR={file} NR={all}\n");
        self.said = [said, place.as_bytes()].concat();
        Stop::Fatal
    }

    /// Warns of bytes that are no characters, as gawk does once in a process.
    pub(super) fn warn_if(&mut self, warns: bool) {
        if !warns || std::mem::replace(&mut self.has_warned, true) {
            return;
        }
        let end = if rules::is_gawk_5_1() { "." } else { "" };
        let warning = self.code.messages.say(Text::NotCharacters, &[]);
        self.warn(&[&warning, end.as_bytes()].concat());
    }

    /// Warns of the argument of a function, as gawk and the one true awk do each time.
    #[cold]
    pub(super) fn warn_of_number(&mut self, function: Partial, number: f64) {
        if rules::is_one_true() {
            let (name, said) = (self.code.name.as_bytes(), function.warning_in_one_true(number).as_bytes());
            self.warning.extend([name, b": ", said, &self.place_in_one_true()].concat());
            return;
        }
        let mut shown = Vec::new();
        number::general(number, 6, &Style::default(), &mut shown);
        let warning = function.warning(&self.code.messages, &shown);
        self.warn(&warning);
    }

    fn warn(&mut self, said: &[u8]) {
        let (place, warning) = (self.place_in_gawk(self.line), self.code.messages.say(Text::Warning, &[]));
        self.warning.extend([self.code.name.as_bytes(), b": ", &place, &warning, said, b"\n"].concat());
    }

    /// Returns where gawk's messages say that it is, in this line of the program.
    pub(super) fn place_in_gawk(&self, line: usize) -> Vec<u8> {
        let place = format!("{line}: {}", self.record_in_gawk());
        [self.code.source.as_slice(), place.as_bytes()].concat()
    }

    /// Returns which record gawk's messages name.
    pub(super) fn record_in_gawk(&self) -> String {
        match self.file_records {
            0 => String::new(),
            file => format!("(FILENAME={} FNR={file}) ", self.file_name.escape_ascii()),
        }
    }
}
