//! `awk`: mawk, gawk and the one true awk, and of other versions the subset in which all agree.
//!
//! The path of a program: text → [`parse`] (with [`lex`] and [`expression`]) → [`tree`] → [`names`], which
//! names are arrays, [`effects`], reads and writes, and [`analyse`], whether records are independent →
//! [`compile`] → [`code`], where names are indices → [`machine`] with [`eval`], which runs it over blocks.
//!
//! Each awk is its own specification: the format of numbers, `substr` beyond a string, the meaning of
//! escapes, the order of `for (k in a)`. Each reason for declining is documented where it is declined.

mod analyse;
mod arguments;
mod arithmetic;
mod array;
mod ascii;
mod can_fail;
mod char_index;
mod characters;
mod code;
mod compile;
mod compile_expr;
mod compile_made;
mod constant_variables;
mod deterministic;
mod effects;
mod environment;
mod eval;
mod exact_patterns;
mod expression;
mod fields;
mod first_of_each_key;
mod fold;
mod for_in_order;
mod format;
mod fractional_keys;
mod gate;
mod gawk;
mod gawk_messages;
mod gensub;
mod kept_order;
mod kernel;
mod key_search;
mod length_filter;
mod length_of_array;
mod lex;
mod lone_format;
mod loop_keys;
mod lvalues;
mod machine;
mod made_format;
mod made_pattern;
mod mawk;
mod names;
mod needed_lines;
mod next_record;
mod number;
mod numeric_strings;
mod one_true;
mod output_files;
mod over_parts;
mod paragraphs;
mod parse;
mod part_sums;
mod pattern;
mod pattern_pieces;
mod portable_subset;
mod positive_elements;
mod print_fields;
mod random_numbers;
mod read_lines;
mod record;
mod recursion;
mod restart;
mod rules;
mod set_field_to_constant;
mod single_byte;
mod sort_order;
mod sorted_loops;
mod source_lines;
mod stateless;
mod string_functions;
mod string_set;
mod string_switch;
mod substitute;
mod sums;
mod switch;
mod text;
pub(crate) mod tool_rows;
mod tree;
mod value;
mod visit;
mod whole_lines;

use std::collections::BTreeSet;

use pelton_stream::Kernel;

use crate::regex::Judges;
use crate::tool::facts::may_escape_nul;
use crate::{
    Accept, Charset, Command, Content, Context, Declined, Diagnostics, EarlyStop, Facts, Family, FileNames,
    Input, InputFacts, Locale, Lookup, NumberFormat, OutputFacts, OverParts, Special,
};

use analyse::{Analysis, ArrayOrder, LAST_RECORD};
pub use arguments::program_at;
use compile::Compiled;
use first_of_each_key::FirstOfEachKey;
use gawk_messages::{GawkMessages, Text};
use kernel::{AwkKernel, ProgramTraits};
use length_of_array::{Early, asked_early};
use names::Names;
use paragraphs::Paragraphs;
use part_sums::{PartKernel, PartsKernel};
use restart::{Restart, Start};
use rules::{Rules, Variant};
pub(crate) use stateless::stateless;

/// The language that a program is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// All of the tested mawk's, or of one from 2025 on.
    Mawk {
        /// Whether it is from 2025 or later.
        is_2025: bool,
    },
    /// All of gawk's, with strings of bytes, or of characters where the locale has them.
    Gawk {
        /// Whether the locale is one of UTF-8.
        utf8: bool,
        /// What operations depend on.
        variant: Variant,
    },
    /// All of the tested one true awk's, which is one of bytes.
    OneTrue {
        /// Whether the locale is one of UTF-8: it changes the case of characters, or has characters.
        utf8: bool,
        /// Whether it is one of the second edition.
        is_second: bool,
    },
    /// That in which all awks agree ([`portable_subset`]): for other versions of the one true awk and of mawk, which differ
    /// in numbers and expressions.
    Portable,
}

impl Dialect {
    fn of(context: &Context) -> Accept<Dialect> {
        match context.implementation.family() {
            Some(Family::Mawk) if context.implementation.is_tested(Family::Mawk) => {
                Ok(Dialect::Mawk { is_2025: false })
            }
            Some(Family::Mawk) if mawk::is_2025(&context.implementation) => {
                Ok(Dialect::Mawk { is_2025: true })
            }
            Some(Family::Gawk) => Ok(Dialect::Gawk {
                utf8: context.locale.ctype != Charset::C,
                variant: gawk::variant(&context.implementation),
            }),
            Some(Family::OriginalAwk) if context.implementation.is_tested(Family::OriginalAwk) => {
                Ok(Dialect::OneTrue { utf8: context.locale.ctype != Charset::C, is_second: false })
            }
            Some(Family::OriginalAwk) if one_true::is_second_edition(context) => {
                Ok(Dialect::OneTrue { utf8: context.locale.ctype != Charset::C, is_second: true })
            }
            Some(Family::Mawk | Family::OriginalAwk) => Ok(Dialect::Portable),
            _ => Declined::because("an awk that is not known"),
        }
    }

    fn is_mawk(self) -> bool {
        matches!(self, Dialect::Mawk { .. })
    }

    fn is_gawk(self) -> bool {
        matches!(self, Dialect::Gawk { .. })
    }

    fn is_one_true(self) -> bool {
        matches!(self, Dialect::OneTrue { .. })
    }

    /// Whether it has characters that are treated as bytes, as far as that is the same.
    fn has_unseen_characters(self) -> bool {
        self == Dialect::OneTrue { utf8: true, is_second: true }
    }

    /// Whether strings are of characters, not of bytes.
    fn has_characters(self) -> bool {
        matches!(self, Dialect::Gawk { utf8: true, .. })
    }

    fn rules(self, locale: &Locale) -> Rules {
        let variant = match self {
            Dialect::Gawk { variant, .. } => variant,
            Dialect::Mawk { is_2025: true } => Variant::Mawk2025,
            Dialect::OneTrue { is_second: false, .. } => Variant::OneTrue,
            Dialect::OneTrue { is_second: true, .. } => Variant::OneTrueSecond,
            Dialect::Mawk { is_2025: false } | Dialect::Portable => Variant::Mawk,
        };
        let decodes_case = self == Dialect::OneTrue { utf8: true, is_second: false };
        // mawk reads and writes numbers as the locale does, the others as C does.
        let point = locale.numbers.filter(|_| self.is_mawk()).unwrap_or(NumberFormat::C).point;
        Rules { variant, characters: self.has_characters(), decodes_case, point }
    }
}

/// The parsed arguments of `awk`.
#[derive(Clone, Debug)]
struct Awk {
    compiled: Compiled,
    analysis: Analysis,
    manner: ProgramTraits,
    firsts: Option<FirstOfEachKey>,
    /// How the real awk runs again from the beginning, if it may have to.
    restart: Option<Start>,
    inputs: Vec<Input>,
    scripts: Vec<Vec<u8>>,
    resume: Option<Vec<Vec<u8>>>,
    begin_prints: bool,
    /// Which bytes it can print.
    content: Content,
    /// Whether it prints to standard error.
    warns: bool,
    /// The files that it writes.
    files: Option<FileNames>,
    /// Whether threads can share its records, in words.
    sharing: String,
    over_parts: OverParts,
    /// How many lines of its only input it needs, if no more than a number of them.
    needed_lines: Option<u64>,
}

/// Parses the arguments of `awk`.
pub fn accept(args: &[Vec<u8>], context: &Context, lookup: &dyn Lookup) -> Accept<Box<dyn Command>> {
    accept_as("awk", args, context, lookup)
}

/// Parses the arguments of `gawk`.
pub fn accept_gawk(args: &[Vec<u8>], context: &Context, lookup: &dyn Lookup) -> Accept<Box<dyn Command>> {
    accept_as("gawk", args, context, lookup)
}

/// Parses the arguments of `original-awk`.
pub fn accept_original(args: &[Vec<u8>], context: &Context, lookup: &dyn Lookup) -> Accept<Box<dyn Command>> {
    accept_as("original-awk", args, context, lookup)
}

/// Parses the arguments of `mawk`.
pub fn accept_mawk(args: &[Vec<u8>], context: &Context, lookup: &dyn Lookup) -> Accept<Box<dyn Command>> {
    accept_as("mawk", args, context, lookup)
}

fn accept_as(
    name: &'static str,
    args: &[Vec<u8>],
    context: &Context,
    lookup: &dyn Lookup,
) -> Accept<Box<dyn Command>> {
    let locale = &context.locale;
    // No supported awk orders strings by the locale: mawk and original-awk compare bytes, gawk does so except
    // in POSIX mode.
    if locale.ctype == Charset::Other {
        return Declined::because("the characters of this locale");
    }
    let dialect = Dialect::of(context)?;
    rules::follow(dialect.rules(locale));
    let mut line = arguments::parse(args, dialect, lookup)?;
    let mut program = parse::parse(&line.program, dialect)?;
    line.set_from_the_start(&program)?;
    constant_variables::put_in_place(&mut program, &line);
    if !locale.plain_case && (changes_case(&program) || dialect.is_gawk() && formats_uppercase(&program)) {
        return Declined::because("upper and lower case in this locale");
    }
    if dialect.is_mawk() {
        mawk::check_version(&program, &context.implementation)?;
    }
    let names = Names::of(&program)?;
    names.check_lengths(&program, dialect)?;
    let is_no_variable =
        |name: &String| lex::is_taken(name) || names::is_refused(name) || names.is_no_variable(name);
    if line.variables.iter().any(|(name, _)| is_no_variable(name)) {
        return Declined::because("-v gives a value to what is no variable");
    }
    line.variables.extend(environment::values(&program, &names, dialect, lookup)?);
    let read_files = read_lines::files(&program, &line, dialect, lookup)?;
    let sets_no_records = line.variables.iter().any(|(name, value)| name == "RS" && value.is_empty());
    let ahead = next_record::of_program(&program, line.inputs.len(), sets_no_records)?;
    let analysis = analyse::analyse(&program, &names, &line.variables, dialect)?;
    let fraction_arrays = match dialect.is_gawk() {
        true => fractional_keys::arrays(&program, &line.variables),
        false => BTreeSet::new(),
    };
    let kept = match analysis.array_order {
        ArrayOrder::Hidden => None,
        _ => kept_order::Known::of(&program, dialect, &context.implementation)
            .filter(|known| known.arrays.is_disjoint(&fraction_arrays)),
    };
    if let (ArrayOrder::Shown(reason), None) = (&analysis.array_order, &kept) {
        return Declined::because(reason.clone());
    }
    // Of bytes that are no characters it warns, with the number of the record.
    let warns_of_bytes = dialect.has_characters() && gawk::counts_characters(&program);
    let warns_of_numbers = !rules::is_mawk() && gawk::warns_of_numbers(&program);
    let mut messages = GawkMessages::default();
    if dialect.is_gawk() {
        gawk::check(&program, &line, &fraction_arrays)?;
        if analysis.may_fail || warns_of_bytes || warns_of_numbers {
            messages = gawk::messages(&program, context)?;
        }
    }
    if dialect.is_one_true() {
        one_true::check(&program, &line, args, analysis.may_fail || warns_of_numbers)?;
        if dialect.has_unseen_characters() {
            one_true::check_characters(&program, &line)?;
        }
    }
    let files = output_files::of_program(&program)?;
    if files.is_some() && dialect.is_gawk() {
        locale.messages.in_english()?;
    }
    // It then ends with a message if it cannot open a file.
    let analysis = Analysis { may_fail: analysis.may_fail || files.is_some(), ..analysis };
    if changes_case(&program)
        && (dialect.has_characters() || rules::decodes_case())
        && crate::locale::installed::loaded("C.UTF-8").is_none()
    {
        return Declined::because("upper and lower case: the C library has no tables for UTF-8 here");
    }
    let mut given = arguments::given(name, &line, &program, dialect, &context.implementation)?;
    let is_recursive = recursion::is_in(&program, &names);
    let restarts = is_recursive || compile_made::is_in(&program, &names, &given);
    let analysis = if restarts { with_restart(&program, analysis, kept.is_some())? } else { analysis };
    let names_a_file = mentions(&program, &["FILENAME"]);
    let sums =
        fold::sums(&program, &analysis).and_then(|sums| match (names_a_file, fraction_arrays.is_empty()) {
            (true, _) => Err("it asks for the name of its input".to_owned()),
            (_, false) => {
                Err("an index may be a fraction, and gawk minds which element comes first".to_owned())
            }
            _ => Ok(sums),
        });
    let (folds, no_fold) = (sums.is_ok(), sums.as_ref().err().cloned());
    let fold::Sums { names: sums, count: adds_ones } = sums.unwrap_or_default();
    given.sums = sums;
    given.kept = kept;
    given.fraction_arrays.clone_from(&fraction_arrays);
    given.prints_into_files = files.is_some();
    if given.source.is_empty() {
        given.source = messages.say(Text::CommandLine, &[]);
    }
    given.messages = messages;
    let takes_records = ahead.is_some();
    given.ahead = ahead;
    given.read_files.clone_from(&read_files);
    let added_up = given.sums.iter().cloned().collect::<Vec<_>>().join(", ");
    let compiled = compile::compile(&program, &names, &given)?;
    if compiled.code.made > 0 && !restarts {
        return Declined::because("what is made while the program runs, in a place that was not foreseen");
    }
    let reads = !program.rules.is_empty() || !program.end.is_empty();
    if program.rules.is_empty() && program.end.is_empty() && program.begin.is_empty() {
        return Declined::because("an empty program");
    }
    let begin_stops = program.begin.iter().flatten().any(exits);
    if reads && begin_stops {
        return Declined::because("exit in BEGIN, before anything is read");
    }
    if dialect.is_one_true() && (takes_records || compiled.code.has_paragraphs || files.is_some()) {
        return Declined::because("paragraphs, getline or files in this awk, which were not compared");
    }
    if takes_records && compiled.code.has_paragraphs {
        return Declined::because("getline of paragraphs");
    }
    if compiled.code.has_paragraphs {
        Paragraphs::check(&program, &compiled.code.fields, dialect)?;
    }
    let begin_prints = program.begin.iter().flatten().any(prints);
    let warns = analyse::redirects(&program) || warns_of_bytes || warns_of_numbers;
    // One may take the next even by what the analysis knows is never reached: it is held back until that one is there.
    let apart =
        analysis.carried.is_empty() && !analysis.ranges && !analysis.may_fail && !warns && !takes_records;
    let alone = apart && !analysis.counts;
    let one_input = line.inputs.len() == 1;
    // A process that continues reads a pipe.
    let by_lines = !compiled.code.has_paragraphs;
    let resumes =
        alone && one_input && !analysis.has_end && !begin_prints && reads && !names_a_file && by_lines;
    if dialect.is_mawk() && locale.numbers.is_none() {
        portable_subset::check(&program, &line, locale.ctype)
            .map_err(|_| Declined::new("numbers, whose decimal point in this locale is not known"))?;
    }
    if dialect == Dialect::Portable {
        portable_subset::check(&program, &line, locale.ctype)?;
        if !resumes {
            return Declined::because(
                "records that know of each other, or several inputs, where the awks were not compared",
            );
        }
    }
    let early = if dialect.is_gawk() { asked_early(&program, &names) } else { Early::Never };
    // Without a record, gawk itself runs END: a process that reads an empty pipe.
    let needs_record =
        early == Early::WithoutRecords && one_input && reads && !names_a_file && by_lines && !restarts;
    if early != Early::Never && !needs_record {
        return Declined::because("the length of what gawk may not know as an array yet");
    }
    if dialect.is_gawk() {
        gawk::check_version(&compiled, &context.implementation, warns_of_bytes)?;
    }
    let judges = match dialect {
        Dialect::Gawk { utf8: true, .. } => gawk::judges(&compiled),
        // The second edition of the one true awk decodes what is no UTF-8 in its own way.
        Dialect::Portable if locale.ctype != Charset::C => Judges::ValidUtf8,
        _ if dialect.has_unseen_characters() && has_patterns(&compiled) => Judges::ValidUtf8,
        _ => Judges::AnyBytes,
    };
    if !ascii::is_judged(judges, &program, &line) {
        return Declined::because(
            "characters of the program itself, about which its expressions ask the system's tables",
        );
    }
    if reads && !resumes && !restarts && judges != Judges::AnyBytes {
        return Declined::because(
            "characters beyond ASCII, in a program whose records know of each other, or with several inputs",
        );
    }
    if reads && !resumes && !restarts && dialect.is_mawk() && meets_nul(&program) {
        return Declined::because(
            "tolower, toupper or a replacement from the input, which mawk cuts at a NUL",
        );
    }
    let manner = ProgramTraits {
        name,
        record_end: compiled.code.record_end,
        reads,
        needs_record,
        minds_nul: (resumes || restarts)
            && (dialect == Dialect::Portable
                || dialect.is_one_true() && judges != Judges::AnyBytes
                || dialect.is_mawk() && (meets_nul(&program) || formats(&program))),
        judges,
        rules: Rules { characters: warns_of_bytes, ..dialect.rules(locale) },
        shares: apart
            && by_lines
            && analysis.settles.is_some()
            && analysis.joined.is_empty()
            && !analysis.exits
            && !names_a_file,
        behind: analysis.settles.unwrap_or_default(),
        whole_lines: analysis.whole_lines,
        counts: analysis.may_fail || warns_of_bytes || warns_of_numbers || mentions(&program, &["NR", "FNR"]),
        folds: folds && !takes_records && !begin_prints && !warns && by_lines,
        adds_ones,
        loops: loops(&program) || is_recursive,
        works_on_bytes: dialect.has_characters()
            && locale.plain_case
            && ascii::gains(&compiled, warns_of_bytes)
            && ascii::stays_ascii(&program, &line),
    };
    // Omitted records are no record's neighbours, and are not counted.
    let by_kind = !manner.counts
        && !visit::any_statement(&program, |statement| matches!(statement, tree::Statement::NextFile))
        && !analysis.counts
        && !warns
        && analysis.joined.iter().all(|name| name != LAST_RECORD);
    let firsts = FirstOfEachKey::of(&program, &line.program, &compiled.code.fields)
        // Its helpers know nothing of a NUL that ends a record.
        .filter(|_| {
            by_kind && !dialect.is_one_true() && compiled.code.has_lines() && fraction_arrays.is_empty()
        });
    let inputs = if reads { line.inputs } else { Vec::new() };
    let restart = restarts.then(|| Start::new(args, &inputs));
    let resume = (resumes || needs_record).then_some(line.resume);
    let scripts: Vec<Vec<u8>> =
        line.script.into_iter().chain(read_files.into_iter().map(|(name, _)| name)).collect();
    let sharing = match (manner.shares, manner.folds) {
        (true, _) if manner.behind > 0 => {
            format!("several: no record behind the first {} depends on another", manner.behind)
        }
        (true, _) => "several: no record depends on another".to_owned(),
        (_, true) if added_up.is_empty() => "several".to_owned(),
        (_, true) => {
            format!("several, each of which adds up {added_up}, as long as that is whole numbers")
        }
        _ if firsts.is_some() => {
            "several: each leaves out what it has seen before; what is then left is printed in order by one"
                .to_owned()
        }
        _ => {
            format!(
                "one, which takes the records in order: {}",
                why_in_order(&analysis, no_fold, names_a_file, files.is_some(), by_lines)
            )
        }
    };
    let over_parts =
        if one_input { over_parts::over_parts(&program, &analysis, &manner) } else { OverParts::Unknown };
    let sets_number = line.variables.iter().any(|(name, _)| name == "NR");
    let needed_lines = needed_lines::needed_lines(&program)
        .filter(|_| one_input && compiled.code.has_lines() && files.is_none() && !sets_number);
    let awk = Awk {
        sharing,
        content: if scripts.is_empty() && makes_no_nul(args) { Content::NoNewNul } else { Content::Bytes },
        over_parts,
        needed_lines,
        compiled,
        analysis,
        manner,
        firsts,
        restart,
        inputs,
        scripts,
        resume,
        begin_prints,
        warns,
        files,
    };
    Ok(Box::new(match awk.analysis.array_order {
        ArrayOrder::Shown(_) => awk.in_kept_order(),
        _ => awk,
    }))
}

/// Returns the analysis of a program that the real awk may have to run again: it may end early, with a message, and what was
/// printed until then must be what that awk prints.
fn with_restart(program: &tree::Program, analysis: Analysis, is_order_known: bool) -> Accept<Analysis> {
    restart::check(program)?;
    let array_order = match analysis.array_order {
        ArrayOrder::InLines if is_order_known => {
            ArrayOrder::Shown("what it prints shows the order of an array".to_owned())
        }
        ArrayOrder::InLines => {
            return Declined::because(
                "lines in the order of an array, beside what is made while the program runs",
            );
        }
        order => order,
    };
    Ok(Analysis { may_fail: true, array_order, ..analysis })
}

impl Awk {
    /// Keeps the real awk's order of the arrays that are looped over; it must be known. The program's records are then
    /// worked on in order.
    fn in_kept_order(mut self) -> Self {
        self.compiled.code.in_kept_order = self.compiled.kept.clone();
        self.analysis.array_order = ArrayOrder::Hidden;
        self.manner = ProgramTraits { shares: false, folds: false, ..self.manner };
        self.firsts = None;
        self.over_parts = OverParts::Unknown;
        self.sharing =
            "one, which takes the records in order: the program prints in the order in which it keeps an array"
                .to_owned();
        self
    }
}

/// Whether it prints a NUL only if its input holds one: no escape, no format (`%c`) and no other file brings it.
fn makes_no_nul(args: &[Vec<u8>]) -> bool {
    let brings_nul = |word: &[u8]| args.iter().any(|arg| memchr::memmem::find(arg, word).is_some());
    !may_escape_nul(args) && ![&b"printf"[..], b"FMT", b"getline"].into_iter().any(brings_nul)
}

/// Returns why threads cannot share its records.
fn why_in_order(
    analysis: &Analysis,
    no_fold: Option<String>,
    names_a_file: bool,
    prints_into_files: bool,
    by_lines: bool,
) -> String {
    let list = |names: &[String]| names.join(", ");
    match analysis {
        _ if !by_lines => "records end at empty lines".to_owned(),
        _ if names_a_file => "it asks for the name of its input".to_owned(),
        _ if prints_into_files => "it prints into files".to_owned(),
        Analysis { carried, .. } if carried.iter().any(|name| name == effects::PLACE_IN_A_FILE) => {
            "getline takes one behind another".to_owned()
        }
        Analysis { ranges: true, .. } => "a range begins in one and ends in another".to_owned(),
        Analysis { settles: None, .. } => "the program asks for their numbers (NR)".to_owned(),
        Analysis { exits: true, .. } => "it may end before its input does".to_owned(),
        Analysis { may_fail: true, .. } => "an error may end it".to_owned(),
        Analysis { carried, has_end: false, .. } if !carried.is_empty() => {
            format!("each finds {} as another has left it", list(carried))
        }
        _ => no_fold.unwrap_or_else(|| "END reads what they leave".to_owned()),
    }
}

fn exits(statement: &tree::Statement) -> bool {
    visit::any_below(statement, |inner| matches!(inner, tree::Statement::Exit(_))) || calls(statement)
}

fn prints(statement: &tree::Statement) -> bool {
    visit::any_below(statement, tree::Statement::is_print) || calls(statement)
}

/// Whether it calls a function of the program.
fn calls(statement: &tree::Statement) -> bool {
    visit::any_expr_below(statement, |part| matches!(part, tree::Expr::Call(..)))
}

fn changes_case(program: &tree::Program) -> bool {
    use tree::{Builtin, Expr};
    visit::any_expr(program, |expr| matches!(expr, Expr::Builtin(Builtin::ToLower | Builtin::ToUpper, _)))
}

/// Whether a string may be a format for numbers in upper case: gawk writes infinity and NaN there by the locale.
fn formats_uppercase(program: &tree::Program) -> bool {
    use tree::{Builtin, Expr, Statement};
    let is_format = |text: &[u8]| text.contains(&b'%') && text.iter().any(|byte| b"EGX".contains(byte));
    let is_unknown = |args: &[Expr]| !matches!(args, [Expr::Text(_), ..]);
    visit::any_expr(program, |expr| match expr {
        Expr::Text(text) => is_format(text),
        Expr::Builtin(Builtin::Sprintf, args) => is_unknown(args),
        _ => false,
    }) || visit::any_statement(
        program,
        |statement| matches!(statement, Statement::Printf(args, _) if is_unknown(args)),
    )
}

/// Whether it does something that mawk does only up to a NUL in a string: the real awk must process a record
/// with one.
fn meets_nul(program: &tree::Program) -> bool {
    use tree::{Builtin, Expr};
    let replaces = |expr: &Expr| match expr {
        Expr::Builtin(Builtin::Sub | Builtin::Gsub, args) => !matches!(args.get(1), Some(Expr::Text(_))),
        _ => false,
    };
    changes_case(program) || visit::any_expr(program, replaces)
}

/// Whether it searches for expressions, or separates by them.
fn has_patterns(compiled: &Compiled) -> bool {
    let mut separators = compiled.separators.iter().chain([&compiled.code.fields]);
    !compiled.patterns.is_empty() || separators.any(|separator| separator.pattern().is_some())
}

fn loops(program: &tree::Program) -> bool {
    use tree::Statement::{Do, For, ForIn, While};
    visit::any_statement(program, |statement| matches!(statement, While(..) | Do(..) | For(..) | ForIn(..)))
}

/// Whether it formats: mawk uses the C library, for which a string ends at a NUL.
fn formats(program: &tree::Program) -> bool {
    use tree::{Builtin, Expr, Statement};
    visit::any_statement(program, |statement| matches!(statement, Statement::Printf(..)))
        || visit::any_expr(program, |expr| matches!(expr, Expr::Builtin(Builtin::Sprintf, _)))
}

/// Whether one of these names occurs in it.
fn mentions(program: &tree::Program, names: &[&str]) -> bool {
    let is_one = |expr: &tree::Expr| matches!(expr, tree::Expr::Name(name) if names.contains(&name.as_str()));
    visit::any_expr(program, is_one)
}

impl Command for Awk {
    fn facts(&self) -> Facts {
        let analysis = &self.analysis;
        let reads = self.manner.reads;
        let each_alone =
            self.manner.shares && !analysis.counts && self.inputs.len() == 1 && !analysis.has_end;
        let stops_early = match () {
            () if analysis.exits && reads => Some(EarlyStop::Done),
            () if analysis.may_fail => Some(EarlyStop::Problem),
            () => None,
        };
        Facts {
            record_end: self.manner.record_end,
            over_parts: self.over_parts.clone(),
            input: InputFacts {
                stops_early,
                needed_lines: self.needed_lines,
                reads_again: self.restart.is_some().then_some(self.manner.name),
                ..InputFacts::default()
            },
            output: OutputFacts {
                blocks_until_eof: reads && !each_alone && !analysis.prints_records && !self.begin_prints,
                order_is_unspecified: analysis.array_order != ArrayOrder::Hidden,
                files: self.files.clone(),
                content: self.content,
                ..OutputFacts::default()
            },
            diagnostics: Diagnostics {
                show_name: analysis.may_fail || self.manner.rules.characters,
                // What prints into files only has no output to overtake.
                overtake_output: (analysis.may_fail || self.warns)
                    && !self.files.as_ref().is_some_and(|files| files.only),
            },
            scripts: self.scripts.clone(),
            sharing: reads.then(|| self.sharing.clone()),
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        let restart = self.restart.clone().map(Restart::new);
        Ok(Box::new(AwkKernel::new(&self.compiled, self.manner, self.firsts.clone(), restart)))
    }

    fn kernel_for(&self, case: Special<'_>) -> Option<Accept<Box<dyn Kernel>>> {
        let kernel = || AwkKernel::new(&self.compiled, self.manner, None, None);
        match case {
            Special::Part if self.over_parts == OverParts::Folded => Some(Ok(Box::new(PartKernel(kernel())))),
            Special::PartSums if self.over_parts == OverParts::Folded => {
                Some(Ok(Box::new(PartsKernel::new(kernel()))))
            }
            _ => None,
        }
    }

    fn resume_args(&self) -> Option<Vec<Vec<u8>>> {
        self.resume.clone()
    }

    fn in_real_order(&self) -> Option<Box<dyn Command>> {
        let is_known = self.compiled.kept.is_some() && self.analysis.array_order != ArrayOrder::Hidden;
        is_known.then(|| Box::new(self.clone().in_kept_order()) as Box<dyn Command>)
    }
}
