//! Finds the text of each observed program in the line as it was typed.

use pelton_record::{Pipeline, Run};
use pelton_syntax::{self as syntax, Command, Dialect, WordPart, parse};

/// The kernel keeps so many bytes of a program's name.
const NAME_BYTES: usize = 15;

/// Gives each pipeline and stage its text in the line, where names agree. Stages of the line that were not seen are
/// returned. What does not agree (an alias, a function, a script's insides) keeps the command line of its process.
pub fn find_texts(run: &mut Run) -> Vec<String> {
    let Ok(script) = parse(&run.text, Dialect::Bash) else { return Vec::new() };
    let typed: Vec<&syntax::Pipeline> = script.items.iter().flat_map(|item| item.and_or.pipelines()).collect();
    let mut next = 0;
    let mut unseen = Vec::new();
    for pipeline in &mut run.pipelines {
        let fits = |typed: &&syntax::Pipeline| places(pipeline, typed).is_some();
        let Some(ahead) = typed[next..].iter().position(fits) else { continue };
        let all: Vec<&syntax::Stage> = typed[next..next + ahead].iter().flat_map(|typed| &typed.stages).collect();
        unseen.extend(all.iter().map(|stage| stage.span.of(&run.text).to_owned()));
        let found = typed[next + ahead];
        next += ahead + 1;
        let places = places(pipeline, found).unwrap_or_default();
        let missing = found.stages.iter().enumerate().filter(|(place, _)| !places.contains(place));
        unseen.extend(missing.map(|(_, stage)| stage.span.of(&run.text).to_owned()));
        adopt(pipeline, found, &places, &run.text);
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
    let Some([WordPart::Bare(word) | WordPart::Quoted(word)]) = simple.words.first().map(|word| &*word.parts) else {
        return true;
    };
    let base = word.rsplit('/').next().unwrap_or_default();
    base == name || (name.len() >= NAME_BYTES && base.starts_with(name))
}

fn adopt(pipeline: &mut Pipeline, typed: &syntax::Pipeline, places: &[usize], text: &str) {
    pipeline.span = typed.span;
    pipeline.text = typed.span.of(text).to_owned();
    for (stage, &place) in pipeline.stages.iter_mut().zip(places) {
        let found = &typed.stages[place];
        stage.span = found.span;
        stage.text = found.span.of(text).to_owned();
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
