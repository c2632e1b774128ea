//! A result on disk: Markdown for people, JSON with the raw samples for checking.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::contest::Samples;
use super::{Bench, stats};
use workbench::Outcome;

/// The result of a benchmark.
pub struct Results {
    /// The name of the benchmark and of its file.
    pub name: &'static str,
    /// Describes what was done, in a paragraph.
    pub about: String,
    /// The findings, in Markdown.
    pub body: String,
    /// The findings with raw samples.
    pub data: Value,
    /// The requirements for pelton, and whether they held.
    pub claims: Vec<Claim>,
}

/// A figure with a bound.
pub struct Claim {
    /// The claim in words, with the figure.
    pub text: String,
    /// Whether it held in this run.
    pub held: bool,
}

impl Claim {
    /// Makes the claim that `figure` is at most `bound`.
    pub fn at_most(what: &str, figure: f64, bound: f64, unit: &str) -> Self {
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        // Most bounds are whole; two digits suffice for others.
        let asked = (bound * 100.0).round() / 100.0;
        Claim { text: format!("{what}: {figure:.2}{unit} (at most {asked}{unit})"), held: figure <= bound }
    }
}

/// Returns a part of a benchmark that can be measured alone (`--only`), as stored. The caller adds its
/// samples.
pub fn part(text: &str, claims: &[Claim]) -> Value {
    let claims: Vec<Value> =
        claims.iter().map(|claim| json!({"text": claim.text, "held": claim.held})).collect();
    json!({"text": text, "claims": claims})
}

/// Returns the parts of a benchmark that were measured before, by title.
pub fn earlier(bench: &Bench, name: &str) -> Value {
    let kept = fs::read(bench.results.join(name).with_extension("json")).ok();
    let kept: Option<Value> = kept.and_then(|text| serde_json::from_slice(&text).ok());
    kept.map_or(Value::Null, |all| all["data"].clone())
}

impl Results {
    /// Adds a new or earlier [`part`]; does nothing if there is none.
    pub fn add(&mut self, title: &str, part: Value) {
        let Some(text) = part["text"].as_str() else { return };
        self.body += text;
        for claim in part["claims"].as_array().into_iter().flatten() {
            let text = claim["text"].as_str().unwrap_or_default().to_owned();
            self.claims.push(Claim { text, held: claim["held"] == true });
        }
        self.data[title] = part;
    }

    /// Prints the findings and writes them.
    pub fn publish(&self, machine: &Value, dir: &Path) -> Outcome {
        println!("{}", self.markdown(machine));
        self.write(machine, dir)
    }

    /// Writes `NAME.md` and `NAME.json` into `dir`.
    pub fn write(&self, machine: &Value, dir: &Path) -> Outcome {
        fs::create_dir_all(dir)?;
        fs::write(dir.join(self.name).with_extension("md"), self.markdown(machine))?;
        let claims: Vec<Value> =
            self.claims.iter().map(|c| json!({"text": c.text, "held": c.held})).collect();
        let all = json!({"benchmark": self.name, "about": self.about, "machine": machine, "claims": claims, "data": self.data});
        Ok(fs::write(dir.join(self.name).with_extension("json"), pretty_json(&all) + "\n")?)
    }

    fn markdown(&self, machine: &Value) -> String {
        let mut out = format!("# {}\n\n{}\n\n{}\n", self.name, self.about, self.body.trim_end());
        if !self.claims.is_empty() {
            out.push_str("\n| held | claim |\n| --- | --- |\n");
        }
        for claim in &self.claims {
            let _ = writeln!(
                out,
                "| {} | {} |",
                if claim.held { "yes" } else { "**no**" },
                claim.text.replace('|', "\\|")
            );
        }
        out.push_str("\n## Where\n\n");
        for key in ["date", "cpu", "cores", "memory", "kernel", "load", "pelton", "commit"] {
            let _ = writeln!(out, "- {key}: {}", plain(&machine[key]));
        }
        let versions = machine["versions"].as_object().into_iter().flatten();
        let versions: Vec<String> = versions.map(|(_, version)| plain(version)).collect();
        let _ = writeln!(out, "- versions: {}", versions.join("; "));
        let _ =
            writeln!(out, "\nAgain: `cargo xtask bench {}`. Raw samples: `{}.json`.", self.name, self.name);
        out
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns a table of contenders: medians, minima, and the median of the paired ratios to the first one.
pub fn table(samples: &[Samples], unit: Unit) -> String {
    let mut out = format!(
        "| | real, median | min | user | sys | user+sys, median | min | real, ratio | user+sys, ratio |\n{}\n",
        "| --- ".to_owned() + &"| ---: ".repeat(8) + "|"
    );
    let show = |seconds: f64| unit.show(seconds);
    for one in samples {
        let first = &samples[0];
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {:.4} | {:.4} |",
            // A shell's `|` would end the column.
            one.name.replace('|', "\\|"),
            show(stats::median(&one.real)),
            show(stats::min(&one.real)),
            show(stats::median(&one.user)),
            show(stats::median(&one.sys)),
            show(stats::median(&one.cpu)),
            show(stats::min(&one.cpu)),
            stats::median_ratio(&one.real, &first.real),
            stats::median_ratio(&one.cpu, &first.cpu),
        );
    }
    out
}

/// The unit in which durations are shown.
#[derive(Clone, Copy)]
pub enum Unit {
    /// `1.234 s`
    Seconds,
    /// `1.234 ms`
    Milliseconds,
}

impl Unit {
    fn show(self, seconds: f64) -> String {
        match self {
            Unit::Seconds => format!("{seconds:.3} s"),
            Unit::Milliseconds => format!("{:.3} ms", seconds * 1e3),
        }
    }
}

/// Formats JSON for files.
pub fn pretty_json(value: &Value) -> String {
    let mut text = String::new();
    pretty(value, 0, &mut text);
    text
}

/// Formats JSON with one line per member, but a list of plain values on one line: a thousand samples should
/// not take a thousand lines.
fn pretty(value: &Value, depth: usize, out: &mut String) {
    let nested = |value: &Value| value.is_object() || value.is_array();
    let indent = |depth: usize| format!("\n{}", "  ".repeat(depth));
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (i, (key, member)) in members.iter().enumerate() {
                let _ =
                    write!(out, "{}{}{}: ", if i == 0 { "{" } else { "," }, indent(depth + 1), json!(key));
                pretty(member, depth + 1, out);
            }
            out.push_str(&(indent(depth) + "}"));
        }
        Value::Array(items) if items.iter().any(nested) => {
            for (i, item) in items.iter().enumerate() {
                let _ = write!(out, "{}{}", if i == 0 { "[" } else { "," }, indent(depth + 1));
                pretty(item, depth + 1, out);
            }
            out.push_str(&(indent(depth) + "]"));
        }
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pretty_json_is_the_same_json() {
        let value = json!({"a": [1.5, 2, "x\n"], "b": {"c": [[1], {"d": null}], "e": {}}, "f": []});
        let mut text = String::new();
        pretty(&value, 0, &mut text);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert!(text.contains("\n  \"a\": [1.5,2,\"x\\n\"]"), "{text}");
    }

    #[test]
    fn a_claim_holds_or_not() {
        assert!(Claim::at_most("x", 1.0, 1.0, "ms").held);
        let claim = Claim::at_most("x", f64::NAN, 1.0, "ms");
        assert!(!claim.held, "no figure is no success");
    }
}
