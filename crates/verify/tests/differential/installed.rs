//! The tools that the tests compare kernels with: this machine's, or those that `PELTON_ORACLE` names.

use std::path::{Path, PathBuf};

use pelton_commands::detect::{Detector, SystemProbe};
use pelton_commands::{Family, Implementation, lookup};
use pelton_verify::{Engine, Program};

/// The tools of another system, if `PELTON_ORACLE` names their folder (`cargo xtask oracles` makes some).
pub fn foreign() -> Option<PathBuf> {
    std::env::var_os("PELTON_ORACLE").map(PathBuf::from)
}

/// Returns the implementation of a tool of `PELTON_ORACLE`.
pub fn foreign_implementation(command: &str) -> Option<Implementation> {
    Some(Detector::new(&SystemProbe, None).identify(&foreign()?.join(command)))
}

/// Returns an engine for the installed tool; `None` if that is not one that the kernels claim to equal.
pub fn engine(command: &str) -> Option<Engine> {
    let tool = lookup(command.as_bytes())?;
    let name = if tool.family == Family::Bash { "bash" } else { command };
    let foreign = foreign();
    let folders =
        foreign.as_deref().map_or(vec![Path::new("/usr/bin"), Path::new("/bin")], |root| vec![root]);
    let path = folders.into_iter().map(|folder| folder.join(name)).find(|path| path.exists())?;
    let mut implementation = Detector::new(&SystemProbe, None).identify(&path);
    if let (Some(family), Some(_)) = (implementation.family(), std::env::var_os("PELTON_ORACLE_AS_TESTED")) {
        // Whether kernels equal this version, in all that it may do otherwise, is the question.
        implementation = Implementation::tested(family);
    }
    if !tool.serves(&implementation) {
        return None;
    }
    let mut engine = Engine::new(Program { tool: command, path: &path, implementation }).expect("a folder");
    if std::env::var_os("PELTON_FUZZ_DECLINED").is_some() {
        engine.on_declined = Some(|case, declined| {
            let case = pelton_verify::Case { stdin: Vec::new(), ..case.clone() };
            crate::say(&format!("declined ({declined}): {}", case.show()));
        });
    }
    Some(match foreign.as_deref().and_then(Path::parent) {
        Some(root) => engine.with_locales(root.join("usr/lib/locale")),
        None => engine,
    })
}
