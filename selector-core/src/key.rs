//! Logarithms of dimensions as small whole numbers (FORMAT.md §5).

/// Eighths of an octave: bits of the key below the exponent.
pub(crate) const FRACTION_BITS: u32 = 3;
/// Keys of an octave.
pub(crate) const OCTAVE: u16 = 1 << FRACTION_BITS;
/// The largest key, that of `u32::MAX`.
pub(crate) const LARGEST: u16 = 32 * OCTAVE - 1;

/// The key of a dimension: eight times its base-2 logarithm, the part within an octave taken as
/// linear, rounded down; 0 counts as 1.
#[inline]
pub(crate) fn key(dimension: u32) -> u64 {
    raw(dimension).wrapping_sub(RAW_BIAS)
}

/// What [`raw`] adds to a key.
pub(crate) const RAW_BIAS: u64 = if cfg!(target_arch = "x86_64") { DOUBLE_BIAS } else { 0 };
const DOUBLE_BIAS: u64 = 1023 << FRACTION_BITS;

/// The key plus [`RAW_BIAS`], by the fastest way of the target.
#[inline]
pub(crate) fn raw(dimension: u32) -> u64 {
    if cfg!(target_arch = "x86_64") { by_conversion(dimension) } else { by_zeros(dimension) }
}

/// The upper bits of a double are the logarithm of what it holds. Baseline x86-64 converts faster
/// than it counts leading zeros.
#[inline]
fn by_conversion(dimension: u32) -> u64 {
    f64::from(dimension.max(1)).to_bits() >> (f64::MANTISSA_DIGITS - 1 - FRACTION_BITS)
}

/// The same without floating point.
#[inline]
fn by_zeros(dimension: u32) -> u64 {
    let zeros = (dimension | 1).leading_zeros();
    // The leading one at bit 31, so the fraction is what follows it.
    let fraction = dimension.wrapping_shl(zeros) >> (31 - FRACTION_BITS) & u32::from(OCTAVE - 1);
    u64::from((31 - zeros) << FRACTION_BITS | fraction)
}

/// The smallest dimension with this key or a larger one; 2³² for keys beyond the last.
pub(crate) const fn smallest(key: u16) -> u64 {
    let (octave, eighths) = (key >> FRACTION_BITS, key % OCTAVE);
    if octave > 31 {
        return 1 << 32;
    }
    let scaled = ((OCTAVE + eighths) as u64) << octave;
    scaled.div_ceil(OCTAVE as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every dimension at which either way could go wrong.
    fn edges() -> impl Iterator<Item = u32> {
        let steps = (0..=LARGEST).flat_map(|key| {
            let first = smallest(key);
            [first.saturating_sub(1), first, first + 1]
        });
        (0..70_000).chain(steps).chain([u64::from(u32::MAX)]).filter_map(|x| u32::try_from(x).ok())
    }

    #[test]
    fn both_ways_agree_with_the_definition() {
        for dimension in edges() {
            let one = u64::from(dimension.max(1));
            let octave = one.ilog2();
            let expected = u64::from(octave) * 8 + ((one * 8) >> octave) - 8;
            assert_eq!(by_zeros(dimension), expected, "{dimension}");
            assert_eq!(by_conversion(dimension) - DOUBLE_BIAS, expected, "{dimension}");
            assert_eq!(key(dimension), expected, "{dimension}");
        }
    }

    #[test]
    fn keys_grow_with_the_dimension_and_tell_small_ones_apart() {
        for dimension in 0..70_000 {
            let (one, next) = (key(dimension), key(dimension + 1));
            assert!(next >= one, "{dimension}");
            assert!(next > one || dimension == 0 || dimension >= 16, "{dimension}");
        }
        assert_eq!((key(0), key(1), key(u32::MAX)), (0, 0, u64::from(LARGEST)));
    }

    #[test]
    fn the_smallest_dimension_of_a_key_is_where_it_begins() {
        for wanted in 1..=LARGEST {
            let first = smallest(wanted);
            assert!(key(first as u32) >= u64::from(wanted), "{wanted}");
            assert!(key(first as u32 - 1) < u64::from(wanted), "{wanted}");
        }
        assert_eq!((smallest(0), smallest(LARGEST + 1)), (1, 1 << 32));
    }
}
