//! How much alike rows become when they are divided in two: what trees that predict amounts and
//! trees that predict labels share.

/// What dividing `sorted` gains after each size that leaves at least `fewest` rows on both sides:
/// by how much it lowers the sum, over `outputs` numbers a row has, of squared distances from the
/// mean of a side. `add` adds a row's numbers, times a sign, to sums.
///
/// Where a row's numbers say which label it has, 1 for that and 0 for the others, this is the fall
/// of the Gini impurity, weighted by rows.
pub(crate) fn gains(
    sorted: &[usize],
    outputs: usize,
    fewest: usize,
    add: impl Fn(&mut [f64], usize, f64),
) -> Vec<(usize, f64)> {
    let mut left = vec![0.0; outputs];
    let mut right = left.clone();
    sorted.iter().for_each(|row| add(&mut right, *row, 1.0));
    let count = sorted.len() as f64;
    let whole = squared(&right) / count;
    let mut gains = Vec::new();
    for (index, row) in sorted.iter().enumerate() {
        let size = index + 1;
        add(&mut left, *row, 1.0);
        add(&mut right, *row, -1.0);
        if size < sorted.len() && size >= fewest && size + fewest <= sorted.len() {
            let size_right = count - size as f64;
            gains.push((size, squared(&left) / size as f64 + squared(&right) / size_right - whole));
        }
    }
    gains
}

/// The sum of squares.
pub(crate) fn squared(sums: &[f64]) -> f64 {
    sums.iter().map(|sum| sum * sum).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dividing_where_numbers_change_gains_the_most() {
        let values = [1.0, 1.0, 5.0, 5.0];
        let add = |sums: &mut [f64], row: usize, sign: f64| sums[0] += sign * values[row];
        let found = gains(&[0, 1, 2, 3], 1, 1, add);
        let sizes: Vec<usize> = found.iter().map(|(size, _)| *size).collect();
        assert_eq!(sizes, [1, 2, 3]);
        // All squared distances from the mean, 4 × 2², are gone.
        assert_eq!(found[1].1, 16.0);
        assert!(found[0].1 < 16.0 && found[2].1 < 16.0);
    }

    #[test]
    fn a_side_keeps_the_fewest_rows() {
        let add = |sums: &mut [f64], row: usize, sign: f64| sums[row] += sign;
        assert_eq!(gains(&[0, 1, 2, 3, 4], 5, 2, add).len(), 2);
        assert!(gains(&[0, 1, 2], 3, 2, add).is_empty());
        assert!(gains(&[0], 1, 0, add).is_empty() && gains(&[], 1, 0, add).is_empty());
    }
}
