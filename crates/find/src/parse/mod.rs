//! Parses GNU find's arguments. Unsupported and erroneous ones are left to the real find, with a reason.

mod numbers;
mod predicate;

use crate::message::NameStyle;
use crate::query::{Action, CommandLine, Expr, Follow, Query, Test};
use pelton_sys::directories::{self, Time};
use pelton_sys::libc_patterns::Syntax;
use std::ffi::CString;

/// The environment that the meaning of arguments depends on.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// Whether characters are encoded in UTF-8; otherwise in ASCII.
    pub utf8: bool,
    /// Whether standard output is a terminal.
    pub output_is_terminal: bool,
    /// Whether standard input is a terminal: find then prints warnings.
    pub input_is_terminal: bool,
}

/// Why the real find must run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmodelled(pub String);

impl std::fmt::Display for Unmodelled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for Unmodelled {
    fn from(reason: String) -> Self {
        Unmodelled(reason)
    }
}

type Read<T> = Result<T, Unmodelled>;

fn unmodelled<T>(reason: impl Into<String>) -> Read<T> {
    Err(Unmodelled(reason.into()))
}

/// Maximum nesting of parentheses and negations.
const DEEPEST: usize = 200;

struct Parser<'a> {
    words: &'a [Vec<u8>],
    at: usize,
    around: Surroundings,
    query: Query,
    syntax: Syntax,
    now: Time,
    /// Whether there is an action besides -prune and -quit: then there is no implicit -print.
    prints_itself: bool,
    prunes: bool,
    deletes: bool,
    explicit_depth: bool,
    seen_test: bool,
    depth: usize,
}

/// Parses the arguments.
///
/// # Errors
/// If an argument is unsupported or wrong.
pub fn parse(args: &[Vec<u8>], around: Surroundings) -> Result<Query, Unmodelled> {
    let (follow, rest) = leading_options(args)?;
    let count = rest.iter().take_while(|word| !begins_expression(word)).count();
    if rest[..count].iter().any(|word| matches!(word.as_slice(), b")" | b",")) {
        return unmodelled("a starting point that looks like an operator");
    }
    let starts = if count == 0 { vec![b".".to_vec()] } else { rest[..count].to_vec() };
    let starts =
        starts.into_iter().map(|start| CString::new(start).map_err(|_| Unmodelled("a NUL in a path".into())));
    let query = Query {
        starts: starts.collect::<Read<_>>()?,
        follow,
        expression: Expr::Test(Test::Always(true)),
        min_depth: 0,
        max_depth: u32::MAX,
        contents_first: false,
        one_file_system: false,
        commands: Vec::new(),
        acts: false,
        quits: false,
        manner: NameStyle { utf8: around.utf8, terminal: around.output_is_terminal },
    };
    let mut parser = Parser {
        words: &rest[count..],
        at: 0,
        around,
        query,
        // Not the syntax that find documents as its default.
        syntax: Syntax::EMACS,
        now: directories::now(),
        prints_itself: false,
        prunes: false,
        deletes: false,
        explicit_depth: false,
        seen_test: false,
        depth: 0,
    };
    parser.whole()?;
    Ok(parser.query)
}

fn leading_options(args: &[Vec<u8>]) -> Read<(Follow, &[Vec<u8>])> {
    let mut follow = Follow::Never;
    for (at, word) in args.iter().enumerate() {
        follow = match word.as_slice() {
            b"-P" => Follow::Never,
            b"-H" => Follow::Starts,
            b"-L" => Follow::Always,
            b"-D" | b"--" => return unmodelled(word.escape_ascii().to_string()),
            word if word.starts_with(b"-O") => return unmodelled("-O"),
            _ => return Ok((follow, &args[at..])),
        };
    }
    Ok((follow, &[]))
}

fn begins_expression(word: &[u8]) -> bool {
    (word.len() > 1 && word[0] == b'-') || matches!(word, b"(" | b"!")
}

impl Parser<'_> {
    fn whole(&mut self) -> Read<()> {
        let expression = if self.words.is_empty() { Expr::Test(Test::Always(true)) } else { self.list()? };
        if self.at < self.words.len() {
            return unmodelled(format!("`{}` where an expression ends", self.words[self.at].escape_ascii()));
        }
        if self.deletes && self.prunes {
            return unmodelled("-delete with -prune");
        }
        self.query.contents_first |= self.deletes;
        let alone =
            self.prints_itself && matches!(&expression, Expr::List(parts) if !parts.iter().any(lists));
        if lists(&expression) && !alone {
            // GNU find 4.9 then mixes up the two sides, and prints unexpected output.
            return unmodelled("`,` within another expression, or without an action");
        }
        if moves_over_actions(&expression) {
            // GNU find may then make the test first, as if there were no action in the parentheses.
            return unmodelled("a test behind parentheses with an action in them");
        }
        if has_tests_behind_an_action(&expression, true) {
            // GNU find may then make a test before the action, and not do it.
            return unmodelled("several tests behind an action, beside -o, `,` or `!`");
        }
        let print = Expr::Action(Action::Print { end: b'\n' });
        self.query.expression =
            ordered_by_cost(if self.prints_itself { expression } else { Expr::And(vec![expression, print]) });
        Ok(())
    }

    fn word(&self) -> Option<&[u8]> {
        self.words.get(self.at).map(Vec::as_slice)
    }

    /// Returns the argument of a predicate.
    fn argument(&mut self, of: &[u8]) -> Read<Vec<u8>> {
        let word = self.word().map(<[u8]>::to_vec);
        self.at += 1;
        word.ok_or_else(|| Unmodelled(format!("{} without its argument", of.escape_ascii())))
    }

    fn list(&mut self) -> Read<Expr> {
        self.joined(&[b","], Self::or, Expr::List)
    }

    fn or(&mut self) -> Read<Expr> {
        self.joined(&[b"-o", b"-or"], Self::and, Expr::Or)
    }

    fn joined(
        &mut self,
        operators: &[&[u8]],
        operand: fn(&mut Self) -> Read<Expr>,
        join: fn(Vec<Expr>) -> Expr,
    ) -> Read<Expr> {
        let mut parts = vec![operand(self)?];
        while self.word().is_some_and(|word| operators.contains(&word)) {
            self.at += 1;
            parts.push(operand(self)?);
        }
        Ok(one_or(parts, join))
    }

    fn and(&mut self) -> Read<Expr> {
        let mut parts = vec![self.not()?];
        loop {
            match self.word() {
                None | Some(b"," | b"-o" | b"-or" | b")") => return Ok(one_or(parts, Expr::And)),
                Some(b"-a" | b"-and") => self.at += 1,
                Some(_) => {}
            }
            parts.push(self.not()?);
        }
    }

    fn not(&mut self) -> Read<Expr> {
        if !matches!(self.word(), Some(b"!" | b"-not" | b"(")) {
            return self.predicate();
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return unmodelled("expressions nested very deeply");
        }
        let parenthesis = self.word() == Some(b"(");
        self.at += 1;
        let inner = if parenthesis { self.list()? } else { Expr::Not(Box::new(self.not()?)) };
        if parenthesis {
            if self.word() != Some(b")") {
                return unmodelled("a parenthesis that is not closed");
            }
            self.at += 1;
        }
        self.depth -= 1;
        Ok(inner)
    }

    /// Parses the words of -exec.
    fn command(&mut self) -> Read<Expr> {
        let mut words: Vec<Vec<u8>> = Vec::new();
        loop {
            let word = self.argument(b"-exec")?;
            match word.as_slice() {
                b";" => {
                    return self.add_command(words, false);
                }
                b"+" if words.last().is_some_and(|last| last == b"{}") => {
                    words.pop();
                    return self.add_command(words, true);
                }
                _ => words.push(word),
            }
        }
    }

    fn add_command(&mut self, words: Vec<Vec<u8>>, gathers: bool) -> Read<Expr> {
        let braces = |word: &Vec<u8>| word.windows(2).any(|two| two == b"{}");
        if words.is_empty()
            || (gathers && words.iter().any(braces))
            || words.iter().any(|word| word.contains(&0))
        {
            return unmodelled("-exec without a command, or with several {}");
        }
        self.prints_itself = true;
        self.query.acts = true;
        self.query.commands.push(CommandLine { words, gathers });
        Ok(Expr::Action(Action::Run(self.query.commands.len() - 1)))
    }
}

fn one_or(mut parts: Vec<Expr>, join: fn(Vec<Expr>) -> Expr) -> Expr {
    if parts.len() == 1 { parts.remove(0) } else { join(parts) }
}

/// Moves tests of names before tests that need system calls, unless an action is in between. GNU find does
/// the same, so the same system calls are made, and fail.
fn ordered_by_cost(expr: Expr) -> Expr {
    match expr {
        Expr::And(parts) => {
            let nested = |part| if let Expr::And(parts) = part { parts } else { vec![part] };
            Expr::And(free_first(parts.into_iter().map(ordered_by_cost).flat_map(nested).collect()))
        }
        Expr::Or(parts) => {
            let nested = |part| if let Expr::Or(parts) = part { parts } else { vec![part] };
            Expr::Or(free_first(parts.into_iter().map(ordered_by_cost).flat_map(nested).collect()))
        }
        Expr::List(parts) => Expr::List(parts.into_iter().map(ordered_by_cost).collect()),
        Expr::Not(part) => Expr::Not(Box::new(ordered_by_cost(*part))),
        other => other,
    }
}

fn free_first(mut parts: Vec<Expr>) -> Vec<Expr> {
    for run in parts.split_mut(acts) {
        run.sort_by_key(|part| !is_free(part));
    }
    parts
}

/// Whether evaluation needs no system call.
fn is_free(expr: &Expr) -> bool {
    matches!(expr, Expr::Test(Test::Name(_) | Test::Path(_) | Test::Regex(_) | Test::Always(_)))
}

/// Whether the expression contains a `,`.
fn lists(expr: &Expr) -> bool {
    match expr {
        Expr::List(_) => true,
        Expr::And(parts) | Expr::Or(parts) => parts.iter().any(lists),
        Expr::Not(part) => lists(part),
        Expr::Test(_) | Expr::Action(_) => false,
    }
}

/// Whether a test follows parentheses that contain an action. GNU find loses the mark of the action where it reorders
/// what is in the parentheses.
fn moves_over_actions(expr: &Expr) -> bool {
    let (Expr::And(parts) | Expr::Or(parts) | Expr::List(parts)) = expr else {
        return matches!(expr, Expr::Not(part) if moves_over_actions(part));
    };
    let done = |part: &Expr| !matches!(part, Expr::Action(_)) && acts(part);
    let is_test = |part: &Expr| matches!(part, Expr::Test(_));
    let behind = parts.iter().skip_while(|part| !done(part)).any(is_test);
    (matches!(expr, Expr::And(_)) && behind) || parts.iter().any(moves_over_actions)
}

/// Whether two tests or more follow an action, other than in the only row of conditions there is. GNU find marks an action in
/// the condition right behind it, and loses that mark where it orders such a row.
fn has_tests_behind_an_action(expr: &Expr, is_only_row: bool) -> bool {
    let is_test = |part: &&Expr| !acts(part);
    match expr {
        Expr::And(parts) | Expr::Or(parts) | Expr::List(parts) => {
            let is_row = matches!(expr, Expr::And(_)) && !is_only_row;
            is_row && parts.iter().skip_while(is_test).filter(is_test).count() > 1
                || parts.iter().any(|part| has_tests_behind_an_action(part, false))
        }
        Expr::Not(part) => has_tests_behind_an_action(part, false),
        Expr::Test(_) | Expr::Action(_) => false,
    }
}

fn acts(expr: &Expr) -> bool {
    match expr {
        Expr::And(parts) | Expr::Or(parts) | Expr::List(parts) => parts.iter().any(acts),
        Expr::Not(part) => acts(part),
        Expr::Test(_) => false,
        Expr::Action(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AROUND: Surroundings =
        Surroundings { utf8: true, output_is_terminal: false, input_is_terminal: false };

    fn read(line: &str) -> Result<Query, String> {
        let words: Vec<Vec<u8>> = line.split_whitespace().map(|word| word.as_bytes().to_vec()).collect();
        parse(&words, AROUND).map_err(|reason| reason.0)
    }

    #[test]
    fn operators_bind_as_in_find() {
        let query = read("a b -name x -o -type d -print , ! ( -true -a -false ) -quit").expect("modelled");
        assert_eq!(query.starts.len(), 2);
        assert!(query.quits && !query.acts);
        let Expr::List(parts) = &query.expression else { panic!("{:?}", query.expression) };
        assert!(
            matches!(&parts[0], Expr::Or(parts) if matches!(&parts[1], Expr::And(parts) if parts.len() == 2))
        );
        assert!(matches!(&parts[1], Expr::And(parts) if matches!(parts[0], Expr::Not(_))));
    }

    #[test]
    fn what_is_printed_unasked() {
        assert!(matches!(&read("-name x -prune").expect("modelled").expression, Expr::And(_)));
        assert!(matches!(&read("-name x -print0").expect("modelled").expression, Expr::And(parts)
            if matches!(parts[1], Expr::Action(Action::Print { end: 0 }))));
        assert!(read("-name x -exec true ;").expect("modelled").acts);
    }

    #[test]
    fn names_are_asked_first() {
        let query = read("-size +1 -name x").expect("modelled");
        let Expr::And(parts) = &query.expression else { panic!("{:?}", query.expression) };
        assert!(matches!(&parts[0], Expr::Test(Test::Name(_))));
    }

    #[test]
    fn what_is_not_modelled_is_the_real_ones() {
        for line in [
            "-name",
            "-o -name x",
            "a -foo",
            "( -name x",
            "-name x )",
            ") ",
            "-type q",
            "-type f,f",
            "-size 1x",
            "-mtime 1.5",
            "-exec",
            "-exec ;",
            "-exec true",
            "-perm u+x",
            "-D tree",
            "-newermt 2020",
            "-ls",
            "-exec a {} {} +",
            "( -print -size 1 ) -name x",
            "-prune -true -name b -o -true",
            "! ( -print -size 1 -false )",
            "-delete -prune",
            "-warn",
            "x -name y z",
            "-maxdepth x",
            "-printf %Tc",
            "-user nosuchuser",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
