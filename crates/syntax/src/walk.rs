//! Iterators over the tree, and queries.

use crate::{
    AndOr, Command, CompoundKind, Pipeline, Reason, Redirect, RedirectKind, Script, Simple, Stage,
    Unmodelled, Word, WordPart,
};
use pelton_record::Span;

impl Script {
    /// Returns every stage, in the order written.
    pub fn stages(&self) -> impl Iterator<Item = &Stage> {
        self.items.iter().flat_map(|item| item.and_or.pipelines()).flat_map(|pipeline| &pipeline.stages)
    }

    /// Returns every modelled word, in stage order: values of assignments, arguments, targets of
    /// redirections.
    pub fn words(&self) -> impl Iterator<Item = &Word> {
        self.stages().flat_map(Stage::words)
    }

    /// Returns why the whole text is left to the shell, if it is.
    pub fn unmodelled(&self) -> Option<Unmodelled> {
        self.stages().find_map(|stage| match &stage.command {
            Command::Compound(compound) => match compound.kind {
                CompoundKind::Unmodelled(why) => Some(why),
                _ => None,
            },
            _ => None,
        })
    }
}

impl AndOr {
    /// Returns its pipelines, without the connectors.
    pub fn pipelines(&self) -> impl Iterator<Item = &Pipeline> {
        std::iter::once(&self.first).chain(self.rest.iter().map(|(_, pipeline)| pipeline))
    }
}

impl Stage {
    /// Returns its assignments and words, if it is a simple command.
    pub fn simple(&self) -> Option<&Simple> {
        match &self.command {
            Command::Simple(simple) => Some(simple),
            _ => None,
        }
    }

    /// Returns its modelled words.
    pub fn words(&self) -> impl Iterator<Item = &Word> {
        let simple = self.simple().into_iter();
        let own = simple.flat_map(|s| s.assignments.iter().map(|a| &a.value).chain(&s.words));
        own.chain(self.redirects.iter().filter_map(Redirect::word))
    }

    /// Returns the first opaque part, except for compound commands and functions.
    pub fn opaque(&self) -> Option<(Reason, Span)> {
        let redirect = |r: &Redirect| match r.kind {
            RedirectKind::Opaque(reason) => Some((reason, r.span)),
            _ => None,
        };
        self.words().find_map(Word::opaque).or_else(|| self.redirects.iter().find_map(redirect))
    }
}

impl Redirect {
    /// Returns its target, or the body of its here-document.
    pub fn word(&self) -> Option<&Word> {
        match &self.kind {
            RedirectKind::Read(word)
            | RedirectKind::Write(word)
            | RedirectKind::Clobber(word)
            | RedirectKind::Append(word)
            | RedirectKind::ReadWrite(word)
            | RedirectKind::WriteBoth(word)
            | RedirectKind::AppendBoth(word)
            | RedirectKind::HereDoc(word)
            | RedirectKind::HereString(word) => Some(word),
            RedirectKind::Duplicate(..) | RedirectKind::Close(_) | RedirectKind::Opaque(_) => None,
        }
    }
}

impl Word {
    /// Returns the text, if it is known without running anything: every part is literal.
    ///
    /// ```
    /// use pelton_syntax::{Dialect, parse};
    /// let script = parse(r#"echo a"b c"\' $HOME"#, Dialect::Bash).unwrap();
    /// let words = &script.stages().next().and_then(|stage| stage.simple()).unwrap().words;
    /// assert_eq!(words[1].static_text().as_deref(), Some("ab c'"));
    /// assert_eq!(words[2].static_text(), None);
    /// ```
    pub fn static_text(&self) -> Option<String> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                WordPart::Bare(piece) | WordPart::Quoted(piece) => text.push_str(piece),
                _ => return None,
            }
        }
        Some(text)
    }

    /// Whether the word was written without quoting or expansion, as an alias or a keyword must be.
    pub fn is_plain_name(&self) -> bool {
        matches!(self.parts.as_slice(), [WordPart::Bare(_)])
    }

    /// Returns the first opaque part.
    pub fn opaque(&self) -> Option<(Reason, Span)> {
        self.parts.iter().find_map(|part| match part {
            WordPart::Opaque { reason, span } => Some((*reason, *span)),
            _ => None,
        })
    }
}

/// Whether the value of `$name` does not come from the environment: the shell computes it, whatever the
/// environment holds, or sets it if the environment lacks it (`in_environment`: the environment has it).
///
/// ```
/// use pelton_syntax::is_set_by_shell;
/// assert!(is_set_by_shell("RANDOM", true) && is_set_by_shell("IFS", true) && is_set_by_shell("BASH_VERSION", true));
/// assert!(is_set_by_shell("PATH", false) && !is_set_by_shell("PATH", true));
/// assert!(!is_set_by_shell("NAME", false));
/// ```
pub fn is_set_by_shell(name: &str, in_environment: bool) -> bool {
    const ALWAYS: [&str; 34] = [
        "COLUMNS",
        "DIRSTACK",
        "EPOCHREALTIME",
        "EPOCHSECONDS",
        "EUID",
        "FUNCNAME",
        "GROUPS",
        "HISTCMD",
        "HISTFILE",
        "HISTFILESIZE",
        "HISTSIZE",
        "IFS",
        "LINENO",
        "LINES",
        "MAILCHECK",
        "MAPFILE",
        "OLDPWD",
        "OPTARG",
        "OPTERR",
        "OPTIND",
        "PIPESTATUS",
        "PPID",
        "PS1",
        "PS2",
        "PS4",
        "PWD",
        "RANDOM",
        "REPLY",
        "SECONDS",
        "SHELLOPTS",
        "SHLVL",
        "SRANDOM",
        "UID",
        "_",
    ];
    const WHERE_MISSING: [&str; 8] =
        ["HOME", "HOSTNAME", "HOSTTYPE", "MACHTYPE", "OSTYPE", "PATH", "SHELL", "TERM"];
    let made_up =
        ALWAYS.contains(&name) || ["BASH", "COMP_", "COPROC"].iter().any(|start| name.starts_with(start));
    made_up || !in_environment && WHERE_MISSING.contains(&name)
}
