//! Parses expressions, by precedence. Declined where awks are known to disagree.

use crate::{Accept, Declined};

use super::Dialect;
use super::environment;
use super::gensub;
use super::lex::Token;
use super::next_record;
use super::parse::Parser;
use super::read_lines;
use super::sort_order;
use super::tree::{Arith, Builtin, Expr, Order};

fn two(left: Expr, right: Expr) -> (Box<Expr>, Box<Expr>) {
    (Box::new(left), Box::new(right))
}

impl Parser<'_> {
    /// Parses expressions separated by commas.
    pub(super) fn list(&mut self) -> Accept<Vec<Expr>> {
        let mut list = vec![self.expr()?];
        while self.eat(",")? {
            self.skip_newlines()?;
            list.push(self.expr()?);
        }
        Ok(list)
    }

    /// Parses any expression.
    pub(super) fn expr(&mut self) -> Accept<Expr> {
        self.deeper(Self::assignment)
    }

    fn assignment(&mut self) -> Accept<Expr> {
        let left = self.conditional()?;
        let how = match self.token {
            Token::Sign("=") => None,
            Token::Sign("+=") => Some(Arith::Add),
            Token::Sign("-=") => Some(Arith::Subtract),
            Token::Sign("*=") => Some(Arith::Multiply),
            Token::Sign("/=") => Some(Arith::Divide),
            Token::Sign("%=") => Some(Arith::Remainder),
            Token::Sign("^=") => Some(Arith::Power),
            _ => return Ok(left),
        };
        if !left.is_place() {
            return Declined::because("an assignment to something that is no variable");
        }
        self.advance()?;
        self.skip_newlines()?;
        let (left, right) = two(left, self.expr()?);
        Ok(match how {
            None => Expr::Assign(left, right),
            Some(arith) => Expr::Update(arith, left, right),
        })
    }

    fn conditional(&mut self) -> Accept<Expr> {
        let test = self.or()?;
        if !self.eat("?")? {
            return Ok(test);
        }
        self.skip_newlines()?;
        let (yes, no) = {
            let yes = self.expr()?;
            self.skip_newlines()?;
            self.expect(":")?;
            self.skip_newlines()?;
            two(yes, self.expr()?)
        };
        Ok(Expr::If(Box::new(test), yes, no))
    }

    fn or(&mut self) -> Accept<Expr> {
        let mut left = self.and()?;
        while self.eat("||")? {
            self.skip_newlines()?;
            let (first, second) = two(left, self.and()?);
            left = Expr::Or(first, second);
        }
        Ok(left)
    }

    fn and(&mut self) -> Accept<Expr> {
        let mut left = self.membership()?;
        while self.eat("&&")? {
            self.skip_newlines()?;
            let (first, second) = two(left, self.membership()?);
            left = Expr::And(first, second);
        }
        Ok(left)
    }

    fn membership(&mut self) -> Accept<Expr> {
        let mut left = self.matching()?;
        while self.eat("in")? {
            let Token::Name(array) = self.token.clone() else { return self.unexpected() };
            self.is_array(&array);
            self.advance()?;
            left = match left {
                Expr::Group(index) => Expr::In(index, array),
                single => Expr::In(vec![single], array),
            };
        }
        Ok(left)
    }

    fn matching(&mut self) -> Accept<Expr> {
        let left = self.comparison()?;
        let negated = match self.token {
            Token::Sign("~") => false,
            Token::Sign("!~") => true,
            _ => return Ok(left),
        };
        refuse_not(&left)?;
        self.advance()?;
        let (text, regex) = two(left, self.comparison()?);
        if matches!(self.token, Token::Sign("~" | "!~")) {
            return Declined::because("a match of a match");
        }
        refuse_not(&regex)?;
        Ok(Expr::Match { negated, text, regex })
    }

    fn comparison(&mut self) -> Accept<Expr> {
        let left = self.concatenation()?;
        let order = match self.token {
            Token::Sign("<") => Order::Less,
            Token::Sign("<=") => Order::LessOrEqual,
            Token::Sign("==") => Order::Equal,
            Token::Sign("!=") => Order::NotEqual,
            Token::Sign(">") if !self.no_greater => Order::Greater,
            Token::Sign(">=") if self.no_greater => {
                return Declined::because(">= behind print, without parentheses");
            }
            Token::Sign(">=") => Order::GreaterOrEqual,
            Token::Sign("|") if !self.no_greater => return self.piped_getline(left),
            _ => return Ok(left),
        };
        refuse_not(&left)?;
        self.advance()?;
        let (left, right) = two(left, self.concatenation()?);
        refuse_not(&right)?;
        if matches!(self.token, Token::Sign("<" | "<=" | "==" | "!=" | ">="))
            || self.is(">") && !self.no_greater
        {
            return Declined::because("a comparison of a comparison");
        }
        Ok(Expr::Compare(order, left, right))
    }

    fn piped_getline(&mut self, command: Expr) -> Accept<Expr> {
        self.advance()?;
        self.expect("getline")?;
        let mut parts = vec![command];
        parts.extend(self.getline_target()?);
        Ok(Expr::Getline(parts))
    }

    fn getline_target(&mut self) -> Accept<Option<Expr>> {
        if matches!(self.token, Token::Name(_)) || self.is("$") { self.primary().map(Some) } else { Ok(None) }
    }

    pub(super) fn concatenation(&mut self) -> Accept<Expr> {
        let mut left = self.additive()?;
        while self.begins_operand() {
            if matches!(self.lexer.dialect, Dialect::Portable | Dialect::OneTrue { .. }) {
                refuse_not(&left)?;
            }
            let right = self.additive()?;
            let (first, second) = two(left, right);
            left = Expr::Concat(first, second);
        }
        Ok(left)
    }

    /// Whether the token can begin the second operand of a concatenation. A sign or a slash would be an
    /// operator.
    fn begins_operand(&self) -> bool {
        match &self.token {
            Token::Number(_) | Token::Text(_) | Token::Name(_) | Token::Function(_) => true,
            Token::Sign(sign) => matches!(*sign, "(" | "$" | "++" | "--" | "!" | "getline"),
            Token::End | Token::Newline => false,
        }
    }

    fn additive(&mut self) -> Accept<Expr> {
        let mut left = self.multiplicative()?;
        loop {
            let how = match self.token {
                Token::Sign("+") => Arith::Add,
                Token::Sign("-") => Arith::Subtract,
                _ => return Ok(left),
            };
            self.advance()?;
            let (first, second) = two(left, self.multiplicative()?);
            left = Expr::Arith(how, first, second);
        }
    }

    fn multiplicative(&mut self) -> Accept<Expr> {
        let mut left = self.unary()?;
        loop {
            let how = match self.token {
                Token::Sign("*") => Arith::Multiply,
                Token::Sign("/") => Arith::Divide,
                Token::Sign("%") => Arith::Remainder,
                _ => return Ok(left),
            };
            self.advance()?;
            let (first, second) = two(left, self.unary()?);
            left = Expr::Arith(how, first, second);
        }
    }

    fn unary(&mut self) -> Accept<Expr> {
        self.deeper(|parser| {
            if parser.eat("!")? {
                return Ok(Expr::Not(Box::new(parser.unary()?)));
            }
            if parser.eat("-")? {
                return Ok(Expr::Negate(Box::new(parser.unary()?)));
            }
            if parser.eat("+")? {
                return Ok(Expr::Plus(Box::new(parser.unary()?)));
            }
            parser.power()
        })
    }

    fn power(&mut self) -> Accept<Expr> {
        let base = self.postfix()?;
        if !self.eat("^")? {
            return Ok(base);
        }
        let exponent = if matches!(self.token, Token::Sign("-" | "+" | "!")) {
            return Declined::because("a sign behind ^");
        } else {
            self.deeper(Self::power)?
        };
        let (base, exponent) = two(base, exponent);
        Ok(Expr::Arith(Arith::Power, base, exponent))
    }

    fn postfix(&mut self) -> Accept<Expr> {
        for (sign, by) in [("++", 1.0), ("--", -1.0)] {
            if self.eat(sign)? {
                let place = self.primary()?;
                if !place.is_place() {
                    return Declined::because(format!("{sign} before something that is no variable"));
                }
                return Ok(Expr::Step { place: Box::new(place), by, before: true });
            }
        }
        let expr = self.primary()?;
        for (sign, by) in [("++", 1.0), ("--", -1.0)] {
            if expr.is_place() && self.eat(sign)? {
                // mawk begins a regular expression there.
                if (self.is("/") || self.is("/=")) && !self.lexer.dialect.is_gawk() {
                    return Declined::because(format!("a slash behind {sign}"));
                }
                return Ok(Expr::Step { place: Box::new(expr), by, before: false });
            }
        }
        Ok(expr)
    }

    pub(super) fn primary(&mut self) -> Accept<Expr> {
        self.deeper(Self::primary_here)
    }

    fn primary_here(&mut self) -> Accept<Expr> {
        match self.token.clone() {
            Token::Number(value) => self.advance().map(|()| Expr::Number(value)),
            Token::Text(text) => self.advance().map(|()| Expr::Text(text)),
            Token::Name(name) => self.name(name),
            Token::Function(name) => self.call(name),
            Token::Sign("/") => self.regex(b""),
            Token::Sign("/=") => self.regex(b"="),
            Token::Sign("$") => self.field(),
            Token::Sign("(") => self.group(),
            Token::Sign("getline") => {
                self.advance()?;
                let target = self.getline_target()?;
                let file = if self.eat("<")? { Some(self.primary()?) } else { None };
                // Awks disagree whether a concatenation behind it belongs to the name.
                match read_lines::of(target.as_ref(), file.as_ref()).filter(|_| !self.begins_operand()) {
                    Some(line) => Ok(line),
                    None if file.is_none()
                        && !matches!(self.lexer.dialect, Dialect::Portable | Dialect::OneTrue { .. }) =>
                    {
                        Ok(next_record::of(target))
                    }
                    None => Ok(Expr::Getline(target.into_iter().chain(file).collect())),
                }
            }
            _ => self.unexpected(),
        }
    }

    fn regex(&mut self, begun: &[u8]) -> Accept<Expr> {
        let regex = self.lexer.regex(begun)?;
        self.advance()?;
        Ok(Expr::Regex(regex))
    }

    /// Parses `$`, which binds more tightly than anything but parentheses and preceding steps.
    fn field(&mut self) -> Accept<Expr> {
        self.advance()?;
        let index = match self.token {
            Token::Sign("-" | "+" | "!") => return Declined::because("a sign behind $"),
            Token::Sign("++" | "--") => self.postfix()?,
            _ => self.primary()?,
        };
        Ok(Expr::Field(Box::new(index)))
    }

    fn group(&mut self) -> Accept<Expr> {
        self.advance()?;
        let outside = std::mem::replace(&mut self.no_greater, false);
        let list = self.list()?;
        self.no_greater = outside;
        self.expect(")")?;
        if list.len() > 1 && !self.is("in") && !self.is_end_of_print() {
            return self.unexpected();
        }
        Ok(Expr::Group(list))
    }

    fn is_end_of_print(&self) -> bool {
        matches!(self.token, Token::Newline | Token::End | Token::Sign(";" | "}" | ">" | ">>" | "|"))
    }

    fn name(&mut self, name: String) -> Accept<Expr> {
        self.advance()?;
        match Builtin::named(&name) {
            // Awks disagree about a slash after it.
            Some(Builtin::Length) if self.is("/") || self.is("/=") => {
                return Declined::because("a slash behind length");
            }
            Some(Builtin::Length) if !self.is("(") => return Ok(Expr::LengthAlone),
            Some(builtin) => return self.arguments(builtin),
            None => {}
        }
        if !self.eat("[")? {
            return Ok(Expr::Name(name));
        }
        let outside = std::mem::replace(&mut self.no_greater, false);
        let index = self.list()?;
        self.no_greater = outside;
        self.expect("]")?;
        self.is_array(&name);
        Ok(environment::variable(&name, &index).unwrap_or(Expr::Element(name, index)))
    }

    fn call(&mut self, name: String) -> Accept<Expr> {
        self.advance()?;
        match self.builtin(&name) {
            Some(builtin) => self.arguments(builtin),
            None => Ok(Expr::Call(name, self.parenthesised()?)),
        }
    }

    /// Returns the function of the language that has this name.
    pub(super) fn builtin(&self, name: &str) -> Option<Builtin> {
        let of_gawk = || self.lexer.dialect.is_gawk().then(|| Builtin::of_gawk(name)).flatten();
        Builtin::named(name).or_else(of_gawk)
    }

    fn parenthesised(&mut self) -> Accept<Vec<Expr>> {
        self.expect("(")?;
        let outside = std::mem::replace(&mut self.no_greater, false);
        // No awk takes a new line here.
        let list = if self.is(")") { Vec::new() } else { self.list()? };
        self.no_greater = outside;
        self.expect(")")?;
        Ok(list)
    }

    fn arguments(&mut self, builtin: Builtin) -> Accept<Expr> {
        let arguments = self.parenthesised()?;
        let (least, most) = builtin.arity();
        if arguments.len() < least || arguments.len() > most {
            return Declined::because(format!("{builtin:?} with {} arguments", arguments.len()));
        }
        if arguments.is_empty() && builtin == Builtin::Length {
            return Ok(Expr::LengthAlone);
        }
        match (builtin, arguments.as_slice()) {
            (Builtin::Length, [Expr::Name(name)]) => self.asks_length(name),
            (Builtin::Split, [_, Expr::Name(name), ..]) => self.is_array(name),
            (Builtin::Gensub, args) => gensub::check(args)?,
            (Builtin::Asort | Builtin::Asorti, args) => sort_order::check(builtin, args)?,
            _ => {}
        }
        Ok(Expr::Builtin(builtin, arguments))
    }
}

/// Declines `! x ~ y` and the like: awks disagree.
fn refuse_not(operand: &Expr) -> Accept<()> {
    if matches!(operand, Expr::Not(_)) {
        return Declined::because("! before an operand, without parentheses");
    }
    Ok(())
}
