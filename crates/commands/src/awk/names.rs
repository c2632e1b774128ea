//! Resolves the names of a program: variables, arrays, parameters.
//!
//! A name is an array if it is used as one anywhere, or passed to a function that uses it as one; it must
//! then be one everywhere.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Accept, Declined};

use super::Dialect;
use super::tree::{Builtin, Expr, Function, Pattern, Program, Statement};

/// Special variables of some awks that are not supported.
const UNSERVED: &[&str] = &[
    "ENVIRON",
    "ARGC",
    "ARGV",
    "RT",
    "IGNORECASE",
    "FPAT",
    "FIELDWIDTHS",
    "ERRNO",
    "BINMODE",
    "TEXTDOMAIN",
    "PROCINFO",
    "SYMTAB",
    "FUNCTAB",
    "LINT",
    "ARGIND",
    "RLENGTHS",
];

/// Functions and words of only some awks.
const RESERVED: &[&str] = &[
    "systime",
    "mktime",
    "strftime",
    "gensub",
    "asort",
    "asorti",
    "patsplit",
    "strtonum",
    "and",
    "or",
    "xor",
    "compl",
    "lshift",
    "rshift",
    "isarray",
    "typeof",
    "dcgettext",
    "dcngettext",
    "bindtextdomain",
    "func",
    "include",
    "load",
    "namespace",
    "switch",
    "case",
    "default",
    "delarray",
    "toascii",
    "intdiv",
    "mkbool",
    "adump",
    "stopme",
    "BEGINFILE",
    "ENDFILE",
    "eval",
];

/// The owner of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    Program,
    /// The function with this index.
    Function(usize),
}

/// All names of a program.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) arrays: BTreeSet<(Owner, String)>,
    scalars: BTreeSet<(Owner, String)>,
    functions: BTreeMap<String, usize>,
    parameters: Vec<Vec<String>>,
    /// Names passed to functions unchanged: to which function, and as which argument.
    given: Vec<(Owner, String, usize, usize)>,
}

impl Names {
    /// Whether it is an array or a function of the program.
    pub(super) fn is_no_variable(&self, name: &str) -> bool {
        let is_it = |(owner, array): &(Owner, String)| *owner == Owner::Program && array == name;
        self.arrays.iter().any(is_it) || self.functions.contains_key(name)
    }
}

/// Returns every statement of a program, with its owner.
pub(super) fn bodies(program: &Program) -> Vec<(Owner, &Statement)> {
    let mut all = Vec::new();
    for block in program.begin.iter().chain(&program.end) {
        all.extend(block.iter().map(|statement| (Owner::Program, statement)));
    }
    for rule in &program.rules {
        all.extend(rule.action.iter().map(|statement| (Owner::Program, statement)));
    }
    for (number, function) in program.functions.iter().enumerate() {
        all.extend(function.body.iter().map(|statement| (Owner::Function(number), statement)));
    }
    all
}

/// Returns the patterns of a program.
pub(super) fn patterns(program: &Program) -> Vec<&Expr> {
    let of = |pattern| match pattern {
        &Pattern::Always => Vec::new(),
        Pattern::When(test) => vec![test],
        Pattern::Range(start, end) => vec![start, end],
    };
    program.rules.iter().flat_map(|rule| of(&rule.pattern)).collect()
}

impl Names {
    /// Resolves the names of a program.
    pub(super) fn of(program: &Program) -> Accept<Names> {
        let mut names = Names::default();
        for (number, Function { name, parameters, .. }) in program.functions.iter().enumerate() {
            let known = names.functions.insert(name.clone(), number).is_some();
            if known || parameters.iter().any(|parameter| is_special(parameter)) || is_special(name) {
                return Declined::because("a function's name twice, or a variable of awk's as its parameter");
            }
            names.parameters.push(parameters.clone());
        }
        for parameters in &names.parameters {
            if parameters.iter().any(|parameter| names.functions.contains_key(parameter)) {
                return Declined::because("a parameter with the name of a function");
            }
        }
        for (owner, statement) in bodies(program) {
            names.statement(owner, statement)?;
        }
        for pattern in patterns(program) {
            names.expr(Owner::Program, pattern)?;
        }
        names.spread();
        match names.arrays.intersection(&names.scalars).next() {
            Some((_, name)) => Declined::because(format!("{name} is an array and a variable")),
            None => Ok(names),
        }
    }

    /// Returns the function of this name.
    pub(super) fn function(&self, name: &str) -> Option<usize> {
        self.functions.get(name).copied()
    }

    /// Returns the owner of a name, seen from inside an owner.
    pub(super) fn owner(&self, inside: Owner, name: &str) -> Owner {
        match inside {
            Owner::Function(number) if self.parameters[number].iter().any(|known| known == name) => inside,
            _ => Owner::Program,
        }
    }

    /// Declines a program that asks for the length of an array before the text shows that it is one: mawk before 2025
    /// takes the name for a variable. gawk does so as it runs ([`length_of_array`](super::length_of_array)).
    pub(super) fn check_lengths(&self, program: &Program, dialect: Dialect) -> Accept<()> {
        let is_array = |(function, name): &(Option<usize>, String)| {
            let owner = function.map_or(Owner::Program, Owner::Function);
            self.arrays.contains(&(owner, name.clone()))
        };
        let reads_once = matches!(dialect, Dialect::Mawk { is_2025: false } | Dialect::Portable);
        if reads_once && program.early_lengths.iter().any(is_array) {
            return Declined::because("the length of an array before it is used as one");
        }
        Ok(())
    }

    pub(super) fn is_array(&self, inside: Owner, name: &str) -> bool {
        self.arrays.contains(&(self.owner(inside, name), name.to_owned()))
    }

    /// Returns which parameters of a function are arrays.
    pub(super) fn parameters_are_arrays(&self, function: usize) -> Vec<bool> {
        let inside = Owner::Function(function);
        self.parameters[function].iter().map(|name| self.is_array(inside, name)).collect()
    }

    fn check(&self, name: &str) -> Accept<()> {
        if UNSERVED.contains(&name) {
            return Declined::because(format!("the variable {name}"));
        }
        if RESERVED.contains(&name) {
            return Declined::because(format!("{name}, which not every awk reads in the same way"));
        }
        if self.functions.contains_key(name) {
            return Declined::because("a function's name as a variable");
        }
        Ok(())
    }

    fn scalar(&mut self, inside: Owner, name: &str) -> Accept<()> {
        self.check(name)?;
        let owner = self.owner(inside, name);
        self.scalars.insert((owner, name.to_owned()));
        Ok(())
    }

    fn array(&mut self, inside: Owner, name: &str) -> Accept<()> {
        self.check(name)?;
        if is_special(name) {
            return Declined::because(format!("{name} as an array"));
        }
        let owner = self.owner(inside, name);
        self.arrays.insert((owner, name.to_owned()));
        Ok(())
    }

    fn statement(&mut self, inside: Owner, statement: &Statement) -> Accept<()> {
        match statement {
            Statement::ForIn(name, array, _) => {
                self.scalar(inside, name)?;
                self.array(inside, array)?;
            }
            Statement::Delete(array, _) => self.array(inside, array)?,
            _ => {}
        }
        let (exprs, statements) = statement.parts();
        exprs.into_iter().try_for_each(|expr| self.expr(inside, expr))?;
        statements.into_iter().try_for_each(|statement| self.statement(inside, statement))
    }

    fn expr(&mut self, inside: Owner, expr: &Expr) -> Accept<()> {
        match expr {
            Expr::Name(name) => return self.scalar(inside, name),
            Expr::Element(array, _) | Expr::In(_, array) => self.array(inside, array)?,
            Expr::Builtin(Builtin::Split, args) => {
                let [text, Expr::Name(array), rest @ ..] = args.as_slice() else {
                    return Declined::because("split into something that is no array");
                };
                self.array(inside, array)?;
                self.expr(inside, text)?;
                return rest.iter().try_for_each(|part| self.expr(inside, part));
            }
            Expr::Builtin(Builtin::Asort | Builtin::Asorti, args) => {
                let mut arrays = args.iter().take(2);
                return arrays.try_for_each(|arg| match arg {
                    Expr::Name(array) => self.array(inside, array),
                    _ => Declined::because("asort or asorti of something that is no array"),
                });
            }
            // It may be an array.
            Expr::Builtin(Builtin::Length, args) if let [Expr::Name(name)] = args.as_slice() => {
                return self.check(name);
            }
            Expr::Call(function, args) => return self.call(inside, function, args),
            _ => {}
        }
        expr.parts().into_iter().try_for_each(|part| self.expr(inside, part))
    }

    fn call(&mut self, inside: Owner, function: &str, args: &[Expr]) -> Accept<()> {
        let Some(number) = self.function(function) else {
            return Declined::because(format!("the function {function}, which the program does not define"));
        };
        if args.len() > self.parameters[number].len() {
            return Declined::because("a call with too many arguments");
        }
        for (place, arg) in args.iter().enumerate() {
            match arg {
                Expr::Name(name) => {
                    self.check(name)?;
                    let owner = self.owner(inside, name);
                    self.given.push((owner, name.clone(), number, place));
                }
                arg => self.expr(inside, arg)?,
            }
        }
        Ok(())
    }

    /// Propagates: an argument for an array parameter is an array, and vice versa.
    fn spread(&mut self) {
        loop {
            let before = self.arrays.len();
            for (owner, name, function, place) in &self.given {
                let parameter = (Owner::Function(*function), self.parameters[*function][*place].clone());
                let given = (*owner, name.clone());
                if self.arrays.contains(&parameter) {
                    self.arrays.insert(given);
                } else if self.arrays.contains(&given) {
                    self.arrays.insert(parameter);
                }
            }
            if self.arrays.len() == before {
                break;
            }
        }
        for (owner, name, ..) in &self.given {
            let given = (*owner, name.clone());
            if !self.arrays.contains(&given) {
                self.scalars.insert(given);
            }
        }
    }
}

/// Whether no program is served that has the variable.
pub(super) fn is_refused(name: &str) -> bool {
    UNSERVED.contains(&name) || RESERVED.contains(&name)
}

/// Whether awk itself reads or sets the variable.
pub(super) fn is_special(name: &str) -> bool {
    super::code::KNOWN.iter().any(|(known, _)| *known == name)
        || matches!(name, "NR" | "NF" | "FNR" | "FILENAME")
        || UNSERVED.contains(&name)
}
