//! Programs that only print something made of each record's fields: `{print $1, $7}`, `{printf
//! "%-12s|%8.2f\n", $2, $4}`. Finds the needed fields by the bits of separators and copies them from the
//! block, without records. A number that prints as written is not parsed.

use std::ops::Range;

use super::code::{Code, Do, Get, LValue, OFS, ORS, Rule, When};
use super::fields::{self, Bits, Separator, each_record};
use super::format::{Conversion, Piece, Size};
use super::number;
use super::text::{append, append_part};
use super::value::Value;

/// The output for each record.
#[derive(Clone, Debug)]
pub(super) struct Printed {
    parts: Vec<PrintedPart>,
    /// The needed fields, without the record itself, in order.
    wanted: Vec<usize>,
    separator: Separator,
    words: Vec<u64>,
    /// Their ranges in a record.
    found: Vec<Range<usize>>,
}

/// A part of the output.
#[derive(Clone, Debug)]
enum PrintedPart {
    Text(Vec<u8>),
    Record,
    RecordNumber,
    /// The index of a needed field.
    Field(usize),
    Formatted(usize, Conversion),
}

/// Higher fields are left to the machine: it finds many at once.
const FIELD_MAX: usize = 64;

impl Printed {
    /// `None` if the program is of another kind. Its BEGIN has run and left these variables.
    pub(super) fn of(code: &Code, globals: &[Value]) -> Option<Printed> {
        let [Rule { when: When::Always | When::If(Get::Number(1.0)), action, .. }] = code.rules.as_slice()
        else {
            return None;
        };
        let [action] = action.as_slice() else { return None };
        if !code.has_lines() || !code.end.is_empty() || matches!(code.fields, Separator::Pattern(_)) {
            return None;
        }
        let mut printed = Printed {
            parts: Vec::new(),
            wanted: Vec::new(),
            separator: code.fields.clone(),
            words: Vec::new(),
            found: Vec::new(),
        };
        match action {
            Do::Print(args, false) => printed.print(args, globals)?,
            Do::Printf(pieces, args, false) => printed.printf(pieces, args)?,
            _ => return None,
        }
        printed.in_order();
        Some(printed)
    }

    fn print(&mut self, args: &[Get], globals: &[Value]) -> Option<()> {
        for (index, arg) in args.iter().enumerate() {
            if index > 0 {
                self.text(|out| globals[OFS].write(out));
            }
            self.add(arg)?;
        }
        self.text(|out| globals[ORS].write(out));
        Some(())
    }

    fn printf(&mut self, pieces: &[Piece], args: &[Get]) -> Option<()> {
        let mut args = args.iter();
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.text(|out| out.extend_from_slice(text)),
                Piece::Conversion(conversion) => self.conversion(conversion, args.next()?)?,
            }
        }
        args.all(|arg| matches!(arg, Get::Of(LValue::Field(_) | LValue::Record) | Get::Text(_))).then_some(())
    }

    fn conversion(&mut self, conversion: &Conversion, arg: &Get) -> Option<()> {
        if conversion.what == b'c' || [conversion.width, conversion.precision].contains(&Size::Argument) {
            return None;
        }
        if conversion.what == b's' && conversion.is_bare() {
            return self.add(arg);
        }
        let Get::Of(LValue::Field(field)) = arg else { return None };
        let slot = self.slot(*field)?;
        self.parts.push(PrintedPart::Formatted(slot, conversion.clone()));
        Some(())
    }

    /// Adds a part that prints unchanged.
    fn add(&mut self, arg: &Get) -> Option<()> {
        match arg {
            Get::Text(text) => self.text(|out| text.write(out)),
            Get::Number(number) => self.text(|out| number::write(*number, out)),
            Get::Of(LValue::Record) => self.parts.push(PrintedPart::Record),
            Get::RecordNumber => self.parts.push(PrintedPart::RecordNumber),
            Get::Of(LValue::Field(field)) => {
                let slot = self.slot(*field)?;
                self.parts.push(PrintedPart::Field(slot));
            }
            Get::Concat(args) => args.iter().try_for_each(|arg| self.add(arg))?,
            _ => return None,
        }
        Some(())
    }

    /// Merges adjacent texts.
    fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if !matches!(self.parts.last(), Some(PrintedPart::Text(_))) {
            self.parts.push(PrintedPart::Text(Vec::new()));
        }
        if let Some(PrintedPart::Text(text)) = self.parts.last_mut() {
            write(text);
        }
    }

    fn slot(&mut self, field: usize) -> Option<usize> {
        if field > FIELD_MAX {
            return None;
        }
        let known = self.wanted.iter().position(|wanted| *wanted == field);
        Some(known.unwrap_or_else(|| {
            self.wanted.push(field);
            self.wanted.len() - 1
        }))
    }

    /// Sorts the fields: they are found from left to right.
    fn in_order(&mut self) {
        let mut sorted = self.wanted.clone();
        sorted.sort_unstable();
        for part in &mut self.parts {
            if let PrintedPart::Field(slot) | PrintedPart::Formatted(slot, _) = part {
                *slot = sorted.iter().position(|field| *field == self.wanted[*slot]).unwrap_or(*slot);
            }
        }
        self.found = vec![0..0; sorted.len()];
        self.wanted = sorted;
    }

    /// Processes whole lines, the last of which may lack its end. `before`: earlier lines. Returns the number
    /// of lines.
    pub(super) fn run(&mut self, block: &[u8], ends: &mut Vec<u64>, before: u64, out: &mut Vec<u8>) -> u64 {
        let Printed { parts, wanted, separator, words, found } = self;
        let of_words = matches!(separator, Separator::Blanks);
        if !wanted.is_empty() {
            fields::mark(block, separator, b'\n', words);
        }
        let mut records = before;
        let done: Result<(), ()> = each_record(block, b'\n', ends, |line| {
            records += 1;
            match of_words {
                true => find_words(words, &line, wanted, found),
                false => find_between(words, &line, wanted, found),
            }
            for part in parts.iter() {
                match part {
                    PrintedPart::Text(text) => append(text, out),
                    PrintedPart::Field(slot) => append_part(block, found[*slot].clone(), out),
                    PrintedPart::Formatted(slot, conversion) => {
                        conversion.write_input(block, found[*slot].clone(), out);
                    }
                    PrintedPart::Record => out.extend_from_slice(&block[line.clone()]),
                    PrintedPart::RecordNumber => number::write(records as f64, out),
                }
            }
            Ok(())
        });
        debug_assert!(done.is_ok());
        records - before
    }
}

/// Finds fields between blanks; missing ones are empty.
#[inline]
fn find_words(words: &[u64], line: &Range<usize>, wanted: &[usize], found: &mut [Range<usize>]) {
    let mut bits = Bits::from(words, line.start);
    let mut next = 1;
    for (place, field) in found.iter_mut().zip(wanted) {
        bits.skip(2 * (field - next));
        // After the end of the line all are empty.
        let start = bits.next().min(line.end);
        *place = start..bits.next().min(line.end);
        next = field + 1;
    }
}

/// Finds fields between single bytes.
#[inline]
fn find_between(words: &[u64], line: &Range<usize>, wanted: &[usize], found: &mut [Range<usize>]) {
    let mut bits = Bits::from(words, line.start);
    let (mut next, mut start) = (1, line.start);
    for (place, field) in found.iter_mut().zip(wanted) {
        if *field > next {
            bits.skip(field - next - 1);
            start = bits.next().saturating_add(1);
        }
        let end = bits.next();
        *place = start.min(line.end)..end.min(line.end);
        (next, start) = (field + 1, end.saturating_add(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str, separator: &Separator, wanted: &[usize]) -> Vec<String> {
        let text = format!("before,b b \n{line}\nnext,n n\n");
        let (mut words, mut found) = (Vec::new(), vec![0..0; wanted.len()]);
        fields::mark(text.as_bytes(), separator, b'\n', &mut words);
        let span = 12..12 + line.len();
        match separator {
            Separator::Blanks => find_words(&words, &span, wanted, &mut found),
            _ => find_between(&words, &span, wanted, &mut found),
        }
        found.into_iter().map(|field| text[field].to_owned()).collect()
    }

    #[test]
    fn fields_are_found_wherever_they_are_and_are_empty_where_they_are_not() {
        let long = (1..200).map(|field| field.to_string()).collect::<Vec<_>>();
        for (line, separator, between) in
            [(long.join(" "), Separator::Blanks, " "), (long.join(","), Separator::Byte(b','), ",")]
        {
            assert_eq!(found(&line, &separator, &[1, 2, 64, 199]), ["1", "2", "64", "199"], "{between}");
            assert_eq!(found(&line, &separator, &[130, 199, 200, 300]), ["130", "199", "", ""], "{between}");
        }
        assert_eq!(found(" a  b\t", &Separator::Blanks, &[1, 2, 3]), ["a", "b", ""]);
        assert_eq!(found("", &Separator::Blanks, &[1, 4]), ["", ""]);
        assert_eq!(found(" ", &Separator::Blanks, &[1]), [""]);
        assert_eq!(found("", &Separator::Byte(b','), &[1, 2]), ["", ""]);
        assert_eq!(found(",a,", &Separator::Byte(b','), &[1, 2, 3, 4]), ["", "a", "", ""]);
        assert_eq!(found("a", &Separator::Byte(b','), &[2]), [""]);
    }
}
