//! The stack of open containers: one bit each.

use crate::visit::Kind;

#[derive(Debug, Default)]
pub(crate) struct Levels {
    depth: usize,
    /// The innermost 64 containers; the innermost is the lowest bit. 1 is an object.
    top: u64,
    /// The containers outside of `top`, 64 per word.
    rest: Vec<u64>,
}

impl Levels {
    /// Returns the number of open containers.
    #[inline(always)]
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Returns the innermost container.
    #[inline(always)]
    pub(crate) fn innermost(&self) -> Option<Kind> {
        match (self.depth, self.top & 1) {
            (0, _) => None,
            (_, 1) => Some(Kind::Object),
            _ => Some(Kind::Array),
        }
    }

    /// Returns the depth, and the innermost 64 containers as bits, the innermost lowest.
    pub(crate) fn nearest(&self) -> (usize, u64) {
        (self.depth, self.top)
    }

    /// Sets both after a caller opened and closed some of these 64, and none outside.
    pub(crate) fn set_nearest(&mut self, (depth, top): (usize, u64)) {
        (self.depth, self.top) = (depth, top);
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, kind: Kind) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.rest.push(self.top);
        }
        self.depth += 1;
        self.top = self.top << 1 | u64::from(kind == Kind::Object);
    }

    #[inline(always)]
    pub(crate) fn pop(&mut self) {
        self.depth -= 1;
        self.top >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.top = self.rest.pop().unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_in_comes_out() {
        let kind = |n: usize| if n.count_ones().is_multiple_of(2) { Kind::Object } else { Kind::Array };
        let mut levels = Levels::default();
        assert_eq!(levels.innermost(), None);
        for n in 0..1000 {
            levels.push(kind(n));
            assert_eq!((levels.depth(), levels.innermost()), (n + 1, Some(kind(n))));
        }
        for n in (0..1000).rev() {
            assert_eq!(levels.innermost(), Some(kind(n)));
            levels.pop();
        }
        assert_eq!((levels.depth(), levels.innermost()), (0, None));
        levels.push(Kind::Array);
        assert_eq!(levels.innermost(), Some(Kind::Array));
    }
}
