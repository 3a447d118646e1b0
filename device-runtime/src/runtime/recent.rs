//! The last few problems, and what was found out about each: calls repeat them.
//!
//! A problem has two places, by a hash of all that it is. The newer of two that share them has the first.

use std::num::NonZeroU64;

use kernels::{CheckedProblem, Launches, Operand, Problem, ProblemError};
use selector_core::KernelId;

/// Places: more than a network has kinds of layers.
const PLACES: usize = 64;

/// What a choice depends on.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    /// The kernel that the caller wants, whatever the model says.
    pub(super) id: Option<KernelId>,
    pub(super) problem: Problem,
    /// Bytes of scratch memory that there are.
    pub(super) scratch: u64,
}

/// What a call is made of, whatever its buffers.
#[derive(Clone)]
pub(super) struct Choice {
    /// What a device knows it by; no two that were learnt are known alike.
    pub(super) known: Option<NonZeroU64>,
    pub(super) problem: CheckedProblem,
    /// Bytes that the buffers of A, B and C must have.
    pub(super) bytes: [u64; 3],
    /// The kernel and where its program is, if there is anything to do.
    pub(super) kernel: Option<(KernelId, usize)>,
    pub(super) parts: u32,
    /// Bytes of scratch memory that it wants.
    pub(super) scratch: u64,
    pub(super) launches: Launches,
}

/// Choices by problem.
pub(super) struct Recent {
    places: Box<[Option<(Asked, Choice)>]>,
    /// The place of the last call.
    last: usize,
    /// Choices that were learnt.
    learnt: u64,
}

impl Recent {
    pub(super) fn new() -> Self {
        Self { places: vec![None; PLACES].into_boxed_slice(), last: 0, learnt: 0 }
    }

    /// Where it is told what to do, if it is known.
    #[inline]
    pub(super) fn find(&mut self, asked: &Asked) -> Option<usize> {
        if self.is_at(self.last, asked) {
            return Some(self.last);
        }
        let first = asked.place();
        let place = [first, first + 1].into_iter().find(|place| self.is_at(*place, asked))?;
        self.last = place;
        Some(place)
    }

    #[inline]
    fn is_at(&self, place: usize, asked: &Asked) -> bool {
        matches!(self.places.get(place), Some(Some((known, _))) if known.is(asked))
    }

    /// What is told at a place.
    #[inline]
    pub(super) fn at(&self, place: usize) -> Option<&Choice> {
        match self.places.get(place) {
            Some(Some((_, choice))) => Some(choice),
            _ => None,
        }
    }

    /// Remember what to do; where that is told from now on.
    pub(super) fn learn(&mut self, asked: &Asked, choice: Choice) -> usize {
        self.learnt += 1;
        let known = NonZeroU64::new(self.learnt);
        self.last = asked.place();
        // What is at the second place goes, unless the first is free.
        if self.places.get(self.last).is_some_and(Option::is_some) {
            self.places.swap(self.last, self.last + 1);
        }
        if let Some(place) = self.places.get_mut(self.last) {
            *place = Some((*asked, Choice { known, ..choice }));
        }
        self.last
    }

    /// Know nothing any more.
    pub(super) fn forget(&mut self) {
        self.places.fill(None);
    }
}

impl Choice {
    /// There is nothing to do.
    pub(super) fn nothing(problem: CheckedProblem, bytes: [u64; 3]) -> Self {
        let launches = Launches::default();
        Self { known: None, problem, bytes, kernel: None, parts: 1, scratch: 0, launches }
    }

    /// Whether buffers of so many bytes hold the problem.
    ///
    /// # Errors
    /// [`ProblemError::BufferTooSmall`] names the matrix that does not fit.
    pub(super) fn check(&self, have: [u64; 3]) -> Result<(), ProblemError> {
        let size = self.problem.problem().class.element().bytes();
        for (matrix, (need, have)) in
            ['A', 'B', 'C'].into_iter().zip(self.bytes.into_iter().zip(have))
        {
            if need > have {
                let (need, have) = (need / size, have / size);
                return Err(ProblemError::BufferTooSmall { matrix, need, have });
            }
        }
        Ok(())
    }
}

impl Asked {
    /// Whether it is the same to the bit.
    fn is(&self, other: &Self) -> bool {
        let (one, two) = (&self.problem, &other.problem);
        one.shape == two.shape
            && one.class == two.class
            && one.alpha.to_bits() == two.alpha.to_bits()
            && one.beta.to_bits() == two.beta.to_bits()
            && (one.a, one.b, one.c) == (two.a, two.b, two.c)
            && (self.id, self.scratch) == (other.id, other.scratch)
    }

    /// Its first place, an even one: a hash of most of it. The second is behind it.
    fn place(&self) -> usize {
        let Problem { class, shape, alpha, beta, a, b, c } = self.problem;
        let pair = |low: u32, high: u32| u64::from(low) | (u64::from(high) << 32);
        let place =
            |of: Operand| of.offset ^ of.leading.rotate_left(20) ^ of.stride.rotate_left(40);
        // Odd constants, so that every bit reaches the upper ones.
        let mixed = [
            (pair(shape.m, shape.k), 0x9e37_79b9_7f4a_7c15),
            (pair(shape.n, shape.batch), 0xc2b2_ae3d_27d4_eb4f),
            (pair(alpha.to_bits(), beta.to_bits()), 0x1656_67b1_9e37_79f9),
            (place(a), 0x27d4_eb2f_1656_67c5),
            (place(b), 0x85eb_ca77_c2b2_ae63),
            (place(c), 0xff51_afd7_ed55_8ccd),
            (u64::from(class.index()), 0xc4ce_b9fe_1a85_ec53),
        ];
        let sum = mixed.into_iter().fold(0_u64, |sum, (part, odd)| {
            let product = part.wrapping_mul(odd);
            sum.wrapping_add(product ^ (product >> 29))
        });
        let pair = sum.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - (PLACES / 2).ilog2());
        2 * pair as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use selector_core::{GemmShape, ProblemClass};

    use super::*;

    fn asked(m: u32) -> Asked {
        let problem = Problem::packed(ProblemClass::F32_NN, GemmShape::new(m, 4, 4, 1));
        Asked { id: None, problem, scratch: 0 }
    }

    fn choice(asked: &Asked) -> Choice {
        let [a, b, c] = asked.problem.buffer_lengths().unwrap();
        Choice::nothing(asked.problem.check(a, b, c).unwrap(), [4 * a, 4 * b, 4 * c])
    }

    #[test]
    fn whatever_differs_is_another_problem() {
        let one = asked(4);
        let mut recent = Recent::new();
        recent.learn(&one, choice(&one));
        assert!(recent.find(&one).is_some());
        let mut with = |change: fn(&mut Asked)| {
            let mut other = one;
            change(&mut other);
            // Whether they share a place or not.
            assert!(recent.find(&other).is_none() && !one.is(&other));
        };
        with(|other| other.problem.shape.batch = 2);
        with(|other| other.problem.class = ProblemClass::from_index(1).unwrap());
        with(|other| other.problem.alpha = 2.0);
        with(|other| other.problem.beta = -0.0);
        with(|other| other.problem.b.offset = 1);
        with(|other| other.problem.c.leading = 5);
        with(|other| other.problem.a.stride = 17);
        with(|other| other.id = Some(KernelId(1)));
        with(|other| other.scratch = 1);
        let not_a_number = Asked { problem: Problem { alpha: f32::NAN, ..one.problem }, ..one };
        recent.learn(&not_a_number, choice(&not_a_number));
        assert!(recent.find(&not_a_number).is_some());
    }

    #[test]
    fn shapes_alike_are_spread_over_the_places_and_the_last_two_of_a_pair_stay() {
        let mut recent = Recent::new();
        let places: BTreeSet<usize> = (1..=256).map(|m| asked(m).place()).collect();
        assert!(places.len() > PLACES / 4 && places.iter().all(|place| *place < PLACES));
        for m in 1..=256 {
            recent.learn(&asked(m), choice(&asked(m)));
            assert!(recent.find(&asked(m)).is_some());
            assert!(m == 1 || recent.find(&asked(m - 1)).is_some());
        }
        assert!((1..=256).filter(|m| recent.find(&asked(*m)).is_some()).count() <= PLACES);
    }

    #[test]
    fn what_is_known_is_checked_against_the_buffers_of_each_call() {
        let known = choice(&asked(4));
        assert_eq!(known.check([64, 64, 64]), Ok(()));
        let refused = ProblemError::BufferTooSmall { matrix: 'B', need: 16, have: 15 };
        assert_eq!(known.check([64, 63, 64]), Err(refused));
    }
}
