//! `find`: GNU findutils, as a source. Its kernel walks with one thread, and prints names; what goes by the moment
//! when it is read, or by the locale of this process, is left to the real one.

use pelton_find::{Query, Stroll, Surroundings};
use pelton_stream::{Flow, Framing, Kernel, Outcome};

use crate::{Accept, Charset, Class, Command, Context, Declined, Facts, Input, Locale, Touches};

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
struct Find {
    args: Vec<Vec<u8>>,
    locale: Locale,
}

/// Reads the arguments. A word that another one takes as its argument is not told from one of the expression: that
/// can only decline too much.
pub fn accept(args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>> {
    let effect = |arg: &Vec<u8>| EFFECTS.iter().find(|(word, _)| arg == word);
    if let Some((word, effect)) = args.iter().find_map(effect) {
        return Declined::because(format!("{} {effect}", word.escape_ascii()));
    }
    Ok(Box::new(Find { args: args.to_vec(), locale: context.locale.clone() }))
}

impl Find {
    fn query(&self) -> Accept<Query> {
        if !self.locale.plain_messages {
            return Declined::because("messages in another language");
        }
        let utf8 = match self.locale.ctype {
            Charset::C => false,
            Charset::Utf8 => true,
            Charset::Other => return Declined::because("another character set than UTF-8"),
        };
        // Its standard input may be a terminal: then it warns of what may not be meant, and that is left to it.
        let around = Surroundings { utf8, output_is_terminal: false, input_is_terminal: true };
        let query =
            pelton_find::parse(&self.args, around).map_err(|reason| Declined::new(reason.to_string()))?;
        query.is_portable().map_err(Declined::new)?;
        Ok(query)
    }
}

impl Command for Find {
    fn facts(&self) -> Facts {
        Facts::serial(Class::Source, Touches::anything())
    }

    fn inputs(&self) -> &[Input] {
        &[]
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        Ok(Box::new(FindKernel { query: Some(self.query()?), stroll: None, errors: Vec::new() }))
    }

    fn complains(&self) -> bool {
        true
    }

    fn complains_before_printing(&self) -> bool {
        true
    }

    /// No name holds one.
    fn prints_no_nul(&self) -> bool {
        self.args.iter().all(|arg| arg != b"-print0")
    }
}

struct FindKernel {
    query: Option<Query>,
    /// Begun in the process that needs it.
    stroll: Option<Stroll>,
    errors: Vec<u8>,
}

impl Kernel for FindKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, _block: &[u8], _out: &mut Vec<u8>) -> Outcome {
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        if let Some(query) = self.query.take() {
            self.stroll = Some(Stroll::new(query));
        }
        let more = self.stroll.as_mut().is_some_and(|stroll| stroll.go_on(out, &mut self.errors));
        Ok(if more { Flow::More } else { Flow::Done })
    }

    fn complaints(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.errors)
    }

    fn status(&self) -> i32 {
        self.stroll.as_ref().map_or(0, Stroll::status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, Implementation};

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
        let reason = |line: &str| find(line).unwrap().kernel().err().map(|declined| declined.reason);
        assert_eq!(reason(". -name *.rs -o ! -type d -size +3k").as_deref(), None);
        assert_eq!(reason(". -print0").as_deref(), None);
        for line in
            [". -name [ab]", ". -iname a", ". -regex a", ". -mmin 1", ". -depth", ". -type f -maxdepth 2"]
        {
            assert!(reason(line).is_some(), "{line}");
        }
        assert_eq!(find(". -exec rm {} +").unwrap_err().reason, "-exec runs commands of its own");
        assert_eq!(find("-files0-from -").unwrap_err().reason, "-files0-from reads where to start");
    }
}
