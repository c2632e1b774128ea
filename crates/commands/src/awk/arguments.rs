//! The arguments of awk: options, the program, files; and what the program itself sets before it reads input.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Accept, Declined, Implementation, Input, Lookup};

use super::Dialect;
use super::compile::InitialState;
use super::gawk_messages::GawkMessages;
use super::lex::unescape;
use super::made_pattern::Limits;
use super::names::{bodies, is_special};
use super::rules;
use super::tree::{Arith, Builtin, Expr, Program, Statement};
use super::visit::{
    any_below, any_expr_below, any_part, each_expr_below, each_statement, every_expr, every_statement,
};

/// A command line.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) program: Vec<u8>,
    /// The file of the program.
    pub(super) script: Option<Vec<u8>>,
    pub(super) variables: Vec<(String, Vec<u8>)>,
    /// Assignments before the files, which hold from after BEGIN on.
    set_behind_begin: Vec<(String, Vec<u8>)>,
    pub(super) fs: Option<Vec<u8>>,
    pub(super) inputs: Vec<Input>,
    /// All arguments but the files.
    pub(super) resume: Vec<Vec<u8>>,
}

/// Parses the arguments.
pub(super) fn parse(args: &[Vec<u8>], dialect: Dialect, lookup: &dyn Lookup) -> Accept<Line> {
    let (mut variables, mut fs, mut script) = (Vec::new(), None, None);
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        at += 1;
        let (option, attached) = match arg.as_slice() {
            b"--" => break,
            [b'-', option @ (b'F' | b'v' | b'f'), attached @ ..] => (*option, attached),
            [b'-', _, ..] => return Declined::because(format!("the option {}", arg.escape_ascii())),
            _ => {
                at -= 1;
                break;
            }
        };
        let value = if attached.is_empty() {
            let Some(value) = args.get(at) else { return Declined::because("an option without its value") };
            at += 1;
            value
        } else {
            attached
        };
        match option {
            b'F' => fs = Some(separator(value, dialect)?),
            b'v' => variables.push(variable(value, dialect)?),
            _ if script.is_some() => return Declined::because("several files of programs"),
            _ => script = Some(value.to_vec()),
        }
    }
    let program = match &script {
        Some(name) => lookup.script(name)?,
        None => match args.get(at) {
            Some(program) => {
                at += 1;
                program.clone()
            }
            None => return Declined::because("no program"),
        },
    };
    let mut set_behind_begin = Vec::new();
    while let Some(operand) = args.get(at).filter(|operand| is_assignment(operand)) {
        set_behind_begin.push(variable(operand, dialect)?);
        at += 1;
    }
    let operands: Vec<&[u8]> = args[at..].iter().map(Vec::as_slice).collect();
    if operands.iter().any(|name| name.is_empty() || is_assignment(name)) {
        return Declined::because("an assignment behind a file");
    }
    let inputs = Input::from_operands(&operands);
    Ok(Line { program, script, variables, set_behind_begin, fs, inputs, resume: args[..at].to_vec() })
}

/// Returns which argument is the program, behind `-F` and `-v` alone: every awk has those, and neither reads a program.
///
/// # Errors
/// Why there is none, to follow a name.
pub fn program_at(args: &[&[u8]]) -> Result<usize, &'static str> {
    let mut at = 0;
    while let Some([b'-', letter, value @ ..]) = args.get(at) {
        at += match (letter, value) {
            (b'F' | b'v', []) => 2,
            (b'F' | b'v', _) => 1,
            _ => return Err("an option that not every awk has"),
        };
    }
    if at < args.len() { Ok(at) } else { Err("it has no program") }
}

impl Line {
    /// Takes the assignments before the files for those of `-v`.
    ///
    /// # Errors
    /// Declines if BEGIN, in which they do not hold yet, could tell.
    pub(super) fn set_from_the_start(&mut self, program: &Program) -> Accept<()> {
        if self.set_behind_begin.is_empty() {
            return Ok(());
        }
        let names = || self.set_behind_begin.iter().map(|(name, _)| name);
        let is_set = |name: &String| names().any(|known| known == name);
        let tells = |expr: &Expr| match expr {
            Expr::Name(name) => is_set(name),
            Expr::Call(..) => true,
            _ => false,
        };
        // With OFS, BEGIN prints; with FS, it splits.
        let mut told = !program.begin.is_empty() && names().any(|name| is_special(name));
        for statement in program.begin.iter().flatten() {
            told |= any_below(statement, |inner| matches!(inner, Statement::ForIn(name, ..) if is_set(name)))
                || any_expr_below(statement, tells);
        }
        if told {
            return Declined::because("an assignment among the files, which BEGIN precedes");
        }
        self.variables.append(&mut self.set_behind_begin);
        Ok(())
    }
}

/// Parses the value of -F.
fn separator(value: &[u8], dialect: Dialect) -> Accept<Vec<u8>> {
    if value.is_empty() {
        return Declined::because("-F of nothing");
    }
    if value == b"t" && dialect.is_one_true() {
        return Ok(b"\t".to_vec());
    }
    if value == b"t" && dialect == Dialect::Portable {
        return Declined::because("-F t");
    }
    unescape(value, dialect)
}

fn variable(text: &[u8], dialect: Dialect) -> Accept<(String, Vec<u8>)> {
    let Some(at) = memchr::memchr(b'=', text).filter(|at| is_name(&text[..*at])) else {
        return Declined::because("a -v that assigns nothing");
    };
    let name = String::from_utf8_lossy(&text[..at]).into_owned();
    if matches!(name.as_str(), "NR" | "NF" | "FNR" | "FILENAME" | "CONVFMT" | "OFMT" | "RSTART" | "RLENGTH") {
        return Declined::because(format!("-v {name}"));
    }
    if dialect.is_one_true() && text.contains(&b'\n') {
        return Declined::because("a newline in the value of a variable, at which this awk stumbles");
    }
    let value = unescape(&text[at + 1..], dialect)?;
    if dialect.is_mawk() {
        judged_alike_in_mawk(&value)?;
    }
    Ok((name, value))
}

/// mawk judges whether the value of `-v` is a number before it has set up its tables and the locale's decimal point: with a
/// point, and with other blanks around it than in its input.
fn judged_alike_in_mawk(value: &[u8]) -> Accept<()> {
    let is_end = |byte: Option<&u8>| matches!(byte, Some(b'\n' | b'\x0b' | b'\x0c' | b'\r'));
    if is_end(value.first()) || is_end(value.last()) || rules::point() != b'.' && value.contains(&b'.') {
        return Declined::because("a -v whose value mawk may take for a number where its input has none");
    }
    Ok(())
}

/// Returns the variables that always have the same value: those of the command line that the program never changes, and those
/// to which only BEGIN gives a value, before anything uses them.
fn constants(line: &Line, program: &Program) -> BTreeMap<String, Vec<u8>> {
    let changes = changes(program);
    let is_given = |name: &str| line.variables.iter().any(|(given, _)| given == name);
    let first = first_values(program)
        .filter(|(name, _)| changes.get(name) == Some(&1) && !is_given(name) && !is_special(name))
        .map(|(name, value)| (name.to_owned(), value));
    first.chain(unchanged(line, &changes)).collect()
}

/// Returns the variables of the command line that are not among the changed ones.
pub(super) fn unchanged(
    line: &Line,
    changes: &BTreeMap<&str, usize>,
) -> impl Iterator<Item = (String, Vec<u8>)> {
    line.variables.iter().filter(|(name, _)| !changes.contains_key(name.as_str())).cloned()
}

/// Returns the variables that the program changes, and in how many places.
pub(super) fn changes(program: &Program) -> BTreeMap<&str, usize> {
    let mut changes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut change = |name| *changes.entry(name).or_default() += 1;
    every_expr(program, &mut |expr| {
        if let Some(Expr::Name(name)) = expr.changed_place().map(Expr::bare) {
            change(name);
        }
        if let Expr::Getline(parts) = expr {
            parts.iter().for_each(|part| {
                if let Expr::Name(name) = part.bare() {
                    change(name)
                }
            });
        }
    });
    every_statement(program, &mut |statement| {
        if let Statement::ForIn(name, ..) = statement {
            change(name);
        }
    });
    changes
}

/// Returns the strings that BEGIN gives to variables before anything uses them.
fn first_values(program: &Program) -> impl Iterator<Item = (&str, Vec<u8>)> {
    let mut used: BTreeSet<&str> = BTreeSet::new();
    let may_leave = |statement: &Statement| {
        any_below(statement, |inner| {
            matches!(inner, Statement::Exit(_))
                || inner
                    .parts()
                    .0
                    .into_iter()
                    .any(|expr| any_part(expr, |part| matches!(part, Expr::Call(..) | Expr::Getline(_))))
        })
    };
    let statements = program.begin.iter().flatten().take_while(move |statement| !may_leave(statement));
    statements.filter_map(move |statement| {
        let first = match statement {
            Statement::Expr(Expr::Assign(place, value)) => match (&**place, value.bare()) {
                (Expr::Name(name), Expr::Text(text)) if !used.contains(name.as_str()) => {
                    Some((name.as_str(), text.clone()))
                }
                _ => None,
            },
            _ => None,
        };
        each_expr_below(statement, &mut |part| {
            if let Expr::Name(name) = part {
                _ = used.insert(name)
            }
        });
        first
    })
}

fn is_name(text: &[u8]) -> bool {
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    text.first().is_some_and(|byte| !byte.is_ascii_digit()) && text.iter().all(part)
}

fn is_assignment(operand: &[u8]) -> bool {
    memchr::memchr(b'=', operand).is_some_and(|at| is_name(&operand[..at]))
}

/// Returns the initial state of the whole run: FS and RS must be set before any input is read.
pub(super) fn given<'a>(
    name: &'static str,
    line: &'a Line,
    program: &Program,
    dialect: Dialect,
    implementation: &Implementation,
) -> Accept<InitialState<'a>> {
    let of_line = |name: &str| {
        let mut found = line.variables.iter().rev();
        found.find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    if line.fs.is_some() && of_line("FS").is_some() {
        return Declined::because("-F beside -v FS");
    }
    let mut given = InitialState {
        dialect,
        name,
        variables: &line.variables,
        fs: line.fs.clone().or_else(|| of_line("FS")).unwrap_or_else(|| b" ".to_vec()),
        rs: of_line("RS").unwrap_or_else(|| b"\n".to_vec()),
        sums: BTreeSet::new(),
        kept: None,
        fraction_arrays: BTreeSet::new(),
        source: line.script.as_ref().map(|script| [script, &b":"[..]].concat()).unwrap_or_default(),
        messages: GawkMessages::default(),
        prints_into_files: false,
        ahead: None,
        read_files: Vec::new(),
        limits: Limits::of(dialect, implementation),
        constants: constants(line, program),
    };
    let mut counted = 0;
    for statement in program.begin.iter().flatten() {
        if let Statement::Expr(expr) = statement {
            counted += set_first(expr, &mut given);
        }
    }
    let mut all = 0;
    every_expr(program, &mut |expr| all += usize::from(sets_separator(expr)));
    for (_, statement) in bodies(program) {
        each_statement(statement, &mut |statement| {
            if let Statement::ForIn(name, ..) = statement {
                all += usize::from(matches!(name.as_str(), "FS" | "RS"));
            }
        });
    }
    if all > counted {
        return Declined::because(
            "another FS or RS than at the beginning, or one that is made while it runs",
        );
    }
    if counted > 0 {
        refuse_early_use(program)?;
    }
    refuse_late_ofs(program)?;
    refuse_odd_counts(program)?;
    refuse_field_zero(program)?;
    Ok(given)
}

/// Handles `FS = OFS = ","` in BEGIN. Returns how many of FS and RS it sets.
fn set_first(expr: &Expr, given: &mut InitialState) -> usize {
    let (mut names, mut value) = (Vec::new(), expr);
    while let Expr::Assign(place, inner) = value {
        let Expr::Name(name) = &**place else { return 0 };
        names.push(name.as_str());
        value = inner;
    }
    let Expr::Text(text) = value else { return 0 };
    let mut set = 0;
    for name in names {
        match name {
            "FS" => given.fs.clone_from(text),
            "RS" => given.rs.clone_from(text),
            _ => continue,
        }
        set += 1;
    }
    set
}

fn sets_separator(expr: &Expr) -> bool {
    matches!(expr.changed_place(), Some(Expr::Name(name)) if matches!(name.as_str(), "FS" | "RS"))
}

/// Declines uses in BEGIN before FS has its value.
fn refuse_early_use(program: &Program) -> Accept<()> {
    let mut early = false;
    for statement in program.begin.iter().flatten() {
        each_expr_below(statement, &mut |expr| {
            early |= matches!(expr, Expr::Field(_) | Expr::Call(..))
                || matches!(expr, Expr::Builtin(Builtin::Split, args) if args.len() == 2)
                || matches!(expr, Expr::Name(name) if name == "NF");
            // Read, not set.
            if let Expr::Assign(_, value) = expr {
                early |= matches!(&**value, Expr::Name(name) if matches!(name.as_str(), "FS" | "RS"));
            }
        });
    }
    if early { Declined::because("fields in BEGIN, where FS is set") } else { Ok(()) }
}

/// Declines a program that sets OFS after it changed fields: mawk joins `$0` when a field changes, and this
/// machine when `$0` is read. Settings in BEGIN are fine if no field changes there.
fn refuse_late_ofs(program: &Program) -> Accept<()> {
    let (mut sets, mut fields) = (0, false);
    every_expr(program, &mut |expr| {
        sets += usize::from(sets_ofs(expr));
        fields |= changes_fields(expr);
    });
    let (mut sets_first, mut fields_first) = (0, false);
    for statement in program.begin.iter().flatten() {
        each_expr_below(statement, &mut |expr| {
            sets_first += usize::from(sets_ofs(expr));
            fields_first |= changes_fields(expr) || matches!(expr, Expr::Call(..));
        });
    }
    if fields && (sets > sets_first || (sets > 0 && fields_first)) {
        return Declined::because("another OFS while fields are changed");
    }
    Ok(())
}

fn sets_ofs(expr: &Expr) -> bool {
    matches!(expr.changed_place(), Some(Expr::Name(name)) if name == "OFS")
}

fn changes_fields(expr: &Expr) -> bool {
    match expr {
        Expr::Assign(place, _) | Expr::Update(_, place, _) | Expr::Step { place, .. } => {
            matches!(**place, Expr::Field(_)) || **place == Expr::Name("NF".to_owned())
        }
        Expr::Builtin(Builtin::Sub | Builtin::Gsub, args) => matches!(args.get(2), Some(Expr::Field(_))),
        _ => false,
    }
}

/// Declines computed field numbers: mawk does not always notice an assignment to $0 by number.
fn refuse_field_zero(program: &Program) -> Accept<()> {
    let mut may = false;
    every_expr(program, &mut |expr| {
        let (place, text) = match expr {
            Expr::Assign(place, value) => (&**place, value.is_text()),
            Expr::Update(_, place, _) | Expr::Step { place, .. } => (&**place, false),
            Expr::Builtin(Builtin::Sub | Builtin::Gsub, args) if args.len() == 3 => (&args[2], true),
            _ => return,
        };
        if let Expr::Field(index) = place {
            let is_last = text && is_count(index.bare());
            may |= !is_last && !is_positive(program, index);
        }
    });
    if may { Declined::because("an assignment to a field whose number may be 0") } else { Ok(()) }
}

/// Whether it is a positive literal, or a variable that only counts up from one.
fn is_positive(program: &Program, index: &Expr) -> bool {
    let is_one = |expr: &Expr| matches!(expr.bare(), Expr::Number(number) if *number >= 1.0);
    let Expr::Name(name) = index else {
        return match index {
            Expr::Number(_) => true,
            Expr::Group(inner) if inner.len() == 1 => is_positive(program, &inner[0]),
            // NF is never negative.
            Expr::Arith(Arith::Add, left, right) => {
                is_count(left.bare()) && is_one(right) || is_one(left) && is_count(right.bare())
            }
            _ => false,
        };
    };
    let mut positive = !super::names::is_special(name);
    let mut assigned = false;
    every_expr(program, &mut |expr| match expr {
        Expr::Assign(place, value) if **place == *index => {
            assigned = true;
            positive &= matches!(**value, Expr::Number(number) if number >= 1.0);
        }
        Expr::Step { place, by, .. } if **place == *index => positive &= *by > 0.0,
        Expr::Update(_, place, _) if **place == *index => positive = false,
        Expr::Builtin(..) => positive &= expr.changed_place() != Some(index),
        _ => {}
    });
    for (_, statement) in bodies(program) {
        each_statement(statement, &mut |statement| {
            positive &= !matches!(statement, Statement::ForIn(found, ..) if found == name);
        });
    }
    let is_parameter = program.has_parameter(name);
    positive && assigned && !is_parameter
}

/// Declines an NF that may not be an integer.
fn refuse_odd_counts(program: &Program) -> Accept<()> {
    let mut odd = false;
    every_expr(program, &mut |expr| match expr {
        Expr::Assign(place, value) if is_count(place) => odd |= !is_whole(value),
        Expr::Update(arith, place, value) if is_count(place) => {
            odd |= !arith.is_additive() || !is_whole(value);
        }
        Expr::Builtin(..) => odd |= expr.changed_place().is_some_and(is_count),
        _ => {}
    });
    for (_, statement) in bodies(program) {
        each_statement(statement, &mut |statement| {
            odd |= matches!(statement, Statement::ForIn(name, ..) if name == "NF");
        });
    }
    if odd { Declined::because("an NF that may be no whole number") } else { Ok(()) }
}

fn is_count(place: &Expr) -> bool {
    matches!(place, Expr::Name(name) if name == "NF")
}

fn is_whole(value: &Expr) -> bool {
    match value {
        Expr::Number(number) => number.fract() == 0.0 && *number < 100_000.0,
        Expr::Name(name) => matches!(name.as_str(), "NF"),
        Expr::Group(inner) => inner.iter().all(is_whole),
        Expr::Arith(Arith::Add | Arith::Subtract, left, right) => is_whole(left) && is_whole(right),
        _ => false,
    }
}
