//! Merging: many ordered sequences of lines become one.
//!
//! A tournament tree of losers: each inner node stores its loser, so that replacing the winner takes one
//! comparison per level. Equal lines come out in the order of their sources, which makes merging stable, and
//! is what sort does even if its inputs are not sorted.

use std::cmp::Ordering;

use super::order::{Judged, KeyPlace, LineOrder};
use super::run::SortedRun;
use super::text::window;

/// A sequence of lines.
pub(crate) trait Source {
    /// Returns the current line with its terminator, and its number of occurrences; `None` at the end.
    fn entry(&self) -> Option<(&[u8], u64)>;
    /// Advances to the next line.
    fn advance(&mut self);
}

/// The lines of a run.
#[derive(Debug)]
pub(crate) struct RunSource {
    run: SortedRun,
    piece: usize,
    at: usize,
}

impl RunSource {
    pub(crate) fn new(run: SortedRun) -> Self {
        let mut source = RunSource { run, piece: 0, at: 0 };
        source.settle();
        source
    }

    /// Advances to the next piece with lines left.
    fn settle(&mut self) {
        while self.run.piece(self.piece).is_some_and(|piece| self.at >= piece.len()) {
            (self.piece, self.at) = (self.piece + 1, 0);
        }
    }
}

impl Source for RunSource {
    #[inline]
    fn entry(&self) -> Option<(&[u8], u64)> {
        self.run.piece(self.piece).map(|piece| piece.entry(self.at))
    }

    fn advance(&mut self) {
        self.at += 1;
        self.settle();
    }
}

/// A source, and the key of its current line.
#[derive(Debug)]
struct Player<S> {
    source: S,
    place: KeyPlace,
    computed: Vec<u8>,
    window: u64,
}

impl<S: Source> Player<S> {
    fn new(source: S, order: &LineOrder) -> Self {
        let mut player = Player { source, place: KeyPlace::Appended, computed: Vec::new(), window: 0 };
        player.look(order);
        player
    }

    fn look(&mut self, order: &LineOrder) {
        let Some((line, _)) = self.source.entry() else { return };
        self.computed.clear();
        let line = &line[..line.len() - 1];
        self.place = order.key(line, &mut self.computed);
        self.window = match self.place {
            KeyPlace::InLine(from, to) => window(line, from, to - from),
            KeyPlace::Appended => window(&self.computed, 0, self.computed.len()),
        };
    }

    fn judged(&self) -> Option<Judged<'_>> {
        let (line, _) = self.source.entry()?;
        let line = &line[..line.len() - 1];
        let key = match self.place {
            KeyPlace::InLine(from, to) => &line[from..to],
            KeyPlace::Appended => &self.computed,
        };
        Some(Judged { line, key, window: self.window })
    }
}

/// Merges sources.
#[derive(Debug)]
pub(crate) struct Merge<S> {
    order: LineOrder,
    /// Whether only the first of lines with equal keys is output.
    unique: bool,
    last_key: Option<Vec<u8>>,
    players: Vec<Player<S>>,
    /// The winner, then the loser at each inner node.
    tree: Vec<usize>,
}

impl<S: Source> Merge<S> {
    pub(crate) fn new(order: LineOrder, unique: bool, sources: Vec<S>) -> Self {
        let players: Vec<_> = sources.into_iter().map(|source| Player::new(source, &order)).collect();
        let mut merge = Merge { order, unique, last_key: None, tree: vec![0; players.len()], players };
        merge.play_all();
        merge
    }

    /// Returns its sources.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &S> {
        self.players.iter().map(|player| &player.source)
    }

    /// Passes the next line with its terminator, and its count, to `take`. Returns `false` at the end.
    pub(crate) fn next(&mut self, mut take: impl FnMut(&[u8], u64)) -> bool {
        while let Some(winner) = self.players.get(self.tree.first().copied().unwrap_or(0)) {
            let Some((line, count)) = winner.source.entry() else { return false };
            let fresh = !self.unique || {
                let mut key = Vec::new();
                if let Some(judged) = winner.judged() {
                    self.order.append_identity(&judged, &mut key);
                }
                let fresh = self.last_key.as_ref() != Some(&key);
                self.last_key = Some(key);
                fresh
            };
            if fresh {
                take(line, count);
            }
            self.replace_winner();
            if fresh {
                return true;
            }
        }
        false
    }

    /// Plays the first tournament: node `n` has the children `2n` and `2n + 1`; the leaves follow the inner
    /// nodes.
    fn play_all(&mut self) {
        let count = self.players.len();
        let mut winners = vec![0; 2 * count];
        for (leaf, winner) in winners[count..].iter_mut().enumerate() {
            *winner = leaf;
        }
        for node in (1..count).rev() {
            let (a, b) = (winners[2 * node], winners[2 * node + 1]);
            let (winner, loser) = if self.beats(a, b) { (a, b) } else { (b, a) };
            winners[node] = winner;
            self.tree[node] = loser;
        }
        if count > 1 {
            self.tree[0] = winners[1];
        }
    }

    fn replace_winner(&mut self) {
        let mut winner = self.tree[0];
        self.players[winner].source.advance();
        self.players[winner].look(&self.order);
        let mut node = (winner + self.players.len()) / 2;
        while node > 0 {
            let other = self.tree[node];
            if self.beats(other, winner) {
                self.tree[node] = winner;
                winner = other;
            }
            node /= 2;
        }
        self.tree[0] = winner;
    }

    fn beats(&self, a: usize, b: usize) -> bool {
        match (self.players[a].judged(), self.players[b].judged()) {
            (Some(one), Some(other)) => match self.order.compare(&one, &other) {
                Ordering::Less => true,
                Ordering::Equal => a < b,
                Ordering::Greater => false,
            },
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => a < b,
        }
    }
}
