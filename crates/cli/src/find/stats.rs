//! `--stats`: what a search cost, how evenly it used the cores, and a timeline per worker.

use super::timeline;
use pelton_find::{Event, Order, Report, Settings, Tally};
use pelton_report::units;
use pelton_sys::wait::{self, Usage};
use std::fmt::Write as _;

/// The statistics of a search.
pub struct Account<'a> {
    report: &'a Report,
    settings: &'a Settings,
    usage: Usage,
}

impl<'a> Account<'a> {
    /// Accounts for a finished search; `before` is the usage at its start.
    pub fn of(report: &'a Report, settings: &'a Settings, before: &Usage) -> Self {
        let mut usage = wait::own_usage();
        usage.user_ns = usage.user_ns.saturating_sub(before.user_ns);
        usage.sys_ns = usage.sys_ns.saturating_sub(before.sys_ns);
        Account { report, settings, usage }
    }

    fn sum(&self, figure: fn(&Tally) -> u64) -> u64 {
        self.report.workers.iter().map(figure).sum()
    }

    /// The CPU time of all workers, relative to all being as busy as the busiest.
    fn evenness(&self) -> f64 {
        let most = self.report.workers.iter().map(|worker| worker.cpu_ns).max().unwrap_or(0);
        let workers = self.report.workers.len().max(1) as f64;
        if most == 0 { 1.0 } else { self.sum(|worker| worker.cpu_ns) as f64 / (most as f64 * workers) }
    }

    fn order(&self) -> &'static str {
        match self.settings.order {
            Order::Listed => "listed",
            Order::Found => "found",
            Order::NearestFirst => "nearest-first",
        }
    }

    /// Renders for people.
    pub fn text(&self, unicode: bool) -> String {
        let (report, usage) = (self.report, &self.usage);
        let cpu_ns = usage.user_ns + usage.sys_ns;
        let mut text = format!(
            "{} directories, {} entries, {} asked for their status\n",
            units::count(self.sum(|worker| worker.directories)),
            units::count(self.sum(|worker| worker.entries)),
            units::count(self.sum(|worker| worker.statuses)),
        );
        let _ = writeln!(
            text,
            "real {}, user {}, sys {}, CPU {}, peak mem {}",
            units::seconds(report.wall_ns),
            units::seconds(usage.user_ns),
            units::seconds(usage.sys_ns),
            units::percent(cpu_ns as f64 / report.wall_ns.max(1) as f64),
            units::bytes(usage.peak_rss_bytes),
        );
        let _ = writeln!(
            text,
            "way: {}, order: {}, tasks made: {}, cores used {} evenly\n",
            self.settings.walk.name(),
            self.order(),
            units::count(self.sum(|worker| worker.made)),
            units::percent(self.evenness()),
        );
        text.push_str("worker  tasks   made  directories     CPU   waited  time\n");
        for worker in &report.workers {
            let _ = writeln!(
                text,
                "{:>6} {:>6} {:>6} {:>12} {:>7} {:>8}  {}",
                worker.worker,
                units::count(worker.tasks),
                units::count(worker.made),
                units::count(worker.directories),
                units::seconds(worker.cpu_ns),
                units::seconds(worker.waited_ns),
                timeline::line(&worker.events, report.wall_ns, unicode),
            );
        }
        let _ = writeln!(text, "{}", timeline::legend(unicode));
        text
    }

    /// Renders JSON.
    pub fn json(&self) -> String {
        let worker = |worker: &Tally| {
            let events: Vec<_> =
                worker.events.iter().map(|(at, event)| serde_json::json!([at, name(*event)])).collect();
            serde_json::json!({
                "worker": worker.worker,
                "tasks": worker.tasks,
                "made": worker.made,
                "directories": worker.directories,
                "entries": worker.entries,
                "statuses": worker.statuses,
                "waited_ns": worker.waited_ns,
                "cpu_ns": worker.cpu_ns,
                "events": events,
            })
        };
        let all = serde_json::json!({
            "version": 1,
            "walk": self.settings.walk.name(),
            "order": self.order(),
            "slots": self.settings.slots,
            "status": self.report.status,
            "wall_ns": self.report.wall_ns,
            "user_ns": self.usage.user_ns,
            "sys_ns": self.usage.sys_ns,
            "peak_rss_bytes": self.usage.peak_rss_bytes,
            "directories": self.sum(|worker| worker.directories),
            "entries": self.sum(|worker| worker.entries),
            "statuses": self.sum(|worker| worker.statuses),
            "tasks_made": self.sum(|worker| worker.made),
            "evenness": self.evenness(),
            "workers": self.report.workers.iter().map(worker).collect::<Vec<_>>(),
        });
        format!("{all}\n")
    }
}

fn name(event: Event) -> &'static str {
    match event {
        Event::Runs => "runs",
        Event::Makes => "makes",
        Event::Waits => "waits",
        Event::Blocked => "blocked",
        Event::Ends => "ends",
    }
}
