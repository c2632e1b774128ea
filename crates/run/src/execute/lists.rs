//! Keeps the shell state between pipelines: connectors, statuses, `set` options.

use super::options::Observing;
use super::replacement::shell_becomes;
use super::runner::Runner;
use super::supervision::SIGINT;
use crate::environ::Environment;
use crate::jobs;
use crate::native::{self, Unit};
use crate::plan::{ListItem, PipelinePlan, Request, ShellOption};
use crate::progress;
use crate::stage::{Kind, StagePlan, Surroundings};
use pelton_plan::Switches;
use pelton_syntax::Connector;
use pelton_sys::signals::{self, PIPE};
use pelton_sys::spawn::{self, Action};
use pelton_sys::wait::Ended;
use std::io;

/// The shell state between pipelines.
pub(super) struct ShellState<'a> {
    pub(super) request: &'a Request,
    pub(super) environment: &'a Environment,
    pub(super) say: &'a mut dyn FnMut(&str),
    pub(super) errexit: bool,
    pub(super) pipefail: bool,
    pub(super) switches: Option<&'a Switches>,
    /// Whether this process may become the worker of the last pipeline.
    pub(super) in_place: bool,
}

impl ShellState<'_> {
    pub(super) fn run(&mut self, steps: &[ListItem], runner: &mut Runner) -> io::Result<()> {
        for (i, step) in steps.iter().enumerate() {
            match step {
                ListItem::Set(options) => {
                    self.set(options);
                    runner.execution.status = 0;
                }
                ListItem::List(list) => {
                    let decided = self.run_list(list, i + 1 == steps.len(), runner)?;
                    let failed = runner.execution.status != 0 && decided;
                    if runner.execution.interrupted || (self.errexit && failed) {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn set(&mut self, options: &[(ShellOption, bool)]) {
        for (option, on) in options {
            match option {
                ShellOption::Errexit => self.errexit = *on,
                ShellOption::Pipefail => self.pipefail = *on,
                // Texts with unset variables were planned to run in the shell.
                ShellOption::Nounset => {}
            }
        }
    }

    /// Runs pipelines joined by `&&` and `||`. Returns whether the last one ran and was not negated: only
    /// then does `set -e` act on a failure.
    pub(super) fn run_list(
        &mut self,
        list: &[(Option<Connector>, PipelinePlan)],
        last_step: bool,
        runner: &mut Runner,
    ) -> io::Result<bool> {
        let mut decided = false;
        for (i, (connector, pipeline)) in list.iter().enumerate() {
            let wanted = match connector {
                None => true,
                Some(Connector::And) => runner.execution.status == 0,
                Some(Connector::Or) => runner.execution.status != 0,
            };
            if !wanted {
                continue;
            }
            let last = i + 1 == list.len();
            decided = last && !pipeline.negated;
            self.run_pipeline(pipeline, last && last_step, runner)?;
            if runner.execution.interrupted {
                break;
            }
        }
        Ok(decided)
    }

    pub(super) fn run_pipeline(
        &mut self,
        pipeline: &PipelinePlan,
        last: bool,
        runner: &mut Runner,
    ) -> io::Result<()> {
        let flags: &[&str] = if self.pipefail { &["-o", "pipefail"] } else { &[] };
        let execed = last && shell_becomes(pipeline, self.request);
        let uncounted = pipeline.stages.len() > 1
            && !self.request.shell.behaviour(self.environment).counts_itself_in_stages;
        let surroundings = self.request.surroundings(self.environment, flags);
        let around = Surroundings { execed: execed || uncounted, ..surroundings };
        let units = match self.switches {
            Some(switches) => {
                let (planned, units) = native::plan_pipeline(
                    &pipeline.stages,
                    &around,
                    switches,
                    self.pipefail,
                    &mut self.environment.detector(),
                );
                if runner.show.is_some() {
                    runner.total_bytes = progress::total_bytes(&planned, &pipeline.stages[0], &around);
                }
                units
            }
            None => (0..pipeline.stages.len()).map(Unit::Process).collect(),
        };
        if execed
            && runner.observing == Observing::No
            && runner.show.is_none()
            && matches!(units.as_slice(), [Unit::Process(_)])
        {
            become_program(&pipeline.stages, &around);
        }
        let units = if self.in_place && last && !pipeline.negated {
            become_worker(units, self.pipefail, &pipeline.stages, &around)?
        } else {
            units
        };
        let ends = runner.run_pipeline(pipeline, units, &around)?;
        let mut signals =
            ends.iter().filter_map(|(_, ended)| ended.signal().filter(|signal| *signal != PIPE));
        runner.execution.stage_signal = signals.next_back().or(runner.execution.stage_signal);
        let status = |(_, ended): &(u32, Ended)| ended.status();
        let failed = ends.iter().rev().map(status).find(|status| self.pipefail && *status != 0);
        let raw = failed.or(ends.last().map(status)).unwrap_or(0);
        runner.execution.status = if pipeline.negated { i32::from(raw == 0) } else { raw };
        if let Some(record) = runner.execution.pipelines.last_mut().filter(|_| runner.observing.measures()) {
            record.exit_status = runner.execution.status;
            record.text = pipeline.span.of(self.request.text.to_str().unwrap_or_default()).to_string();
        }
        if runner.execution.interrupted {
            runner.execution.died_by = Some(SIGINT);
            return Ok(());
        }
        let last_end = ends.last().map(|(_, ended)| *ended);
        match last_end {
            Some(Ended::Signalled(signal, _)) if execed => runner.execution.died_by = Some(signal),
            _ => {
                let spell = |stage: &StagePlan| stage.spelled(&around);
                let name = &self.request.name;
                if let Some(text) = jobs::message(
                    &self.request.shell,
                    self.environment,
                    name,
                    pipeline,
                    &ends,
                    self.pipefail,
                    &spell,
                ) {
                    (self.say)(&text);
                }
            }
        }
        Ok(())
    }
}

/// Becomes the program of a text's last command, as the shell would. Returns on failure: the normal path then
/// reports the error.
pub(super) fn become_program(stages: &[StagePlan], around: &Surroundings<'_>) {
    let [stage] = stages else { return };
    if let (Kind::Program, Ok(prepared)) = (&stage.kind, stage.program(around))
        && let (Action::Exec(exec), []) = (prepared.child.action, prepared.child.redirections.as_slice())
    {
        let _ = spawn::replace(&exec);
        signals::behave_as_a_shell();
    }
}

/// Becomes the worker, if there is no other unit.
pub(super) fn become_worker(
    mut units: Vec<Unit>,
    pipefail: bool,
    stages: &[StagePlan],
    around: &Surroundings<'_>,
) -> io::Result<Vec<Unit>> {
    match (units.pop(), units.len()) {
        (Some(Unit::Native(native)), 0) => {
            match native.become_worker(pipefail, &|| StagePlan::shell_exec_of(stages, around))? {}
        }
        (unit, _) => {
            units.extend(unit);
            Ok(units)
        }
    }
}
