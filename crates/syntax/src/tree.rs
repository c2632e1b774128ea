//! The tree of a shell text.
//!
//! The tree is exact: a [`WordPart`] or a [`Command`] that is not fully modelled is *opaque* and has a
//! [`Reason`]. Nothing is a guess: callers can rely on everything that is not opaque.

use pelton_record::Span;

/// A whole text: its commands in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Items separated by `;`, `&` or newlines.
    pub items: Vec<Item>,
    /// The pipelines within its compound commands, functions and `$(…)`, in order of their start.
    pub nested: Vec<Nested>,
    /// Assignments of one value to a variable, each with where it holds.
    pub assigned: Vec<Assigned>,
}

/// A pipeline inside a compound command, a function or a `$(…)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nested {
    /// The pipeline, without the bodies of its here-documents.
    pub pipeline: Pipeline,
    /// Whether `&` ends the list that contains it.
    pub background: bool,
    /// How many `$(…)`, `` `…` `` and `<(…)` it is inside of.
    pub substitutions: usize,
    /// Whether it is inside of `` `…` ``, where dash counts lines anew.
    pub backquoted: bool,
    /// Whether it is in the body of a here-document, where bash counts lines from that of the command.
    pub in_here_document: bool,
    /// The variables of the enclosing `for` loops, which are certainly set.
    pub loop_variables: Vec<String>,
}

impl Nested {
    /// Whether it is inside of a `$(…)`, `` `…` `` or `<(…)`.
    pub fn is_substituted(&self) -> bool {
        self.substitutions > 0
    }
}

/// An assignment that certainly runs before what follows it in its list, whatever comes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assigned {
    /// The variable. A later command may unset it, or declare it without a value.
    pub name: String,
    /// The rest of the list.
    pub scope: Span,
}

/// One element of a list, with its terminator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Pipelines joined by `&&` and `||`.
    pub and_or: AndOr,
    /// Whether `&` ends it.
    pub background: bool,
    /// From its first to its last byte, without the terminator.
    pub span: Span,
}

/// Pipelines joined by `&&` and `||`, evaluated left to right with equal precedence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AndOr {
    /// The first pipeline.
    pub first: Pipeline,
    /// The other pipelines, each with the connector before it.
    pub rest: Vec<(Connector, Pipeline)>,
}

/// The operator between two pipelines of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connector {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// Stages joined by `|` or `|&`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Whether an odd number of `!` precedes it.
    pub negated: bool,
    /// Whether the shell's `time` keyword precedes it (with or without -p).
    pub timed: bool,
    /// At least one stage.
    pub stages: Vec<Stage>,
    /// From the first byte (including `!` and `time`) to the last byte.
    pub span: Span,
}

/// A command with its redirections, between two pipes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The command that runs.
    pub command: Command,
    /// Redirections, in the order written.
    pub redirects: Vec<Redirect>,
    /// Whether `|&` follows: standard error then goes into the pipe too, after `redirects`.
    pub pipes_stderr: bool,
    /// From the first to the last byte of the command and its redirections, without the bodies of
    /// here-documents.
    pub span: Span,
}

/// The command of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Assignments and words.
    Simple(Simple),
    /// `{ …; }`, `( … )`, loops, conditionals and so on: recognized, but not represented further.
    Compound(Compound),
    /// A function definition.
    Function {
        /// Its name.
        name: String,
    },
}

/// A simple command. Both lists are empty only if the stage consists of redirections alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simple {
    /// `NAME=value` before the command's name.
    pub assignments: Vec<Assignment>,
    /// The command's name and arguments.
    pub words: Vec<Word>,
}

/// A compound command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compound {
    /// The kind of command.
    pub kind: CompoundKind,
    /// Its span, without the redirections that follow it.
    pub span: Span,
}

/// The kinds of compound commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompoundKind {
    /// `{ …; }`
    Group,
    /// `( … )`
    Subshell,
    /// `for`
    For,
    /// `while`
    While,
    /// `until`
    Until,
    /// `if`
    If,
    /// `case`
    Case,
    /// `select`
    Select,
    /// `(( … ))`
    Arithmetic,
    /// `[[ … ]]`
    Test,
    /// `coproc`
    Coproc,
    /// The whole text: one command that only the shell can interpret, and that it may reject. It is the only
    /// stage of the only pipeline, and its span is the whole text.
    Unmodelled(Unmodelled),
}

/// Why a whole text is left to the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmodelled {
    /// `@(…)` and similar patterns: the meaning of the text around it depends on the shell option `extglob`.
    ExtendedPattern,
    /// A construct that shells of the POSIX dialect lack or read differently.
    Dialect,
    /// A here-document without its last line, or inside a substitution, or with joined lines.
    HereDocument,
    /// An unsupported mixture of quotes, parentheses or comments within an expansion.
    Nesting,
    /// `! ` or `time` without a command.
    EmptyPipeline,
    /// A byte that the shell uses internally (1 and 127), or a NUL.
    ControlByte,
    /// A backslash as the last byte of the text.
    FinalBackslash,
    /// A rare form of an ending keyword, a function header, a loop or a condition.
    RareForm,
    /// The text is too long, or too deeply nested.
    Size,
}

impl Unmodelled {
    /// Returns the reason in words, to follow 'because of'.
    pub fn describe(self) -> &'static str {
        match self {
            Unmodelled::ExtendedPattern => {
                "an extended pattern, whose meaning depends on the shell's options"
            }
            Unmodelled::Dialect => "a construct that this shell reads in a way of its own",
            Unmodelled::HereDocument => "an unusual here-document",
            Unmodelled::Nesting => "an expansion with quotes or parentheses inside",
            Unmodelled::EmptyPipeline => "a `!` or `time` without a command",
            Unmodelled::ControlByte => "a control byte in the text",
            Unmodelled::FinalBackslash => "a backslash at the end of the text",
            Unmodelled::RareForm => "a rare form of a shell construct",
            Unmodelled::Size => "its length or depth",
        }
    }
}

/// `NAME=value` before a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// Its value. `NAME+=`, subscripts and arrays make it opaque.
    pub value: Word,
    /// The whole assignment.
    pub span: Span,
}

/// A word: parts written without a blank between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The parts in order. Empty only for an empty body of a here-document, or for `NAME=`.
    pub parts: Vec<WordPart>,
    /// Its span (for a here-document: the span of the body).
    pub span: Span,
}

/// A piece of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WordPart {
    /// Unquoted literal text. It holds no character special to expansion.
    Bare(String),
    /// Literal text quoted by `'…'`, `"…"`, `$'…'` or a backslash; the quotes are removed. An empty one (from
    /// `""`) still makes a word.
    Quoted(String),
    /// `$NAME` or `${NAME}` of an ordinary variable (a letter or `_` first).
    Variable {
        /// The name without `$` and braces.
        name: String,
        /// Whether it is within double quotes: its value is then neither split nor matched against file
        /// names.
        quoted: bool,
    },
    /// An unquoted `~` that begins the word and is followed by `/` or nothing: the home directory.
    Tilde,
    /// An unquoted `*`: any characters of a file name.
    AnyText,
    /// An unquoted `?`: one character of a file name.
    AnyChar,
    /// Any other construct.
    Opaque {
        /// The kind of construct.
        reason: Reason,
        /// Its span.
        span: Span,
    },
}

/// Why a part is left to the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// `$( … )` or backquotes.
    CommandSubstitution,
    /// `$(( … ))` or `$[ … ]`.
    Arithmetic,
    /// `${NAME:-x}`, `${#NAME}`, `${!NAME}`, `${NAME[1]}` and similar expansions.
    ParameterOperator,
    /// `$?`, `$$`, `$!`, `$#`, `$*`, `$@`, `$-`, `$0`, `$1` …
    SpecialParameter,
    /// `<( … )` or `>( … )`.
    ProcessSubstitution,
    /// `{a,b}` or `{1..9}`.
    BraceExpansion,
    /// `[…]` in a word: a file-name pattern with a bracket expression.
    BracketPattern,
    /// `@(…)`, `?(…)`, `*(…)`, `+(…)`, `!(…)`.
    ExtendedPattern,
    /// `~user`, `~+`, `~-`, or a `~` inside an assignment.
    NamedHome,
    /// `$"…"`.
    Translation,
    /// An array or a subscript, or `+=`.
    Array,
    /// `{NAME}>file`, a here-document with expansions, or a descriptor above 9.
    UnusualRedirect,
    /// `$'…'` with an escape whose bytes are not plain text, or depend on the locale.
    AnsiString,
}

impl Reason {
    /// Returns the reason in words, to follow 'because it uses'.
    pub fn describe(self) -> &'static str {
        match self {
            Reason::CommandSubstitution => "a command substitution",
            Reason::Arithmetic => "an arithmetic expansion",
            Reason::ParameterOperator => "an expansion with an operator, like `${x:-y}`",
            Reason::SpecialParameter => "a special parameter",
            Reason::ProcessSubstitution => "a process substitution",
            Reason::BraceExpansion => "a brace expansion",
            Reason::BracketPattern => "a pattern with brackets",
            Reason::ExtendedPattern => "an extended pattern",
            Reason::NamedHome => "a home directory by name",
            Reason::Translation => "a translated string",
            Reason::Array => "an array",
            Reason::UnusualRedirect => "an unusual redirection",
            Reason::AnsiString => "a `$'…'` string with bytes that depend on the locale",
        }
    }
}

/// One redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The descriptor written before the operator, if any; 0 to 9 (larger ones make the target opaque).
    pub fd: Option<u32>,
    /// The operator and its target.
    pub kind: RedirectKind,
    /// The whole redirection; for a here-document, the operator and the delimiter.
    pub span: Span,
}

impl Redirect {
    /// Whether it is `2>/dev/null`.
    pub fn drops_messages(&self) -> bool {
        let file = match &self.kind {
            RedirectKind::Write(file) | RedirectKind::Append(file) | RedirectKind::Clobber(file) => file,
            _ => return false,
        };
        self.fd == Some(2) && file.static_text().is_some_and(|file| file == "/dev/null")
    }
}

/// The kind of a redirection. The default descriptor is 0 for the reading kinds, 1 for the writing kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedirectKind {
    /// `<`
    Read(Word),
    /// `>`
    Write(Word),
    /// `>|`
    Clobber(Word),
    /// `>>`
    Append(Word),
    /// `<>`
    ReadWrite(Word),
    /// `>&N` and `<&N` with a literal number of one digit; the bool is true for `<&`.
    Duplicate(u32, bool),
    /// `>&-` and `<&-`; the bool is true for `<&-`.
    Close(bool),
    /// `&>` or `>&` with a file: both standard output and standard error.
    WriteBoth(Word),
    /// `&>>`
    AppendBoth(Word),
    /// `<<` and `<<-`: the body, tabs already stripped; one `Quoted` part, or opaque if it has an expansion.
    HereDoc(Word),
    /// `<<<`: the word; the shell adds a newline.
    HereString(Word),
    /// Any other redirection.
    Opaque(Reason),
}
