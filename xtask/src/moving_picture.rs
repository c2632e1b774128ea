//! The moving picture of the README: commands that really ran, typed and answered, as an SVG that browsers animate.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::demo;
use workbench::Outcome;

/// The width of the terminal in characters.
const COLUMNS: usize = 116;
/// The size of a character.
const CELL: (f64, f64) = (7.8, 17.0);
const MARGIN: f64 = 14.0;
/// Seconds for a typed character, before the answer, and for reading it.
const TYPED: f64 = 0.03;
const ANSWERED: f64 = 0.3;
const READ: f64 = 7.0;

const VERBS: [&str; 3] = ["time", "explain", "run --stats"];

/// A command, and what it printed.
struct Scene {
    command: String,
    lines: Vec<Vec<Span>>,
}

/// Characters of one style.
#[derive(Debug, Default, PartialEq)]
struct Span {
    text: String,
    class: String,
}

/// Runs the commands, and writes the picture.
///
/// # Errors
/// If a command fails.
pub fn take(pelton: &Path, picture: &Path) -> Outcome {
    let folder = demo::directory()?;
    let scenes = VERBS.iter().map(|verb| scene(pelton, &folder, verb)).collect::<Outcome<Vec<_>>>()?;
    Ok(std::fs::write(picture, svg(&scenes))?)
}

fn scene(pelton: &Path, folder: &Path, verb: &str) -> Outcome<Scene> {
    let pipeline = demo::quoted_pipeline();
    let shell = format!("exec 2>&1; {} --color=always {verb} {pipeline}", pelton.display());
    let out = Command::new("bash")
        .args(["-c", &shell])
        .current_dir(folder)
        .env("COLUMNS", COLUMNS.to_string())
        .env("LC_ALL", "C.UTF-8")
        .output()?;
    if !out.status.success() {
        return Err(format!("pelton {verb}: {}", String::from_utf8_lossy(&out.stdout)).into());
    }
    let lines = String::from_utf8_lossy(&out.stdout).lines().map(spans).collect();
    Ok(Scene { command: format!("pelton {verb} {pipeline}"), lines })
}

/// Parts a line at its changes of colour (SGR), and leaves these out.
fn spans(line: &str) -> Vec<Span> {
    let mut spans: Vec<Span> = vec![Span::default()];
    let mut class = String::new();
    let mut pieces = line.split("\x1b[");
    let mut add = |text: &str, class: &str| match spans.last_mut().filter(|last| last.class == class) {
        Some(last) => last.text += text,
        None => spans.push(Span { text: text.to_owned(), class: class.to_owned() }),
    };
    add(pieces.next().unwrap_or_default(), "");
    for piece in pieces {
        let (codes, text) = piece.split_once('m').unwrap_or((piece, ""));
        for code in codes.split(';') {
            match code {
                "" | "0" => class.clear(),
                code => class += &format!("{}c{code}", if class.is_empty() { "" } else { " " }),
            }
        }
        add(text, &class);
    }
    spans.retain(|span| !span.text.is_empty());
    spans
}

fn svg(scenes: &[Scene]) -> String {
    let rows = scenes.iter().map(|scene| scene.lines.len() + 1).max().unwrap_or(1);
    let (width, height) =
        (COLUMNS as f64 * CELL.0 + 2.0 * MARGIN, (rows as f64 + 0.5) * CELL.1 + 2.0 * MARGIN);
    let typing = |scene: &Scene| scene.command.len() as f64 * TYPED;
    let length = |scene: &Scene| typing(scene) + ANSWERED + READ;
    let whole: f64 = scenes.iter().map(length).sum();
    let (mut style, mut body, mut at) = (String::new(), String::new(), 0.0);
    for (number, scene) in scenes.iter().enumerate() {
        let percent = |seconds: f64| 100.0 * seconds / whole;
        let (typed, answered) = (at + typing(scene), at + typing(scene) + ANSWERED);
        let (begin, end) = (percent(at), percent(at + length(scene)));
        at += length(scene);
        let shown = |name: &str, from: f64| shown(&format!("{name}{number}"), from, end, whole);
        style += &shown("scene", begin);
        style += &shown("answer", percent(answered));
        style += &typing_of(number, begin, percent(typed), scene.command.len(), whole);
        let _ = write!(body, "<g class=\"scene{number}\">\n{}", prompt(scene, number));
        let _ = writeln!(body, "<g class=\"answer{number}\">");
        for (row, line) in scene.lines.iter().enumerate() {
            body += &text_line(line, row + 1);
        }
        body += "</g></g>\n";
    }
    let without_motion = (0..scenes.len())
        .map(|number| {
            let opacity = u8::from(number == 0);
            format!(".scene{number},.answer{number}{{animation:none;opacity:{opacity}}}.cover{number}{{animation:none;opacity:0}}")
        })
        .collect::<String>();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\" aria-label=\"pelton time, explain and run on an access log\">\n<style>\
         text{{font:13px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d8dee9;white-space:pre}}\
         .c1{{font-weight:bold;fill:#fff}}.c2{{fill:#8b94a5}}.c31{{fill:#f07178}}.c32{{fill:#a3d977}}.c33{{fill:#ffcb6b}}\
         .c34{{fill:#82aaff}}.c35{{fill:#d59bf6}}.c36{{fill:#7fdbe6}}\n{style}\
         @media (prefers-reduced-motion:reduce){{{without_motion}}}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1b2130\"/>\n{body}</svg>\n"
    )
}

/// Returns the rule of what is seen from one moment to another, in per cent of the whole.
fn shown(name: &str, from: f64, to: f64, whole: f64) -> String {
    let before = if from > 0.0 { format!("0%,{:.3}%{{opacity:0}}", from - 0.001) } else { String::new() };
    let after = if to < 100.0 { format!("{to:.3}%,100%{{opacity:0}}") } else { String::new() };
    format!(
        ".{name}{{animation:{name} {whole:.2}s infinite}}\
         @keyframes {name}{{{before}{from:.3}%,{:.3}%{{opacity:1}}{after}}}\n",
        to - 0.001
    )
}

/// Returns the rule of the cover that moves to the right, a character at a time, while the command is typed.
fn typing_of(number: usize, from: f64, to: f64, characters: usize, whole: f64) -> String {
    let far = characters as f64 * CELL.0;
    format!(
        ".cover{number}{{animation:cover{number} {whole:.2}s infinite steps({characters})}}\
         @keyframes cover{number}{{0%,{from:.3}%{{transform:translateX(0)}}\
         {to:.3}%,100%{{transform:translateX({far:.1}px)}}}}\n"
    )
}

/// Returns the line of the command, below a cover.
fn prompt(scene: &Scene, number: usize) -> String {
    let command = vec![
        Span { text: "$ ".to_owned(), class: "c32".to_owned() },
        Span { text: scene.command.clone(), class: "c1".to_owned() },
    ];
    let (left, width) = (MARGIN + 2.0 * CELL.0, (scene.command.len() + 1) as f64 * CELL.0);
    let line = text_line(&command, 0);
    format!(
        "<svg overflow=\"hidden\">{line}<rect class=\"cover{number}\" x=\"{left:.1}\" y=\"{MARGIN}\" width=\"{width:.1}\" \
         height=\"{:.1}\" fill=\"#1b2130\"/></svg>\n",
        CELL.1 + 2.0
    )
}

fn text_line(line: &[Span], row: usize) -> String {
    if line.is_empty() {
        return String::new();
    }
    let y = MARGIN + (row as f64 + 0.8) * CELL.1 + if row > 0 { CELL.1 * 0.3 } else { 0.0 };
    let mut column = 0;
    let mut text = format!("<text y=\"{y:.1}\">");
    for span in line {
        let length = span.text.chars().count();
        let (x, width) = (MARGIN + column as f64 * CELL.0, length as f64 * CELL.0);
        column += length;
        let class = if span.class.is_empty() { String::new() } else { format!(" class=\"{}\"", span.class) };
        let _ = write!(
            text,
            "<tspan x=\"{x:.1}\" textLength=\"{width:.1}\"{class}>{}</tspan>",
            escaped(&span.text)
        );
    }
    text + "</text>\n"
}

fn escaped(text: &str) -> String {
    // Blanks at the ends count; white-space:pre is not known everywhere.
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(' ', "\u{a0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(text: &str, class: &str) -> Span {
        Span { text: text.to_owned(), class: class.to_owned() }
    }

    #[test]
    fn lines_are_parted_at_their_colours() {
        assert_eq!(spans("plain"), [span("plain", "")]);
        let line = "\x1b[1m\x1b[33m> \x1b[0m\x1b[2m2 \x1b[0mgrep";
        assert_eq!(spans(line), [span("> ", "c1 c33"), span("2 ", "c2"), span("grep", "")]);
    }

    #[test]
    fn a_picture_is_well_formed_and_shows_each_scene() {
        let scene =
            |command: &str| Scene { command: command.to_owned(), lines: vec![spans("a < b & c"), vec![]] };
        let picture = svg(&[scene("one"), scene("two")]);
        for part in
            ["a\u{a0}&lt;\u{a0}b\u{a0}&amp;\u{a0}c", "@keyframes scene1", ">two<", "prefers-reduced-motion"]
        {
            assert!(picture.contains(part), "{part}: {picture}");
        }
        let count = |part: &str| picture.matches(part).count();
        for tag in ["g", "text", "tspan", "svg"] {
            assert_eq!(count(&format!("<{tag}")), count(&format!("</{tag}>")), "{tag}");
        }
    }
}
