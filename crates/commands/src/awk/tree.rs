//! The syntax tree of a program. Names are not resolved yet.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::sort_order::SortOrder;

/// The subexpressions of an expression, to be read or, with the names for that, to be exchanged.
macro_rules! parts_of_expr {
    ($expr:expr, $iter:ident) => {
        match $expr {
            Expr::Number(_) | Expr::Text(_) | Expr::Regex(_) | Expr::Name(_) | Expr::LengthAlone => {
                Vec::new()
            }
            Expr::Field(part) | Expr::Negate(part) | Expr::Plus(part) | Expr::Not(part) => vec![part],
            Expr::Step { place, .. } => vec![place],
            Expr::Element(_, parts)
            | Expr::In(parts, _)
            | Expr::Group(parts)
            | Expr::Builtin(_, parts)
            | Expr::Call(_, parts)
            | Expr::Getline(parts) => parts.$iter().collect(),
            Expr::Assign(left, right)
            | Expr::Update(_, left, right)
            | Expr::Arith(_, left, right)
            | Expr::Compare(_, left, right)
            | Expr::Match { text: left, regex: right, .. }
            | Expr::And(left, right)
            | Expr::Or(left, right)
            | Expr::Concat(left, right) => vec![left, right],
            Expr::If(test, yes, no) => vec![test, yes, no],
        }
    };
}

/// The expressions and statements of a statement, to be read or to be exchanged.
macro_rules! parts_of_statement {
    ($statement:expr, $iter:ident, $as_deref:ident, $($reference:tt)+) => {
        match $statement {
            Statement::Expr(expr) => (vec![expr], Vec::new()),
            Statement::Print(args, to) | Statement::Printf(args, to) => {
                (args.$iter().chain(to.$iter().map(|to| $($reference)+ to.to)).collect(), Vec::new())
            }
            Statement::If(test, yes, no) => {
                (vec![test], std::iter::once($($reference)+ **yes).chain(no.$as_deref()).collect())
            }
            Statement::While(test, body) | Statement::Do(body, test) => (vec![test], vec![body]),
            Statement::For(first, test, step, body) => {
                let ends = first.$as_deref().into_iter().chain(step.$as_deref());
                (test.$iter().collect(), ends.chain([$($reference)+ **body]).collect())
            }
            Statement::ForIn(_, _, body) => (Vec::new(), vec![body]),
            Statement::Switch(value, cases) => {
                (vec![value], cases.$iter().map(|case| $($reference)+ case.body).collect())
            }
            Statement::Block(body) => (Vec::new(), body.$iter().collect()),
            Statement::Delete(_, index) => (index.$iter().flatten().collect(), Vec::new()),
            Statement::Exit(value) | Statement::Return(value) => (value.$iter().collect(), Vec::new()),
            Statement::Line(_)
            | Statement::SortedIn(_)
            | Statement::Next
            | Statement::NextFile
            | Statement::Break
            | Statement::Continue => (Vec::new(), Vec::new()),
        }
    };
}

/// A whole program.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub(super) begin: Vec<Vec<Statement>>,
    pub(super) rules: Vec<Rule>,
    pub(super) end: Vec<Vec<Statement>>,
    pub(super) functions: Vec<Function>,
    /// Names whose `length` occurs in the text before anything shows that they are arrays. A parameter's name comes with the
    /// number of its function.
    pub(super) early_lengths: BTreeSet<(Option<usize>, String)>,
    /// Whether something of which gawk may say something goes over several lines ([`super::source_lines`]).
    pub(super) spans_lines: bool,
}

impl Program {
    /// Whether a function has a parameter of this name.
    pub(super) fn has_parameter(&self, name: &str) -> bool {
        self.functions.iter().any(|function| function.parameters.iter().any(|parameter| parameter == name))
    }
}

/// `pattern { action }`.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) pattern: Pattern,
    /// `print` if the program says nothing.
    pub(super) action: Vec<Statement>,
    /// The line of the pattern, if messages name it.
    pub(super) line: Option<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum Pattern {
    Always,
    When(Expr),
    /// From a record where the first is true to one where the second is.
    Range(Expr, Expr),
}

#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) parameters: Vec<String>,
    pub(super) body: Vec<Statement>,
}

#[derive(Clone, Debug)]
pub(super) enum Statement {
    Expr(Expr),
    /// What follows lies in this line of the program.
    Line(usize),
    Print(Vec<Expr>, Option<Redirect>),
    Printf(Vec<Expr>, Option<Redirect>),
    If(Expr, Box<Statement>, Option<Box<Statement>>),
    While(Expr, Box<Statement>),
    Do(Box<Statement>, Expr),
    For(Option<Box<Statement>>, Option<Expr>, Option<Box<Statement>>, Box<Statement>),
    ForIn(String, String, Box<Statement>),
    /// Sets the order of gawk's loops over arrays; without one they run as the array is kept.
    SortedIn(Option<SortOrder>),
    /// gawk's `switch`.
    Switch(Expr, Vec<Case>),
    Block(Vec<Statement>),
    Delete(String, Option<Vec<Expr>>),
    Next,
    NextFile,
    Exit(Option<Expr>),
    Return(Option<Expr>),
    Break,
    Continue,
}

/// A case of a `switch`.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// A number, a string or a regular expression; `None` for the default.
    pub(super) constant: Option<Expr>,
    pub(super) body: Statement,
}

/// The redirection of output.
#[derive(Clone, Debug)]
pub(super) struct Redirect {
    pub(super) how: &'static str,
    pub(super) to: Expr,
    /// The line of the `print`, from 1 on.
    pub(super) line: usize,
}

impl Redirect {
    /// Whether it is standard error, by the name that all awks know without opening a file.
    pub(super) fn is_standard_error(&self) -> bool {
        self.how != "|" && self.to == Expr::Text(b"/dev/stderr".to_vec())
    }

    /// Whether it is the standard output, which all awks know as they know standard error.
    pub(super) fn is_standard_output(&self) -> bool {
        self.how != "|" && self.to == Expr::Text(b"/dev/stdout".to_vec())
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    Number(f64),
    Text(Vec<u8>),
    Regex(Vec<u8>),
    Name(String),
    Field(Box<Expr>),
    Element(String, Vec<Expr>),
    /// `(i, j) in a`.
    In(Vec<Expr>, String),
    Assign(Box<Expr>, Box<Expr>),
    /// `+=` and the like.
    Update(Arith, Box<Expr>, Box<Expr>),
    /// `++x` (before) and `x++`, by 1 or -1.
    Step {
        place: Box<Expr>,
        by: f64,
        before: bool,
    },
    Negate(Box<Expr>),
    Plus(Box<Expr>),
    Not(Box<Expr>),
    Arith(Arith, Box<Expr>, Box<Expr>),
    Compare(Order, Box<Expr>, Box<Expr>),
    /// `~`, or `!~` if negated.
    Match {
        negated: bool,
        text: Box<Expr>,
        regex: Box<Expr>,
    },
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    Concat(Box<Expr>, Box<Expr>),
    /// In parentheses: several are valid only before `in` and after `print`.
    Group(Vec<Expr>),
    Builtin(Builtin, Vec<Expr>),
    /// `length` without parentheses.
    LengthAlone,
    Call(String, Vec<Expr>),
    /// Any form of `getline`.
    Getline(Vec<Expr>),
}

impl Expr {
    /// Returns it without parentheses.
    pub(super) fn bare(&self) -> &Expr {
        match self {
            Expr::Group(inner) if inner.len() == 1 => inner[0].bare(),
            expr => expr,
        }
    }

    /// Whether it is `$1 = $2 = ""` or the like: fields with constant numbers, and a constant.
    pub(super) fn sets_fields_to_a_constant(&self) -> bool {
        let is_field = |place: &Expr| match place {
            Expr::Field(index) => matches!(**index, Expr::Number(number) if number >= 1.0),
            _ => false,
        };
        match self {
            Expr::Assign(place, value) if is_field(place) => {
                matches!(**value, Expr::Text(_) | Expr::Number(_)) || value.sets_fields_to_a_constant()
            }
            _ => false,
        }
    }

    /// Returns the place that it changes by itself, if any: by an assignment, a step, `sub`, `gsub` or `getline`.
    pub(super) fn changed_place(&self) -> Option<&Expr> {
        match self {
            Expr::Assign(place, _) | Expr::Update(_, place, _) | Expr::Step { place, .. } => Some(place),
            Expr::Builtin(Builtin::Sub | Builtin::Gsub, args) => args.get(2),
            Expr::Builtin(Builtin::ReadLine | Builtin::NextRecord, args) => args.first(),
            _ => None,
        }
    }

    /// Whether its value is a string, whatever the variables hold.
    pub(super) fn is_text(&self) -> bool {
        match self {
            Expr::Text(_) | Expr::Concat(..) => true,
            Expr::Group(inner) => inner.iter().all(Expr::is_text),
            // Without a match it may return the target as it is.
            Expr::Builtin(Builtin::Gensub, args) => args.get(3).is_some_and(Expr::is_text),
            Expr::Builtin(builtin, _) => builtin.is_text(),
            _ => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arith {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
}

impl Arith {
    /// Whether it adds or subtracts.
    pub(super) fn is_additive(self) -> bool {
        matches!(self, Arith::Add | Arith::Subtract)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
}

impl Order {
    /// Returns the mirrored operator.
    pub(super) fn turned(self) -> Order {
        match self {
            Order::Less => Order::Greater,
            Order::LessOrEqual => Order::GreaterOrEqual,
            Order::Greater => Order::Less,
            Order::GreaterOrEqual => Order::LessOrEqual,
            same => same,
        }
    }

    /// Whether it holds for operands in this order.
    #[inline]
    pub(super) fn holds(self, found: Ordering) -> bool {
        match self {
            Order::Less => found.is_lt(),
            Order::LessOrEqual => found.is_le(),
            Order::Equal => found.is_eq(),
            Order::NotEqual => found.is_ne(),
            Order::Greater => found.is_gt(),
            Order::GreaterOrEqual => found.is_ge(),
        }
    }

    /// Whether it is `>` or `>=`.
    pub(super) fn is_greater(self) -> bool {
        matches!(self, Order::Greater | Order::GreaterOrEqual)
    }
}

/// Functions of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    Length,
    Substr,
    Index,
    Split,
    Sub,
    Gsub,
    Match,
    Sprintf,
    ToLower,
    ToUpper,
    Int,
    Sqrt,
    Exp,
    Log,
    Sin,
    Cos,
    Atan2,
    Rand,
    Srand,
    System,
    Close,
    Flush,
    /// gawk's own.
    Gensub,
    Asort,
    Asorti,
    /// `getline VARIABLE < "FILE"`.
    ReadLine,
    /// `getline` and `getline VARIABLE`, of the input. The record has the place `$0`.
    NextRecord,
}

impl Builtin {
    /// Whether it returns a string.
    pub(super) fn is_text(self) -> bool {
        matches!(self, Builtin::Substr | Builtin::Sprintf | Builtin::ToLower | Builtin::ToUpper)
    }

    pub(super) fn named(name: &str) -> Option<Builtin> {
        Some(match name {
            "length" => Builtin::Length,
            "substr" => Builtin::Substr,
            "index" => Builtin::Index,
            "split" => Builtin::Split,
            "sub" => Builtin::Sub,
            "gsub" => Builtin::Gsub,
            "match" => Builtin::Match,
            "sprintf" => Builtin::Sprintf,
            "tolower" => Builtin::ToLower,
            "toupper" => Builtin::ToUpper,
            "int" => Builtin::Int,
            "sqrt" => Builtin::Sqrt,
            "exp" => Builtin::Exp,
            "log" => Builtin::Log,
            "sin" => Builtin::Sin,
            "cos" => Builtin::Cos,
            "atan2" => Builtin::Atan2,
            "rand" => Builtin::Rand,
            "srand" => Builtin::Srand,
            "system" => Builtin::System,
            "close" => Builtin::Close,
            "fflush" => Builtin::Flush,
            _ => return None,
        })
    }

    /// Returns one of gawk's own functions.
    pub(super) fn of_gawk(name: &str) -> Option<Builtin> {
        Some(match name {
            "gensub" => Builtin::Gensub,
            "asort" => Builtin::Asort,
            "asorti" => Builtin::Asorti,
            _ => return None,
        })
    }

    /// Returns the least and the most arguments.
    pub(super) fn arity(self) -> (usize, usize) {
        match self {
            Builtin::Length | Builtin::Srand | Builtin::Flush => (0, 1),
            Builtin::Rand => (0, 0),
            Builtin::Substr | Builtin::Split | Builtin::Sub | Builtin::Gsub => (2, 3),
            Builtin::Index | Builtin::Match | Builtin::Atan2 => (2, 2),
            Builtin::Gensub => (3, 4),
            Builtin::Asort | Builtin::Asorti => (1, 3),
            Builtin::Sprintf => (1, usize::MAX),
            _ => (1, 1),
        }
    }
}

impl Expr {
    /// Whether it can be assigned to.
    pub(super) fn is_place(&self) -> bool {
        matches!(self, Expr::Name(_) | Expr::Field(_) | Expr::Element(..))
    }

    /// Returns its subexpressions.
    pub(super) fn parts(&self) -> Vec<&Expr> {
        parts_of_expr!(self, iter)
    }

    /// Returns its subexpressions, to be exchanged.
    pub(super) fn parts_mut(&mut self) -> Vec<&mut Expr> {
        parts_of_expr!(self, iter_mut)
    }
}

impl Program {
    /// Returns its expressions that stand in no other one, to be exchanged.
    pub(super) fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        let Program { begin, rules, end, functions, .. } = self;
        let mut found = Vec::new();
        let mut statements: Vec<&mut Statement> = begin.iter_mut().chain(end).flatten().collect();
        for Rule { pattern, action, .. } in rules {
            match pattern {
                Pattern::Always => {}
                Pattern::When(test) => found.push(test),
                Pattern::Range(first, last) => found.extend([first, last]),
            }
            statements.extend(action);
        }
        statements.extend(functions.iter_mut().flat_map(|function| &mut function.body));
        while let Some(statement) = statements.pop() {
            let (expressions, inner) = statement.parts_mut();
            found.extend(expressions);
            statements.extend(inner);
        }
        found
    }
}

impl Statement {
    /// Whether what follows is not executed for the record.
    pub(super) fn leaves_record(&self) -> bool {
        matches!(self, Statement::Next | Statement::NextFile | Statement::Exit(_))
    }

    pub(super) fn is_print(&self) -> bool {
        matches!(self, Statement::Print(..) | Statement::Printf(..))
    }

    /// Returns the statements of a block, and of blocks in it, one after another; itself if it is none.
    pub(super) fn flat(&self) -> Vec<&Statement> {
        match self {
            Statement::Block(inner) => inner.iter().flat_map(Statement::flat).collect(),
            Statement::Line(_) => Vec::new(),
            other => vec![other],
        }
    }

    /// Returns its expressions and statements.
    pub(super) fn parts(&self) -> (Vec<&Expr>, Vec<&Statement>) {
        parts_of_statement!(self, iter, as_deref, &)
    }

    /// Returns its expressions and statements, to be exchanged.
    fn parts_mut(&mut self) -> (Vec<&mut Expr>, Vec<&mut Statement>) {
        parts_of_statement!(self, iter_mut, as_deref_mut, &mut)
    }
}
