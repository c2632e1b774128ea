//! The results of `pelton verify`, as a table and as JSON.

use super::Installed;
use super::worker::Told;
use crate::terminal::Look;
use pelton_commands::detect::{Certificate, Certificates};
use pelton_report::{text, units};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Reports that are printed for each tool.
const REPORTS_SHOWN: usize = 3;

/// Columns for a version in tables.
const VERSION_COLUMNS: usize = 32;

/// The result for one tool.
pub(super) struct Verdict {
    tool: &'static str,
    path: PathBuf,
    /// What the program says it is.
    version: String,
    /// Whether pelton serves that version anyway.
    known: bool,
    told: Result<Told, String>,
}

impl Verdict {
    /// Makes one from a worker's result, or the reason why there is none.
    pub(super) fn new(installed: &Installed, told: Result<Told, String>) -> Self {
        Verdict {
            tool: installed.tool.name,
            path: installed.path.clone(),
            version: text::printable(&installed.claimed.describe(), true),
            known: installed.tool.serves(&installed.claimed),
            told,
        }
    }

    /// Whether enough was compared.
    pub(super) fn is_proven(&self) -> bool {
        self.told.as_ref().is_ok_and(|told| told.enough)
    }

    /// Returns the calls that differ, in words.
    fn differences(&self) -> &[String] {
        self.told.as_ref().map_or(&[], |told| &told.differences)
    }

    /// Whether some calls differ.
    pub(super) fn differs(&self) -> bool {
        !self.differences().is_empty()
    }

    /// Enters the result among the certificates. A tool that pelton serves anyway needs one only if it differs.
    pub(super) fn enter(&self, certificates: &mut Certificates) {
        let Some(told) = self.told.as_ref().ok().filter(|told| told.enough) else { return };
        certificates.remove(&self.path);
        if self.differs() || !self.known {
            Certificates::decode(&told.certificate).iter().for_each(|one| certificates.insert(one.clone()));
        }
    }

    /// Whether calls are served from now on, except for those that differ.
    fn is_served(&self) -> bool {
        let proven = self.told.as_ref().is_ok_and(|told| told.enough && !told.always);
        proven || self.known && !self.differs()
    }

    fn result(&self) -> String {
        match &self.told {
            Err(reason) => format!("not compared: {reason}"),
            Ok(told) if told.always => "not served: all calls may differ".to_owned(),
            Ok(told) if told.answers == 0 => "not served: the kernel declines every call".to_owned(),
            Ok(told) if !told.enough => format!(
                "{}compared too seldom: give it more --seconds",
                if self.known { "served, as before; " } else { "not served: " }
            ),
            Ok(_) if self.differs() => {
                format!("served, except {}", self.differences().join("; "))
            }
            Ok(_) if self.known => "served, as before".to_owned(),
            Ok(_) => "served from now on".to_owned(),
        }
    }
}

/// Returns the table and the reports.
pub(super) fn table_and_reports(verdicts: &[Verdict], seed: u64, look: Look) -> String {
    let header =
        ["tool", "version", "compared", "declined", "different", "result"].map(str::to_owned).to_vec();
    let rows = verdicts.iter().map(|verdict| {
        let told = verdict.told.as_ref().ok();
        let number = |get: fn(&Told) -> String| told.map_or_else(|| "-".to_owned(), get);
        vec![
            verdict.tool.to_owned(),
            text::shorten(&verdict.version, VERSION_COLUMNS, look.unicode),
            number(|told| units::count(told.comparisons)),
            number(declined),
            number(|told| told.differences.len().to_string()),
            verdict.result(),
        ]
    });
    let mut text = table(header, rows.collect(), &[2, 3, 4], look);
    let locales = verdicts
        .iter()
        .filter_map(|verdict| verdict.told.as_ref().ok())
        .map(|told| told.locales.join(", "))
        .next();
    if let Some(locales) = locales {
        text += &format!("\nCompared in the locales {locales}; seed {seed}.\n");
    }
    for verdict in verdicts {
        text += &reports(verdict);
    }
    text
}

fn declined(told: &Told) -> String {
    let lines = told.answers + told.declined;
    if lines == 0 { "-".to_owned() } else { units::percent(told.declined as f64 / lines as f64) }
}

fn reports(verdict: &Verdict) -> String {
    let Ok(told) = &verdict.told else { return String::new() };
    if told.reports.is_empty() {
        return String::new();
    }
    let shown = told.reports.iter().take(REPORTS_SHOWN);
    let all = shown.map(|report| format!("\n{report}")).collect::<String>();
    format!(
        "\n# Differences of {} ({}), to send to pelton's developers:\n{all}",
        verdict.tool, verdict.version
    )
}

/// Returns the results for programs.
pub(super) fn json(verdicts: &[Verdict], seed: u64) -> String {
    let tools: Vec<Value> = verdicts.iter().map(one_json).collect();
    format!("{:#}\n", json!({ "version": 1, "seed": seed, "tools": tools }))
}

fn one_json(verdict: &Verdict) -> Value {
    let told = verdict.told.as_ref().ok();
    json!({
        "tool": verdict.tool,
        "path": verdict.path,
        "implementation": verdict.version,
        "known_before": verdict.known,
        "comparisons": told.map(|told| told.comparisons),
        "command_lines": told.map(|told| told.answers + told.declined),
        "declined": told.map(|told| told.declined),
        "locales": told.map(|told| &told.locales),
        "differences": verdict.differences(),
        "served": verdict.is_served(),
        "result": verdict.result(),
        "reports": told.map(|told| &told.reports),
    })
}

/// Returns certificates as a table, or for programs.
pub(super) fn list(certificates: &[Certificate], for_programs: bool, look: Look) -> String {
    if for_programs {
        let all: Vec<Value> = certificates.iter().map(certificate_json).collect();
        return format!("{:#}\n", json!({ "version": 1, "certificates": all }));
    }
    if certificates.is_empty() {
        return "nothing was verified here\n".to_owned();
    }
    let header = ["path", "version", "verified", "comparisons", "differs"].map(str::to_owned).to_vec();
    let rows = certificates.iter().map(|certificate| {
        let verified = &certificate.verified;
        vec![
            text::printable(&certificate.path.display().to_string(), look.unicode),
            text::shorten(&text::printable(&verified.shown, look.unicode), VERSION_COLUMNS, look.unicode),
            verified.date.clone(),
            units::count(verified.comparisons),
            differences(certificate).join("; "),
        ]
    });
    table(header, rows.collect(), &[3], look)
}

fn differences(certificate: &Certificate) -> Vec<String> {
    certificate.verified.exclusions.iter().map(|exclusion| exclusion.describe()).collect()
}

fn certificate_json(certificate: &Certificate) -> Value {
    let verified = &certificate.verified;
    json!({
        "path": certificate.path,
        "sha256": certificate.sha256,
        "implementation": verified.shown,
        "date": verified.date,
        "comparisons": verified.comparisons,
        "locales": verified.locales,
        "differences": differences(certificate),
    })
}

/// Lays out columns; those of `right` are aligned there. The last column wraps below itself.
fn table(header: Vec<String>, rows: Vec<Vec<String>>, right: &[usize], look: Look) -> String {
    let lines: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
    let last = lines[0].len() - 1;
    let widths: Vec<usize> = (0..last)
        .map(|column| lines.iter().map(|line| text::width(&line[column])).max().unwrap_or(0))
        .collect();
    let indent: usize = widths.iter().map(|width| width + 2).sum();
    let room = look.width.unwrap_or(usize::MAX).saturating_sub(indent).max(24);
    let mut table = String::new();
    for line in &lines {
        for (column, width) in widths.iter().enumerate() {
            let cell = &line[column];
            table += &if right.contains(&column) {
                format!("{cell:>width$}  ")
            } else {
                format!("{cell:width$}  ")
            };
        }
        let wrapped = text::wrap(&line[last], room);
        table += &wrapped.join(&format!("\n{}", " ".repeat(indent)));
        table = table.trim_end().to_owned() + "\n";
    }
    table
}
