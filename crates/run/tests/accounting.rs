//! The rows add up to the whole: what pelton accounts to stages is what the kernel charges to its children.
//!
//! One test in a process of its own, since the kernel's sum is over all children of the process.

use pelton_run::{Environment, Execution, Options, Request, Shell, execute, plan};
use pelton_sys::wait::{Usage, children_usage};
use std::ffi::OsStr;

fn observed(text: &str) -> Execution {
    let environment = Environment::inherit();
    let shell = Shell::find(OsStr::new("bash"), &environment).expect("bash is installed");
    let request = Request {
        text: text.into(),
        name: "bash".into(),
        args: vec![],
        script: None,
        shell_flags: vec![],
        shell,
        owns_input: false,
        is_expanded: false,
    };
    let plan = plan(&request, &environment).expect("the text is shell");
    let options = Options::FAITHFULLY;
    execute(&plan, &request, &environment, &options, &mut |_| {}).expect("it runs")
}

/// CPU time of all rows, and of what was left behind, in nanoseconds.
fn rows_ns(execution: &Execution) -> u64 {
    let stages = execution.pipelines.iter().flat_map(|pipeline| &pipeline.stages);
    stages.map(|stage| stage.cost.cpu_ns()).sum::<u64>() + execution.left_behind.cost.cpu_ns()
}

fn cpu_ns(usage: &Usage) -> u64 {
    usage.user_ns + usage.sys_ns
}

#[test]
fn rows_add_up_to_what_the_kernel_charges() {
    let texts = [
        "seq 300000 | sort -rn | tr 1 2 | wc -c >/dev/null",
        "seq 100000 | { sort -n; seq 5; } | (cat; cat) | while read -r line; do :; done",
        "f() { sort -n; }; seq 200000 | f | tail -1 >/dev/null; seq 9 | cat >/dev/null && ! false",
        "yes | head -c 3000000 | wc -l >/dev/null",
        "for i in 1 2 3; do seq 20000 | sort | md5sum; done >/dev/null",
        "nosuchcommand 2>/dev/null | wc -c >/dev/null",
        // Nobody waits for the inner sleep and sort but pelton itself, if they end in time.
        "sh -c '(seq 50000 | sort -rn >/dev/null) & exit 0' | cat; sleep 0.4 | cat",
    ];
    for text in texts {
        let before = children_usage();
        let execution = observed(text);
        let charged = cpu_ns(&children_usage()) - cpu_ns(&before);
        let rows = rows_ns(&execution);
        let stages: usize = execution.pipelines.iter().map(|pipeline| pipeline.stages.len()).sum();
        // Each figure is cut to whole microseconds, user and system apart.
        let slack = 2_000 * (stages as u64 + 2 + u64::from(execution.left_behind.ended));
        assert!(rows.abs_diff(charged) <= slack, "{text}: rows {rows} ns, kernel {charged} ns");
        assert!(rows > 0, "{text}: nothing was measured");
        for stage in execution.pipelines.iter().flat_map(|pipeline| &pipeline.stages) {
            let Some(waits) = &stage.waits else { continue };
            let parts = waits.own_ns() + waits.starved_ns + waits.backpressured_ns;
            assert!(
                parts.abs_diff(stage.cost.wall_ns) <= 1_000,
                "{text}: waits of {} do not add up",
                stage.name
            );
        }
    }
}
