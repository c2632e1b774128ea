//! P14: CSV with line ends in quotes, as a stream; and the result of reading it line by line.

use crate::finding::{Finding, cost, cpu_ratios};
use crate::lab::Lab;
use crate::report::plots;
use crate::shape::{Bound, Shape};
use crate::{Experiment, programs};
use workbench::Outcome;
use workbench::inputs::NOTES;

pub const EXPERIMENT: Experiment = Experiment {
    id: "P14",
    title: "CSV as a stream",
    published: "CSV (RFC 4180) parsed as a stream, quoted line ends included, next to JSON.",
    shapes: &[&SAME, &NAIVE, &BAD, &CPU],
    lesson: "A line of a CSV file is not a record: quoted fields may hold line ends, and tools that go by lines silently tear them apart. A reader \
             that knows the quotes can stream all the same, and hand lines to the next stage that are safe to cut.",
    run,
};

const SAME: Shape = Shape::exact("pelton csv prints what Python's csv module reads", Bound::All);
const NAIVE: Shape = Shape::exact("awk -F, sees more lines than there are records", Bound::All);
const BAD: Shape =
    Shape::exact("a quote that is never closed is an error with its line, not a record", Bound::All);
const CPU: Shape = Shape::timing("user+sys of pelton csv, of Python's", Bound::AtMost(0.2));

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    lab.input(&NOTES, 25)?;
    lab.program("experiments/pipelines/records.py")?;
    let words = ["csv", "--no-header", "-s", "2,3", "--to", "tsv", "notes"];
    let ours = lab.capture(words)?;
    match programs::python() {
        None => {
            finding.lacks("Python");
            finding.cannot(&SAME, "Python is not installed");
            finding.cannot(&CPU, "Python is not installed");
        }
        Some(python) => {
            let theirs = format!("{python} records.py notes");
            finding.is(&SAME, lab.bash(&theirs)?.stdout == ours.stdout, || "the output differs".to_owned());
            let samples = lab.contest_of(
                &[lab.shell("python3, csv", &format!("{theirs} > out")), lab.pelton("pelton csv", words)],
                3,
            )?;
            finding.judge(&CPU, &cpu_ratios(&samples[1], &samples[0]), String::new);
            finding.row(
                "two columns as tab-separated lines",
                "",
                &format!("Python: {}", cost(&samples[0])),
                &cost(&samples[1]),
            );
            finding.plot(plots::costs("Two columns of CSV with line ends in quotes", &samples));
            finding.samples(&samples);
        }
    }
    let records = ours.text().lines().count();
    let lines: usize = lab.bash("mawk -F, 'END { print NR }' notes")?.text().trim().parse()?;
    finding.is(&NAIVE, lines > records && records > 0, || format!("{lines} lines, {records} records"));
    finding.row("records", "", &format!("awk -F, takes {lines} lines for records"), &records.to_string());
    lab.write("broken.csv", "id,note\n1,\"open\n2,closed\n")?;
    let broken = lab.capture(["csv", "broken.csv"])?;
    finding.is(&BAD, broken.status.code() == Some(2) && broken.stderr.contains("line"), || {
        broken.stderr.clone()
    });
    finding.show("pelton csv broken.csv", &broken.stderr);
    Ok(())
}
