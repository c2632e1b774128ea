//! A page per verb, and one for all, from clap's definitions.

use super::page::{Block, Page};
use super::sections;
use clap::{Arg, Command};

/// Returns visible verbs except `help`.
pub fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help")
}

/// Makes the page of pelton itself.
pub fn whole(command: &Command) -> Page {
    let mut page = page(command);
    let verbs = shown(command).map(|verb| (verb.get_name().to_owned(), summary(verb)));
    let at = page.blocks.iter().position(|block| *block == Block::Heading("Options".into())).unwrap_or(0);
    page.blocks.splice(at..at, [Block::Heading("Verbs".into()), Block::Terms(verbs.collect())]);
    page
}

/// Makes the page of a verb.
pub fn page(command: &Command) -> Page {
    let mut blocks = vec![Block::Heading("Usage".into()), Block::Lines(vec![usage(command)])];
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    // Every page begins with the summary, which is the first paragraph.
    let described = sections::blocks(about.split_once("\n\n").map_or("", |(_, rest)| rest));
    if described.iter().any(|block| !matches!(block, Block::Paragraph(text) if text.trim().is_empty())) {
        blocks.push(Block::Heading("Description".into()));
        blocks.extend(described);
    }
    blocks.extend(options(command));
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    blocks.extend(sections::blocks(&after));
    Page { topic: command.get_name().into(), section: 1, summary: summary(command), blocks }
}

/// Returns the first paragraph, as `--help` begins.
fn summary(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let first = about.split("\n\n").next().unwrap_or_default();
    first.lines().next().unwrap_or_default().to_owned()
}

fn usage(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    usage.trim_start_matches("Usage: ").trim().to_owned()
}

/// Lists arguments and options under their headings in `--help`.
fn options(command: &Command) -> Vec<Block> {
    let listed: Vec<&Arg> = command.get_arguments().filter(|arg| !arg.is_hide_set()).collect();
    let heading = |arg: &Arg| match arg.get_help_heading() {
        Some(own) => own.to_owned(),
        None if arg.is_positional() => "Arguments".to_owned(),
        None => "Options".to_owned(),
    };
    let mut headings: Vec<String> = vec!["Arguments".into(), "Options".into()];
    for arg in &listed {
        if !headings.contains(&heading(arg)) {
            headings.push(heading(arg));
        }
    }
    let mut blocks = Vec::new();
    for name in headings {
        let terms: Vec<_> =
            listed.iter().filter(|arg| heading(arg) == name).map(|arg| (term(arg), said(arg))).collect();
        if !terms.is_empty() {
            blocks.extend([Block::Heading(name), Block::Terms(terms)]);
        }
    }
    blocks
}

/// Formats `-r, --runs N`.
fn term(arg: &Arg) -> String {
    let names =
        [arg.get_short().map(|short| format!("-{short}")), arg.get_long().map(|long| format!("--{long}"))];
    let names = names.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let value = value(arg);
    match (names.is_empty(), value.is_empty()) {
        (true, _) => value,
        (_, true) => names,
        _ if arg.is_require_equals_set() => format!("{names}[={value}]"),
        _ => format!("{names} {value}"),
    }
}

fn value(arg: &Arg) -> String {
    if !arg.get_action().takes_values() {
        return String::new();
    }
    let names: Vec<&str> =
        arg.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect();
    let many = arg.is_positional() && arg.get_num_args().is_some_and(|range| range.max_values() > 1);
    format!("{}{}", names.join(" "), if many { "…" } else { "" })
}

/// Returns the help, values and default of an argument.
fn said(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = help.replace("\n\n", " ").replace('\n', " ");
    let values = if arg.get_action().takes_values() { arg.get_possible_values() } else { vec![] };
    if arg.get_id() == "format" && value(arg) == "FORMAT" {
        // They have a page of their own, with a sentence on each.
        let (words, default) = text.split_at(text.rfind(" [default").unwrap_or(text.len()));
        return format!("{words}: one of those of `pelton man formats`{default}");
    }
    let mut values = values.iter().filter(|value| !value.is_hide_set()).peekable();
    if values.peek().is_some() {
        let told = values.map(|value| match value.get_help() {
            Some(help) => format!("{} ({})", value.get_name(), lowered(&help.to_string())),
            None => value.get_name().to_owned(),
        });
        let (words, default) = text.split_at(text.rfind(" [default").unwrap_or(text.len()));
        text = format!("{words}: {}{default}", told.collect::<Vec<_>>().join(", "));
    }
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        text = format!("{text} [default: {}]", defaults.join(" "));
    }
    text
}

fn lowered(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}
