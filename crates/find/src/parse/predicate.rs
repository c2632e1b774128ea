//! Parses options, tests and actions by name.

use super::{Parser, Read, numbers, unmodelled};
use crate::format::Format;
use crate::pattern::Pattern;
use crate::query::{Action, Expr, Follow, Number, Test};
use crate::stamp::Stamp;
use pelton_sys::directories::{self, Kind, Status};
use pelton_sys::libc_patterns::{Regex, Syntax};
use pelton_sys::users;
use std::ffi::{CStr, CString};

impl Parser<'_> {
    pub(super) fn predicate(&mut self) -> Read<Expr> {
        let Some(name) = self.word().map(<[u8]>::to_vec) else {
            return unmodelled("an expression that ends too early");
        };
        self.at += 1;
        if let Some(done) = self.option(&name)? {
            return Ok(done);
        }
        self.seen_test = true;
        if let Some(action) = self.action(&name)? {
            return Ok(action);
        }
        self.test(&name).map(Expr::Test)
    }

    /// Parses an option. Options are always true, and apply to the whole expression.
    fn option(&mut self, name: &[u8]) -> Read<Option<Expr>> {
        if self.around.input_is_terminal && self.seen_test && IS_GLOBAL.contains(&name) {
            return unmodelled("an option behind a test, of which find warns");
        }
        match name {
            b"-maxdepth" => self.query.max_depth = self.depth_argument(name)?,
            b"-mindepth" => self.query.min_depth = self.depth_argument(name)?,
            b"-depth" => {
                self.query.contents_first = true;
                self.explicit_depth = true;
            }
            b"-xdev" | b"-mount" => self.query.one_file_system = true,
            b"-noleaf" | b"-nowarn" => {}
            b"-regextype" => {
                let wanted = self.argument(name)?;
                self.syntax = syntax(&wanted)?;
            }
            _ => return Ok(None),
        }
        Ok(Some(Expr::Test(Test::Always(true))))
    }

    fn depth_argument(&mut self, name: &[u8]) -> Read<u32> {
        let value = numbers::plain(&self.argument(name)?)?;
        u32::try_from(value).or_else(|_| unmodelled("a depth that large"))
    }

    fn action(&mut self, name: &[u8]) -> Read<Option<Expr>> {
        let prints = |parser: &mut Self, action| {
            parser.prints_itself = true;
            Ok(Some(Expr::Action(action)))
        };
        match name {
            b"-print" => prints(self, Action::Print { end: b'\n' }),
            b"-print0" => prints(self, Action::Print { end: 0 }),
            b"-printf" => {
                let format = Format::new(&self.argument(name)?)?;
                let odd_start = self.query.starts.iter().any(|start| start.to_bytes().ends_with(b"/"));
                if format.splits_paths() && odd_start {
                    return unmodelled("-printf of parts of a path that ends in a slash");
                }
                prints(self, Action::Format(format))
            }
            b"-delete" => {
                (self.deletes, self.query.acts) = (true, true);
                prints(self, Action::Delete)
            }
            b"-exec" => self.command().map(Some),
            b"-prune" => {
                self.prunes = true;
                Ok(Some(Expr::Action(Action::Prune { needs_status: !self.explicit_depth })))
            }
            b"-quit" => {
                self.query.quits = true;
                Ok(Some(Expr::Action(Action::Quit)))
            }
            _ => Ok(None),
        }
    }

    fn test(&mut self, name: &[u8]) -> Read<Test> {
        use Stamp::{Accessed, Changed, Modified};
        let now = self.now;
        match name {
            b"-true" => Ok(Test::Always(true)),
            b"-false" => Ok(Test::Always(false)),
            b"-empty" => Ok(Test::Empty),
            b"-name" | b"-iname" => {
                let pattern = self.pattern(name, name == b"-iname")?;
                let slash = self.words[self.at - 1].contains(&b'/');
                if slash && self.around.input_is_terminal {
                    return unmodelled("a slash in the pattern of a name, of which find warns");
                }
                Ok(Test::Name(pattern))
            }
            b"-path" | b"-wholename" | b"-ipath" | b"-iwholename" => {
                let pattern = self.pattern(name, name.starts_with(b"-i"))?;
                if self.words[self.at - 1].ends_with(b"/") {
                    return unmodelled("a path's pattern that ends in a slash, of which find warns");
                }
                Ok(Test::Path(pattern))
            }
            b"-lname" => Ok(Test::LinkName(self.pattern(name, false)?)),
            b"-ilname" => Ok(Test::LinkName(self.pattern(name, true)?)),
            b"-regex" | b"-iregex" => {
                let regex = Regex::new(&self.argument(name)?, self.syntax, name == b"-iregex")?;
                Ok(Test::Regex(regex))
            }
            b"-type" => kinds(&self.argument(name)?).map(Test::Type),
            b"-size" => numbers::size(&self.argument(name)?),
            b"-mtime" => numbers::days(&self.argument(name)?, Modified, now),
            b"-atime" => numbers::days(&self.argument(name)?, Accessed, now),
            b"-ctime" => numbers::days(&self.argument(name)?, Changed, now),
            b"-mmin" => numbers::minutes(&self.argument(name)?, Modified, now),
            b"-amin" => numbers::minutes(&self.argument(name)?, Accessed, now),
            b"-cmin" => numbers::minutes(&self.argument(name)?, Changed, now),
            b"-newer" => self.newer(Modified, Modified),
            b"-anewer" => self.newer(Accessed, Modified),
            b"-cnewer" => self.newer(Changed, Modified),
            [b'-', b'n', b'e', b'w', b'e', b'r', which, than] => match (stamp(*which), stamp(*than)) {
                (Some(which), Some(than)) => self.newer(which, than),
                _ => unmodelled(name.escape_ascii().to_string()),
            },
            b"-perm" => numbers::permissions(&self.argument(name)?),
            b"-uid" => Ok(Test::User(numbers::number(&self.argument(name)?)?)),
            b"-gid" => Ok(Test::Group(numbers::number(&self.argument(name)?)?)),
            b"-user" => Ok(Test::User(self.owner(name, users::user_id)?)),
            b"-group" => Ok(Test::Group(self.owner(name, users::group_id)?)),
            b"-links" => Ok(Test::Links(numbers::number(&self.argument(name)?)?)),
            // For an entry that it cannot stat, GNU find uses the inode number from the directory, in this
            // test only.
            b"-inum" => unmodelled("-inum"),
            b"-samefile" => {
                let status = self.reference(name)?;
                Ok(Test::Same { device: status.device, inode: status.inode })
            }
            other => unmodelled(other.escape_ascii().to_string()),
        }
    }

    fn pattern(&mut self, name: &[u8], fold_case: bool) -> Read<Pattern> {
        let text = CString::new(self.argument(name)?).or_else(|_| unmodelled("a NUL in a pattern"))?;
        Ok(Pattern::new(&text, fold_case, self.around.utf8))
    }

    /// Returns the status of the file named by the argument.
    fn reference(&mut self, name: &[u8]) -> Read<Status> {
        let path = CString::new(self.argument(name)?).or_else(|_| unmodelled("a NUL in a path"))?;
        let follow = self.query.follow != Follow::Never;
        directories::status(directories::here(), &path, follow)
            .or_else(|_| unmodelled(format!("{} of what is not there", name.escape_ascii())))
    }

    fn newer(&mut self, which: Stamp, than: Stamp) -> Read<Test> {
        let status = self.reference(b"-newer")?;
        Ok(Test::Newer { which, than: than.of(&status) })
    }

    fn owner(&mut self, name: &[u8], known: fn(&CStr) -> Option<u32>) -> Read<Number> {
        let text = self.argument(name)?;
        let owner = CString::new(text.clone()).or_else(|_| unmodelled("a NUL in a name"))?;
        let id = match known(&owner) {
            Some(id) => u64::from(id),
            None => numbers::plain(&text)?,
        };
        numbers::number(id.to_string().as_bytes())
    }
}

/// Options for which find prints a warning if they follow a test.
const IS_GLOBAL: &[&[u8]] =
    &[b"-maxdepth", b"-mindepth", b"-depth", b"-xdev", b"-mount", b"-noleaf", b"-nowarn"];

fn stamp(letter: u8) -> Option<Stamp> {
    match letter {
        b'a' => Some(Stamp::Accessed),
        b'c' => Some(Stamp::Changed),
        b'm' => Some(Stamp::Modified),
        _ => None,
    }
}

fn kinds(text: &[u8]) -> Read<Vec<Kind>> {
    let mut kinds = Vec::new();
    for letter in text.split(|byte| *byte == b',') {
        let kind = match letter {
            b"f" => Kind::File,
            b"d" => Kind::Directory,
            b"l" => Kind::Link,
            b"p" => Kind::Fifo,
            b"s" => Kind::Socket,
            b"b" => Kind::Block,
            b"c" => Kind::Character,
            other => return unmodelled(format!("-type {}", other.escape_ascii())),
        };
        if kinds.contains(&kind) {
            return unmodelled("-type with one letter twice");
        }
        kinds.push(kind);
    }
    Ok(kinds)
}

fn syntax(name: &[u8]) -> Read<Syntax> {
    Ok(match name {
        b"findutils-default" => Syntax::FIND,
        b"emacs" => Syntax::EMACS,
        b"posix-basic" | b"ed" | b"sed" => Syntax::BASIC,
        b"posix-extended" => Syntax::EXTENDED,
        b"grep" => Syntax::GREP,
        b"egrep" | b"posix-egrep" => Syntax::EGREP,
        other => return unmodelled(format!("-regextype {}", other.escape_ascii())),
    })
}
