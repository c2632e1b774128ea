//! `pelton copy`: cp, with all of Linux's ways to copy.

mod args;
mod report;
mod talk;

use crate::ending::Ending;
use crate::failure::Failure;
pub use args::CopyArgs;
use pelton_copy::{Copier, Options};
use std::path::{Path, PathBuf};
use talk::Teller;

/// Runs `pelton copy`.
pub fn copy(args: &CopyArgs) -> Result<Ending, Failure> {
    if args.report {
        return report::report(args);
    }
    let options = args.options()?;
    let mut teller = Teller::new(args.verbose, args.progress);
    let good = operands(args, &options, &mut teller)?;
    teller.end();
    Ok(Ending::Status(i32::from(!good)))
}

fn operands(args: &CopyArgs, options: &Options, teller: &mut Teller) -> Result<bool, Failure> {
    let mut paths: Vec<PathBuf> = args.paths.iter().map(PathBuf::from).collect();
    if let Some(directory) = &args.target_directory {
        if !directory.is_dir() {
            return Err(no_directory(directory));
        }
        return Ok(Copier::new(options, teller).into_directory(&paths, directory));
    }
    let Some(target) = paths.pop().filter(|_| !paths.is_empty()) else {
        return Err(refusal("it is not said where to copy to").with_help("pelton copy SOURCE TARGET"));
    };
    let mut copier = Copier::new(options, teller);
    if args.parents && !target.is_dir() {
        return Err(refusal(&format!("with --parents, `{}` has to be a directory", target.display())));
    }
    match (&paths[..], target.is_dir() && !args.no_target_directory) {
        (_, true) => Ok(copier.into_directory(&paths, &target)),
        ([source], false) => Ok(copier.onto(source, &target)),
        _ if args.no_target_directory => Err(refusal("with -T there is one source and one target")),
        _ => Err(no_directory(&target)),
    }
}

/// A refusal, with cp's status.
fn refusal(message: &str) -> Failure {
    Failure::new(message).with_status(1)
}

fn no_directory(path: &Path) -> Failure {
    refusal(&format!("cannot copy into `{}`: it is no directory", path.display()))
}
