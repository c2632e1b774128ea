//! Compiles expressions.

use crate::{Accept, Declined};

use super::arithmetic::Partial;
use super::code::{Get, LValue, comparison, either};
use super::compile::Compiler;
use super::made_pattern::Search;
use super::names::Owner;
use super::read_lines::ReadFile;
use super::rules;
use super::tree::{Builtin, Expr};

/// Whether logarithms and the like come from the system's library.
const SYSTEM_MATH: bool = cfg!(target_env = "gnu");

impl Compiler<'_> {
    fn boxed(&mut self, expr: &Expr) -> Accept<Box<Get>> {
        self.get(expr).map(Box::new)
    }

    /// Compiles an expression for its value.
    pub(super) fn get(&mut self, expr: &Expr) -> Accept<Get> {
        Ok(match expr {
            Expr::Number(number) => Get::Number(*number),
            Expr::Text(text) => Compiler::constant(text),
            // A lone pattern matches against the record.
            Expr::Regex(_) => {
                let text = Box::new(Get::Of(LValue::Record));
                Get::Match { negated: false, text, pattern: self.pattern(expr)? }
            }
            Expr::Name(name) => self.read(name),
            Expr::Field(_) | Expr::Element(..) => Get::Of(self.assignable(expr)?),
            Expr::Group(inner) if inner.len() == 1 => self.get(&inner[0])?,
            Expr::Group(_) => return Declined::because("a list where one value is wanted"),
            Expr::In(index, array) => {
                let table = self.table(array);
                Get::In(table, self.gets(index)?)
            }
            Expr::Assign(place, value) => {
                let place = self.assignable(place)?;
                Get::Assign(Box::new(place), self.boxed(value)?)
            }
            Expr::Update(arith, place, value) => {
                let place = self.assignable(place)?;
                Get::Update(*arith, Box::new(place), self.boxed(value)?)
            }
            Expr::Step { place, by, before } => {
                Get::Step { place: Box::new(self.assignable(place)?), by: *by, before: *before }
            }
            Expr::Negate(inner) => match self.get(inner)? {
                Get::Number(number) if number != 0.0 => Get::Number(-number),
                inner => Get::Negate(Box::new(inner)),
            },
            Expr::Plus(inner) => Get::Plus(self.boxed(inner)?),
            Expr::Not(inner) => match self.get(inner)? {
                Get::Match { negated, text, pattern } => Get::Match { negated: !negated, text, pattern },
                inner => Get::Not(Box::new(inner)),
            },
            Expr::Arith(arith, left, right) => {
                let left = self.boxed(left)?;
                Get::Arith(*arith, left, self.boxed(right)?)
            }
            Expr::Compare(order, left, right) => {
                let left = self.get(left)?;
                comparison(*order, left, self.get(right)?)
            }
            Expr::Match { negated, text, regex } if self.is_made(regex) => {
                let search = Search::Match { negated: *negated, text: self.get(text)? };
                self.made(regex, &[&**text], search)?
            }
            Expr::Match { negated, text, regex } => {
                let text = self.boxed(text)?;
                Get::Match { negated: *negated, text, pattern: self.pattern(regex)? }
            }
            Expr::And(left, right) => {
                let left = self.boxed(left)?;
                Get::And(left, self.boxed(right)?)
            }
            Expr::Or(left, right) => {
                let left = self.get(left)?;
                either(left, self.get(right)?)
            }
            Expr::If(test, yes, no) => {
                let (test, yes) = (self.boxed(test)?, self.boxed(yes)?);
                Get::If(test, yes, self.boxed(no)?)
            }
            Expr::Concat(left, right) => self.concat(left, right)?,
            Expr::LengthAlone => Get::Length(Box::new(Get::Of(LValue::Record))),
            Expr::Builtin(builtin, args) => self.builtin(*builtin, args)?,
            Expr::Call(name, args) => {
                let Some(number) = self.names.function(name) else {
                    return Declined::because("a function that is not defined");
                };
                let arrays = self.names.parameters_are_arrays(number);
                self.arguments(number, args, &arrays)?
            }
            Expr::Getline(_) => return Declined::because("a side effect: getline"),
        })
    }

    fn read(&mut self, name: &str) -> Get {
        match name {
            "NR" => Get::RecordNumber,
            "FNR" => Get::FileRecordNumber,
            "FILENAME" => Get::FileName,
            "NF" => Get::Of(LValue::FieldCount),
            _ => Get::Of(self.place(name)),
        }
    }

    /// Flattens adjacent concatenations.
    fn concat(&mut self, left: &Expr, right: &Expr) -> Accept<Get> {
        let mut all = match self.get(left)? {
            Get::Concat(all) => all,
            other => vec![other],
        };
        all.push(self.get(right)?);
        Ok(Get::Concat(all))
    }

    fn builtin(&mut self, builtin: Builtin, args: &[Expr]) -> Accept<Get> {
        match builtin {
            Builtin::Length => {
                if let [Expr::Name(name)] = args
                    && self.names.is_array(self.inside, name)
                {
                    return Ok(Get::Size(self.table(name)));
                }
                if let [Expr::Name(name)] = args
                    && self.names.owner(self.inside, name) != Owner::Program
                {
                    return Declined::because("the length of a parameter that may be an array");
                }
                Ok(Get::Length(self.boxed(&args[0])?))
            }
            Builtin::Substr => {
                let (text, start) = (self.boxed(&args[0])?, self.boxed(&args[1])?);
                let length = args.get(2).map(|length| self.boxed(length)).transpose()?;
                Ok(Get::Substr(text, start, length))
            }
            Builtin::Index if matches!(args[1], Expr::Regex(_)) => {
                Declined::because("index of a regular expression")
            }
            Builtin::Index => {
                let text = self.boxed(&args[0])?;
                Ok(Get::Index(text, self.boxed(&args[1])?))
            }
            Builtin::Split => self.split(args),
            Builtin::ReadLine => {
                let is_it = |(name, _): &ReadFile| matches!(&args[1], Expr::Text(text) if text == name);
                let Some(file) = self.given.read_files.iter().position(is_it) else {
                    return Declined::because("a side effect: getline");
                };
                Ok(Get::ReadLine(file, Box::new(self.assignable(&args[0])?)))
            }
            Builtin::NextRecord => Ok(Get::NextRecord(Box::new(self.assignable(&args[0])?))),
            Builtin::Gensub => self.gensub(args),
            Builtin::Asort | Builtin::Asorti => Ok(Get::Sort(self.sort(builtin, args)?)),
            Builtin::Sub => self.substitute(args, false),
            Builtin::Gsub => self.substitute(args, true),
            Builtin::Match if self.is_made(&args[1]) => {
                let search = Search::Find(self.get(&args[0])?);
                self.made(&args[1], &[&args[0]], search)
            }
            Builtin::Match => {
                let text = self.boxed(&args[0])?;
                Ok(Get::Find(text, self.pattern_to_find(&args[1])?))
            }
            Builtin::Sprintf if self.known_text(&args[0]).is_none() => {
                Ok(Get::MadeFormat(Box::new(self.made_format(args, true)?)))
            }
            Builtin::Sprintf => {
                let (pieces, args) = self.format(args)?;
                super::mawk::check_sprintf(&pieces, self.given.dialect)?;
                Ok(Get::Sprintf(pieces, args))
            }
            Builtin::ToLower => Ok(Get::ToLower(self.boxed(&args[0])?)),
            Builtin::ToUpper => Ok(Get::ToUpper(self.boxed(&args[0])?)),
            Builtin::Int => Ok(Get::Math(f64::trunc, self.boxed(&args[0])?)),
            Builtin::Sqrt if !rules::is_mawk() => Ok(Get::Partial(Partial::Sqrt, self.boxed(&args[0])?)),
            Builtin::Exp if SYSTEM_MATH && !rules::is_mawk() => {
                Ok(Get::Partial(Partial::Exp, self.boxed(&args[0])?))
            }
            Builtin::Log if SYSTEM_MATH && !rules::is_mawk() => {
                Ok(Get::Partial(Partial::Log, self.boxed(&args[0])?))
            }
            Builtin::Sqrt => Ok(Get::Math(f64::sqrt, self.boxed(&args[0])?)),
            // The library that mawk uses.
            Builtin::Exp if SYSTEM_MATH => Ok(Get::Math(f64::exp, self.boxed(&args[0])?)),
            Builtin::Log if SYSTEM_MATH => Ok(Get::Math(f64::ln, self.boxed(&args[0])?)),
            Builtin::Sin if SYSTEM_MATH => Ok(Get::Math(f64::sin, self.boxed(&args[0])?)),
            Builtin::Cos if SYSTEM_MATH => Ok(Get::Math(f64::cos, self.boxed(&args[0])?)),
            Builtin::Exp | Builtin::Log | Builtin::Sin | Builtin::Cos | Builtin::Atan2 => Declined::because(
                format!("{builtin:?}, whose last digits are the system library's").to_lowercase(),
            ),
            Builtin::Rand if self.given.dialect != super::Dialect::Portable => Ok(Get::Rand),
            Builtin::Rand | Builtin::Srand => Declined::because("random numbers"),
            Builtin::System | Builtin::Close | Builtin::Flush => {
                Declined::because(format!("a side effect: {builtin:?}").to_lowercase())
            }
        }
    }
}
