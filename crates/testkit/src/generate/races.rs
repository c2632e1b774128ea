//! Removes races: output that depends on timing cannot be compared.
//!
//! The stages of a pipeline start in any order: a file that one stage writes (`> b`, `tee out`, `sort -o
//! out`) may be read, written or listed by another before or after that. Within one stage the command
//! determines the order.

use super::Stage;

/// Part of the names of files that awk writes.
const AWK_OUTPUT: &str = "awkout";

/// Removes what a stage writes if another stage could observe when it was written.
pub(super) fn disarm(stages: &mut [Stage]) {
    for (at, stage) in stages.iter_mut().enumerate() {
        // The programs of awk write files of this name: each stage its own.
        for word in &mut stage.words {
            *word = word.replace(AWK_OUTPUT, &format!("{AWK_OUTPUT}{at}"));
        }
    }
    let makes_files =
        stages.iter().any(|stage| stage.command.starts_with("split") || !written(stage).is_empty());
    if makes_files {
        // `*` lists the existing files.
        stages.iter_mut().for_each(|stage| stage.words.retain(|word| word != "*"));
    }
    for at in 0..stages.len() {
        for name in written(&stages[at]) {
            let others = stages.iter().enumerate().filter(|(other, _)| *other != at);
            if others.into_iter().any(|(_, other)| names(other).any(|used| used == name)) {
                let writes = |text: &String| text.split(' ').next_back() == Some(name.as_str());
                let stage = &mut stages[at];
                stage.redirections.retain(|redirection| redirection.starts_with('<') || !writes(redirection));
                stage.words.retain(|word| !writes(word));
            }
        }
    }
}

/// Returns the files that the stage writes.
fn written(stage: &Stage) -> Vec<String> {
    let redirected = stage.redirections.iter().filter(|redirection| !redirection.starts_with('<'));
    let copies = stage.words.iter().filter(|word| word.starts_with("out") || word.starts_with("-o out"));
    let is_uniq = stage.command.split(' ').next_back() == Some("uniq");
    let operands = stage.words.iter().filter(|word| *word == "-" || !word.starts_with('-'));
    let second_operand = operands.skip(1).filter(|_| is_uniq);
    let by_awk = stage.words.iter().filter(|word| word.contains(AWK_OUTPUT));
    let names = redirected.chain(copies).chain(second_operand).chain(by_awk);
    let names = names.filter_map(|text| text.split(' ').next_back());
    names.filter(|name| *name != "/dev/null").map(str::to_owned).collect()
}

/// Returns all words of the stage, which include its file names.
fn names(stage: &Stage) -> impl Iterator<Item = &str> {
    let texts = [&stage.command].into_iter().chain(&stage.words).chain(&stage.redirections);
    texts.flat_map(|text| text.split(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(command: &str, words: &[&str], redirections: &[&str]) -> Stage {
        let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let (words, redirections) = (own(words), own(redirections));
        Stage { command: command.to_owned(), words, redirections, ..Stage::default() }
    }

    #[test]
    fn nobody_writes_what_another_reads_or_writes() {
        let mut stages = [
            stage("cat", &["b", "a"], &["2> err"]),
            stage("tee", &["out", "out2"], &["< a"]),
            stage("sort", &["-o out"], &["2> err"]),
            stage("(cat)", &[], &["> b"]),
            stage("LC_ALL=C uniq", &["-c", "-", "a"], &[]),
        ];
        disarm(&mut stages);
        let left: Vec<String> = stages.iter().map(Stage::to_string).collect();
        let uniq = "LC_ALL=C uniq -c -";
        assert_eq!(left, ["cat b a", "tee out2 < a", "sort -o out 2> err", "(cat)", uniq]);
    }

    #[test]
    fn what_one_stage_does_by_itself_stays() {
        let mut stages = [stage("echo", &["*"], &[]), stage("sort", &["b"], &["> b"])];
        disarm(&mut stages);
        let left: Vec<String> = stages.iter().map(Stage::to_string).collect();
        assert_eq!(left, ["echo", "sort b > b"]);
    }
}
