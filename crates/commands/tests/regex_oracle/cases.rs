//! Fixed cases: what is known to be hard in POSIX matching, and every difference that a campaign found.

use pelton_commands::Charset;
use pelton_commands::regex::{Flavour, Within};

use super::{Outcome, Question};

/// Lines that give most expressions below something to do.
const LINES: &str = "\n\
    a\nb\nab\naab\nabcd\nabc abc\nxabcx abab\naaa\nbaaac d\n a  b \n-a-\nfoo bar-foo\n_a1 2b\nN\nKs\n\
    a]b\n[a]\na*b\n*a\na^b\na$b\n^a\n$\na\\b\na+b\na?b\na{2}b\na{1\n{x\na|b\n(a)\nab\tb\n2024-01-31 12:00\nzzzz\n";

fn ask(flavour: Flavour, expression: &str, change: impl Fn(&mut Question)) -> Outcome {
    let mut question = Question {
        flavour,
        charset: Charset::C,
        ignore_case: false,
        within: Within::Anywhere,
        newlines: false,
        expressions: vec![expression.as_bytes().to_vec()],
        block: LINES.as_bytes().to_vec(),
    };
    change(&mut question);
    question.ask()
}

const GREPS: [Flavour; 2] = [Flavour::GrepBasic, Flavour::GrepExtended];
const SEDS: [Flavour; 2] = [Flavour::SedBasic, Flavour::SedExtended];
const BASIC: [Flavour; 2] = [Flavour::GrepBasic, Flavour::SedBasic];
const EXTENDED: [Flavour; 2] = [Flavour::GrepExtended, Flavour::SedExtended];

/// Accepted, and the same as in the tool, in both charsets.
fn equal(flavours: &[Flavour], expressions: &[&str]) {
    for &flavour in flavours.iter().filter(|_| super::tools_are_installed()) {
        for expression in expressions {
            for charset in [Charset::C, Charset::Utf8] {
                let outcome = ask(flavour, expression, |question| question.charset = charset);
                assert_eq!(outcome, Outcome::Equal, "{flavour:?} {charset:?} {expression:?}");
            }
        }
    }
}

fn declined(flavours: &[Flavour], expressions: &[&str]) {
    for &flavour in flavours {
        for expression in expressions {
            let outcome = ask(flavour, expression, |_| {});
            assert!(matches!(outcome, Outcome::Declined(_)), "{flavour:?} {expression:?}: {outcome:?}");
        }
    }
}

#[test]
fn the_longest_of_the_leftmost() {
    equal(
        &EXTENDED,
        &["(a|ab)(c|bcd)(d*)", "a|ab|abc", "(a|ab|b)*", "x*|b", "(a*)(ab)*(b*)", "foo|foo bar", "a|a.*b"],
    );
    equal(&BASIC, &["\\(a\\|ab\\)\\(c\\|bcd\\)\\(d*\\)", "a\\|ab", "\\(a*\\)*"]);
}

#[test]
fn matches_of_nothing() {
    equal(&[GREPS, SEDS].concat(), &["x*", "a*", "b*", "$", "^", "^$", "a*$", "^a*", "\\b", "\\<", "\\>"]);
    equal(&EXTENDED, &["()", "a|", "|a", "a||b", "(|a)b", "(a|)(|b)", "(a?)(b?)", "a{0}", "()*"]);
    equal(&BASIC, &["\\(\\)", "a\\|", "\\|a", "a\\{0\\}"]);
}

#[test]
fn operators_that_are_characters_where_they_stand() {
    equal(
        &BASIC,
        &[
            "*a", "^*a", "\\(*a\\)", "a\\|*b", "a^b", "a$b", "\\(^a\\)", "\\(a$\\)", "a\\|^b", "{2}", "a+b",
            "a|b", "^$*",
        ],
    );
    equal(&[Flavour::GrepExtended], &["a{x", "a{", "a{ 1}", "a{,2}", "a{2}b", "a\\{2}"]);
    equal(&EXTENDED, &["a\\|b", "\\(a\\)", "a\\+b", "a^b", "a$b", "(^a)", "(a$)", "a|^b"]);
}

#[test]
fn repetitions_of_repetitions() {
    equal(&[Flavour::GrepBasic], &["a**", "a\\{2\\}\\{3\\}", "a\\{1,2\\}*", "a*\\{2\\}"]);
    equal(&EXTENDED, &["a**", "a{2}{3}", "a+?", "(a{1,2}){2}", "a{,}", "(ab?){1,3}"]);
    declined(&[Flavour::SedBasic], &["a**", "a\\{2\\}\\{3\\}"]);
}

#[test]
fn brackets() {
    equal(
        &[GREPS, SEDS].concat(),
        &[
            "[]a]",
            "[^]a]",
            "[a-]",
            "[-a]",
            "[]-]",
            "[a^]",
            "[$*.]",
            "[[:alpha:]_-]",
            "[^[:space:]]",
            "[\\.]",
            "[a\\]",
            "[[]",
        ],
    );
    equal(&SEDS, &["[\\n]", "[\\t]", "[^\\n]", "[\\\\n]", "[\\]]", "a[\\t ]b"]);
    declined(
        &[GREPS, SEDS].concat(),
        &["[a", "[[:foo:]]", "[:space:]", "[[.a.]]", "[[=a=]]", "[z-a]", "[a-c-e]", "[é-ü]"],
    );
}

#[test]
fn escapes() {
    equal(
        &[GREPS, SEDS].concat(),
        &["\\w\\+", "\\W", "\\s", "\\S*", "\\`a", "b\\'", "\\<a", "b\\>", "\\bb\\b", "\\.\\*"],
    );
    equal(&SEDS, &["\\t", "\\x41", "\\o141", "\\d097", "\\n", "\\-", "\\/", "a\\x62"]);
    declined(&SEDS, &["\\x5e", "\\cA", "\\x", "\\y"]);
    equal(&[Flavour::GrepBasic], &["\\(a\\)\\1"]);
    equal(&[Flavour::GrepExtended], &["(a)\\1"]);
    declined(&[Flavour::SedBasic], &["\\(a\\)\\1"]);
    declined(&[Flavour::SedExtended], &["(a)\\1"]);
    declined(&BASIC, &["a\\", "\\(a", "a\\)"]);
    declined(&EXTENDED, &["a\\", "(a", "a)"]);
}

#[test]
fn words_and_lines() {
    for expression in ["a", "ab", "abc|a", "foo", "[a-z]+", "a.", "a|ab"] {
        for within in [Within::Word, Within::Line] {
            let outcome = ask(Flavour::GrepExtended, expression, |question| question.within = within);
            assert!(
                super::tools_are_installed()
                    .then_some(outcome)
                    .is_none_or(|outcome| outcome == Outcome::Equal)
            );
        }
    }
}

/// What campaigns found, with what became of it.
#[test]
fn differences_that_were_found() {
    let with = |flavour, expression: &str, block: &'static [u8], ignore_case, newlines| {
        let charset = Charset::Utf8;
        ask(flavour, expression, |question| {
            *question =
                Question { charset, ignore_case, newlines, block: block.to_vec(), ..question.clone() };
        })
    };
    let declines = |outcome: Outcome| assert!(matches!(outcome, Outcome::Declined(_)), "{outcome:?}");
    // glibc folds the ends of a range first, and finds Z before \.
    declines(with(Flavour::GrepExtended, "[\\-z]", b"a\n", true, false));
    // A circumflex after a newline matches there, without the M flag.
    declines(with(Flavour::SedExtended, ".(^)", b"N\n", false, true));
    // This keeps sed busy for ever.
    declines(with(Flavour::SedBasic, "\\(\\|^c\\{0,3\\}.\\{2\\}c\\)\\+", b"N\n", false, true));
    // Behind a word at the end of a line there is no \B, but sed finds one.
    declines(with(Flavour::SedExtended, ".*\\B", b"aB\n", false, false));
    // Braces that hold no interval are characters, unless they look too much like one.
    declines(with(Flavour::GrepExtended, "c{}", b"c\n", false, false));
    // With this, grep -o finds the end of a word behind a blank.
    declines(with(Flavour::GrepBasic, "[^_]\\(\\(.\\{,2\\}\\)\\{3\\}\\>\\)", b"-AB}]  -\n", false, false));
    // In a basic expression, the dfa takes this dollar for an anchor.
    declines(with(Flavour::GrepBasic, "$)*", b"\n", false, false));
    // A stray backslash before a letter makes `-i -o` find nothing.
    declines(with(Flavour::GrepBasic, "\\c", b"c\n", true, false));
    // The dfa takes the star as a repetition, glibc as a character.
    declines(with(Flavour::GrepBasic, " \\`*", b" \n", false, false));
    declines(with(Flavour::GrepExtended, "^*a", b"xa\n", false, false));
    if !super::tools_are_installed() {
        return;
    }
    // After a match of nothing, sed goes on at the next byte, even inside a character: not judged.
    assert_eq!(with(Flavour::SedBasic, "x*", "é\nb\n".as_bytes(), false, false), Outcome::Equal);
    assert_eq!(with(Flavour::GrepExtended, "[^a-z]", b"\xC4\xB1k\xE9\n", true, false), Outcome::Equal);
    // Surrogates and what lies beyond Unicode: the dfa's dot and glibc's differ, so they are not judged.
    let beyond = b"\xED\xA0\x80c\n\xF4\x90\x80\x80\n\xF8\x88\x80\x80\x80c\n";
    assert_eq!(with(Flavour::GrepExtended, ".", beyond, false, false), Outcome::Equal);
    assert_eq!(with(Flavour::GrepExtended, "^[^a]c*$", beyond, false, false), Outcome::Equal);
    assert_eq!(with(Flavour::SedExtended, ".", beyond, false, false), Outcome::Equal);
    // Folding ı changes its length, and with invalid bytes about, glibc's offsets: not judged.
    assert_eq!(with(Flavour::SedExtended, "[A]", b"\xC4\xB1a\xC3\na\n", true, false), Outcome::Equal);
    // So does a word's edge: the greedy dot leaves a letter to the group. Groups declined, spans equal.
    let edge = ".\\+\\(\\b\\(}\\{0\\}\\)[a-z]\\{,\\}\\)";
    assert_eq!(with(Flavour::SedBasic, edge, b"-b\n- b\n", false, false), Outcome::Equal);
    // An anchor renumbers what follows: the dot takes the a, not the group. Groups declined, spans equal.
    assert_eq!(with(Flavour::SedExtended, "(a$)|.", "üa\n".as_bytes(), false, false), Outcome::Equal);
}

/// Every code point as a line of its own; beyond those that classes name, only in a campaign.
#[test]
fn every_character_is_in_the_same_classes() {
    let last = if std::env::var_os("PELTON_FUZZ_CASES").is_some() { char::MAX as u32 } else { 0x3100 };
    let block: String =
        (1..=last).filter(|&c| c != '\n' as u32).filter_map(char::from_u32).flat_map(|c| [c, '\n']).collect();
    let expressions = [
        "^.$",
        "^[^a]$",
        "^[[:space:]]$",
        "^[[:blank:]]$",
        "^\\s$",
        "^\\S$",
        "^[[:digit:]]$",
        "^[[:xdigit:]]$",
        "^[^[:space:]é]$",
    ];
    for (expression, ignore_case) in expressions.iter().map(|text| (*text, false)).chain([
        ("^[a-z]$", true),
        ("^i$", true),
        ("^[^a-z]$", true),
    ]) {
        let outcome = ask(Flavour::GrepBasic, expression, |question| {
            question.charset = Charset::Utf8;
            question.ignore_case = ignore_case;
            question.block = block.clone().into_bytes();
        });
        assert!(!super::tools_are_installed() || outcome == Outcome::Equal, "{expression}: {outcome:?}");
    }
}
