//! A program in executable form: names are indices, constants are ready.

use std::sync::Arc;

use super::arithmetic::Partial;
use super::array::Array;
use super::fields::Separator;
use super::format::Piece;
use super::gawk_messages::GawkMessages;
use super::gensub::Gensub;
use super::kept_order::KeyOrder;
use super::made_format::MadeFormat;
use super::made_pattern::{KeyPatterns, Limits, Made};
use super::recursion::Within;
use super::rules;
use super::sort_order::{SortCall, SortOrder};
use super::string_switch::{Choice, OneOf};
use super::switch::Switch;
use super::text::Text;
use super::tree::{Arith, Order};
use super::value::Value;

/// Indices of special variables, among the global ones.
pub(super) const FS: usize = 0;
pub(super) const OFS: usize = 1;
pub(super) const ORS: usize = 2;
pub(super) const SUBSEP: usize = 4;
pub(super) const RSTART: usize = 5;
pub(super) const RLENGTH: usize = 6;

/// Their names and initial values.
pub(super) const KNOWN: &[(&str, &str)] = &[
    ("FS", " "),
    ("OFS", " "),
    ("ORS", "\n"),
    ("RS", "\n"),
    ("SUBSEP", "\x1c"),
    ("RSTART", ""),
    ("RLENGTH", ""),
    ("CONVFMT", "%.6g"),
    ("OFMT", "%.6g"),
];

/// An executable program.
#[derive(Clone, Debug)]
pub(super) struct Code {
    /// The name of the command in messages.
    pub(super) name: &'static str,
    pub(super) begin: Vec<Do>,
    pub(super) rules: Vec<Rule>,
    pub(super) end: Vec<Do>,
    /// Where it comes from, in gawk's messages: `cmd. line:`.
    pub(super) source: Vec<u8>,
    pub(super) messages: GawkMessages,
    pub(super) prints_into_files: bool,
    /// What the files hold of which BEGIN reads lines.
    pub(super) read_files: Vec<Arc<[u8]>>,
    /// The names of the global variables, for the messages of the one true awk.
    pub(super) names: Vec<String>,
    /// The initial values of the global variables.
    pub(super) globals: Vec<Value>,
    pub(super) arrays: usize,
    /// Those whose keys are kept in an awk's order, and the order.
    pub(super) in_kept_order: Option<(Vec<usize>, KeyOrder)>,
    /// Those whose indices may be numbers that are not whole, in gawk.
    pub(super) with_fractions: Vec<usize>,
    pub(super) ranges: usize,
    pub(super) fields: Separator,
    /// Where records end, and in paragraph mode lines.
    pub(super) record_end: u8,
    /// Whether records end at empty lines only.
    pub(super) has_paragraphs: bool,
    /// The indices of sums: variables and arrays.
    pub(super) sums: (Vec<usize>, Vec<usize>),
    /// What a record must match to have an effect.
    pub(super) gate: Option<RecordTest>,
    /// A lookup of the first matching rule, if possible.
    pub(super) choice: Option<Choice>,
    /// The number of places where an expression or a format is made while the program runs, and how it is understood.
    pub(super) made: usize,
    pub(super) limits: Limits,
}

/// A match of the whole record with a pattern, or that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordTest {
    pub(super) pattern: usize,
    pub(super) negated: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// The line of the pattern, if messages name it.
    pub(super) line: Option<usize>,
    pub(super) when: When,
    pub(super) action: Vec<Do>,
}

#[derive(Clone, Debug)]
pub(super) enum When {
    Always,
    If(Get),
    /// With the index of its state.
    Range(usize, Get, Get),
}

#[derive(Debug)]
pub(super) struct Function {
    /// Which parameters are arrays.
    pub(super) arrays: Vec<bool>,
    pub(super) has_arrays: bool,
    pub(super) body: Vec<Do>,
    /// Whether it, or a function it calls, prints.
    pub(super) prints: bool,
}

impl Function {
    /// Returns its result, if it only returns one.
    pub(super) fn result(&self) -> Option<&Get> {
        match self.body.as_slice() {
            [Do::Return(Some(result))] => Some(result),
            _ => None,
        }
    }

    /// Returns its result to inline, if it has no parameters and is small.
    pub(super) fn as_expression(&self) -> Option<Get> {
        let result = self.result().filter(|_| self.arrays.is_empty())?;
        (weight(result)? <= IN_PLACE_MAX).then(|| result.clone())
    }

    /// Returns its body to inline, if it has no parameters, is small, and returns only at its end.
    pub(super) fn as_statements(&self) -> Option<Vec<Do>> {
        let weight = self.arrays.is_empty().then(|| weight_of_all(&self.body))??;
        (weight <= IN_PLACE_MAX).then(|| self.body.clone())
    }
}

/// Maximum weight of an inlined function: nested calls would otherwise grow without bounds.
const IN_PLACE_MAX: usize = 40;

/// Returns the number of nodes of an expression of frequent kinds; `None` for others.
fn weight(expr: &Get) -> Option<usize> {
    let all = |parts: &[Get]| parts.iter().map(weight).sum::<Option<usize>>();
    let below = match expr {
        Get::Number(_) | Get::Text(_) | Get::RecordNumber | Get::FileRecordNumber => 0,
        Get::Of(place) => weight_of_place(place)?,
        Get::Not(inner)
        | Get::Negate(inner)
        | Get::Plus(inner)
        | Get::Length(inner)
        | Get::CompareText(_, inner, _)
        | Get::CompareNumber(_, inner, _)
        | Get::OneOf(inner, _) => weight(inner)?,
        Get::And(left, right)
        | Get::Or(left, right)
        | Get::Arith(_, left, right)
        | Get::Compare(_, left, right) => weight(left)? + weight(right)?,
        Get::If(test, yes, no) => weight(test)? + weight(yes)? + weight(no)?,
        Get::Concat(parts) => all(parts)?,
        Get::Assign(place, value) | Get::Update(_, place, value) => weight_of_place(place)? + weight(value)?,
        Get::Step { place, .. } => weight_of_place(place)?,
        _ => return None,
    };
    Some(below + 1)
}

fn weight_of_place(place: &LValue) -> Option<usize> {
    match place {
        LValue::Element(_, index) => index.iter().map(weight).sum(),
        LValue::FieldAt(index) => weight(index),
        _ => Some(0),
    }
}

/// Returns the weight of statements that do not leave the function.
fn weight_of_all(body: &[Do]) -> Option<usize> {
    let of = |statement: &Do| match statement {
        Do::Run(expr) => weight(expr),
        Do::If(test, yes, no) => Some(weight(test)? + weight_of_all(yes)? + weight_of_all(no)?),
        _ => None,
    };
    body.iter().map(of).sum()
}

/// A statement.
#[derive(Clone, Debug)]
pub(super) enum Do {
    Run(Get),
    /// With whether a called function may print first.
    Print(Vec<Get>, bool),
    PrintRecord,
    /// Prints to standard error.
    Aside(Box<Do>),
    /// Prints into a file.
    ToFile(Box<ToFile>),
    /// Closes a file.
    Close(Get),
    /// With whether a called function may print first.
    Printf(Vec<Piece>, Vec<Get>, bool),
    /// Prints a format without arguments, made while the program runs; with whether a called function may print first.
    PrintFormat(Get, bool),
    /// What follows lies in this line of the program.
    Line(usize),
    /// Begins other random numbers; without a seed, with the time.
    Seed(Option<u32>),
    /// Adds to a sum that is read only at the end; times 1 or -1.
    Add(LValue, Get, f64),
    If(Get, Vec<Do>, Vec<Do>),
    /// Test, body, step.
    Loop(Option<Get>, Vec<Do>, Vec<Do>),
    /// `do … while`.
    Again(Vec<Do>, Get),
    Each(LValue, Table, Vec<Do>),
    Switch(Box<Switch>),
    /// `printf` with a format that is made while the program runs.
    PrintMadeFormat(Box<MadeFormat>),
    /// Compiles, for each key, the expressions that a loop makes of keys: the loop ends with the first that matches.
    CompileKeys(Box<KeyPatterns>),
    /// Sets the order of loops over arrays.
    SortedIn(Option<SortOrder>),
    Delete(Table, Vec<Get>),
    Clear(Table),
    Next,
    NextFile,
    Exit(Option<Get>),
    Return(Option<Get>),
    Break,
    Continue,
}

/// A statement that prints into a file.
#[derive(Clone, Debug)]
pub(super) struct ToFile {
    pub(super) print: Do,
    pub(super) name: Get,
    /// Whether the file is not truncated when it is opened.
    pub(super) append: bool,
    /// The line of the statement, for messages.
    pub(super) line: usize,
}

/// An array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Global(usize),
    /// A parameter's index among the arrays of the call.
    Local(usize),
}

/// An assignable place. Its kind has a byte of its own, which is faster to look at than one within its content.
#[derive(Clone, Debug)]
#[repr(u8)]
pub(super) enum LValue {
    Global(usize),
    Local(usize),
    Record,
    Field(usize),
    FieldAt(Box<Get>),
    FieldCount,
    Element(Table, Vec<Get>),
}

/// An expression. Its kind has a byte of its own, as that of [`LValue`].
#[derive(Clone, Debug)]
#[repr(u8)]
pub(super) enum Get {
    Number(f64),
    Text(Text),
    Of(LValue),
    RecordNumber,
    FileRecordNumber,
    FileName,
    In(Table, Vec<Get>),
    Assign(Box<LValue>, Box<Get>),
    Update(Arith, Box<LValue>, Box<Get>),
    Step {
        place: Box<LValue>,
        by: f64,
        before: bool,
    },
    Negate(Box<Get>),
    Plus(Box<Get>),
    Not(Box<Get>),
    Arith(Arith, Box<Get>, Box<Get>),
    Compare(Order, Box<Get>, Box<Get>),
    /// A comparison with a constant.
    CompareText(Order, Box<Get>, Text),
    CompareNumber(Order, Box<Get>, f64),
    /// Equal to one of these strings.
    OneOf(Box<Get>, OneOf),
    /// With the index of a pattern.
    Match {
        negated: bool,
        text: Box<Get>,
        pattern: usize,
    },
    And(Box<Get>, Box<Get>),
    Or(Box<Get>, Box<Get>),
    If(Box<Get>, Box<Get>, Box<Get>),
    Concat(Vec<Get>),
    Length(Box<Get>),
    Size(Table),
    Substr(Box<Get>, Box<Get>, Option<Box<Get>>),
    Index(Box<Get>, Box<Get>),
    /// With the index of a separator.
    Split(Box<Get>, Table, usize),
    /// Reads the next line of the file with this number into a variable.
    ReadLine(usize, Box<LValue>),
    /// A random number.
    Rand,
    /// Takes the next record of the input.
    NextRecord(Box<LValue>),
    Substitute {
        all: bool,
        pattern: usize,
        by: Replacement,
        place: Box<LValue>,
    },
    Find(Box<Get>, usize),
    Gensub(Box<Gensub>),
    /// A search for an expression that is made while the program runs.
    Made(Box<Made>),
    /// Sorts an array; returns the number of its elements.
    Sort(SortCall),
    Sprintf(Vec<Piece>, Vec<Get>),
    /// `sprintf` with a format that is made while the program runs.
    MadeFormat(Box<MadeFormat>),
    ToLower(Box<Get>),
    ToUpper(Box<Get>),
    Math(fn(f64) -> f64, Box<Get>),
    /// A function of which gawk may warn.
    Partial(Partial, Box<Get>),
    /// They are nested.
    Call(Arc<Function>, Vec<Argument>),
    /// A call of a function within itself.
    Recurse(Within, Vec<Argument>),
}

#[derive(Clone, Debug)]
pub(super) enum Argument {
    Value(Get),
    Table(Table),
}

/// The replacement of a match.
#[derive(Clone, Debug)]
pub(super) enum Replacement {
    /// Already parsed.
    Fixed(Vec<ReplacementPart>),
    Made(Box<Get>),
}

/// A part of a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReplacementPart {
    Text(Vec<u8>),
    /// The match.
    Match,
}

impl Code {
    /// Whether each line is a record: what works on whole lines may then be used.
    pub(super) fn has_lines(&self) -> bool {
        self.record_end == b'\n' && !self.has_paragraphs
    }

    /// Returns what a record must match for the only rule to have an effect.
    pub(super) fn gate_of(rules: &[Rule]) -> Option<RecordTest> {
        match rules {
            [Rule { when: When::If(test), .. }] => required(test),
            _ => None,
        }
    }

    /// Whether the program, which has a gate, prints the records that pass it and does nothing else with them.
    pub(super) fn prints_what_passes(&self) -> bool {
        let [Rule { when: When::If(Get::Match { .. }), action, .. }] = self.rules.as_slice() else {
            return false;
        };
        matches!(action.as_slice(), [Do::PrintRecord])
    }

    /// Returns the lookup of the first matching rule, if several leading `rules` compare the record.
    pub(super) fn choice_of(rules: &[Rule], has_no_end: bool) -> Option<Choice> {
        let sets: Vec<OneOf> = rules.iter().map_while(compared).take(Choice::RULES_MAX).collect();
        if sets.len() < 2 {
            return None;
        }
        let is_unseen = |rule: &Rule| has_no_end && matches!(rule.action.as_slice(), [Do::Next]);
        let unseen = rules[..sets.len()].iter().map(is_unseen).collect();
        Some(Choice::new(&sets, unseen))
    }

    /// Makes the empty arrays.
    pub(super) fn tables(&self) -> Vec<Array> {
        let seed = super::array::Seed::new();
        let make = |number| match &self.in_kept_order {
            Some((arrays, order)) if arrays.contains(&number) => Array::in_kept_order(seed, order.clone()),
            _ if self.with_fractions.contains(&number) => Array::with_fractions(seed),
            _ => Array::new(seed),
        };
        (0..self.arrays).map(make).collect()
    }
}

/// Returns what the record must match for this to be true; earlier operands have no effects.
fn required(test: &Get) -> Option<RecordTest> {
    match test {
        Get::Match { negated, text, pattern } if matches!(**text, Get::Of(LValue::Record)) => {
            Some(RecordTest { pattern: *pattern, negated: *negated })
        }
        Get::And(left, right) if is_still(left) => required(left).or_else(|| required(right)),
        Get::And(left, _) => required(left),
        _ => None,
    }
}

/// Returns the strings that the record must equal for a rule to match.
fn compared(rule: &Rule) -> Option<OneOf> {
    let is_record = |of: &Get| matches!(of, Get::Of(LValue::Record));
    match &rule.when {
        When::If(Get::OneOf(of, texts)) if is_record(of) => Some(texts.clone()),
        When::If(Get::CompareText(Order::Equal, of, text)) if is_record(of) => Some(OneOf::only(text)),
        _ => None,
    }
}

/// Makes a comparison, specialised for a constant operand.
pub(super) fn comparison(order: Order, left: Get, right: Get) -> Get {
    match (left, right) {
        (left, Get::Text(text)) => Get::CompareText(order, Box::new(left), text),
        (Get::Text(text), right) => Get::CompareText(order.turned(), Box::new(right), text),
        (left, Get::Number(number)) => Get::CompareNumber(order, Box::new(left), number),
        (Get::Number(number), right) => Get::CompareNumber(order.turned(), Box::new(right), number),
        (left, right) => Get::Compare(order, Box::new(left), Box::new(right)),
    }
}

/// Makes a disjunction; several comparisons of one thing with strings are merged.
pub(super) fn either(left: Get, right: Get) -> Get {
    let (of, mut set) = match left {
        Get::CompareText(Order::Equal, of, text) if is_variable(&of) => (of, OneOf::only(&text)),
        Get::OneOf(of, set) => (of, set),
        left => return Get::Or(Box::new(left), Box::new(right)),
    };
    match right {
        Get::CompareText(Order::Equal, other, text) if is_same_variable(&of, &other) => set.add(&text),
        Get::OneOf(other, more) if is_same_variable(&of, &other) => {
            set.add_all(more);
        }
        right => return Get::Or(Box::new(Get::OneOf(of, set)), Box::new(right)),
    }
    Get::OneOf(of, set)
}

fn is_variable(expr: &Get) -> bool {
    matches!(expr, Get::Of(LValue::Global(_) | LValue::Local(_) | LValue::Record | LValue::Field(_)))
}

/// Whether two expressions are the content of the same variable, field or record.
pub(super) fn is_same_variable(left: &Get, right: &Get) -> bool {
    match (left, right) {
        (Get::Of(left), Get::Of(right)) => match (left, right) {
            (LValue::Global(left), LValue::Global(right))
            | (LValue::Local(left), LValue::Local(right))
            | (LValue::Field(left), LValue::Field(right)) => left == right,
            (LValue::Record, LValue::Record) => true,
            _ => false,
        },
        _ => false,
    }
}

/// Whether evaluation has no side effects. `false` if in doubt.
pub(super) fn is_still(expr: &Get) -> bool {
    let is_simple = |place: &LValue| {
        matches!(
            place,
            LValue::Global(_) | LValue::Local(_) | LValue::Record | LValue::Field(_) | LValue::FieldCount
        )
    };
    match expr {
        Get::Number(_) | Get::Text(_) | Get::RecordNumber | Get::FileRecordNumber => true,
        Get::Of(place) => is_simple(place),
        Get::Compare(_, left, right)
        | Get::Arith(_, left, right)
        | Get::And(left, right)
        | Get::Or(left, right) => is_still(left) && is_still(right),
        Get::Match { text: inner, .. }
        | Get::CompareText(_, inner, _)
        | Get::CompareNumber(_, inner, _)
        | Get::OneOf(inner, _) => is_still(inner),
        Get::Negate(inner) | Get::Plus(inner) | Get::Not(inner) | Get::Length(inner) => is_still(inner),
        _ => false,
    }
}

/// Whether it is always a number.
#[inline]
pub(super) fn is_number(expr: &Get) -> bool {
    matches!(
        expr,
        Get::Number(_)
            | Get::RecordNumber
            | Get::FileRecordNumber
            | Get::Negate(_)
            | Get::Plus(_)
            | Get::Not(_)
            | Get::Arith(..)
            | Get::Compare(..)
            | Get::CompareText(..)
            | Get::CompareNumber(..)
            | Get::OneOf(..)
            | Get::Match { .. }
            | Get::And(..)
            | Get::Or(..)
            | Get::In(..)
            | Get::Length(_)
            | Get::Size(_)
            | Get::Math(..)
            | Get::Partial(..)
            | Get::Step { .. }
            | Get::Update(..)
            | Get::Index(..)
            | Get::Split(..)
            | Get::Substitute { .. }
            | Get::Find(..)
            | Get::Made(_)
            | Get::ReadLine(..)
            | Get::Sort(_)
            | Get::NextRecord(_)
            | Get::Rand
            | Get::Of(LValue::FieldCount)
    )
}

/// Whether it is always a computed string.
#[inline]
pub(super) fn is_text(expr: &Get) -> bool {
    let is_any = |part: &Get| matches!(part, Get::Text(_)) || is_text(part);
    match expr {
        Get::Concat(_)
        | Get::Substr(..)
        | Get::ToLower(_)
        | Get::ToUpper(_)
        | Get::Sprintf(..)
        | Get::MadeFormat(_)
        | Get::Gensub(_) => true,
        Get::If(_, yes, no) => is_any(yes) && is_any(no),
        Get::Call(function, _) => function.result().is_some_and(is_text),
        _ => false,
    }
}

/// Parses a replacement: `&` is the match, a backslash before it makes it literal. In mawk two backslashes make
/// one, from 2025 on only before `&`; in gawk four make two, and two make one only before `&`; in the one true awk two stay
/// two elsewhere.
pub(super) fn replacement(text: &[u8]) -> Vec<ReplacementPart> {
    let mut parts = Vec::new();
    let mut plain = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        match (byte, text.get(at)) {
            (b'\\', Some(b'\\' | b'&')) if rules::is_mawk_2025() => {
                let run = 1 + text[at..].iter().take_while(|byte| **byte == b'\\').count();
                let is_before_match = text.get(at - 1 + run) == Some(&b'&');
                let kept = if is_before_match { run / 2 } else { run };
                plain.extend(std::iter::repeat_n(b'\\', kept));
                at += run - 1;
                if is_before_match && run % 2 == 1 {
                    plain.push(b'&');
                    at += 1;
                }
            }
            (b'\\', Some(b'\\')) if rules::is_gawk() || rules::is_one_true() => match &text[at + 1..] {
                [b'\\', b'\\', ..] if rules::is_gawk() => {
                    plain.extend_from_slice(b"\\\\");
                    at += 3;
                }
                // `\\\&` is a backslash and `&`; `\\&` is a backslash and the match.
                [b'\\', b'&', ..] => {
                    plain.extend_from_slice(b"\\&");
                    at += 3;
                }
                [b'&', ..] => {
                    plain.push(byte);
                    at += 1;
                }
                _ if rules::is_one_true() => {
                    plain.extend_from_slice(b"\\\\");
                    at += 1;
                }
                _ => plain.push(byte),
            },
            (b'\\', Some(next @ (b'&' | b'\\'))) => {
                plain.push(*next);
                at += 1;
            }
            (b'&', _) => {
                if !plain.is_empty() {
                    parts.push(ReplacementPart::Text(std::mem::take(&mut plain)));
                }
                parts.push(ReplacementPart::Match);
            }
            _ => plain.push(byte),
        }
    }
    if !plain.is_empty() {
        parts.push(ReplacementPart::Text(plain));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&[&str]]) -> Vec<Rule> {
        let rule = |texts: &&[&str]| {
            let mut set = OneOf::default();
            texts.iter().for_each(|text| set.add(&Text::new(text.as_bytes())));
            Rule {
                line: None,
                when: When::If(Get::OneOf(Box::new(Get::Of(LValue::Record)), set)),
                action: Vec::new(),
            }
        };
        texts.iter().map(rule).collect()
    }

    #[test]
    fn the_first_that_holds_is_chosen() {
        let mut rules = rules(&[&["{", "["], &["ab", "[", ""], &["}", "ab"]]);
        rules[2].action.push(Do::Next);
        rules.push(Rule { line: None, when: When::Always, action: vec![Do::Next] });
        let choice = Code::choice_of(&rules, true).expect("three that compare");
        for (record, rule) in
            [("{", 0), ("[", 0), ("ab", 1), ("", 1), ("}", 2), ("x", 3), ("abc", 3), ("\u{e9}", 3)]
        {
            assert_eq!(choice.first(record.as_bytes()), rule, "{record}");
            assert_eq!(choice.is_judged(rule), rule < 3);
            assert_eq!(choice.is_unseen(rule), rule == 2);
        }
    }

    #[test]
    fn one_alone_is_asked() {
        assert!(Code::choice_of(&rules(&[&["a"]]), true).is_none());
        assert!(
            Code::choice_of(&[Rule { line: None, when: When::Always, action: Vec::new() }], true).is_none()
        );
    }
}
