//! Compares the expressions with the installed GNU grep 3.8 and GNU sed 4.9: fixed hard cases, and a slice of a
//! random campaign. `PELTON_FUZZ_CASES` and `PELTON_SEED` make the slice as long as one likes (`cargo xtask fuzz`).

mod cases;
mod generate;
mod tools;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::{Duration, Instant};

use pelton_commands::Charset;
use pelton_commands::regex::{Flavour, Judges, Newline, Options, Regex, Within, compile};

use generate::Dialect;
use pelton_testkit::Campaign;
use pelton_testkit::CaseReport;
use pelton_testkit::Random;
use pelton_testkit::campaign_settings;
use tools::Replace;

const GREP: &str = "grep (GNU grep) 3.8";
const SED: &str = "sed (GNU sed) 4.9";

/// One question: expressions, options, lines.
#[derive(Clone, Debug)]
struct Question {
    flavour: Flavour,
    charset: Charset,
    ignore_case: bool,
    within: Within,
    /// sed: every `N` of a line becomes a newline first.
    newlines: bool,
    expressions: Vec<Vec<u8>>,
    block: Vec<u8>,
}

/// How a question went.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Equal,
    Declined(String),
    /// The tool did not end: there is no answer to compare with.
    Endless,
    Different(String),
}

impl Question {
    fn is_sed(&self) -> bool {
        matches!(self.flavour, Flavour::SedBasic | Flavour::SedExtended)
    }

    fn options(&self) -> Options<'static> {
        Options {
            charset: self.charset,
            ignore_case: self.ignore_case,
            within: self.within,
            newline: if self.newlines { Newline::IsCharacter } else { Newline::EndsLine },
            stray_backslash_is_quiet: true,
            spans: self.is_sed(),
            ..Options::new(self.flavour)
        }
    }

    fn compile(&self, options: &Options) -> Result<Regex, String> {
        let expressions: Vec<&[u8]> = self.expressions.iter().map(Vec::as_slice).collect();
        compile(&expressions, options).map_err(|declined| declined.reason)
    }

    /// The lines that the expression can judge.
    fn judged_block(&self, judges: Judges) -> Vec<u8> {
        let lines = self.block.split_inclusive(|&b| b == b'\n');
        lines.filter(|line| judges.first_unjudged(line).is_none()).flatten().copied().collect()
    }

    /// As a case for `cases/*.toml`.
    fn toml(&self, name: &str) -> String {
        let locale = if self.charset == Charset::Utf8 { "C.UTF-8" } else { "C" };
        let (args, script) = (self.grep_args(), self.sed_script(None));
        let argv: Vec<&[u8]> = match self.flavour {
            Flavour::SedBasic => vec![b"sed", b"-n", b"-e", &script],
            Flavour::SedExtended => vec![b"sed", b"-n", b"-E", b"-e", &script],
            _ => [&b"grep"[..], b"-onb"].into_iter().chain(args.iter().map(Vec::as_slice)).collect(),
        };
        let stages = vec![argv];
        CaseReport { stages, files: vec![], stdin: &self.block, piped: true, locale }.toml(name)
    }

    fn ask(&self) -> Outcome {
        if self.is_sed() { self.ask_sed() } else { self.ask_grep() }
    }

    fn grep_args(&self) -> Vec<Vec<u8>> {
        let mut args: Vec<Vec<u8>> = vec![match self.flavour {
            Flavour::GrepExtended => b"-aE".to_vec(),
            Flavour::GrepFixed => b"-aF".to_vec(),
            _ => b"-aG".to_vec(),
        }];
        if self.ignore_case {
            args.push(b"-i".to_vec());
        }
        match self.within {
            Within::Anywhere => {}
            Within::Word => args.push(b"-w".to_vec()),
            Within::Line => args.push(b"-x".to_vec()),
        }
        for expression in &self.expressions {
            args.push(b"-e".to_vec());
            args.push(expression.clone());
        }
        args
    }

    fn ask_grep(&self) -> Outcome {
        let mut options = self.options();
        let mut regex = match self.compile(&options) {
            Ok(regex) => regex,
            Err(reason) => return Outcome::Declined(reason),
        };
        options.spans = true;
        let mut finder = self.compile(&options).ok();
        let args = self.grep_args();
        for mode in ["-n", "-h", "-onb"] {
            let mut args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
            args.push(mode.as_bytes());
            let judges = match &finder {
                Some(finder) if mode == "-onb" => finder.judges_all(),
                _ => regex.judges(),
            };
            let block = self.judged_block(judges);
            let ours = match mode {
                "-n" => Ok(tools::grep_lines(&mut regex, &block)),
                "-h" => Ok(tools::grep_block(&mut regex, &block)),
                _ => match &mut finder {
                    Some(regex) => tools::grep_only(regex, &block),
                    None => break,
                },
            };
            let theirs = tools::run("grep", &args, self.charset, &block);
            if theirs.endless {
                return Outcome::Endless;
            }
            if theirs.complained {
                return Outcome::Different("grep complains".to_owned());
            }
            if let Some(difference) = difference(mode, ours.ok(), &theirs.output) {
                return Outcome::Different(difference);
            }
        }
        Outcome::Equal
    }

    fn ask_sed(&self) -> Outcome {
        let mut options = self.options();
        let mut plain = match self.compile(&options) {
            Ok(regex) => regex,
            Err(reason) => return Outcome::Declined(reason),
        };
        let groups: Vec<usize> = (1..=plain.groups().min(9)).collect();
        options.groups = &groups;
        let mut traced = self.compile(&options).ok().filter(|_| !groups.is_empty());
        let block = self.judged_block(plain.judges_all());
        let script = self.sed_script(traced.is_some().then_some(groups.len()));
        let mut args: Vec<&[u8]> = vec![b"-n", b"-e", &script];
        if self.flavour == Flavour::SedExtended {
            args.insert(0, b"-E");
        }
        let theirs = tools::run("sed", &args, self.charset, &block);
        if theirs.endless {
            return Outcome::Endless;
        }
        if theirs.complained {
            return Outcome::Different("sed complains".to_owned());
        }
        let ours = self.sed_answer(&mut plain, traced.as_mut(), &block);
        match difference("s", ours, &theirs.output) {
            Some(difference) => Outcome::Different(difference),
            None => Outcome::Equal,
        }
    }

    /// For each line: all matches, the second match, the groups of the first, and whether there is one.
    fn sed_script(&self, groups: Option<usize>) -> Vec<u8> {
        let flags = if self.ignore_case { "I" } else { "" };
        let expression = &self.expressions[0];
        let print = if self.newlines { ";s/\\n/N/g;p;" } else { ";p;" };
        let mut script = Vec::new();
        let substitute = |replacement: &str, which: &str| {
            [
                b"g;s\x01",
                expression.as_slice(),
                format!("\x01{replacement}\x01{which}{flags}{print}").as_bytes(),
            ]
            .concat()
        };
        script.extend(if self.newlines { &b"s/N/\\n/g;"[..] } else { b"" });
        script.extend(b"h;");
        script.extend(substitute("<&>", "g"));
        script.extend(substitute("<&>", "2"));
        if let Some(groups) = groups {
            let replacement: String = (1..=groups).map(|group| format!("[\\{group}]")).collect();
            script.extend(substitute(&replacement, "g"));
        }
        script.extend(b"g;\\\x01");
        script.extend(expression);
        script.extend(format!("\x01{flags}!s/^/no/{print}").into_bytes());
        script
    }

    fn sed_answer(&self, plain: &mut Regex, mut traced: Option<&mut Regex>, block: &[u8]) -> Option<Vec<u8>> {
        let utf8 = self.charset == Charset::Utf8;
        let mut output = Vec::new();
        let mut put = |bytes: &[u8]| {
            output.extend(bytes.iter().map(|&b| if b == b'\n' { b'N' } else { b }));
            output.push(b'\n');
        };
        let all = Replace { nth: 1, global: true, groups: false };
        for line in tools::lines(block) {
            let swap = |b: &u8| if self.newlines && *b == b'N' { b'\n' } else { *b };
            let text: Vec<u8> = block[line].iter().map(swap).collect();
            let (matches, replaced) = tools::substitute(plain, &text, utf8, all).ok()?;
            put(&replaced);
            put(&tools::substitute(plain, &text, utf8, Replace { nth: 2, global: false, ..all }).ok()?.1);
            if let Some(regex) = &mut traced {
                put(&tools::substitute(regex, &text, utf8, Replace { groups: true, ..all }).ok()?.1);
            }
            let verdict = plain.is_match(&text, 0..text.len());
            assert_eq!(matches, verdict, "the search and the verdict differ: {self:?}");
            put(&[if matches { &b""[..] } else { b"no" }, &text].concat());
        }
        Some(output)
    }
}

fn difference(what: &str, ours: Option<Vec<u8>>, theirs: &[u8]) -> Option<String> {
    let Some(ours) = ours else { return Some(format!("{what}: gave up")) };
    if ours == theirs {
        return None;
    }
    let pairs = ours.split(|&b| b == b'\n').zip(theirs.split(|&b| b == b'\n'));
    let first = pairs.enumerate().find(|(_, (ours, theirs))| ours != theirs);
    let (line, (ours, theirs)) = first.unwrap_or((0, (&[], b"one is longer")));
    Some(format!(
        "{what}: line {line}: ours {:?} theirs {:?}",
        ours.escape_ascii().to_string(),
        theirs.escape_ascii().to_string()
    ))
}

fn random_question(random: &mut Random) -> Question {
    let flavours = [
        Flavour::GrepBasic,
        Flavour::GrepExtended,
        Flavour::GrepFixed,
        Flavour::SedBasic,
        Flavour::SedExtended,
        Flavour::SedBasic,
        Flavour::SedExtended,
        Flavour::GrepExtended,
    ];
    let flavour = flavours[random.below(flavours.len())];
    let sed = matches!(flavour, Flavour::SedBasic | Flavour::SedExtended);
    let charset = if random.one_in(2) { Charset::Utf8 } else { Charset::C };
    let utf8 = charset == Charset::Utf8;
    let dialect =
        Dialect { extended: matches!(flavour, Flavour::GrepExtended | Flavour::SedExtended), sed, utf8 };
    let within = match random.below(8) {
        0 if !sed => Within::Word,
        1 if !sed => Within::Line,
        _ => Within::Anywhere,
    };
    let count = if !sed && random.one_in(5) { 2 + random.below(2) } else { 1 };
    let expressions = (0..count).map(|_| generate::expression(random, dialect).into_bytes()).collect();
    let newlines = sed && random.one_in(4);
    let ignore_case = random.one_in(4);
    let wild = !utf8 || random.one_in(2);
    let mut block = Vec::new();
    for _ in 0..30 {
        block.extend(generate::line(random, utf8, wild));
        if newlines && random.one_in(2) {
            block.push(b'N');
            block.extend(generate::line(random, utf8, wild));
        }
        block.push(b'\n');
    }
    Question { flavour, charset, ignore_case, within, newlines, expressions, block }
}

/// Shorter questions that still differ, tried until none does.
fn shrink(mut question: Question) -> Question {
    let differs = |question: &Question| matches!(question.ask(), Outcome::Different(_));
    loop {
        let Some(smaller) = smaller(&question).into_iter().find(differs) else { return question };
        question = smaller;
    }
}

fn smaller(question: &Question) -> Vec<Question> {
    let mut candidates = Vec::new();
    let lines: Vec<&[u8]> = question.block.split_inclusive(|&b| b == b'\n').collect();
    let mut with_block = |block: Vec<u8>| candidates.push(Question { block, ..question.clone() });
    if lines.len() > 1 {
        with_block(lines[..lines.len() / 2].concat());
        with_block(lines[lines.len() / 2..].concat());
        (0..lines.len()).for_each(|at| with_block([&lines[..at], &lines[at + 1..]].concat().concat()));
    } else {
        (0..question.block.len().saturating_sub(1)).for_each(|at| {
            with_block([&question.block[..at], &question.block[at + 1..]].concat());
        });
    }
    for (index, expression) in question.expressions.iter().enumerate() {
        if question.expressions.len() > 1 {
            let mut fewer = question.clone();
            fewer.expressions.remove(index);
            candidates.push(fewer);
        }
        for width in [3, 2, 1] {
            for at in 0..(expression.len() + 1).saturating_sub(width) {
                let mut shorter = question.clone();
                shorter.expressions[index] = [&expression[..at], &expression[at + width..]].concat();
                candidates.push(shorter);
            }
        }
    }
    candidates
}

fn tools_are_installed() -> bool {
    tools::is_installed("grep", GREP) && tools::is_installed("sed", SED)
}

#[test]
fn random_expressions_match_as_in_the_real_tools() {
    if !tools_are_installed() {
        return;
    }
    let settings = Campaign::from_env();
    let (seed, wanted) = (settings.seed, settings.cases.map(|cases| cases as usize));
    let started = Instant::now();
    let mut tally: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = Vec::new();
    let mut asked = 0;
    let goes_on =
        |asked: usize| wanted.map_or(started.elapsed() < Duration::from_secs(4), |wanted| asked < wanted);
    while goes_on(asked) && found.len() < 20 {
        let question =
            random_question(&mut Random::new(seed.wrapping_mul(1 << 32).wrapping_add(asked as u64)));
        asked += 1;
        let outcome = question.ask();
        let kind = match &outcome {
            Outcome::Equal => "equal".to_owned(),
            Outcome::Endless => "endless in the tool".to_owned(),
            Outcome::Declined(reason) => {
                format!("declined: {}", reason.split(" before ").next().unwrap_or_default())
            }
            Outcome::Different(_) => {
                found.push(shrink(question));
                "different".to_owned()
            }
        };
        *tally.entry(kind).or_default() += 1;
    }
    let report = tally.iter().map(|(kind, count)| format!("{count:8} {kind}\n")).collect::<String>();
    let counted = |prefix: &str| {
        tally.iter().filter(|(kind, _)| kind.starts_with(prefix)).map(|(_, count)| *count as u64).sum::<u64>()
    };
    let tally = campaign_settings::tally(
        "regex",
        &[
            ("expressions", counted("equal") + counted("different")),
            ("declined", counted("declined")),
            ("differences", found.len() as u64),
        ],
    );
    let _ = writeln!(std::io::stdout(), "{tally}");
    for (index, question) in found.iter().enumerate() {
        let name = format!("regex-{seed}-{index}");
        let comment: String = shown(question).lines().map(|line| format!("# {line}\n")).collect();
        settings.keep(&name, &(comment + &question.toml(&name)));
    }
    let differences: String = found.iter().map(shown).collect();
    assert!(found.is_empty(), "{asked} asked\n{report}\n{differences}");
}

/// As a line of the report.
fn shown(question: &Question) -> String {
    let expressions: Vec<String> =
        question.expressions.iter().map(|text| text.escape_ascii().to_string()).collect();
    format!(
        "{:?} {:?} i={} {:?} newlines={} {expressions:?}\n  on {:?}\n  {:?}\n",
        question.flavour,
        question.charset,
        question.ignore_case,
        question.within,
        question.newlines,
        question.block.escape_ascii().to_string(),
        question.ask()
    )
}
