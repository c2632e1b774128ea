//! `pelton compare --input-scale`: each text on growing prefixes of standard input.

use super::hidden_output::with_hidden_output;
use super::{interrupted, resolve};
use crate::args::CompareArgs;
use crate::ending::Ending;
use crate::failure::Failure;
use crate::output;
use crate::source::Source;
use crate::terminal::When;
use crate::terminal::{self, Look};
use crate::time::measure;
use pelton_record::{Growth, GrowthPoint};
use pelton_run::{Environment, Options};
use pelton_sys::stdio;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::os::fd::AsFd;

/// Prefixes of the input: none, then 1/N of it, each twice the one before.
const SHARES: [u64; 5] = [16, 8, 4, 2, 1];
/// Runs of each text per prefix; the median counts.
const RUNS: usize = 3;

/// Measures and shows the growth.
pub fn run(args: &CompareArgs, environment: &Environment, color: When) -> Result<Ending, Failure> {
    let texts = [&args.before, &args.after];
    let texts: Vec<Source> = (texts.into_iter().flatten())
        .map(|text| resolve(text, args, environment, color))
        .collect::<Result<_, _>>()?;
    let parts = parts()?;
    let bar = terminal::progress((parts.len() * texts.len() * RUNS) as u64, "run");
    let mut growths: Vec<Growth> = Vec::new();
    for text in &texts {
        let mut points = Vec::new();
        for part in &parts {
            let Some(point) = point(text, part, environment, &bar)? else {
                return Ok(interrupted());
            };
            points.push(point);
        }
        growths.push(pelton_run::scaling_exponent(name(text), points));
    }
    bar.finish_and_clear();
    let text = match args.json {
        true => pelton_report::pretty(&growths),
        false => pelton_report::growths(&growths, &Look::of_stdout(color).style(false)),
    };
    output::print(&text, "how it grows")?;
    Ok(Ending::Status(0))
}

fn name(source: &Source) -> String {
    match source {
        Source::Text(request, _) => pelton_run::shown_text(request),
        Source::Words(words) => words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "),
    }
}

/// Measures a text on a part; `None` if interrupted.
fn point(
    text: &Source,
    part: &File,
    environment: &Environment,
    bar: &indicatif::ProgressBar,
) -> Result<Option<GrowthPoint>, Failure> {
    let cannot = |error: io::Error| Failure::io("cannot give a part of standard input", &error);
    let (mut real, mut cpu) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let mut part = part;
        part.rewind().map_err(cannot)?;
        stdio::set_stdin(part.as_fd()).map_err(cannot)?;
        let measured = with_hidden_output(|| measure(text, environment, Options::FAITHFULLY))?;
        bar.inc(1);
        if measured.interrupted {
            return Ok(None);
        }
        real.push(measured.run.wall_ns);
        cpu.push(measured.run.total.user_ns + measured.run.total.sys_ns);
    }
    real.sort_unstable();
    cpu.sort_unstable();
    let bytes = part.metadata().map_err(cannot)?.len();
    Ok(Some(GrowthPoint { bytes, real_ns: real[RUNS / 2], cpu_ns: cpu[RUNS / 2] }))
}

/// Returns nameless files with prefixes of standard input: none, a sixteenth, an eighth … all of it.
fn parts() -> Result<Vec<File>, Failure> {
    let none = || {
        Failure::new("--input-scale needs a file as standard input, to take parts of it")
            .with_help("pelton compare --input-scale 'sort' < FILE")
    };
    let position = stdio::stdin_position().ok_or_else(none)?;
    let cannot = |error: io::Error| Failure::io("cannot keep parts of standard input in $TMPDIR", &error);
    let whole = File::from(io::stdin().as_fd().try_clone_to_owned().map_err(cannot)?);
    let total = whole.metadata().map_err(cannot)?.len().saturating_sub(position);
    if total == 0 {
        return Err(none());
    }
    let mut parts = vec![tempfile::tempfile().map_err(cannot)?];
    for share in SHARES {
        stdio::rewind_stdin(position).map_err(cannot)?;
        parts.push(first(&whole, total / share).map_err(cannot)?);
    }
    Ok(parts)
}

/// Copies at least `bytes` bytes of `whole`, to the end of a line.
fn first(whole: &File, bytes: u64) -> io::Result<File> {
    let mut reader = BufReader::with_capacity(1 << 16, whole);
    let mut part = tempfile::tempfile()?;
    io::copy(&mut reader.by_ref().take(bytes.saturating_sub(1)), &mut part)?;
    let mut rest = Vec::new();
    reader.read_until(b'\n', &mut rest)?;
    part.write_all(&rest)?;
    Ok(part)
}
