//! The commands of a stage that may run as several processes: the real one, and the one for a part.

use crate::c_string::c_string;
use crate::stage::{StagePlan, Surroundings};
use pelton_commands::stateless::Stateless;
use pelton_sys::spawn::{Action, Exec, Redirection};

/// A stage that may run as several processes.
pub struct Parts {
    /// The index of the stage.
    pub stage: usize,
    /// The unchanged command.
    pub(super) real: Exec,
    /// The command for a part: it reads standard input.
    pub(super) part: Exec,
    pub(super) stateless: Stateless,
    pub(super) redirections: Vec<Redirection>,
    /// The fallback if a redirection fails.
    pub(super) fallback: Option<Exec>,
}

impl Parts {
    /// Makes the parts of this stage; `None` if it cannot be split after all.
    pub fn new(
        stage: usize,
        plan: &StagePlan,
        stateless: &Stateless,
        around: &Surroundings<'_>,
    ) -> Option<Self> {
        let child = plan.program(around).ok()?.child;
        let Action::Exec(real) = child.action else { return None };
        let args = stateless.args.iter().map(|arg| c_string(arg)).collect::<Option<Vec<_>>>()?;
        let argv = real.argv.iter().take(1).cloned().chain(args).collect();
        let part = Exec { argv, ..real.clone() };
        let fallback = plan.shell_exec(around);
        let redirections = child.redirections;
        Some(Parts { stage, real, part, stateless: stateless.clone(), redirections, fallback })
    }
}
