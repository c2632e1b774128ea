//! The project's own commands, one file each: `cargo xtask COMMAND`.
//!
//! A library with a main function, so that its tests (above all, of the import law) can call it.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool speaks")]

pub mod advisories;
pub mod book;
pub mod debian_scripts;
pub mod demo;
pub mod dist;
pub mod fuzz;
pub mod law;
mod moving_picture;
pub mod oracles;
pub mod order;
pub mod pictures;
pub mod python;
pub mod quick;
pub mod reference;
pub mod registries;
pub mod roots;
pub mod test;
mod test_programs;

use std::process::ExitCode;

use lexopt::prelude::*;
use pelton_bench as bench;
use pelton_experiments as experiments;
use workbench::{Outcome, cargo_workspace, setup};

/// Returns what the help says of one command.
fn help_of(command: &str) -> Option<String> {
    let help = help();
    let mut lines = help.lines().skip_while(|line| line.split_whitespace().next() != Some(command));
    let mut text = format!("{}\n", lines.next()?);
    for line in lines.take_while(|line| line.starts_with("    ")) {
        text = text + line + "\n";
    }
    Some(text)
}

fn help() -> String {
    HELP.replace("BENCHMARKS", &bench::names().join(", "))
}

/// The help text, but for the names of the benchmarks.
pub const HELP: &str = "\
Usage: cargo xtask COMMAND

  setup       installs what the tests need: Debian packages (the oracles), cargo-deny and typos
  quick       half a minute, to run while working: formatting, spelling, the import law, clippy and unit tests of the
              packages that have changed: quick [--all]
  fmt         formats all files, also those that cargo fmt does not find: fmt [--check]
  test        setup, then everything that continuous integration runs
  build       the release binary, static, and where it is
  dist        what users get, in the target directory: archives, packages (.deb, .rpm, .apk, .pkg.tar.zst), install.sh,
              recipes (PKGBUILD, pelton.rb for Homebrew, default.nix, Containerfile), an SBOM (.cdx.json) and checksums:
                dist [--machine x86_64|aarch64|all]   this one if none is given
                     [--base-url URL]   where the files will lie, for the recipes; else they say where to put it
              .rpm, .apk and .pkg.tar.zst need nfpm, which Go builds into the target directory if it is not in the PATH
  demo        makes a 400 MB access log and runs `pelton time` on a pipeline over it
  bench       side by side with the shell: bench [NAME…] [--runs N] [--size MB] [--results DIR] [--pelton BINARY]
                names: BENCHMARKS (all of them if none is given);
                all: these, and then one table of all results; gather: only the table; --only NAMES: of copy, find or sweep
  experiments every figure of the requirements made again, beside the published one, and a report:
                experiments [--only P5,B] [--quick] [--gather] [--results DIR] [--pelton FILE]
                --quick: small inputs, minutes; --gather: only the report, of the records that are there
  fuzz        kernels, pipelines, expressions and parsers put to the test, in turns with fresh seeds:
                fuzz [--minutes N] [--seed S] [--only kernels,pipelines,regex,parsers,json,csv] [--jobs N] [--record DIR]
                --oracle debian-13,uutils-0.8,… or --all-oracles: kernels against the tools of other systems, see oracles
                --only awk,sed: of the kernels those of awks and sed; --record: what they did is added to DIR/comparisons.md
  oracles     makes tools of other systems, outside the checkout, that kernels are compared with: oracles [NAME…] [--clean]
                names: debian-11, debian-12, debian-13, debian-sid: roots of these releases;
                uutils-0.7, uutils-0.8, uutils-0.12, busybox-1.35, busybox-1.37, busybox-1.38: one program each;
                debian-12-arm64: a root (by QEMU, which root must let run foreign programs), not made if no name is given
  roots       the cases, the kernels and the README's pipelines inside those roots, with their shell, tools, locales and C library
              (needs root): roots [NAME…] [--topic T]… [--comparisons N] [--size MB] [--results DIR]
              --size 0: no pipelines
  book        builds the book from docs/, and prints where it begins
  python      builds the Python wheel and tests it with every Python here, in target/python:
                python [--wheels] [--quick] [--machine x86_64|aarch64|all] [--only 3.9,3.13t] [--binary FILE]
                --wheels: no tests; --quick: the tests of `cargo xtask test`
                --binary: a static pelton for this machine, instead of building one
  pictures    takes the book's pictures of the page and of the live view (installs a browser)
  reference   writes docs/reference from the code, as a test wants it
  order       which functions short calls run, written down for the linker (steps through some calls: minutes)
  law         who may import whom, on its own
  debian-scripts
              every shell script of this machine: parsed or declined, still a script when rewritten, its help the same
  advisories  known security holes in what we depend on (downloads the list)
";

/// Runs the command named on the command line.
pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome {
    let mut args = lexopt::Parser::from_env();
    let command = match args.next()? {
        Some(Value(word)) => word.string()?,
        Some(Short('h') | Long("help")) | None => {
            print!("{}", help());
            return Ok(());
        }
        Some(other) => return Err(other.unexpected().into()),
    };
    let asks_for_help = std::env::args().skip(2).any(|word| word == "-h" || word == "--help");
    if let Some(text) = help_of(&command).filter(|_| asks_for_help) {
        print!("{text}");
        return Ok(());
    }
    match command.as_str() {
        "bench" => bench::run(bench::Options::parse(args)?),
        "experiments" => experiments::run(&experiments::Options::parse(args)?),
        // Used by `bench truth` inside pipelines: of no use to people, so not in the help.
        "stage" => bench::truth::stage::Stage::parse(args)?.run(),
        "fuzz" => fuzz::run(fuzz::Options::parse(args)?),
        "roots" => roots::run(&roots::Options::parse(args)?),
        "oracles" => oracles::run(&oracles::Options::parse(args)?),
        "setup" => alone(args, setup::run),
        "quick" => quick::run(&quick::Options::parse(args)?),
        "test" => alone(args, test::run),
        "build" => alone(args, build),
        "demo" => alone(args, demo::run),
        "dist" => dist::run(&dist::Options::parse(args)?),
        "book" => alone(args, book::run),
        "pictures" => alone(args, pictures::run),
        "python" => python::run(&python::Options::parse(args)?),
        "reference" => alone(args, reference::run),
        "order" => alone(args, order::run),
        "fmt" => format(args),
        "law" => alone(args, law::run),
        "advisories" => alone(args, advisories::run),
        "debian-scripts" => alone(args, debian_scripts::run),
        other => Err(format!("there is no command '{other}'\n\n{}", help()).into()),
    }
}

/// Builds the release binary.
fn build() -> Outcome {
    println!("{}", cargo_workspace::release_binary()?.display());
    Ok(())
}

/// Formats all files, or checks that they are formatted.
fn format(mut args: lexopt::Parser) -> Outcome {
    let mut check = false;
    while let Some(arg) = args.next()? {
        match arg {
            Long("check") => check = true,
            other => return Err(other.unexpected().into()),
        }
    }
    registries::format(check)
}

/// Runs a command that takes no arguments.
fn alone(mut args: lexopt::Parser, command: fn() -> Outcome) -> Outcome {
    match args.next()? {
        None => command(),
        Some(extra) => Err(extra.unexpected().into()),
    }
}
