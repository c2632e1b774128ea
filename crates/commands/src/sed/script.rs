//! A parsed script, before its expressions are compiled.

/// A script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    /// In order of execution; blocks are flattened.
    pub(super) commands: Vec<Command>,
    /// Whether its first line is `#n`: as with `-n`.
    pub(super) quiet: bool,
}

/// One command with its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) lines: Lines,
    /// `!`
    pub(super) negated: bool,
    pub(super) action: Action,
}

/// The lines of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    All,
    At(Address),
    Range(Address, End),
}

/// One address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// The line of this number, from 1; 0 only before a range's end that is an expression.
    Number(u64),
    /// `first~step`, the step not 0.
    Instruction(u64, u64),
    /// `$`
    Last,
    Matching(Pattern),
}

/// The end of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    Number(u64),
    /// `+N`: after this many more lines.
    Plus(u64),
    /// `~N`: at the next line whose number is a multiple.
    Multiple(u64),
    Last,
    Matching(Pattern),
}

/// An expression as written, without delimiters. Empty: the one used last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) text: Vec<u8>,
    pub(super) ignore_case: bool,
    /// `M`: `^` and `$` match at newlines as well.
    pub(super) many_lines: bool,
}

impl Pattern {
    /// Whether it stands for the one used last.
    pub(super) fn is_last_used(&self) -> bool {
        self.text.is_empty()
    }
}

/// The action of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// `{`: if its lines do not match, continue at this command.
    Block(usize),
    Substitute(Substitute),
    /// `y`: the mapping of each byte.
    Translate(Box<[u8; 256]>),
    Print,
    Delete,
    /// `q`, or `Q` without printing.
    Quit {
        status: u8,
        print: bool,
    },
    /// `=`
    Number,
    /// `n`
    Next,
    /// `N`
    Join,
    /// `P`
    PrintFirst,
    /// `D`
    DeleteFirst,
    /// `a`, with its newline.
    Append(Vec<u8>),
    /// `i`
    Insert(Vec<u8>),
    /// `c`
    Change(Vec<u8>),
    /// `z`
    Zap,
    /// `h H g G x`
    Hold(Hold),
    /// `b`, `t`, `T`: continue at this command.
    Jump(usize, When),
    /// `l`, broken after this many columns if given.
    List(Option<u64>),
    /// `w /dev/stdout`
    PrintAside,
    /// A command without a kernel, and why; it depends only on its line.
    Unserved(&'static str),
}

/// The transfer between the pattern space and the hold space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// `h`
    Copy,
    /// `H`
    Add,
    /// `g`
    Get,
    /// `G`
    GetMore,
    /// `x`
    Exchange,
}

/// When a branch is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// `b`
    Always,
    /// `t`: if `s` has replaced something since a line was read or `t` was last executed.
    Replaced,
    /// `T`: otherwise.
    NotReplaced,
}

/// The `s` command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Substitute {
    pub(super) pattern: Pattern,
    pub(super) replacement: Vec<ReplacementPart>,
    pub(super) global: bool,
    /// The first match that is replaced, from 1.
    pub(super) nth: u64,
    pub(super) print: bool,
    /// `w /dev/stdout`
    pub(super) aside: bool,
}

/// A piece of a replacement: a text, then optionally a group (0 is the whole match).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReplacementPart {
    pub(super) text: Vec<u8>,
    pub(super) group: Option<usize>,
    pub(super) case: Case,
}

/// Case conversion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Case {
    /// `\U`, `\L`: of all letters.
    pub(super) all: Letters,
    /// `\u`, `\l`: of the first character.
    pub(super) first: Letters,
}

/// The target case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Letters {
    #[default]
    AsTheyAre,
    Upper,
    Lower,
}

impl Substitute {
    /// Returns the bytes that it can add to the pattern space.
    pub(super) fn texts(&self) -> impl Iterator<Item = u8> + '_ {
        self.replacement.iter().flat_map(|part| part.text.iter().copied())
    }

    /// Returns the constant replacement, if any.
    pub(super) fn fixed(&self) -> Option<&[u8]> {
        match self.replacement.as_slice() {
            [] => Some(b""),
            [ReplacementPart { text, group: None, case }] if *case == Case::default() => Some(text),
            _ => None,
        }
    }

    /// Returns the groups that it uses, without 0.
    pub(super) fn groups(&self) -> Vec<usize> {
        let mut groups: Vec<usize> = self.replacement.iter().filter_map(|part| part.group).collect();
        groups.sort_unstable();
        groups.dedup();
        groups.retain(|group| *group > 0);
        groups
    }

    /// Whether it prints.
    pub(super) fn prints(&self) -> bool {
        self.print || self.aside
    }

    /// Whether it changes the case of letters.
    pub(super) fn changes_case(&self) -> bool {
        self.replacement.iter().any(|part| part.case != Case::default())
    }
}

impl Script {
    /// Iterates over every `s`.
    pub(super) fn substitutes(&self) -> impl Iterator<Item = &Substitute> {
        self.commands.iter().filter_map(|command| match &command.action {
            Action::Substitute(substitute) => Some(substitute),
            _ => None,
        })
    }

    /// Whether the pattern space can get this byte, which ends lines, although the line had none.
    pub(super) fn makes(&self, byte: u8) -> bool {
        self.commands.iter().any(|command| match &command.action {
            Action::Join | Action::Hold(_) => true,
            Action::Substitute(substitute) => substitute.texts().any(|made| made == byte),
            Action::Translate(map) => {
                map.iter().enumerate().any(|(from, to)| *to == byte && from != usize::from(byte))
            }
            _ => false,
        })
    }
}
