//! Where the CPU time of a stage went: its most expensive lines.
//!
//! ```text
//!   inside stage 2 (python3): 62% of its CPU time is in line 14 of slow.py (parse)
//!     share    time  with calls  line        function  source
//!       62%  1.204s         62%  slow.py:14  parse     fields = line.split(",")
//! ```
//!
//! `share` and `time` are of the line and of what it calls in libraries, `with calls` of all that it calls.

use pelton_record::diagnosis::Frame;
use pelton_record::profile::{LineCost, Profile};

use crate::{
    paint::{Pieces, Role},
    prose::Paragraph,
    rows,
    style::Style,
    text, units,
};

/// Rows shown, unless `all` is set.
const ROWS: usize = 8;
/// With fewer samples, rows are shown only with `all`: they say little.
const ENOUGH: u32 = 20;
/// Rows with a smaller share are shown only with `all`.
const LEAST_SHARE: f64 = 0.01;
/// The longest place and function.
const PLACE: usize = 32;
const FUNCTION: usize = 28;
/// The longest source text where the width is not known, and the least for which there must be room.
const SOURCE: usize = 60;
const LEAST_SOURCE: usize = 12;

/// Renders the verdict and a row for each line. `whose` is the stage.
pub fn lines(profile: &Profile, whose: &str, style: &Style) -> Vec<Pieces> {
    let says = |role, text: String| Paragraph { label_role: role, label: "  ", role, text };
    let whose = text::printable(whose, style.unicode);
    let mut lines = says(Role::Strong, format!("inside {whose}: {}", profile.verdict)).lines(style);
    let most = match () {
        () if style.all => usize::MAX,
        () if profile.samples < ENOUGH => 0,
        () => ROWS,
    };
    let shown: Vec<&LineCost> = profile
        .lines
        .iter()
        .take(most)
        .filter(|line| style.all || share(profile, line.samples) >= LEAST_SHARE)
        .collect();
    lines.extend(table(profile, &shown, style));
    lines.extend(foot(profile).into_iter().flat_map(|text| says(Role::Dim, text).lines(style)));
    lines
}

fn foot(profile: &Profile) -> Vec<String> {
    let is_told = |line: &&LineCost| !line.calls.is_empty() && !line.frame.is_library;
    let top = profile.lines.first().filter(|_| profile.samples >= ENOUGH).filter(is_told);
    let calls = top.map(|line| {
        let call = |call: &pelton_record::profile::CallCount| {
            format!("{} {}", call.function, units::percent(share(profile, call.samples)))
        };
        let calls: Vec<String> = line.calls.iter().map(call).collect();
        format!("in what the first line calls: {}", calls.join(", "))
    });
    let s = if profile.samples == 1 { "" } else { "s" };
    let seen = match profile.seen_cpu_ns < profile.cpu_ns {
        true => format!("{} of the {}", units::seconds(profile.seen_cpu_ns), units::seconds(profile.cpu_ns)),
        false => units::seconds(profile.cpu_ns),
    };
    let samples = format!(
        "{} sample{s} of {seen} of CPU time, one every {}",
        units::count(u64::from(profile.samples)),
        units::short_time(profile.interval_ns)
    );
    calls.into_iter().chain([samples]).chain(profile.notes.iter().cloned()).collect()
}

fn share(profile: &Profile, samples: u32) -> f64 {
    f64::from(samples) / f64::from((profile.samples - profile.unread).max(1))
}

const FIGURES: [&str; 3] = ["share", "time", "with calls"];

fn table(profile: &Profile, shown: &[&LineCost], style: &Style) -> Vec<Pieces> {
    if shown.is_empty() {
        return Vec::new();
    }
    let several = shown.iter().any(|line| line.process != shown[0].process);
    let figures: Vec<[String; 3]> = shown.iter().map(|line| figures(profile, line)).collect();
    let names: Vec<[String; 2]> = shown.iter().map(|line| names(line, several, style)).collect();
    let widths = rows::widths(&FIGURES, figures.iter());
    let [place_width, function_width] = rows::widths(&["line", "function"], names.iter());
    let used = 2 + widths.iter().map(|width| width + 2).sum::<usize>() + place_width + function_width + 6;
    let room = style.width.map_or(SOURCE, |width| width.saturating_sub(used));
    let has_source = room >= LEAST_SOURCE && shown.iter().any(|line| line.text.is_some());
    let line = |role: Role, figures: &[String; 3], names: &[String; 2], source: &str| {
        let mut line = Pieces::one(Role::Plain, "  ");
        for (cell, width) in figures.iter().zip(widths) {
            line.blanks(2 + width - text::width(cell));
            line.push(role, cell.clone());
        }
        line.blanks(2);
        line.push(role, names[0].clone());
        line.blanks(place_width - text::width(&names[0]) + 2);
        line.push(role, names[1].clone());
        if has_source && !source.is_empty() {
            line.blanks(function_width - text::width(&names[1]) + 2);
            line.push(role, text::shorten(&text::printable(source, style.unicode), room, style.unicode));
        }
        line
    };
    let heads = line(Role::Dim, &FIGURES.map(str::to_owned), &["line".into(), "function".into()], "source");
    let rows = shown.iter().zip(&figures).zip(&names);
    let rows = rows.map(|((cost, figures), names)| {
        line(Role::Plain, figures, names, cost.text.as_deref().unwrap_or_default())
    });
    std::iter::once(heads).chain(rows).collect()
}

fn figures(profile: &Profile, line: &LineCost) -> [String; 3] {
    let own = share(profile, line.samples);
    [
        units::percent(own),
        units::seconds((own * profile.seen_cpu_ns as f64) as u64),
        units::percent(share(profile, line.total_samples)),
    ]
}

/// Returns place and function.
fn names(cost: &LineCost, several: bool, style: &Style) -> [String; 2] {
    let Frame { function, file, line, .. } = &cost.frame;
    let file = file.as_deref().map(|file| file.rsplit('/').next().unwrap_or(file));
    let place = match (file, line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.to_owned(),
        (None, _) => cost.process.clone(),
    };
    let place = if several && place != cost.process { format!("{} {place}", cost.process) } else { place };
    let fit = |name: &str, most| text::shorten(&text::printable(name, style.unicode), most, style.unicode);
    [fit(&place, PLACE), fit(function, FUNCTION)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelton_record::diagnosis::Language;
    use pelton_record::profile::CallCount;

    fn cost(file: &str, line: u32, function: &str, samples: [u32; 2], text: &str) -> LineCost {
        let frame = Frame {
            language: Language::Python,
            function: function.into(),
            file: Some(file.into()),
            line: Some(line),
            is_library: false,
        };
        let calls = vec![CallCount { function: "sub".into(), samples: 30 }];
        let [samples, total_samples] = samples;
        LineCost { process: "python3".into(), frame, text: Some(text.into()), samples, total_samples, calls }
    }

    #[test]
    fn rows_stand_under_their_heads_and_fit() {
        let profile = Profile {
            samples: 200,
            interval_ns: 5_100_000,
            cpu_ns: 1_000_000_000,
            seen_cpu_ns: 1_000_000_000,
            lines: vec![
                cost("/home/me/slow.py", 14, "parse", [124, 124], "fields = re.sub(pattern, text, line)"),
                cost("/home/me/slow.py", 3, "main", [40, 190], "parse(\u{1b}[31mline)"),
                cost("/home/me/slow.py", 4, "main", [1, 1], "once()"),
            ],
            verdict: "62% of its CPU time is in line 14 of slow.py (parse)".into(),
            ..Profile::default()
        };
        let shown = |width| -> String {
            let style = Style { width: Some(width), unicode: true, ..Style::default() };
            lines(&profile, "stage 2 (python3)", &style).iter().map(|line| line.line(false)).collect()
        };
        let expected = "  inside stage 2 (python3): 62% of its CPU time is in line 14 of slow.py (parse)
    share    time  with calls  line        function  source
      62%  0.620s         62%  slow.py:14  parse     fields = re.sub(pattern, text, line)
      20%  0.200s         95%  slow.py:3   main      parse(^[[31mline)
  in what the first line calls: sub 15%
  200 samples of 1.000s of CPU time, one every 5.1 ms
";
        assert_eq!(shown(90), expected);
        assert!(shown(60).lines().all(|line| text::width(line) <= 60), "{}", shown(60));
    }
}
