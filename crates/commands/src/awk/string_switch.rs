//! Consecutive rules that compare the record with strings: `$0 == "{" || $0 == "[" { … } $0 == "," { next }`.
//! The first true one is looked up, by a one-byte record's byte or by comparing with each longer string once,
//! instead of testing one rule after another: most records of such programs match none of them, or the last.

use super::code::{Do, Get, LValue, OneOf, Rule, When};
use super::tree::Order;
use super::value::{Text, same};

/// Looks up the first matching rule, among the leading ones that compare the record.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// For records of one byte; [`rules`](Self::rules) if none matches.
    by_byte: Box<[u8; 256]>,
    /// For others, in the order of the rules.
    others: Vec<(Text, u8)>,
    /// The number of rules covered.
    rules: u8,
    /// Rules whose only effect is the record count: `$0 == "," { next }`, where no END can read the last
    /// record.
    unseen: Vec<bool>,
}

impl Choice {
    /// Covers the leading `rules`; `None` if only one compares the record.
    pub(super) fn of(rules: &[Rule], has_no_end: bool) -> Option<Choice> {
        let sets: Vec<OneOf> = rules.iter().map_while(compared).take(usize::from(u8::MAX)).collect();
        if sets.len() < 2 {
            return None;
        }
        let count = sets.len() as u8;
        let is_unseen = |rule: &Rule| has_no_end && matches!(rule.action.as_slice(), [Do::Next]);
        let mut choice = Choice {
            by_byte: Box::new([count; 256]),
            others: Vec::new(),
            rules: count,
            unseen: rules[..sets.len()].iter().map(is_unseen).collect(),
        };
        for (set, rule) in sets.iter().zip(0..) {
            for byte in 0..=255 {
                let first = &mut choice.by_byte[usize::from(byte)];
                if *first == count && set.contains(&[byte]) {
                    *first = rule;
                }
            }
            choice.others.extend(set.others().iter().map(|text| (text.clone(), rule)));
        }
        Some(choice)
    }

    /// Returns the first rule that may match a record: a covered rule certainly does, a later one must be
    /// tested.
    #[inline]
    pub(super) fn first(&self, record: &[u8]) -> usize {
        usize::from(match record {
            [byte] => self.by_byte[usize::from(*byte)],
            record => {
                let found = self.others.iter().find(|(text, _)| same(text.bytes(), record));
                found.map_or(self.rules, |(_, rule)| *rule)
            }
        })
    }

    /// Whether a record of the rule has no visible effect.
    #[inline]
    pub(super) fn is_unseen(&self, rule: usize) -> bool {
        self.unseen.get(rule).is_some_and(|unseen| *unseen)
    }

    /// Whether the rule is covered.
    #[inline]
    pub(super) fn is_judged(&self, rule: usize) -> bool {
        rule < usize::from(self.rules)
    }
}

/// Returns the strings that the record must equal for a rule to match.
fn compared(rule: &Rule) -> Option<OneOf> {
    let is_record = |of: &Get| matches!(of, Get::Of(LValue::Record));
    match &rule.when {
        When::If(Get::OneOf(of, texts)) if is_record(of) => Some(texts.clone()),
        When::If(Get::CompareText(Order::Equal, of, text)) if is_record(of) => Some(OneOf::only(text)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&[&str]]) -> Vec<Rule> {
        let rule = |texts: &&[&str]| {
            let mut set = OneOf::default();
            texts.iter().for_each(|text| set.add(&Text::new(text.as_bytes())));
            Rule { when: When::If(Get::OneOf(Box::new(Get::Of(LValue::Record)), set)), action: Vec::new() }
        };
        texts.iter().map(rule).collect()
    }

    #[test]
    fn the_first_that_holds_is_chosen() {
        let mut rules = rules(&[&["{", "["], &["ab", "[", ""], &["}", "ab"]]);
        rules[2].action.push(Do::Next);
        rules.push(Rule { when: When::Always, action: vec![Do::Next] });
        let choice = Choice::of(&rules, true).expect("three that compare");
        for (record, rule) in
            [("{", 0), ("[", 0), ("ab", 1), ("", 1), ("}", 2), ("x", 3), ("abc", 3), ("\u{e9}", 3)]
        {
            assert_eq!(choice.first(record.as_bytes()), rule, "{record}");
            assert_eq!(choice.is_judged(rule), rule < 3);
            assert_eq!(choice.is_unseen(rule), rule == 2);
        }
    }

    #[test]
    fn one_alone_is_asked() {
        assert!(Choice::of(&rules(&[&["a"]]), true).is_none());
        assert!(Choice::of(&[Rule { when: When::Always, action: Vec::new() }], true).is_none());
    }
}
