//! A compact rendering of the tree, one line per text, and helpers that the tests share.
//!
//! Words: bare text as it is, `'quoted'`, `$name` (`"$name"` when quoted), `~`, `*`, `?`; opaque: `<Reason>`.
//! Simple commands: `name=value` then `[word word]` then redirections. Compounds: `{Kind}`; functions: `f()`.
#![allow(dead_code)]

pub mod second_reader;

use pelton_syntax::{
    Command, Connector, Dialect, Item, Pipeline, Redirect, RedirectKind, Stage, Word, WordPart, parse,
};

pub fn rendered(text: &str, dialect: Dialect) -> String {
    match parse(text, dialect) {
        Ok(script) => script.items.iter().map(item).collect::<Vec<_>>().join(" ; "),
        Err(error) => {
            let first = if error.may_run_first { " (late)" } else { "" };
            format!("! {} @{}..{}{first}", error.message, error.span.start, error.span.end)
        }
    }
}

fn item(item: &Item) -> String {
    let mut out = pipeline(&item.and_or.first);
    for (connector, next) in &item.and_or.rest {
        out += if *connector == Connector::And { " && " } else { " || " };
        out += &pipeline(next);
    }
    if item.background {
        out += " &";
    }
    out
}

fn pipeline(p: &Pipeline) -> String {
    let mut out = String::new();
    if p.timed {
        out += "time ";
    }
    if p.negated {
        out += "! ";
    }
    for (i, s) in p.stages.iter().enumerate() {
        if i > 0 {
            out += if p.stages[i - 1].pipes_stderr { " |& " } else { " | " };
        }
        out += &stage(s);
    }
    out
}

fn stage(s: &Stage) -> String {
    let mut pieces = Vec::new();
    match &s.command {
        Command::Simple(simple) => {
            for a in &simple.assignments {
                pieces.push(format!("{}={}", a.name, word(&a.value)));
            }
            if !simple.words.is_empty() {
                pieces.push(format!("[{}]", simple.words.iter().map(word).collect::<Vec<_>>().join(" ")));
            }
        }
        Command::Compound(compound) => pieces.push(format!("{{{:?}}}", compound.kind)),
        Command::Function { name } => pieces.push(format!("{name}()")),
    }
    pieces.extend(s.redirects.iter().map(redirect));
    pieces.join(" ")
}

fn redirect(r: &Redirect) -> String {
    let fd = r.fd.map(|n| n.to_string()).unwrap_or_default();
    let rest = match &r.kind {
        RedirectKind::Read(w) => format!("<{}", word(w)),
        RedirectKind::Write(w) => format!(">{}", word(w)),
        RedirectKind::Clobber(w) => format!(">|{}", word(w)),
        RedirectKind::Append(w) => format!(">>{}", word(w)),
        RedirectKind::ReadWrite(w) => format!("<>{}", word(w)),
        RedirectKind::Duplicate(n, true) => format!("<&{n}"),
        RedirectKind::Duplicate(n, false) => format!(">&{n}"),
        RedirectKind::Close(true) => "<&-".to_owned(),
        RedirectKind::Close(false) => ">&-".to_owned(),
        RedirectKind::WriteBoth(w) => format!("&>{}", word(w)),
        RedirectKind::AppendBoth(w) => format!("&>>{}", word(w)),
        RedirectKind::HereDoc(w) => format!("<<{}", word(w)),
        RedirectKind::HereString(w) => format!("<<<{}", word(w)),
        RedirectKind::Opaque(reason) => format!("<{reason:?}>"),
    };
    fd + &rest
}

pub fn word(w: &Word) -> String {
    w.parts.iter().map(part).collect()
}

fn part(p: &WordPart) -> String {
    match p {
        WordPart::Bare(text) => text.clone(),
        WordPart::Quoted(text) => format!("'{}'", text.escape_debug()),
        WordPart::Variable { name, quoted: true } => format!("\"${name}\""),
        WordPart::Variable { name, quoted: false } => format!("${name}"),
        WordPart::Tilde => "~".to_owned(),
        WordPart::AnyText => "*".to_owned(),
        WordPart::AnyChar => "?".to_owned(),
        WordPart::Opaque { reason, .. } => format!("<{reason:?}>"),
    }
}
