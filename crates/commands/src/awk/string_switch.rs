//! Comparisons with one of several strings; and consecutive rules that compare the record with strings:
//! `$0 == "{" || $0 == "[" { … } $0 == "," { next }`. The first true one is looked up, by a one-byte record's
//! byte or by comparing with each longer string once, instead of testing one rule after another: most records
//! of such programs match none of them, or the last.

use super::text::{Text, same};

/// Alternative strings of a comparison: `$0 == "{" || $0 == "["`.
#[derive(Clone, Debug, Default)]
pub(super) struct OneOf {
    /// Strings of one byte, as bits.
    bytes: [u64; 4],
    others: Vec<Text>,
}

impl OneOf {
    pub(super) fn only(text: &Text) -> Self {
        let mut set = OneOf::default();
        set.add(text);
        set
    }

    pub(super) fn add(&mut self, text: &Text) {
        match text.bytes() {
            [byte] => self.bytes[usize::from(byte / 64)] |= 1 << (byte % 64),
            _ => self.others.push(text.clone()),
        }
    }

    /// Adds the strings of another set.
    pub(super) fn add_all(&mut self, more: OneOf) {
        self.bytes.iter_mut().zip(more.bytes).for_each(|(bits, more)| *bits |= more);
        self.others.extend(more.others);
    }

    #[inline]
    pub(super) fn contains(&self, text: &[u8]) -> bool {
        match text {
            [byte] => self.bytes[usize::from(byte / 64)] >> (byte % 64) & 1 != 0,
            text => self.others.iter().any(|other| same(other.bytes(), text)),
        }
    }
}

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
    /// The most rules that can be covered.
    pub(super) const RULES_MAX: usize = u8::MAX as usize;

    /// Covers the rules that compare the record with these sets, in order; `unseen` says of each whether its
    /// only effect is the record count.
    pub(super) fn new(sets: &[OneOf], unseen: Vec<bool>) -> Choice {
        let count = sets.len() as u8;
        let mut choice = Choice { by_byte: Box::new([count; 256]), others: Vec::new(), rules: count, unseen };
        for (set, rule) in sets.iter().zip(0..) {
            for byte in 0..=255 {
                let first = &mut choice.by_byte[usize::from(byte)];
                if *first == count && set.contains(&[byte]) {
                    *first = rule;
                }
            }
            choice.others.extend(set.others.iter().map(|text| (text.clone(), rule)));
        }
        choice
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
