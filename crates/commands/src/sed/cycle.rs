//! One cycle: the commands, in their order, on the pattern space.

use pelton_stream::Flow;

use super::list::list;
use super::machine::{Machine, Waits};
use super::program::{Instruction, Select, State, Work};
use super::script::{Action, Hold, When};
use super::spaces::Line;
use super::substitute::Stop;

/// The control flow after a command.
enum Next {
    Go(usize),
    EndCycle {
        print: bool,
    },
    Quit {
        status: u8,
        print: bool,
    },
    /// `n` and `N`: the rest waits for the next line.
    Wait(Waits),
}

/// Most bytes gathered for one line whose output may be infinite.
const ENDLESS_BYTES: usize = 1 << 20;

impl Machine {
    /// Runs a cycle for a new line: from the first command, or from where it waited.
    pub(super) fn cycle(&mut self, line: Line, ended: bool, out: &mut Vec<u8>) -> Result<Flow, Stop> {
        let start = out.len();
        self.replaced = false;
        self.space.ended = ended;
        let mut at = match self.waits.take() {
            Some(Waits::Joined(at)) => {
                self.space.text.push(self.manner.line_end);
                self.space.text.extend_from_slice(line.text);
                at
            }
            Some(Waits::Fresh(at)) => {
                self.space.changed = false;
                at
            }
            None => {
                self.space.changed = false;
                0
            }
        };
        let next = loop {
            if at >= self.program.steps.len() {
                break Next::EndCycle { print: true };
            }
            match self.step(at, &line, out)? {
                Next::Go(next) => at = next,
                end => break end,
            }
            if self.program.may_print_for_ever && out.len() - start > ENDLESS_BYTES {
                return Err(Stop);
            }
        };
        Ok(self.end(&line, next, out))
    }

    fn end(&mut self, line: &Line, next: Next, out: &mut Vec<u8>) -> Flow {
        let print = match next {
            Next::EndCycle { print } | Next::Quit { print, .. } => print,
            Next::Wait(Waits::Fresh(_)) => true,
            Next::Wait(Waits::Joined(_)) | Next::Go(_) => false,
        };
        if print && !self.manner.quiet {
            self.print(line, out);
        }
        match next {
            Next::Quit { status, print } => {
                self.quit = Some(status);
                // Q ends at once; q completes a last line without terminator.
                if print {
                    self.pay_end(out);
                    self.print_appended(out);
                }
                return Flow::Done;
            }
            Next::Wait(waits) => {
                if let Waits::Joined(_) = waits {
                    self.space.own(line);
                }
                self.waits = Some(waits);
            }
            Next::EndCycle { .. } | Next::Go(_) => {}
        }
        self.print_appended(out);
        Flow::More
    }

    fn step(&mut self, at: usize, line: &Line, out: &mut Vec<u8>) -> Result<Next, Stop> {
        let Machine { program, space, spare, .. } = self;
        let Instruction { lines, negated, work } = &mut program.steps[at];
        let chosen = lines.chooses(space.text(line), *line) != *negated;
        match work {
            Work::Plain(Action::Block(end)) => return Ok(Next::Go(if chosen { at + 1 } else { *end })),
            _ if !chosen => return Ok(Next::Go(at + 1)),
            Work::Substitute(substitution) => {
                spare.clear();
                if substitution.line(space.text(line), spare)? {
                    std::mem::swap(&mut space.text, spare);
                    space.changed = true;
                    let (print, aside) = (substitution.says.print, substitution.says.aside);
                    self.replaced(line, print, aside, out);
                }
                return Ok(Next::Go(at + 1));
            }
            Work::Plain(_) => {}
        }
        Ok(self.plain(at, line, out))
    }

    /// Handles a successful substitution.
    fn replaced(&mut self, line: &Line, print: bool, aside: bool, out: &mut Vec<u8>) {
        self.replaced = true;
        if print {
            self.print(line, out);
        }
        if aside {
            self.print_aside(line, out);
        }
    }

    /// Runs a command without an expression.
    fn plain(&mut self, at: usize, line: &Line, out: &mut Vec<u8>) -> Next {
        let Instruction { lines, negated, work: Work::Plain(action) } = &self.program.steps[at] else {
            return Next::Go(at + 1);
        };
        match action {
            Action::Delete => return Next::EndCycle { print: false },
            Action::DeleteFirst => return self.delete_first(line),
            Action::Quit { status, print } => return Next::Quit { status: *status, print: *print },
            // Without a next line, they print the pattern space and end.
            Action::Next | Action::Join if line.last => return Next::EndCycle { print: true },
            Action::Next => return Next::Wait(Waits::Fresh(at + 1)),
            Action::Join => return Next::Wait(Waits::Joined(at + 1)),
            Action::Jump(to, when) => {
                let to = *to;
                return Next::Go(if self.jumps(*when) { to } else { at + 1 });
            }
            Action::Change(_) => {
                let inside = matches!(lines, Select::Range { state: State::Inside(_), .. });
                // For a range, at its end.
                if !inside || *negated {
                    self.print_text(at, out);
                }
                return Next::EndCycle { print: false };
            }
            Action::Print => self.print(line, out),
            Action::PrintFirst => self.print_first(line, out),
            Action::PrintAside => self.print_aside(line, out),
            Action::List(columns) => {
                let columns = columns.unwrap_or(self.manner.columns);
                self.pay_end(out);
                list(self.space.text(line), columns, self.manner.line_end, out);
            }
            Action::Append(text) => self.appended.extend_from_slice(text),
            Action::Insert(_) => self.print_text(at, out),
            Action::Number => {
                self.pay_end(out);
                out.extend_from_slice(line.number.to_string().as_bytes());
                out.push(self.manner.line_end);
            }
            Action::Translate(map) => {
                for byte in self.space.own(line) {
                    *byte = map[usize::from(*byte)];
                }
            }
            Action::Zap => self.space.own(line).clear(),
            Action::Hold(hold) => {
                let hold = *hold;
                self.hold(hold, line);
            }
            Action::Block(_) | Action::Substitute(_) | Action::Unserved(_) => {}
        }
        Next::Go(at + 1)
    }

    fn hold(&mut self, hold: Hold, line: &Line) {
        let Machine { space, held, manner, .. } = self;
        match hold {
            Hold::Copy => {
                held.text.clear();
                held.text.extend_from_slice(space.text(line));
                held.ended = space.ended;
            }
            Hold::Add => {
                held.text.push(manner.line_end);
                held.text.extend_from_slice(space.text(line));
                held.ended = space.ended;
            }
            Hold::Get => {
                space.text.clear();
                space.text.extend_from_slice(&held.text);
                (space.changed, space.ended) = (true, held.ended);
            }
            Hold::GetMore => {
                let text = space.own(line);
                text.push(manner.line_end);
                text.extend_from_slice(&held.text);
                space.ended = held.ended;
            }
            Hold::Exchange => {
                std::mem::swap(space.own(line), &mut held.text);
                std::mem::swap(&mut space.ended, &mut held.ended);
            }
        }
    }

    fn jumps(&mut self, when: When) -> bool {
        match when {
            When::Always => true,
            When::Replaced => std::mem::take(&mut self.replaced),
            When::NotReplaced => !std::mem::take(&mut self.replaced),
        }
    }

    /// Deletes up to the first newline, if any; the commands restart with the rest, without reading.
    fn delete_first(&mut self, line: &Line) -> Next {
        match memchr::memchr(self.manner.line_end, self.space.text(line)) {
            None => Next::EndCycle { print: false },
            Some(end) => {
                self.space.own(line).drain(..=end);
                Next::Go(0)
            }
        }
    }

    fn print_first(&mut self, line: &Line, out: &mut Vec<u8>) {
        self.pay_end(out);
        let text = self.space.text(line);
        match memchr::memchr(self.manner.line_end, text) {
            Some(end) => out.extend_from_slice(&text[..=end]),
            None => {
                out.extend_from_slice(text);
                self.end_or_owe(out);
            }
        }
    }

    fn print(&mut self, line: &Line, out: &mut Vec<u8>) {
        self.pay_end(out);
        out.extend_from_slice(self.space.text(line));
        self.end_or_owe(out);
    }

    fn end_or_owe(&mut self, out: &mut Vec<u8>) {
        if self.space.ended {
            out.push(self.manner.line_end);
        } else {
            self.newline_missing = true;
        }
    }

    /// Prints by way of the file that is standard output: sed tracks the missing last terminator per file.
    fn print_aside(&mut self, line: &Line, out: &mut Vec<u8>) {
        std::mem::swap(&mut self.newline_missing, &mut self.newline_missing_aside);
        self.print(line, out);
        std::mem::swap(&mut self.newline_missing, &mut self.newline_missing_aside);
    }

    fn print_text(&mut self, at: usize, out: &mut Vec<u8>) {
        self.pay_end(out);
        if let Work::Plain(Action::Insert(text) | Action::Change(text)) = &self.program.steps[at].work {
            out.extend_from_slice(text);
        }
    }

    fn print_appended(&mut self, out: &mut Vec<u8>) {
        if !self.appended.is_empty() {
            self.pay_end(out);
            out.append(&mut self.appended);
        }
    }

    pub(super) fn pay_end(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.newline_missing) {
            out.push(self.manner.line_end);
        }
    }
}
