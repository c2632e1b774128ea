//! Compiles the tree to executable code. Declines what cannot be shown equal.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{Accept, Declined};

use super::Dialect;
use super::code::{self, Argument, Code, Do, Function, Get, LValue, Replacement, Rule, Table, ToFile, When};
use super::fields::Separator;
use super::fold;
use super::format::{self, Piece};
use super::gawk_messages::GawkMessages;
use super::kept_order::{KeyOrder, Known};
use super::lone_format;
use super::made_pattern::{Limits, Search};
use super::names::{Names, Owner};
use super::next_record::{self, Ahead};
use super::pattern::{Pattern, Purpose};
use super::random_numbers;
use super::read_lines::ReadFile;
use super::recursion::{self, Within};
use super::rules;
use super::text::Text;
use super::tree::{self, Builtin, Expr, Pattern as Test, Program, Redirect, Statement};
use super::value::Value;

/// The compiled program, with the parts that each machine copies.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    pub(super) code: Code,
    pub(super) patterns: Vec<Pattern>,
    pub(super) separators: Vec<Separator>,
    /// What a program with `getline` needs.
    pub(super) ahead: Option<Ahead>,
    /// The arrays whose order is known ([`InitialState::kept`]).
    pub(super) kept: Option<(Vec<usize>, KeyOrder)>,
}

/// What is known before the program runs.
pub(super) struct InitialState<'a> {
    pub(super) dialect: Dialect,
    /// The name of the command in messages.
    pub(super) name: &'static str,
    /// Variables of the command line.
    pub(super) variables: &'a [(String, Vec<u8>)],
    /// FS and RS, from any source.
    pub(super) fs: Vec<u8>,
    pub(super) rs: Vec<u8>,
    /// Variables that are only added to before the end.
    pub(super) sums: BTreeSet<String>,
    /// Arrays whose order is known.
    pub(super) kept: Option<Known>,
    /// Arrays of gawk whose indices may be numbers that are not whole.
    pub(super) fraction_arrays: BTreeSet<String>,
    /// Where the program comes from, in gawk's messages.
    pub(super) source: Vec<u8>,
    pub(super) messages: GawkMessages,
    pub(super) prints_into_files: bool,
    /// How many records `getline` may take, and the rules with it.
    pub(super) ahead: Option<(usize, Vec<&'a tree::Rule>)>,
    /// Files of which BEGIN reads lines.
    pub(super) read_files: Vec<ReadFile>,
    /// What the awk does with expressions that are made while the program runs.
    pub(super) limits: Limits,
    /// The variables of the command line that never change.
    pub(super) constants: BTreeMap<String, Vec<u8>>,
}

pub(super) struct Compiler<'a> {
    pub(super) names: &'a Names,
    pub(super) given: &'a InitialState<'a>,
    pub(super) inside: Owner,
    pub(super) places: BTreeMap<(Owner, String), usize>,
    pub(super) tables: BTreeMap<String, usize>,
    pub(super) globals: usize,
    pub(super) patterns: Vec<Pattern>,
    pub(super) separators: Vec<Separator>,
    ranges: usize,
    /// The number of places where an expression or a format is made while the program runs.
    pub(super) made: usize,
    loops: usize,
    /// The nesting depth of `switch`.
    switches: usize,
    /// Whether in BEGIN or END.
    in_block: bool,
    pub(super) program: &'a Program,
    functions: Vec<Within>,
    /// Those that are being compiled.
    open: Vec<usize>,
    /// Whether something that prints was compiled.
    prints: bool,
}

/// Compiles a program.
pub(super) fn compile(program: &Program, names: &Names, given: &InitialState) -> Accept<Compiled> {
    let mut compiler = Compiler {
        names,
        given,
        inside: Owner::Program,
        places: BTreeMap::new(),
        tables: BTreeMap::new(),
        globals: code::KNOWN.len(),
        patterns: Vec::new(),
        separators: Vec::new(),
        ranges: 0,
        made: 0,
        loops: 0,
        switches: 0,
        in_block: false,
        program,
        functions: program.functions.iter().map(|_| Within::default()).collect(),
        open: Vec::new(),
        prints: false,
    };
    compiler.places_of_parameters(program);
    for number in 0..program.functions.len() {
        compiler.function(number)?;
    }
    let mut rules = Vec::new();
    for rule in &program.rules {
        rules.push(compiler.rule(rule)?);
    }
    let begin = compiler.blocks(&program.begin)?;
    let end = compiler.blocks(&program.end)?;
    let globals = compiler.first_values()?;
    if given.dialect.has_unseen_characters() {
        super::one_true::check_separators(&given.fs, &given.rs)?;
    }
    let record_end = match given.rs.as_slice() {
        [byte] => *byte,
        [] => b'\n',
        _ => return Declined::because("an RS that is not one character"),
    };
    let ahead = given.ahead.as_ref().map(|(records, rules)| compiler.ahead(*records, rules)).transpose()?;
    // A rule may take records that have no effect by themselves.
    let alone: &[Rule] = if ahead.is_none() { &rules } else { &[] };
    let (gate, choice) = (Code::gate_of(alone), Code::choice_of(alone, end.is_empty()));
    let sums = compiler.sums();
    let code = Code {
        name: given.name,
        begin,
        rules,
        end,
        source: given.source.clone(),
        messages: given.messages.clone(),
        prints_into_files: given.prints_into_files,
        read_files: given.read_files.iter().map(|(_, content)| Arc::clone(content)).collect(),
        names: compiler.names_of_globals(),
        globals,
        arrays: compiler.tables.len(),
        in_kept_order: None,
        with_fractions: given
            .fraction_arrays
            .iter()
            .filter_map(|name| compiler.tables.get(name).copied())
            .collect(),
        ranges: compiler.ranges,
        fields: separator(&given.fs, given.dialect)?,
        record_end,
        has_paragraphs: given.rs.is_empty(),
        sums,
        gate,
        choice,
        made: compiler.made,
        limits: given.limits,
    };
    let kept = given.kept.as_ref().map(|known| {
        let numbers = known.arrays.iter().filter_map(|name| compiler.tables.get(name).copied());
        (numbers.collect(), known.order.clone())
    });
    Ok(Compiled { code, patterns: compiler.patterns, separators: compiler.separators, ahead, kept })
}

/// Returns the separator for this value of FS or argument of `split`.
pub(super) fn separator(text: &[u8], dialect: Dialect) -> Accept<Separator> {
    Ok(match text {
        b" " => Separator::Blanks,
        [] => return Declined::because("fields of one character (an empty FS)"),
        b"\\" => return Declined::because("a backslash as FS"),
        [byte] => Separator::Byte(*byte),
        [b'\\', byte] if byte.is_ascii_punctuation() && !matches!(byte, b'\\' | b'<' | b'>') => {
            // Parsed as an expression, so that an invalid escape is declined.
            Pattern::new(text, dialect, Purpose::Find)?;
            Separator::Byte(*byte)
        }
        [b'[', byte, b']'] if !matches!(byte, b'^' | b'\\' | b'[') => Separator::Byte(*byte),
        expression => {
            let bare = expression.iter().enumerate();
            let anchored = bare
                .filter(|(_, byte)| matches!(byte, b'^' | b'$'))
                .any(|(at, _)| at == 0 || !matches!(expression[at - 1], b'[' | b'\\'));
            if anchored {
                return Declined::because("an anchor in FS");
            }
            super::exact_patterns::check_find(expression, dialect)?;
            let pattern = Pattern::new(expression, dialect, Purpose::Find)?;
            if pattern.may_match_nothing() {
                return Declined::because("an FS that may match nothing");
            }
            Separator::Pattern(Box::new(pattern))
        }
    })
}

/// Returns the constant string of an expression inside an owner, if known.
pub(super) fn known_text(expr: &Expr, inside: Owner, names: &Names, given: &InitialState) -> Option<Vec<u8>> {
    let known = |expr| known_text(expr, inside, names, given);
    match expr.bare() {
        Expr::Text(text) => Some(text.clone()),
        Expr::Concat(left, right) => Some([known(left)?, known(right)?].concat()),
        Expr::Name(name) if name == "FS" => Some(given.fs.clone()),
        Expr::Name(name) => match names.owner(inside, name) {
            Owner::Program => given.constants.get(name).cloned(),
            Owner::Function(_) => None,
        },
        _ => None,
    }
}

/// Returns the text of a pattern inside an owner, if known.
pub(super) fn known_pattern(
    expr: &Expr,
    inside: Owner,
    names: &Names,
    given: &InitialState,
) -> Option<Vec<u8>> {
    match expr {
        Expr::Regex(text) => Some(text.clone()),
        other => known_text(other, inside, names, given),
    }
}

/// Returns the separator that `split` takes a string for. In the one true awk before its second edition pieces also end at
/// newlines.
pub(super) fn separator_of_split(text: &[u8], dialect: Dialect) -> Accept<Separator> {
    if text.is_empty() && dialect != Dialect::Portable && !dialect.has_unseen_characters() {
        return Ok(Separator::Nothing { utf8: dialect.has_characters() });
    }
    let made = separator(text, dialect)?;
    Ok(match (text, made) {
        ([byte], Separator::Byte(_)) if rules::is_one_true() && !rules::is_second_edition() => {
            Separator::ByteOrNewline(*byte)
        }
        (_, made) => made,
    })
}

impl Compiler<'_> {
    fn places_of_parameters(&mut self, program: &Program) {
        for (number, function) in program.functions.iter().enumerate() {
            for (place, name) in function.parameters.iter().enumerate() {
                self.places.insert((Owner::Function(number), name.clone()), place);
            }
        }
    }

    /// Compiles a function at its first call.
    fn function(&mut self, number: usize) -> Accept<Arc<Function>> {
        if let Some(known) = self.functions[number].get() {
            return Ok(Arc::clone(known));
        }
        self.open.push(number);
        let function = &self.program.functions[number];
        let inside = std::mem::replace(&mut self.inside, Owner::Function(number));
        let (loops, switches) = (std::mem::take(&mut self.loops), std::mem::take(&mut self.switches));
        let in_block = std::mem::take(&mut self.in_block);
        let prints = std::mem::take(&mut self.prints);
        let is_array = |name: &String| self.names.is_array(self.inside, name);
        let arrays: Vec<bool> = function.parameters.iter().map(is_array).collect();
        let body = self.statements(&function.body)?;
        let has_arrays = arrays.contains(&true);
        let made = Arc::new(Function { has_arrays, arrays, body, prints: self.prints });
        (self.inside, self.loops, self.switches) = (inside, loops, switches);
        (self.in_block, self.prints) = (in_block, prints);
        self.functions[number].set(&made);
        self.open.pop();
        Ok(made)
    }

    /// Compiles output, and returns whether a function prints before it.
    fn printed<T>(&mut self, compile: impl FnOnce(&mut Self) -> Accept<T>) -> Accept<(T, bool)> {
        let before = std::mem::take(&mut self.prints);
        let compiled = compile(self)?;
        let calls = std::mem::replace(&mut self.prints, before);
        Ok((compiled, calls))
    }

    /// Returns the indices of the sums.
    fn sums(&self) -> (Vec<usize>, Vec<usize>) {
        let of_program = |name: &String| self.places.get(&(Owner::Program, name.clone())).copied();
        let names = || self.given.sums.iter();
        (
            names().filter_map(of_program).collect(),
            names().filter_map(|name| self.tables.get(name).copied()).collect(),
        )
    }

    fn names_of_globals(&self) -> Vec<String> {
        let mut names = vec![String::new(); self.globals];
        for (place, (name, _)) in code::KNOWN.iter().enumerate() {
            (*name).clone_into(&mut names[place]);
        }
        for ((owner, name), place) in &self.places {
            if *owner == Owner::Program {
                name.clone_into(&mut names[*place]);
            }
        }
        names
    }

    fn first_values(&mut self) -> Accept<Vec<Value>> {
        let mut globals: Vec<Value> = vec![Value::Unset; self.globals];
        for (place, (_, value)) in code::KNOWN.iter().enumerate() {
            globals[place] = Value::text(value.as_bytes());
        }
        // mawk sets them when `match` is called.
        let unmatched = if rules::is_mawk() { Value::Unset } else { Value::Number(0.0) };
        globals[code::RSTART] = unmatched.clone();
        globals[code::RLENGTH] = unmatched;
        globals[code::FS] = Value::text(&self.given.fs);
        for (name, value) in self.given.variables {
            if let Some(place) = code::KNOWN.iter().position(|(known, _)| known == name) {
                globals[place] = Value::input(value);
            } else if let Some(place) = self.places.get(&(Owner::Program, name.clone())) {
                globals[*place] = Value::input(value);
            }
        }
        Ok(globals)
    }

    /// Returns the index of a variable.
    pub(super) fn place(&mut self, name: &str) -> LValue {
        if let Some(place) = code::KNOWN.iter().position(|(known, _)| *known == name) {
            return LValue::Global(place);
        }
        let owner = self.names.owner(self.inside, name);
        let next = self.globals;
        let place = *self.places.entry((owner, name.to_owned())).or_insert(next);
        self.globals += usize::from(place == next && owner == Owner::Program);
        if owner == Owner::Program { LValue::Global(place) } else { LValue::Local(place) }
    }

    pub(super) fn table(&mut self, name: &str) -> Table {
        let owner = self.names.owner(self.inside, name);
        if let Owner::Function(_) = owner {
            return Table::Local(self.places[&(owner, name.to_owned())]);
        }
        let next = self.tables.len();
        Table::Global(*self.tables.entry(name.to_owned()).or_insert(next))
    }

    fn rule(&mut self, rule: &super::tree::Rule) -> Accept<Rule> {
        let when = match &rule.pattern {
            Test::Always => When::Always,
            Test::When(test) => When::If(self.get(test)?),
            Test::Range(start, end) => {
                self.ranges += 1;
                When::Range(self.ranges - 1, self.get(start)?, self.get(end)?)
            }
        };
        Ok(Rule { line: rule.line, when, action: self.statements(&rule.action)? })
    }

    fn ahead(&mut self, records: usize, rules: &[&tree::Rule]) -> Accept<Ahead> {
        let tests = next_record::tests(self.program, rules);
        let tests = tests.map(|tests| tests.into_iter().map(|test| self.get(test)).collect::<Accept<_>>());
        Ok(Ahead { records, tests: tests.transpose()? })
    }

    fn blocks(&mut self, blocks: &[Vec<Statement>]) -> Accept<Vec<Do>> {
        self.in_block = true;
        let mut all = Vec::new();
        for block in blocks {
            all.extend(self.statements(block)?);
        }
        self.in_block = false;
        Ok(all)
    }

    fn statements(&mut self, statements: &[Statement]) -> Accept<Vec<Do>> {
        let mut all = Vec::new();
        for statement in statements {
            self.statement(statement, &mut all)?;
        }
        Ok(all)
    }

    fn one(&mut self, statement: &Statement) -> Accept<Vec<Do>> {
        self.statements(std::slice::from_ref(statement))
    }

    fn in_loop(&mut self, statement: &Statement) -> Accept<Vec<Do>> {
        self.loops += 1;
        let body = self.one(statement)?;
        self.loops -= 1;
        Ok(body)
    }

    /// Compiles a case of a `switch`.
    pub(super) fn in_switch(&mut self, statement: &Statement) -> Accept<Vec<Do>> {
        self.switches += 1;
        let body = self.one(statement)?;
        self.switches -= 1;
        Ok(body)
    }

    /// Compiles a print statement with its redirection.
    fn directed(&mut self, to: Option<&Redirect>, print: impl FnOnce(&mut Self) -> Accept<Do>) -> Accept<Do> {
        let Some(to) = to.filter(|to| !to.is_standard_output()) else { return print(self) };
        if to.how == "|" {
            return Declined::because("a side effect: print |");
        }
        let print = print(self)?;
        let is_made = matches!(print, Do::PrintMadeFormat(_))
            || matches!(print, Do::PrintFormat(..)) && !rules::is_gawk();
        if is_made {
            return Declined::because("a format that is made while the program runs, and printed elsewhere");
        }
        if matches!(
            print,
            Do::Print(_, true) | Do::Printf(_, _, true) | Do::PrintFormat(_, true) | Do::If(..)
        ) {
            return Declined::because("a function that prints, called for what is printed elsewhere");
        }
        if to.is_standard_error() {
            return Ok(Do::Aside(Box::new(print)));
        }
        let (name, calls) = self.printed(|it| it.get(&to.to))?;
        if calls {
            return Declined::because("a function that prints, called for the name of a file");
        }
        Ok(Do::ToFile(Box::new(ToFile { print, name, append: to.how == ">>", line: to.line })))
    }

    fn print(&mut self, args: &[Expr]) -> Accept<Do> {
        let print = match args {
            [] => Do::PrintRecord,
            _ => {
                let (gets, calls) = self.printed(|it| it.gets(args))?;
                if calls && self.given.dialect.is_one_true() {
                    return Declined::because(
                        "a function that prints within print, which this awk does between the arguments",
                    );
                }
                Do::Print(gets, calls)
            }
        };
        self.prints = true;
        Ok(print)
    }

    fn printf(&mut self, args: &[Expr]) -> Accept<Do> {
        if let Expr::If(test, yes, no) = args[0].bare() {
            return self.printf_either(test, yes, no, &args[1..]);
        }
        let is_made = self.known_text(&args[0]).is_none();
        if let [format] = args
            && is_made
            && !self.given.dialect.is_one_true()
        {
            let (format, calls) = self.printed(|it| it.get(format))?;
            self.prints = true;
            return lone_format::statement(format, calls, self.given.dialect, self.program);
        }
        if is_made {
            self.prints = true;
            return Ok(Do::PrintMadeFormat(Box::new(self.made_format(args, false)?)));
        }
        let ((pieces, gets), calls) = self.printed(|it| it.format(args))?;
        self.prints = true;
        Ok(Do::Printf(pieces, gets, calls))
    }

    /// Compiles `printf (test ? yes : no), …`.
    fn printf_either(&mut self, test: &Expr, yes: &Expr, no: &Expr, rest: &[Expr]) -> Accept<Do> {
        let test = self.get(test)?;
        let [yes, no] = [yes, no].map(|format| {
            let args: Vec<Expr> = std::iter::once(format.bare()).chain(rest).cloned().collect();
            self.printf(&args)
        });
        Ok(Do::If(test, vec![yes?], vec![no?]))
    }

    fn statement(&mut self, statement: &Statement, all: &mut Vec<Do>) -> Accept<()> {
        let compiled = match statement {
            Statement::Block(statements) => {
                all.extend(self.statements(statements)?);
                return Ok(());
            }
            Statement::Line(line) => Do::Line(*line),
            statement if !self.in_block && self.is_sum(statement) => self.add(statement)?,
            Statement::Expr(Expr::Builtin(Builtin::Close, args)) if args.len() == 1 => {
                self.prints = true;
                Do::Close(self.get(&args[0])?)
            }
            Statement::Expr(Expr::Builtin(Builtin::Srand, args))
                if self.given.dialect != Dialect::Portable =>
            {
                Do::Seed(self.seed(args)?)
            }
            Statement::Expr(expr) => match self.get(expr)? {
                Get::Call(function, _) if let Some(body) = function.as_statements() => {
                    all.extend(body);
                    return Ok(());
                }
                expr => Do::Run(expr),
            },
            Statement::Print(args, to) => self.directed(to.as_ref(), |it| it.print(args))?,
            Statement::Printf(args, to) => self.directed(to.as_ref(), |it| it.printf(args))?,
            Statement::If(test, yes, no) => {
                let (test, yes) = (self.get(test)?, self.one(yes)?);
                let no = no.as_deref().map_or(Ok(Vec::new()), |no| self.one(no))?;
                Do::If(test, yes, no)
            }
            Statement::While(test, body) => Do::Loop(Some(self.get(test)?), self.in_loop(body)?, Vec::new()),
            Statement::Do(body, test) => Do::Again(self.in_loop(body)?, self.get(test)?),
            Statement::For(first, test, step, body) => {
                if let Some(first) = first {
                    self.statement(first, all)?;
                }
                let test = test.as_ref().map(|test| self.get(test)).transpose()?;
                let step = step.as_deref().map_or(Ok(Vec::new()), |step| self.one(step))?;
                Do::Loop(test, self.in_loop(body)?, step)
            }
            Statement::ForIn(name, array, body) => {
                let (place, table) = (self.variable(name)?, self.table(array));
                all.extend(self.keys_to_compile(name, array, body)?);
                Do::Each(place, table, self.in_loop(body)?)
            }
            Statement::SortedIn(order) => Do::SortedIn(*order),
            Statement::Switch(value, cases) => self.switch(value, cases)?,
            Statement::Delete(array, None) => Do::Clear(self.table(array)),
            Statement::Delete(array, Some(index)) => Do::Delete(self.table(array), self.gets(index)?),
            Statement::Next | Statement::NextFile if self.in_block => {
                return Declined::because("next or nextfile in BEGIN or END");
            }
            Statement::Next | Statement::NextFile if self.inside != Owner::Program => {
                return Declined::because("next or nextfile in a function");
            }
            Statement::Next => Do::Next,
            Statement::NextFile => Do::NextFile,
            Statement::Exit(value) => Do::Exit(self.maybe(value)?),
            Statement::Return(_) if self.inside == Owner::Program => {
                return Declined::because("return outside of a function");
            }
            Statement::Return(value) => Do::Return(self.maybe(value)?),
            Statement::Break if self.switches > 0 => Do::Break,
            Statement::Break | Statement::Continue if self.loops == 0 => {
                return Declined::because("break or continue outside of a loop");
            }
            Statement::Break => Do::Break,
            Statement::Continue => Do::Continue,
        };
        all.push(compiled);
        Ok(())
    }

    /// Returns the seed of `srand` as a statement.
    fn seed(&mut self, args: &[Expr]) -> Accept<Option<u32>> {
        let number = match args {
            [] => return Ok(None),
            [seed] => match seed.bare() {
                Expr::Number(number) => Some(*number),
                Expr::Name(_) => {
                    self.known_text(seed).and_then(|text| String::from_utf8(text).ok()?.parse().ok())
                }
                _ => None,
            },
            _ => None,
        };
        match number.and_then(random_numbers::seed_of) {
            Some(seed) => Ok(Some(seed)),
            None => Declined::because("a seed that is made while the program runs, or is large"),
        }
    }

    fn is_sum(&self, statement: &Statement) -> bool {
        let name = fold::added(statement).and_then(|(place, ..)| fold::name_of(place));
        name.is_some_and(|name| self.given.sums.contains(name))
    }

    fn add(&mut self, statement: &Statement) -> Accept<Do> {
        let Some((place, value, sign)) = fold::added(statement) else {
            return Declined::because("a sum that is none");
        };
        let value = value.map_or(Ok(Get::Number(1.0)), |value| self.get(value))?;
        Ok(Do::Add(self.assignable(place)?, value, sign))
    }

    fn maybe(&mut self, expr: &Option<Expr>) -> Accept<Option<Get>> {
        expr.as_ref().map(|expr| self.get(expr)).transpose()
    }

    pub(super) fn gets(&mut self, exprs: &[Expr]) -> Accept<Vec<Get>> {
        exprs.iter().map(|expr| self.get(expr)).collect()
    }

    /// Returns an assignable variable.
    pub(super) fn variable(&mut self, name: &str) -> Accept<LValue> {
        match name {
            "NF" => Ok(LValue::FieldCount),
            "NR" | "FNR" | "FILENAME" => Declined::because(format!("an assignment to {name}")),
            "CONVFMT" | "OFMT" => Declined::because(format!("another {name}")),
            _ => Ok(self.place(name)),
        }
    }

    /// Compiles a format, which must be constant, and its arguments.
    pub(super) fn format(&mut self, args: &[Expr]) -> Accept<(Vec<Piece>, Vec<Get>)> {
        let Some(text) = self.known_text(&args[0]) else {
            return Declined::because("a format that is made while the program runs");
        };
        let pieces = format::parse(&text)?;
        if format::arguments(&pieces) > args.len() - 1 {
            return Declined::because("printf with too few arguments");
        }
        let args = self.gets(&args[1..])?;
        if self.given.dialect.is_gawk() {
            super::gawk::check_format(&pieces, &args)?;
        }
        Ok((pieces, args))
    }

    /// Returns the constant string of an expression, if known.
    pub(super) fn known_text(&self, expr: &Expr) -> Option<Vec<u8>> {
        known_text(expr, self.inside, self.names, self.given)
    }

    /// Returns the text of a pattern, if known: that of an expression, or a string of constants and of variables that never
    /// change.
    fn known_pattern(&self, expr: &Expr) -> Option<Vec<u8>> {
        known_pattern(expr, self.inside, self.names, self.given)
    }

    /// Whether the text of a pattern is made while the program runs.
    pub(super) fn is_made(&self, expr: &Expr) -> bool {
        self.known_pattern(expr).is_none()
    }

    /// Returns the index of a pattern whose matches are needed.
    pub(super) fn pattern_to_find(&mut self, expr: &Expr) -> Accept<usize> {
        let text = self.constant_pattern(expr)?;
        super::exact_patterns::check_find(&text, self.given.dialect)?;
        self.add_pattern(&text, Purpose::Find)
    }

    /// Returns the index of a pattern to match.
    pub(super) fn pattern(&mut self, expr: &Expr) -> Accept<usize> {
        let text = self.constant_pattern(expr)?;
        self.add_pattern(&text, Purpose::Match)
    }

    /// Returns the index of a pattern whose matches are needed, with these groups.
    pub(super) fn pattern_with_groups(&mut self, expr: &Expr, groups: &[usize]) -> Accept<usize> {
        let text = self.constant_pattern(expr)?;
        self.patterns.push(Pattern::with_groups(&text, self.given.dialect, Purpose::Find, groups)?);
        Ok(self.patterns.len() - 1)
    }

    fn constant_pattern(&self, expr: &Expr) -> Accept<Vec<u8>> {
        let why = || Declined::new("a regular expression that is made while the program runs");
        self.known_pattern(expr).ok_or_else(why)
    }

    fn add_pattern(&mut self, text: &[u8], purpose: Purpose) -> Accept<usize> {
        super::exact_patterns::check_match(text, self.given.dialect)?;
        self.patterns.push(Pattern::new(text, self.given.dialect, purpose)?);
        Ok(self.patterns.len() - 1)
    }

    pub(super) fn split(&mut self, args: &[Expr]) -> Accept<Get> {
        let [text, Expr::Name(array), rest @ ..] = args else {
            return Declined::because("split into something that is no array");
        };
        let separator = match rest {
            [] => separator_of_split(&self.given.fs, self.given.dialect)?,
            [Expr::Regex(text)] => {
                let alone = matches!(text.as_slice(), b" ");
                if alone { Separator::Byte(b' ') } else { separator(text, self.given.dialect)? }
            }
            [expr, ..] => match self.known_text(expr) {
                Some(text) => separator_of_split(&text, self.given.dialect)?,
                None => {
                    let search = Search::Split(self.get(text)?, self.table(array));
                    return self.made(expr, &[text], search);
                }
            },
        };
        if let [Expr::Regex(text)] = rest
            && text.len() == 1
            && !text[0].is_ascii_alphanumeric()
            && !matches!(
                text[0],
                b' ' | b',' | b':' | b';' | b'-' | b'_' | b'=' | b'/' | b'@' | b'#' | b'%' | b'&'
            )
        {
            return Declined::because("an expression of one special character as a separator");
        }
        let table = self.table(array);
        self.separators.push(separator);
        Ok(Get::Split(Box::new(self.get(text)?), table, self.separators.len() - 1))
    }

    pub(super) fn substitute(&mut self, args: &[Expr], all: bool) -> Accept<Get> {
        let by = match self.known_text(&args[1]) {
            Some(text) => Replacement::Fixed(code::replacement(&text)),
            None => Replacement::Made(Box::new(self.get(&args[1])?)),
        };
        let place = match args.get(2) {
            None => LValue::Record,
            Some(place) if place.is_place() => self.assignable(place)?,
            Some(_) => return Declined::because("sub or gsub in something that is no variable"),
        };
        if self.is_made(&args[0]) {
            return self.made(
                &args[0],
                &args[1..].iter().collect::<Vec<_>>(),
                Search::Substitute { all, by, place },
            );
        }
        let pattern = self.pattern_to_find(&args[0])?;
        Ok(Get::Substitute { all, pattern, by, place: Box::new(place) })
    }

    /// Compiles an assignable expression.
    pub(super) fn assignable(&mut self, expr: &Expr) -> Accept<LValue> {
        match expr {
            Expr::Name(name) => self.variable(name),
            Expr::Field(index) => match self.get(index)? {
                Get::Number(0.0) => Ok(LValue::Record),
                Get::Number(number) if (1.0..=10_000.0).contains(&number) && number.fract() == 0.0 => {
                    Ok(LValue::Field(number as usize))
                }
                Get::Number(_) => Declined::because("a field with an unusual number"),
                index => Ok(LValue::FieldAt(Box::new(index))),
            },
            Expr::Element(array, index) => {
                let table = self.table(array);
                Ok(LValue::Element(table, self.gets(index)?))
            }
            Expr::Group(inner) if inner.len() == 1 => self.assignable(&inner[0]),
            _ => Declined::because("an assignment to something that is no variable"),
        }
    }

    pub(super) fn arguments(&mut self, function: usize, args: &[Expr], program: &[bool]) -> Accept<Get> {
        let mut given = Vec::new();
        for (arg, is_array) in args.iter().zip(program) {
            given.push(match arg {
                Expr::Name(name) if *is_array => Argument::Table(self.table(name)),
                _ if *is_array => return Declined::because("something that is no array in the place of one"),
                arg => Argument::Value(self.get(arg)?),
            });
        }
        if self.open.contains(&function) {
            self.prints |= recursion::prints(self.program, self.names, function);
            return Ok(Get::Recurse(self.functions[function].clone(), given));
        }
        let function = self.function(function)?;
        self.prints |= function.prints;
        Ok(function.as_expression().unwrap_or(Get::Call(function, given)))
    }

    pub(super) fn constant(text: &[u8]) -> Get {
        Get::Text(Text::new(text))
    }
}
