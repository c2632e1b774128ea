//! Programs that set a field of each record to a constant and print the record: `{ $2 = ""; print }`. If the
//! fields are already separated as in a joined record, the text before and after the field is copied
//! unchanged; the machine handles the other records.

use std::ops::Range;

use super::code::{Code, Do, Get, LValue, OFS, ORS, Rule, When};
use super::fields::{self, Separator, each_record};
use super::machine::{Machine, Ran};
use super::text::Text;

/// The field, and its value.
#[derive(Clone, Debug)]
pub(super) struct Assigned {
    field: usize,
    text: Text,
    separator: Separator,
    words: Vec<u64>,
    uneven: Vec<u64>,
    /// Blocks that the machine still processes, because too many records of an earlier one needed it.
    rest: usize,
}

/// With this many single records for the machine, passing it whole blocks is faster.
const ODD_MAX: usize = 8;
/// For this many blocks.
const REST: usize = 16;

impl Assigned {
    /// `None` if the program is of another kind.
    pub(super) fn of(code: &Code) -> Option<Assigned> {
        let plain = code.has_lines() && code.begin.is_empty() && code.end.is_empty();
        let always = |rule: &Rule| matches!(rule.when, When::Always | When::If(Get::Number(1.0)));
        let actions: Vec<&Do> = code.rules.iter().flat_map(|rule| &rule.action).collect();
        let [Do::Run(Get::Assign(place, text)), Do::PrintRecord] = actions.as_slice() else { return None };
        let (LValue::Field(field), Get::Text(text)) = (&**place, &**text) else { return None };
        let as_printed =
            code.fields.is_joined_by(code.globals[OFS].bytes()?) && code.globals[ORS].bytes()? == b"\n";
        (plain && as_printed && code.rules.iter().all(always)).then(|| Assigned {
            field: *field,
            text: text.clone(),
            separator: code.fields.clone(),
            words: Vec::new(),
            uneven: Vec::new(),
            rest: 0,
        })
    }

    /// Processes whole lines, the last of which may lack its end. `None`: the machine should do it.
    pub(super) fn run(
        &mut self,
        block: &[u8],
        ends: &mut Vec<u64>,
        machine: &mut Machine,
    ) -> Option<Ran<()>> {
        if self.rest > 0 {
            self.rest -= 1;
            return None;
        }
        let Assigned { field, text, separator, words, uneven, .. } = self;
        fields::mark(block, separator, b'\n', words);
        let of_words = matches!(separator, Separator::Blanks);
        if of_words {
            fields::mark_uneven(block, uneven);
        }
        let as_it_stands = |line: &Range<usize>| {
            let even = !of_words || fields::is_even(block, uneven, line);
            if even { fields::field(words, line, of_words, *field) } else { None }
        };
        let code = std::sync::Arc::clone(&machine.code);
        let (mut records, mut odd) = (0, 0);
        let ran = each_record(block, b'\n', ends, |line| {
            records += 1;
            if let Some(found) = as_it_stands(&line) {
                let out = &mut machine.out;
                out.extend_from_slice(&block[line.start..found.start]);
                out.extend_from_slice(text.bytes());
                out.extend_from_slice(&block[found.end..line.end]);
                out.push(b'\n');
                return Ok(());
            }
            odd += 1;
            machine.record.enter_alone(&block[line]);
            machine.rules(&code.rules)
        });
        if odd * ODD_MAX > records {
            self.rest = REST;
        }
        Some(ran)
    }
}
