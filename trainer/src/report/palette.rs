//! A colour for each kernel. Its number always stands beside or on the colour, so nothing is told
//! by colour alone.

/// Colours that people with any colour vision tell apart where they can be, each as red, green and
/// blue; the first is the universal kernel's.
const BASE: [[u8; 3]; 12] = [
    [0x9a, 0x9a, 0x9a],
    [0xe6, 0x9f, 0x00],
    [0x56, 0xb4, 0xe9],
    [0x00, 0x9e, 0x73],
    [0xf0, 0xe4, 0x42],
    [0x00, 0x72, 0xb2],
    [0xd5, 0x5e, 0x00],
    [0xcc, 0x79, 0xa7],
    [0x6b, 0x3f, 0x1d],
    [0xb8, 0xde, 0x8b],
    [0x5b, 0x3a, 0x9e],
    [0xf7, 0xc1, 0xbb],
];

/// The rules that give class `k<id>` its colour, for ids up to `last`.
pub(crate) fn css(last: u8) -> String {
    let rule = |id: u8| {
        let colour = colour(id);
        let [red, green, blue] = colour;
        let ink = if luminance(colour) > 0.18 { "#111" } else { "#fff" };
        format!(
            ".k{id}{{fill:#{red:02x}{green:02x}{blue:02x};background:#{red:02x}{green:02x}{blue:02x}}}\
             .i{id}{{fill:{ink};color:{ink}}}\n"
        )
    };
    (0..=last).map(rule).collect()
}

/// The rules that draw lines of class `s<id>` in that colour, for ids up to `last`.
pub(crate) fn strokes(last: u8) -> String {
    let rule = |id: u8| {
        let [red, green, blue] = colour(id);
        format!(".s{id}{{stroke:#{red:02x}{green:02x}{blue:02x}}}\n")
    };
    (0..=last).map(rule).collect()
}

/// A chip with the kernel's number, for HTML.
pub(super) fn chip(id: u8) -> String {
    format!("<span class=\"chip k{id} i{id}\">{id}</span>")
}

/// After one round of colours come lighter ones, then darker ones and so on.
fn colour(id: u8) -> [u8; 3] {
    let rounds = match usize::from(id) {
        0 => 0,
        id => (id - 1) / (BASE.len() - 1),
    };
    let place = usize::from(id) - rounds * (BASE.len() - 1);
    let target = if rounds % 2 == 1 { 255.0 } else { 0.0 };
    let part = 1.0 - 0.68_f64.powi(rounds.div_ceil(2) as i32);
    let mix = |value: u8| (f64::from(value) + (target - f64::from(value)) * part).round() as u8;
    BASE.get(place).copied().unwrap_or([0x77; 3]).map(mix)
}

/// Relative luminance, as contrast is computed from.
fn luminance(colour: [u8; 3]) -> f64 {
    let linear = |value: u8| (f64::from(value) / 255.0).powf(2.2);
    let [red, green, blue] = colour.map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use selector_core::MAX_KERNELS;

    use super::*;

    #[test]
    fn every_kernel_has_a_colour_of_its_own() {
        let all: BTreeSet<_> = (0..=MAX_KERNELS as u8).map(colour).collect();
        assert_eq!(all.len(), MAX_KERNELS + 1);
    }

    #[test]
    fn numbers_can_be_read_on_every_colour() {
        for id in 0..=MAX_KERNELS as u8 {
            let behind = luminance(colour(id));
            let ink = if behind > 0.18 { 0.006 } else { 1.0 };
            let (light, dark) = if behind > ink { (behind, ink) } else { (ink, behind) };
            assert!((light + 0.05) / (dark + 0.05) >= 4.0, "kernel {id}");
        }
    }
}
