//! Pages on topics that several verbs share.

use super::page::{Block, Page};
use super::{sections, verbs};
use clap::Command;
use pelton_report::Format;

/// Makes the page on formats.
pub fn formats() -> Page {
    let terms = Format::ALL.iter().map(|format| (format.name().to_owned(), format.about().to_owned()));
    let blocks = vec![
        Block::Paragraph(
            "One record holds all that `pelton time` and `pelton run --stats` measure; --format NAME says how it is shown, \
             and --output FILE where: without it on standard error, when the pipeline has ended."
                .into(),
        ),
        Block::Heading("Formats".into()),
        Block::Terms(terms.collect()),
        Block::Heading("Other verbs".into()),
        Block::Paragraph(
            "`pelton explain`, `doctor`, `watch`, `compare`, `find`, `copy --report`, `guard` and `buffer` have --json for programs; \
             `explain` and `doctor` have --dot for pictures by Graphviz."
                .into(),
        ),
    ];
    let summary = "The formats of `pelton time` and `pelton run --stats`.".into();
    Page { topic: "formats".into(), section: 7, summary, blocks }
}

/// Collects the exit statuses of all verbs from their pages.
pub fn exit_status(command: &Command) -> Page {
    let of = |verb: &Command| {
        let after = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
        let mut blocks = sections::blocks(&after).into_iter();
        blocks.find(|block| *block == Block::Heading("Exit status".into()))?;
        match blocks.next() {
            Some(Block::Paragraph(text)) => {
                Some((format!("pelton {}", verb.get_name()), text.trim().to_owned()))
            }
            _ => None,
        }
    };
    let general = "What pelton itself refuses or cannot do ends with status 2, and a line on standard error that begins with \
                   `pelton:` says why. A pipeline that runs has its own status; 128 and a signal's number stand for a death \
                   by that signal, as in a shell.";
    let blocks = vec![
        Block::Paragraph(general.into()),
        Block::Heading("By verb".into()),
        Block::Terms(verbs::shown(command).filter_map(of).collect()),
    ];
    Page {
        topic: "exit-status".into(),
        section: 7,
        summary: "The exit statuses of all verbs.".into(),
        blocks,
    }
}
