//! The upper part of a tree, whose questions are answered together.

use super::weight_of;
use super::word::Word;
use crate::entry::{ENTRY, Raw};
use crate::lanes::VALUES;
use crate::{MAX_DEPTH, MAX_FEATURES};

/// Most subtrees below the upper part: the bits of a mask.
pub(super) const SUBTREES: usize = u64::BITS as usize;

/// What a mispredicted branch at the end of the walk costs, in steps, with the work of the next
/// calls that it undoes.
const MISPREDICTION: u64 = 12;

/// The subtrees below the upper part, and the questions in it.
pub(super) struct Top {
    subtrees: heapless::Vec<Word, SUBTREES>,
    asked: heapless::Vec<Asked, SUBTREES>,
}

/// A question: its left branch holds the subtrees from `begin`, its right one those from `middle`
/// up to `end`.
struct Asked {
    lane: usize,
    threshold: u16,
    begin: usize,
    middle: usize,
    end: usize,
}

impl Top {
    /// Split the subtree that most training shapes pass, again and again, while there is room.
    pub(super) fn new(root: Word, pairs: &[[u64; 2]]) -> Self {
        let mut top = Self { subtrees: heapless::Vec::new(), asked: heapless::Vec::new() };
        let _ = top.subtrees.push(root);
        while let Some(place) = top.heaviest() {
            let Some(split) = top.subtrees.get_mut(place) else { break };
            let Some([left, right]) = pairs.get(split.pair()) else { break };
            let (lane, threshold) = (split.lane(), split.threshold());
            *split = Word(*left);
            if top.subtrees.insert(place + 1, Word(*right)).is_err() {
                break;
            }
            for asked in &mut top.asked {
                for bound in [&mut asked.begin, &mut asked.middle, &mut asked.end] {
                    *bound += usize::from(*bound > place);
                }
            }
            let (begin, middle, end) = (place, place + 1, place + 2);
            let _ = top.asked.push(Asked { lane, threshold, begin, middle, end });
        }
        top
    }

    /// The first of the splits with the most training shapes, if there is room for its branches.
    fn heaviest(&self) -> Option<usize> {
        if self.subtrees.is_full() {
            return None;
        }
        let splits = self.subtrees.iter().enumerate().rev().filter(|(_, word)| word.is_split());
        splits.max_by_key(|(_, word)| word.weight()).map(|(place, _)| place)
    }

    /// Write the roots of the subtrees.
    pub(super) fn write_subtrees(&self, words: &mut [Word; SUBTREES]) {
        words.fill(Word::NOTHING);
        for (slot, word) in words.iter_mut().zip(&self.subtrees) {
            *slot = *word;
        }
    }

    /// Cut the values of each feature at its thresholds, and note for each range what is left.
    pub(super) fn fill(
        &self,
        ranges: &mut [[u8; VALUES]; MAX_FEATURES],
        masks: &mut [[u64; SUBTREES]; MAX_FEATURES],
    ) {
        for (lane, (ranges, masks)) in ranges.iter_mut().zip(masks).enumerate() {
            let asked = || self.asked.iter().filter(move |asked| asked.lane == lane);
            let mut from = 0;
            // One range more than there are questions, of which there are fewer than subtrees.
            for (range, mask) in (0..).zip(masks) {
                let thresholds = asked().map(|asked| asked.threshold);
                let next = thresholds.filter(|one| usize::from(*one) >= from).min();
                let to = next.map_or(VALUES, |threshold| usize::from(threshold) + 1);
                ranges.get_mut(from..to).unwrap_or_default().fill(range);
                *mask = left_open(asked(), from);
                from = to;
                if next.is_none() {
                    break;
                }
            }
        }
    }

    /// The number of steps from the subtrees' roots that costs least: few steps are short, but
    /// each training shape that needs more mispredicts a branch.
    pub(super) fn steps(&self, pairs: &[[u64; 2]], entries: &[[u8; ENTRY]]) -> usize {
        let mut ends = [0u64; MAX_DEPTH + 1];
        let mut all = 0u64;
        for subtree in &self.subtrees {
            let mut pending: heapless::Vec<(Word, usize), { MAX_DEPTH + 2 }> = heapless::Vec::new();
            let _ = pending.push((*subtree, 0));
            while let Some((word, depth)) = pending.pop() {
                match pairs.get(word.pair()) {
                    Some([left, right]) if word.is_split() => {
                        let _ = pending.push((Word(*right), depth + 1));
                        let _ = pending.push((Word(*left), depth + 1));
                    }
                    _ => {
                        let leaf = entries.get(word.entry()).map(Raw::read);
                        let Some(Raw::Leaf(leaf)) = leaf else { continue };
                        let weight = u64::from(weight_of(leaf));
                        all += weight;
                        if let Some(end) = ends.get_mut(depth) {
                            *end += weight;
                        }
                    }
                }
            }
        }
        let mut beyond = all;
        let costs = ends.iter().enumerate().map(|(steps, here)| {
            beyond -= here;
            (steps as u64 * all + MISPREDICTION * beyond, steps)
        });
        costs.min().map_or(0, |(_, steps)| steps)
    }
}

/// The subtrees that remain where a feature has this value, all its questions answered.
fn left_open<'a>(asked: impl Iterator<Item = &'a Asked>, value: usize) -> u64 {
    asked.fold(u64::MAX, |open, asked| {
        let (begin, end) = match value <= usize::from(asked.threshold) {
            true => (asked.middle, asked.end),
            false => (asked.begin, asked.middle),
        };
        open & !(below(end) & !below(begin))
    })
}

/// A mask of the subtrees before `end`.
fn below(end: usize) -> u64 {
    1u64.checked_shl(end as u32).map_or(u64::MAX, |bit| bit - 1)
}
