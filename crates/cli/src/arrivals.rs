//! `pelton time --arrivals`: two pelton stages, after the first and after the last, record when lines pass.

use crate::ending::Ending;
use crate::failure::Failure;
use clap::Args;
use pelton_record::{Arrivals, Batch, Run};
use pelton_run::{Environment, ListItem, Plan, Request};
use pelton_sys::{clock, scratch, signals};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// What such a stage is called on the command line; no help mentions it.
#[derive(Args)]
pub struct StampArgs {
    /// Where to note the times
    pub file: PathBuf,
}

/// Copies standard input to standard output, and records for each block its time and its number of line ends.
pub fn stamp(args: &StampArgs) -> Result<Ending, Failure> {
    signals::default_sigpipe();
    let cannot = |error: std::io::Error| Failure::io("cannot pass lines on", &error);
    let mut notes = File::create(&args.file).map_err(cannot)?;
    let (mut stdin, mut stdout) =
        (std::io::stdin().lock(), File::from(crate::arrivals::stdout().map_err(cannot)?));
    let mut block = vec![0; 64 * 1024];
    loop {
        let size = stdin.read(&mut block).map_err(cannot)?;
        let at_ns = clock::now_ns();
        let lines = block[..size].iter().filter(|byte| **byte == b'\n').count() as u64;
        notes.write_all(&[at_ns.to_ne_bytes(), lines.to_ne_bytes()].concat()).map_err(cannot)?;
        if size == 0 {
            return Ok(Ending::Status(0));
        }
        stdout.write_all(&block[..size]).map_err(cannot)?;
    }
}

/// Opens standard output without Rust's line buffer.
fn stdout() -> std::io::Result<std::os::fd::OwnedFd> {
    use std::os::fd::AsFd;
    std::io::stdout().as_fd().try_clone_to_owned()
}

/// The files for the recorded times.
pub struct Stamps {
    /// Nameless, so that nothing is left however this process ends.
    generated: File,
    arrived: File,
    start_ns: u64,
    /// How many stages the user's text has.
    stages: usize,
    /// The user's text.
    text: String,
}

impl Stamps {
    /// Inserts the two stages into the pipeline of the request.
    ///
    /// # Errors
    /// If the text is not one pipeline of several stages.
    pub fn insert(request: &Request, plan: &Plan) -> Result<(Self, Request), Failure> {
        let refused = |why: &str| {
            Failure::new(format!("--arrivals notes the lines of one pipeline: {why}"))
                .with_help("pelton time --arrivals 'producer | sort | head'")
        };
        let Plan::Steps(steps) = plan else { return Err(refused("the shell would run this text whole")) };
        let [ListItem::List(list)] = steps.as_slice() else {
            return Err(refused("these are several commands"));
        };
        let [(None, pipeline)] = list.as_slice() else { return Err(refused("these are several pipelines")) };
        let [first, .., last] = pipeline.stages.as_slice() else {
            return Err(refused("this is a single command"));
        };
        let text = request.text.to_str().ok_or_else(|| refused("its text is not UTF-8"))?;
        let between = &text[first.span.end..pipeline.stages[1].span.start];
        if between.trim() != "|" || pipeline.negated {
            return Err(refused("its first stage pipes more than its standard output, or it is negated"));
        }
        let cannot = |error: std::io::Error| Failure::io("cannot note the times", &error);
        let nameless = || scratch::nameless_file(&std::env::temp_dir()).map_err(cannot);
        let (generated, arrived) = (nameless()?, nameless()?);
        let own = std::env::current_exe().map_err(cannot)?;
        let path = |file: &File| format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        let stage = |file: &File| {
            format!(" | {} stamp {}", pelton_run::script::quoted(&own.to_string_lossy()), path(file))
        };
        let (head, rest) = text.split_at(first.span.end);
        let (middle, tail) = rest.split_at(last.span.end - first.span.end);
        let stamped = format!("{head}{}{middle}{}{tail}", stage(&generated), stage(&arrived));
        let request = Request { text: OsString::from(stamped), ..request.clone() };
        Ok((
            Stamps {
                generated,
                arrived,
                start_ns: clock::now_ns(),
                stages: pipeline.stages.len(),
                text: text.to_owned(),
            },
            request,
        ))
    }

    /// Plans the request with the two stages.
    ///
    /// # Errors
    /// If it cannot be parsed; the text without them could be.
    pub fn plan(request: &Request, environment: &Environment) -> Result<Plan, Failure> {
        pelton_run::plan(request, environment).map_err(|error| Failure::new(error.message))
    }

    /// Adds the recorded times to the run, and restores the status of the user's last stage.
    pub fn add_to(self, run: &mut Run) {
        let read = |file: &File| batches(file, self.start_ns);
        run.arrivals = Some(Arrivals { generated: read(&self.generated), arrived: read(&self.arrived) });
        if let Some(own) = run.pipelines.first().and_then(|pipeline| pipeline.stages.get(self.stages)) {
            run.exit_status = own.end.status();
        }
        // The record describes the user's text.
        run.text = self.text.clone();
        let mut own_cpu_ns = 0;
        if let Some(pipeline) = run.pipelines.first_mut() {
            pipeline.text = self.text;
            for at in [self.stages + 1, 1] {
                if at >= pipeline.stages.len() {
                    continue;
                }
                own_cpu_ns += pipeline.stages.remove(at).cost.cpu_ns();
            }
            pipeline.pipes.retain(|pipe| pipe.writer != 1 && pipe.reader <= self.stages);
            for end in pipeline.pipes.iter_mut().flat_map(|pipe| [&mut pipe.writer, &mut pipe.reader]) {
                *end -= usize::from(*end > 1);
            }
        }
        pelton_run::conclude(run, false);
        run.notes.push(format!(
            "behind the first stage and behind the last, a process of pelton's own notes when lines pass: both together took {:.3} s \
             of CPU time, which is in no row",
            own_cpu_ns as f64 / 1e9
        ));
    }
}

fn batches(mut file: &File, start_ns: u64) -> Vec<Batch> {
    let mut bytes = Vec::new();
    // Unreadable times are missing from the record.
    let _ = file.read_to_end(&mut bytes);
    let (notes, _) = bytes.as_chunks::<16>();
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
    let batches = notes
        .iter()
        .map(|note| Batch { at_ns: number(&note[..8]).saturating_sub(start_ns), lines: number(&note[8..]) });
    batches.filter(|batch| batch.lines > 0).collect()
}
