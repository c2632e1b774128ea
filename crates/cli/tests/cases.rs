//! The cases of `cases/*.toml`: each runs under the shell, `pelton run` and `pelton time`, in equal worlds.
//!
//! One test per topic. `PELTON_CASE=name,other cargo test -p pelton --test cases` runs cases by name; `PELTON_BIN=path`
//! tests another pelton, `PELTON_CASES=folder` takes other cases (`cargo xtask roots`), and `PELTON_TEST_SUBJECT=shell` the shell against itself: are the cases deterministic?
#![allow(missing_docs)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pelton_testkit::{Subject, World, check_topic, load_topics};
use serde_json::Value;

fn folder() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
    std::env::var_os("PELTON_CASES").map_or_else(own, PathBuf::from)
}

fn check(topic: &str) {
    let subject = Subject::from_env(env!("CARGO_BIN_EXE_pelton"));
    let path = folder().join(topic).with_extension("toml");
    check_topic(&path, &subject).expect("cases that can be run").assert_none();
}

macro_rules! topics {
    ($($topic:ident)*) => {
        const TOPICS: &[&str] = &[$(stringify!($topic)),*];
        $(#[test] fn $topic() { check(stringify!($topic)); })*
    };
}

topics! {
    background
    builtins
    compound
    descriptors
    early_exit
    empty_input
    environment
    expansions
    failures
    fifo
    here_documents
    huge_lines
    job_messages
    last_command
    lists
    native
    native_awk
    native_find
    native_find_exec
    native_grep
    native_joins
    native_json
    native_rev
    native_sed
    native_shuf
    native_sources
    native_tee
    native_xargs
    negation
    no_final_newline
    nul_bytes
    open_failures
    pipefail
    pipestatus
    plain
    process_substitution
    quoting
    redirections
    scripts
    search_path
    sed_programs
    signals
    stages
    stderr_pipes
    strict_mode
    syntax_errors
    tee
    unicode
    words
}

#[test]
fn every_topic_is_listed_and_every_name_unique() {
    let topics = load_topics(&folder()).expect("topics");
    let names: Vec<&str> = topics.iter().map(|topic| topic.name.as_str()).collect();
    assert_eq!(names, TOPICS, "list the files of cases/ in `topics!`, in order");
    let cases: usize = topics.iter().map(|topic| topic.cases.len()).sum();
    assert!(cases >= 160, "only {cases} cases");
}

/// Prints how many stages of all cases run natively here; `cargo xtask roots` shows it for each release.
#[test]
fn many_stages_are_native() {
    let Subject::Pelton(pelton) = Subject::from_env(env!("CARGO_BIN_EXE_pelton")) else { return };
    let world = World::new().expect("a folder");
    let (mut native, mut all) = (0, 0);
    for case in load_topics(&folder()).expect("topics").iter().flat_map(|topic| &topic.cases) {
        let is_plain = case.script.is_none() && case.shells == ["bash"];
        if !is_plain {
            continue;
        }
        world.prepare(case).expect("the files of a case");
        let mut explain = Command::new(&pelton);
        explain.args(["explain", "--json", "--", &case.text]).current_dir(world.dir()).env_clear();
        let output =
            explain.envs(case.environment(&world.dir())).stdin(Stdio::null()).output().expect("pelton");
        let Ok(told) = serde_json::from_slice::<Value>(&output.stdout) else { continue };
        for segment in told["pipelines"].as_array().into_iter().flatten().flat_map(segments) {
            let range = |end: &str| segment["stages"][end].as_u64().unwrap_or(0);
            let stages = range("end") - range("start");
            all += stages;
            native += if segment["native"] == true { stages } else { 0 };
        }
    }
    let _ = writeln!(std::io::stdout(), "native stages: {native} of {all}");
    assert!(native * 4 > all, "{native} of {all} stages are native");
}

fn segments(pipeline: &Value) -> Vec<Value> {
    pipeline["plan"]["segments"].as_array().cloned().unwrap_or_default()
}
