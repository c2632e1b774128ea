//! The entry point.

use crate::error::Stop;
use crate::reader::Reader;
use crate::{
    AndOr, Command, Compound, CompoundKind, Dialect, Item, Pipeline, Script, Stage, SyntaxError, Unmodelled,
    zsh,
};
use pelton_record::Span;

/// Maximum length of a text; longer ones are left to the shell.
const LENGTH_MAX: usize = 1 << 18;

/// Parses a shell text.
///
/// # Errors
/// If the shell would reject it. Unsupported text is no error but [`CompoundKind::Unmodelled`].
pub fn parse(text: &str, dialect: Dialect) -> Result<Script, SyntaxError> {
    if text.len() > LENGTH_MAX {
        return Ok(unmodelled(text, Unmodelled::Size));
    }
    if text.contains(['\0', '\x01', '\x7f']) {
        return Ok(unmodelled(text, Unmodelled::ControlByte));
    }
    if dialect == Dialect::Zsh {
        return Ok(zsh_script(text));
    }
    let mut reader = Reader::new(text, dialect);
    match reader.script() {
        Ok(script) => Ok(script),
        Err(Stop::Unsure(why)) => Ok(unmodelled(text, why)),
        Err(Stop::Wrong { message, span, help }) => {
            Err(SyntaxError { message, span, help, may_run_first: reader.line_done })
        }
    }
}

/// Parses a text of zsh. What bash rejects is no error: zsh may accept it.
fn zsh_script(text: &str) -> Script {
    match Reader::new(text, Dialect::Bash).script() {
        Ok(script) if zsh::reads_alike(text, &script) => script,
        Err(Stop::Unsure(why)) => unmodelled(text, why),
        Ok(_) | Err(Stop::Wrong { .. }) => unmodelled(text, Unmodelled::Dialect),
    }
}

/// Returns the whole text as one command.
fn unmodelled(text: &str, why: Unmodelled) -> Script {
    let span = Span::new(0, text.len());
    let command = Command::Compound(Compound { kind: CompoundKind::Unmodelled(why), span });
    let stage = Stage { command, redirects: Vec::new(), pipes_stderr: false, span };
    let first = Pipeline { negated: false, timed: false, stages: vec![stage], span };
    let and_or = AndOr { first, rest: Vec::new() };
    Script { items: vec![Item { and_or, background: false, span }], nested: Vec::new(), assigned: Vec::new() }
}
