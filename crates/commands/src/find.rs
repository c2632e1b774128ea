//! `find`: GNU findutils, as a source. Only what it is: its tree walk comes in its own issue.

use pelton_stream::Kernel;

use crate::{Accept, Class, Command, Context, Declined, Facts, Input, Touches};

/// Words of an expression that do something besides printing.
const EFFECTS: &[(&[u8], &str)] = &[
    (b"-delete", "removes files"),
    (b"-exec", "runs commands of its own"),
    (b"-execdir", "runs commands of its own"),
    (b"-ok", "asks before it runs commands"),
    (b"-okdir", "asks before it runs commands"),
    (b"-fls", "writes a file"),
    (b"-fprint", "writes a file"),
    (b"-fprint0", "writes a file"),
    (b"-fprintf", "writes a file"),
    (b"-files0-from", "reads where to start"),
];

#[derive(Debug)]
struct Find;

/// Reads the arguments. A word that another one takes as its argument is not told from one of the expression: that
/// can only decline too much.
pub fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    let effect = |arg: &Vec<u8>| EFFECTS.iter().find(|(word, _)| arg == word);
    if let Some((word, effect)) = args.iter().find_map(effect) {
        return Declined::because(format!("{} {effect}", word.escape_ascii()));
    }
    Ok(Box::new(Find))
}

impl Command for Find {
    fn facts(&self) -> Facts {
        Facts::serial(Class::Source, Touches::anything())
    }

    fn inputs(&self) -> &[Input] {
        &[]
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        Declined::because("a walk through directories has no kernel")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, Implementation, Locale};

    #[test]
    fn it_is_a_source_unless_it_does_more_than_print() {
        let context =
            Context { locale: Locale::C, implementation: Implementation::tested(Family::GnuFindutils) };
        let find = |line: &str| {
            let args: Vec<Vec<u8>> = line.split(' ').map(|arg| arg.as_bytes().to_vec()).collect();
            accept(&args, &context)
        };
        let source = find(". -name *.rs -print0").unwrap();
        assert!(matches!(source.facts().class, Class::Source) && source.inputs().is_empty());
        assert_eq!(source.kernel().err().unwrap().reason, "a walk through directories has no kernel");
        assert_eq!(find(". -exec rm {} +").unwrap_err().reason, "-exec runs commands of its own");
        assert_eq!(find("-files0-from -").unwrap_err().reason, "-files0-from reads where to start");
    }
}
