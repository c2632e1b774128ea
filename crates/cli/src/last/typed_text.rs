//! Finds the text of each observed program in the line as it was typed.

use pelton_record::{End, Pipeline, Run};
use pelton_syntax::{self as syntax, Command, Dialect, WordPart, parse};

/// The kernel keeps so many bytes of a program's name.
const NAME_BYTES: usize = 15;

/// Gives each pipeline and stage its text in the line, where names agree, and those of the last pipeline their statuses.
/// Returns the stages of the line that were not seen. What does not agree (an alias, a function, a script's insides) keeps
/// the command line of its process.
pub fn find_texts(run: &mut Run, statuses: &[i32]) -> Vec<String> {
    let Ok(script) = parse(&run.text, Dialect::Bash) else { return Vec::new() };
    let typed: Vec<&syntax::Pipeline> =
        script.items.iter().flat_map(|item| item.and_or.pipelines()).collect();
    let mut next = 0;
    let mut unseen = Vec::new();
    for pipeline in &mut run.pipelines {
        let fits = |typed: &&syntax::Pipeline| places(pipeline, typed).is_some();
        let Some(ahead) = typed[next..].iter().position(fits) else { continue };
        let all: Vec<&syntax::Stage> =
            typed[next..next + ahead].iter().flat_map(|typed| &typed.stages).collect();
        unseen.extend(all.iter().map(|stage| stage.span.of(&run.text).to_owned()));
        let found = typed[next + ahead];
        next += ahead + 1;
        let places = places(pipeline, found).unwrap_or_default();
        let missing = found.stages.iter().enumerate().filter(|(place, _)| !places.contains(place));
        unseen.extend(missing.map(|(_, stage)| stage.span.of(&run.text).to_owned()));
        let statuses = if next == typed.len() { statuses } else { &[] };
        adopt(pipeline, found, &places, &run.text, statuses);
    }
    let rest = typed[next..].iter().flat_map(|typed| &typed.stages);
    unseen.extend(rest.map(|stage| stage.span.of(&run.text).to_owned()));
    unseen
}

/// Returns which stages of the typed pipeline the observed ones are, in order; `None` if one is none of them.
fn places(pipeline: &Pipeline, typed: &syntax::Pipeline) -> Option<Vec<usize>> {
    let mut next = 0;
    let mut places = Vec::new();
    for stage in &pipeline.stages {
        next += typed.stages[next..].iter().position(|typed| is_called(typed, &stage.name))?;
        places.push(next);
        next += 1;
    }
    Some(places)
}

/// Whether a stage may be a process of this name: one that is no simple command may have any.
fn is_called(typed: &syntax::Stage, name: &str) -> bool {
    let Command::Simple(simple) = &typed.command else { return true };
    let Some([WordPart::Bare(word) | WordPart::Quoted(word)]) = simple.words.first().map(|word| &*word.parts)
    else {
        return true;
    };
    let base = word.rsplit('/').next().unwrap_or_default();
    base == name || (name.len() >= NAME_BYTES && base.starts_with(name))
}

fn adopt(pipeline: &mut Pipeline, typed: &syntax::Pipeline, places: &[usize], text: &str, statuses: &[i32]) {
    pipeline.span = typed.span;
    pipeline.text = typed.span.of(text).to_owned();
    for (stage, &place) in pipeline.stages.iter_mut().zip(places) {
        let found = &typed.stages[place];
        stage.span = found.span;
        stage.text = found.span.of(text).to_owned();
        if let Some(status) = statuses.get(place).filter(|_| statuses.len() == typed.stages.len()) {
            stage.end = End::Exited(*status);
        }
        if !matches!(found.command, Command::Simple(_)) {
            stage.name = short_name(&stage.text);
        }
    }
}

/// Returns the name of a compound command.
fn short_name(text: &str) -> String {
    match text.chars().next() {
        Some('(') => "(…)".to_owned(),
        Some('{') => "{…}".to_owned(),
        _ => text.split_whitespace().next().unwrap_or("?").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line whose programs had these names, with the texts of the rows and of what was not seen.
    fn texts(line: &str, names: &[&[&str]]) -> (Vec<String>, Vec<String>) {
        let mut run: Run = serde_json::from_value(empty_record()).expect("a record");
        let pipeline = run.pipelines.remove(0);
        let stage = pipeline.stages[0].clone();
        let named = |name: &&str| pelton_record::Stage {
            name: (*name).into(),
            text: "/bin/x".into(),
            ..stage.clone()
        };
        let of = |names: &&[&str]| Pipeline { stages: names.iter().map(named).collect(), ..pipeline.clone() };
        run.pipelines = names.iter().map(of).collect();
        run.text = line.into();
        let unseen = find_texts(&mut run, &[0, 1, 2]);
        let rows = run.pipelines.iter().flat_map(|pipeline| &pipeline.stages);
        (rows.map(|stage| format!("{}: {}", stage.text, stage.end.status())).collect(), unseen)
    }

    fn empty_record() -> serde_json::Value {
        let cost = serde_json::to_value(pelton_record::Cost::default()).expect("JSON");
        let span = serde_json::json!({"start": 0, "end": 0});
        let verdict = serde_json::to_value(pelton_record::Verdict::default()).expect("JSON");
        let stage = serde_json::json!({
            "text": "", "name": "", "span": span, "program": null, "how": {"by": "process"}, "pid": 1, "start_ns": 0,
            "end": {"unknown": "the shell reaped it"}, "cost": cost, "waits": null, "reads_previous": false, "feeds_next": false
        });
        let pipeline = serde_json::json!({
            "text": "", "span": span, "start_ns": 0, "wall_ns": 0, "exit_status": 0, "stages": [stage]
        });
        serde_json::json!({
            "record_version": 1, "pelton_version": "", "text": "", "shell": "", "started_unix_ms": 0,
            "machine": serde_json::to_value(pelton_record::Machine::default()).expect("JSON"),
            "pipelines": [pipeline], "wall_ns": 0, "total": cost, "exit_status": 0,
            "left_behind": {"cost": cost, "ended": 0, "running": 0}, "observer": {"cpu_ns": 0, "rounds": 0},
            "verdict": verdict, "notes": [], "repeats": null
        })
    }

    #[test]
    fn rows_have_the_text_that_was_typed() {
        let line = "make && /usr/bin/sort f | head -n1 | while read x; do :; done";
        let (rows, unseen) = texts(line, &[&["sort", "bash"]]);
        assert_eq!(rows, ["/usr/bin/sort f: 0", "while read x; do :; done: 2"]);
        assert_eq!(unseen, ["make", "head -n1"]);
        let (rows, unseen) = texts("ll | wc", &[&["ls", "wc"]]);
        assert_eq!(
            (rows, unseen),
            (vec!["/bin/x: -1".into(), "/bin/x: -1".into()], vec!["ll".into(), "wc".into()])
        );
        let (rows, unseen) = texts("sleep 1; sleep 2", &[&["sleep"], &["sleep"]]);
        assert_eq!((rows.len(), unseen.len()), (2, 0));
    }
}
