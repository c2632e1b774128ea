//! gawk's strings of ASCII alone, where those of the locale are of characters: then characters are bytes.
//!
//! A program whose own strings are of ASCII, and which makes no other byte of a number, has only such strings as long as its
//! input is of ASCII. Until another byte turns up, the kernel counts bytes, and searches by what is compiled for bytes. From
//! then on a string of other bytes may be in any variable: the program stays with characters, unless blocks of records have
//! nothing to do with each other.
//!
//! A NUL counts as another byte: formats end strings there if they are of characters.

use crate::Input;
use crate::regex::Judges;

use super::arguments::Line;
use super::compile::Compiled;
use super::fields::Separator;
use super::format::{self, Piece};
use super::gate::Gate;
use super::machine::Machine;
use super::mentions;
use super::pattern::Pattern;
use super::substitute::Passes;
use super::tree::{Builtin, Expr, Program, Statement};
use super::visit::{any_expr, any_statement};

/// Smaller blocks are not worth compiling for, except in tests.
const BLOCK_MIN: usize = if cfg!(debug_assertions) { 1 } else { 4096 };

/// Whether all strings of a program are of ASCII, if its input is. The files of which it reads lines must be, too.
pub(super) fn stays_ascii(program: &Program, line: &Line) -> bool {
    is_ascii(&line.program)
        && !has_numeric_escape(&line.program)
        && given(program, line).all(is_ascii)
        && is_judged(Judges::Ascii, program, line)
}

/// Whether all strings that a program has without its input are such as its expressions are known to judge.
pub(super) fn is_judged(judges: Judges, program: &Program, line: &Line) -> bool {
    let is_judged = |text: &[u8]| judges.first_unjudged(text).is_none();
    let may_make_another = |expr: &Expr| match expr {
        Expr::Text(text) => !is_judged(text),
        Expr::Builtin(Builtin::Sprintf, args) => may_format_bytes(args),
        Expr::Builtin(builtin, _) => !keeps_ascii(*builtin),
        _ => false,
    };
    let formats_bytes =
        |statement: &Statement| matches!(statement, Statement::Printf(args, _) if may_format_bytes(args));
    judges == Judges::AnyBytes
        || given(program, line).all(is_judged)
            && !any_expr(program, may_make_another)
            && !any_statement(program, formats_bytes)
}

/// Returns the texts that a program gets beside its input: variables, `-F`, and the names of files that it asks for.
fn given<'a>(program: &Program, line: &'a Line) -> impl Iterator<Item = &'a [u8]> {
    let variables = line.variables.iter().map(|(_, value)| value);
    let names_a_file = mentions(program, &["FILENAME"]);
    let files = line.inputs.iter().filter_map(move |input| match input {
        Input::File(name) if names_a_file => Some(name),
        Input::File(_) | Input::Stdin => None,
    });
    variables.chain(&line.fs).chain(files).map(Vec::as_slice)
}

/// Whether a program does something that takes longer with characters.
pub(super) fn gains(compiled: &Compiled, counts_characters: bool) -> bool {
    let separators = compiled.separators.iter().chain([&compiled.code.fields]);
    let mut patterns = compiled.patterns.iter().chain(separators.filter_map(Separator::pattern));
    counts_characters || patterns.any(Pattern::is_slow_for_characters)
}

/// Whether all bytes are of ASCII, and none is a NUL.
pub(super) fn is_ascii(text: &[u8]) -> bool {
    text.is_ascii() && memchr::memchr(0, text).is_none()
}

/// Whether a function returns ASCII if its arguments are of it. `%c` is looked for in formats.
fn keeps_ascii(builtin: Builtin) -> bool {
    use Builtin::{
        Asort, Asorti, Atan2, Close, Cos, Exp, Flush, Gensub, Gsub, Index, Int, Length, Log, Match,
        NextRecord, Rand, ReadLine, Sin, Split, Sprintf, Sqrt, Srand, Sub, Substr, System, ToLower, ToUpper,
    };
    match builtin {
        Length | Substr | Index | Split | Sub | Gsub | Match | ToLower | ToUpper | Gensub | Asort
        | Asorti => true,
        Int | Sqrt | Exp | Log | Sin | Cos | Atan2 | Rand | Srand => true,
        Close | Flush | ReadLine | NextRecord => true,
        Sprintf | System => false,
    }
}

/// Whether a format may make a byte of a number.
fn may_format_bytes(args: &[Expr]) -> bool {
    let Some(Expr::Text(text)) = args.first() else { return true };
    let makes_byte =
        |piece: &Piece| matches!(piece, Piece::Conversion(conversion) if conversion.what == b'c');
    format::parse(text).map_or(true, |pieces| pieces.iter().any(makes_byte))
}

/// Whether a program may have an escape that names a byte or a character by its number.
fn has_numeric_escape(program: &[u8]) -> bool {
    let mut bytes = program.iter();
    while bytes.any(|byte| *byte == b'\\') {
        if bytes.next().is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'x' | b'u')) {
            return true;
        }
    }
    false
}

/// What a program searches by, compiled for bytes or for characters.
#[derive(Clone, Debug)]
struct Searches {
    /// The constant patterns.
    patterns: Vec<Pattern>,
    separators: Vec<Separator>,
    fields: Separator,
    gate: Option<Gate>,
    passes: Option<Passes>,
}

/// Which of both a program works on.
#[derive(Clone, Debug)]
pub(super) struct Ascii {
    /// Whether it counts characters, where it does not work on bytes.
    pub(super) counts_characters: bool,
    /// Whether a block of ASCII may follow another one.
    returns: bool,
    is_on: bool,
    /// Those searches that are not in use.
    others: Option<Box<Searches>>,
}

impl Ascii {
    /// Begins with bytes.
    pub(super) fn new(counts_characters: bool, returns: bool) -> Ascii {
        Ascii { counts_characters, returns, is_on: true, others: None }
    }

    /// Whether the program works on bytes.
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Whether the program may work on bytes for a block, or for another string of the input.
    pub(super) fn allows(&self, text: &[u8]) -> bool {
        (self.is_on || self.returns) && is_ascii(text)
    }

    /// Works on bytes, or on characters, for a text of this length.
    pub(super) fn turn(
        &mut self,
        is_on: bool,
        length: usize,
        machine: &mut Machine,
        gate: &mut Option<Gate>,
        passes: &mut Option<Passes>,
    ) {
        let mut changes = is_on != self.is_on;
        self.is_on = is_on;
        if self.others.is_none() && is_on && length >= BLOCK_MIN {
            self.others = Some(Box::new(Searches::of_bytes(machine, gate.is_some(), passes.is_some())));
            changes = true;
        }
        if let Some(others) = self.others.as_mut().filter(|_| changes) {
            others.swap(machine, gate, passes);
        }
    }
}

impl Searches {
    /// Compiles for bytes what was compiled for characters.
    fn of_bytes(machine: &Machine, has_gate: bool, has_passes: bool) -> Searches {
        let code = &machine.code;
        let constants = &machine.patterns[..machine.made.constants().0];
        let patterns: Vec<Pattern> = constants.iter().map(Pattern::of_bytes).collect();
        let separators = &machine.separators[..machine.made.constants().1];
        let gate = Gate::of(code, &patterns).filter(|_| has_gate);
        let passes = Passes::of(code, &patterns).filter(|_| has_passes);
        Searches {
            separators: separators.iter().map(Separator::of_bytes).collect(),
            fields: code.fields.of_bytes(),
            gate,
            passes,
            patterns,
        }
    }

    /// Exchanges it for what is in use. Expressions that were made while the program ran stay: those of characters find the
    /// same in ASCII.
    fn swap(&mut self, machine: &mut Machine, gate: &mut Option<Gate>, passes: &mut Option<Passes>) {
        let (patterns, separators) = machine.made.constants();
        self.patterns.swap_with_slice(&mut machine.patterns[..patterns]);
        self.separators.swap_with_slice(&mut machine.separators[..separators]);
        std::mem::swap(&mut self.fields, machine.record.separator_mut());
        std::mem::swap(&mut self.gate, gate);
        std::mem::swap(&mut self.passes, passes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Dialect;
    use super::super::pattern::Purpose;
    use super::super::rules::Variant;
    use super::*;
    use pelton_testkit::Random;

    #[test]
    fn patterns_of_bytes_find_the_same_in_ascii() {
        let mut random = Random::new(11);
        let atoms =
            ["a", "b", ".", "[ab]", "[^a]", "[[:alpha:]]", "\\s", "[a-c1-9]", "(a|.b)", "x?", "\\.", "\n"];
        let ends = ["", "", "*", "+", "?", "{1,2}"];
        let bytes = b"aabbcxX1 .\t\n\x7f\x01";
        let mut compiled = 0;
        for _ in 0..2000 {
            let mut text = String::from(random.pick(&["", "", "^"]));
            for _ in 0..1 + random.below(3) {
                text += random.pick(&atoms);
                text += random.pick(&ends);
            }
            text += random.pick(&["", "", "$"]);
            let dialect = Dialect::Gawk { utf8: true, variant: Variant::Gawk };
            let purpose = random.pick(&[Purpose::Match, Purpose::Find]);
            let Ok(mut pattern) = Pattern::new(text.as_bytes(), dialect, purpose) else { continue };
            let mut of_bytes = pattern.of_bytes();
            compiled += 1;
            for _ in 0..20 {
                let subject: Vec<u8> = (0..random.below(12)).map(|_| random.pick(bytes)).collect();
                let shown = || format!("{text} in {}", subject.escape_ascii());
                assert_eq!(pattern.is_match(&subject), of_bytes.is_match(&subject), "{}", shown());
                let mut matches = [Vec::new(), Vec::new()];
                pattern.each(&subject, |from, to| matches[0].push((from, to)));
                of_bytes.each(&subject, |from, to| matches[1].push((from, to)));
                assert_eq!(matches[0], matches[1], "{}", shown());
            }
        }
        assert!(compiled > 1000, "{compiled}");
    }

    #[test]
    fn other_bytes_and_escapes_for_them_are_seen() {
        assert!(is_ascii(b"") && is_ascii(&[b'a'; 1000]));
        for byte in [0, 0x80, 0xff] {
            let mut text = [b'a'; 1000];
            text[999] = byte;
            assert!(!is_ascii(&text));
        }
        assert!(has_numeric_escape(b"{print \"\\351\"}") && has_numeric_escape(b"\\\\\\x41"));
        assert!(!has_numeric_escape(b"gensub(/a/, \"\\\\1\\n\", 1)"));
    }
}
