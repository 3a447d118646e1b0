//! A split as people read it.

use selector_core::Feature;

use super::text::digits;

/// `n < 512`: what goes left at a split.
pub(super) fn below(feature: Feature, threshold: u16) -> String {
    format!("{} < {}", name(feature), limit(feature, threshold))
}

fn name(feature: Feature) -> String {
    feature.to_string().replace('*', "·")
}

/// Where the right branch begins: a dimension in full, a product to three digits.
fn limit(feature: Feature, threshold: u16) -> String {
    let value = feature.readable(threshold.saturating_add(1));
    match (feature.dimension(), value) {
        (None, 1e4..) => {
            let power = value.log10().floor();
            let mantissa = value / 10_f64.powf(power);
            format!("{mantissa:.2}·10{}", raised(power as u32))
        }
        (None, value) => digits(value),
        _ => format!("{value:.0}"),
    }
}

fn raised(number: u32) -> String {
    let digit = |c: char| match c {
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        _ => '⁰',
    };
    number.to_string().chars().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dimension_is_exact_and_a_product_is_about_right() {
        assert_eq!(below(Feature::N, 8 * 9 - 1), "n < 512");
        assert_eq!(below(Feature::Bmn, 8 * 20 - 1), "m·n·batch < 1.05·10⁶");
        assert_eq!(below(Feature::MPerN, 256 + 3), "m/n < 1.5");
    }
}
