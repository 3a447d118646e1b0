//! Whether what a peer computes is right: some values of every layer, computed again in double precision
//! from what that layer was really given.

use kernels::networks::{Convolution, Layer};
use kernels::reference::{Element, Sequence};
use kernels::{Operand, Problem};

use super::plan::Action;
use super::stage::{seeded_biases, seeded_weights};
use super::{NetworkError, Peer, Stage};
use crate::opencl::layers::{Biased, Pooled};

/// Values of a layer that are computed again, besides its first and its last.
const VALUES: u64 = 64;
/// How far two peers' results may be apart, as a share of the largest value. Roundings of 16 layers in
/// single precision come to a few millionths.
const APART: f64 = 1e-4;
/// Roundings beside those of a sum: the bias's, and the last one.
const OTHERS: f64 = 4.0;

/// What was found right.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// Values that were computed again.
    pub values: u64,
    /// The largest error as a share of its bound.
    pub worst: f64,
    /// What the network gives; nothing where only its multiplications are done.
    pub outputs: Vec<f32>,
}

/// A value in double precision and the magnitudes of what it is the sum of.
#[derive(Clone, Copy, Default)]
struct Sum {
    value: f64,
    magnitude: f64,
    terms: u64,
}

/// One layer's name and who multiplied.
#[derive(Clone, Copy)]
struct Of<'a> {
    peer: &'a str,
    layer: &'a str,
}

/// Do one inference with a peer and check every layer. C holds NaN before each multiplication.
///
/// # Errors
/// [`NetworkError::Wrong`] is the first value found that is not what it must be; or the peer refuses.
pub fn check(stage: &mut Stage<'_>, peer: &Peer) -> Result<Checked, NetworkError> {
    let actions = stage.plan().actions().to_vec();
    let mut checked = Checked { values: 0, worst: 0.0, outputs: Vec::new() };
    let mut last = None;
    for action in actions {
        if let Action::Multiply { part: 0, to, .. } = action {
            stage.spoil(to)?;
        }
        stage.act(action, Some(peer))?;
        match action {
            Action::Multiply { step, part, from, to } if !stage.plan().is_whole() => {
                let Some((layer, part)) = stage.plan().part(step, part) else { continue };
                let operands = stage.operands(step, &part.problem, [from, to])?;
                let of = Of { peer: peer.name(), layer: &layer.name };
                product(&mut checked, of, &part.problem, &operands)?;
            }
            Action::Bias { step, matrix, from, at } => {
                let Some(layer) = stage.plan().steps().get(step) else { continue };
                let images = stage.plan().images();
                let given = stage.values(from, given(&layer.layer, images))?;
                let found = stage.values(at, u64::from(matrix.rows) * matrix.columns)?;
                let of = Of { peer: peer.name(), layer: &layer.name };
                whole_layer(&mut checked, of, (step, &layer.layer), matrix, [&given, &found])?;
                last = Some(at);
            }
            Action::Pool { images, from, to } => {
                let planes = u64::from(images.channels) * u64::from(images.images);
                let pixels = |size: [u32; 2]| size.into_iter().map(u64::from).product::<u64>();
                let given = stage.values(from, planes * pixels(images.size))?;
                let found = stage.values(to, planes * pixels(images.out()))?;
                pooling(&mut checked, peer.name(), images, [&given, &found])?;
            }
            Action::Columns { .. } | Action::Multiply { .. } => {}
        }
    }
    if let Some(place) = last {
        checked.outputs = stage.values(place, stage.plan().outputs())?;
    }
    Ok(checked)
}

/// Whether two results are the same but for roundings: how far they are apart, as a share of the largest
/// value.
///
/// # Errors
/// [`NetworkError::Disagree`].
pub fn agree<A: Into<f64> + Copy, B: Into<f64> + Copy>(
    (peer, one): (&str, &[A]),
    (other_peer, other): (&str, &[B]),
) -> Result<f64, NetworkError> {
    let largest = one.iter().fold(0.0, |largest: f64, value| largest.max((*value).into().abs()));
    let apart = one.iter().zip(other).map(|(one, other)| ((*one).into() - (*other).into()).abs());
    // NaN is as far apart as can be.
    let apart =
        apart.fold(0.0, |most: f64, one| if most.is_nan() || one <= most { most } else { one });
    let difference = if one.len() == other.len() { apart / largest } else { f64::INFINITY };
    if difference <= APART {
        return Ok(difference);
    }
    Err(NetworkError::Disagree { peer: peer.to_owned(), other: other_peer.to_owned(), difference })
}

impl Checked {
    /// One more value; `bound` is how far it may be off.
    fn add(
        &mut self,
        of: Of<'_>,
        position: u64,
        [found, expected, bound]: [f64; 3],
    ) -> Result<(), NetworkError> {
        let error = (found - expected).abs();
        self.values += 1;
        if error <= bound {
            self.worst = self.worst.max(if error == 0.0 { 0.0 } else { error / bound });
            return Ok(());
        }
        let (peer, layer) = (of.peer.to_owned(), of.layer.to_owned());
        Err(NetworkError::Wrong { peer, layer, position, found, expected, bound })
    }
}

impl Sum {
    fn add(&mut self, one: f64, other: f64) {
        self.value += one * other;
        self.magnitude += (one * other).abs();
        self.terms += 1;
    }

    /// How far a sum in single precision may be off, in whatever order: k·ε·Σ|a·b| (as in
    /// `kernels::reference`), and what else is rounded.
    fn bound(&self, bias: f64) -> f64 {
        let epsilon = <f32 as Element>::EPSILON;
        let sum = (self.terms as f64 + OTHERS) * self.magnitude;
        epsilon * (sum + OTHERS * (self.value.abs() + bias.abs())) + <f32 as Element>::TINY
    }
}

/// Some positions of `count`: the first, the last, and between them some that are the same each time.
fn positions(count: u64) -> impl Iterator<Item = u64> {
    let mut sequence = Sequence::new(count);
    let ends = [0, count.saturating_sub(1)];
    let between = (0..VALUES).map(move |_| sequence.below(count));
    ends.into_iter().chain(between).filter(move |position| *position < count)
}

fn at(values: &[f32], position: u64) -> f64 {
    // What is not there is as wrong as what was not written.
    let value = usize::try_from(position).ok().and_then(|position| values.get(position));
    value.map_or(f64::NAN, |value| f64::from(*value))
}

/// Values that a layer is given.
fn given(layer: &Layer, images: u32) -> u64 {
    let per_image = match *layer {
        Layer::Convolution(layer) => {
            let [height, width] = layer.image.map(u64::from);
            u64::from(layer.channels_in) * height * width
        }
        Layer::FullyConnected { inputs, .. } => inputs.into(),
    };
    per_image * u64::from(images)
}

/// Check a layer with its bias and, where it has one, its ReLU.
fn whole_layer(
    checked: &mut Checked,
    of: Of<'_>,
    (number, layer): (usize, &Layer),
    matrix: Biased,
    [given, found]: [&[f32]; 2],
) -> Result<(), NetworkError> {
    let (weights, biases) = (seeded_weights(number, layer)?, seeded_biases(number, layer));
    for position in positions(u64::from(matrix.rows) * matrix.columns) {
        let (row, column) = (position / matrix.columns, position % matrix.columns);
        let sum = match layer {
            Layer::Convolution(layer) => {
                let images = matrix.columns / pixels(layer.output()).max(1);
                convolved(layer, images, [row, column], given, &weights)
            }
            Layer::FullyConnected { inputs, outputs } => {
                let (inputs, outputs) = (u64::from(*inputs), u64::from(*outputs));
                let mut sum = Sum::default();
                (0..inputs).for_each(|step| {
                    let weight = at(&weights, step * outputs + column);
                    sum.add(at(given, row * inputs + step), weight);
                });
                sum
            }
        };
        let bias = at(&biases, if matrix.by_row { row } else { column });
        let value = sum.value + bias;
        let expected = if matrix.relu && value < 0.0 { 0.0 } else { value };
        checked.add(of, position, [at(found, position), expected, sum.bound(bias)])?;
    }
    Ok(())
}

/// One value of a convolution without its bias; `column` counts the pixels of all images.
fn convolved(
    layer: &Convolution,
    images: u64,
    [channel, column]: [u64; 2],
    given: &[f32],
    weights: &[f32],
) -> Sum {
    let [.., out_width] = layer.output().map(u64::from);
    let (image, pixel) =
        (column / pixels(layer.output()).max(1), column % pixels(layer.output()).max(1));
    let (out_y, out_x) = (pixel / out_width.max(1), pixel % out_width.max(1));
    let [height, width] = layer.image.map(u64::from);
    let [filter_height, filter_width] = layer.kernel.map(u64::from);
    let mut sum = Sum::default();
    for channel_in in 0..u64::from(layer.channels_in) {
        for filter_y in 0..filter_height {
            for filter_x in 0..filter_width {
                let row = (channel_in * filter_height + filter_y) * filter_width + filter_x;
                let length = u64::from(layer.channels_in) * filter_height * filter_width;
                let weight = at(weights, channel * length + row);
                let inside = |out: u64, filter: u64, axis: usize, size: u64| {
                    let stride = layer.stride.get(axis).copied().map_or(1, u64::from);
                    let padding = layer.padding.get(axis).copied().map_or(0, u64::from);
                    (out * stride + filter).checked_sub(padding).filter(|place| *place < size)
                };
                let y = inside(out_y, filter_y, 0, height);
                let value = y.zip(inside(out_x, filter_x, 1, width)).map_or(0.0, |(y, x)| {
                    at(given, ((channel_in * images + image) * height + y) * width + x)
                });
                sum.add(value, weight);
            }
        }
    }
    sum
}

fn pixels([height, width]: [u32; 2]) -> u64 {
    u64::from(height) * u64::from(width)
}

/// Check some of the values that pooling gives, which are exact.
fn pooling(
    checked: &mut Checked,
    peer: &str,
    images: Pooled,
    [given, found]: [&[f32]; 2],
) -> Result<(), NetworkError> {
    let Pooled { channels, images: count, size, window, flat } = images;
    let [height, width] = size.map(u64::from);
    let [.., out_width] = images.out().map(u64::from);
    let (per_plane, window) = (pixels(images.out()).max(1), u64::from(window));
    let of = Of { peer, layer: "pooling" };
    for position in positions(u64::from(channels) * u64::from(count) * per_plane) {
        let (plane, pixel) = (position / per_plane, position % per_plane);
        let (first, second) = if flat {
            (plane % u64::from(channels), plane / u64::from(channels))
        } else {
            (plane / u64::from(count), plane % u64::from(count))
        };
        let plane = first * u64::from(count) + second;
        let (y, x) = (pixel / out_width.max(1) * window, pixel % out_width.max(1) * window);
        let corner = (plane * height + y) * width + x;
        let seen = (0..window * window).map(|one| corner + one / window * width + one % window);
        let most = seen.map(|place| at(given, place)).fold(f64::NEG_INFINITY, f64::max);
        checked.add(of, position, [at(found, position), most, 0.0])?;
    }
    Ok(())
}

/// Check some of the values of C.
fn product(
    checked: &mut Checked,
    of: Of<'_>,
    problem: &Problem,
    [a, b, c]: &[Vec<f32>; 3],
) -> Result<(), NetworkError> {
    let shape = problem.shape;
    let (m, n) = (u64::from(shape.m), u64::from(shape.n));
    let place = |operand: Operand, batch: u64, row: u64, column: u64| {
        operand.offset + batch * operand.stride + row * operand.leading + column
    };
    for position in positions(m * n * u64::from(shape.batch)) {
        let (batch, row, column) = (position / (m * n), position / n % m, position % n);
        let mut sum = Sum::default();
        for step in 0..u64::from(shape.k) {
            let left = at(a, place(problem.a, batch, row, step));
            sum.add(left, at(b, place(problem.b, batch, step, column)));
        }
        let position = place(problem.c, batch, row, column);
        checked.add(of, position, [at(c, position), sum.value, sum.bound(0.0)])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use selector_core::{GemmShape, ProblemClass};

    use super::*;

    const OF: Of<'_> = Of { peer: "one", layer: "conv1_1" };

    fn nothing() -> Checked {
        Checked { values: 0, worst: 0.0, outputs: Vec::new() }
    }

    #[test]
    fn results_may_differ_by_roundings_and_by_no_more() {
        let one = [1.0_f32, -100.0, 3.0];
        let near = [1.0_f64, -100.0005, 3.0];
        assert!(agree(("a", &one), ("b", &near)).unwrap() < 1e-5);
        let far = [1.0_f64, -100.0, 3.1];
        let refused = agree(("a", &one), ("b", &far)).unwrap_err().to_string();
        assert!(refused.contains("a and b differ by"), "{refused}");
        for wrong in [vec![1.0, -100.0], vec![1.0, f64::NAN, 3.0], vec![f64::NAN, -100.0, 3.0]] {
            assert!(agree(("a", &one), ("b", &wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_value_of_a_product_that_is_off_is_found() {
        let problem = Problem::packed(ProblemClass::F32_NN, GemmShape::new(2, 2, 3, 1));
        let (a, b) = (vec![1., 2., 3., 4.], vec![1., 0., 2., 0., 1., 1.]);
        let right = vec![1., 2., 4., 3., 4., 10.];
        let verdict = |c: &[f32]| {
            let mut checked = nothing();
            let operands = [a.clone(), b.clone(), c.to_vec()];
            product(&mut checked, OF, &problem, &operands).map(|()| checked.values)
        };
        assert_eq!(verdict(&right), Ok(VALUES + 2));
        for position in 0..6 {
            for wrong in [right[position] + 1e-4, f32::NAN] {
                let mut c = right.clone();
                c[position] = wrong;
                let error = verdict(&c).unwrap_err();
                let NetworkError::Wrong { position: found, .. } = error else { panic!("{error}") };
                assert_eq!(found, position as u64);
            }
        }
        assert!(verdict(&right[..5]).is_err());
    }

    #[test]
    fn pooling_and_its_two_orders_are_told_apart() {
        // Two channels of two images of 2×2 pixels; the largest are 3, 13, 23 and 33.
        let given: Vec<f32> = [0.0, 10.0, 20.0, 30.0]
            .into_iter()
            .flat_map(|plane| [0.0, 1.0, 2.0, 3.0].map(|value| plane + value))
            .collect();
        let images = Pooled { channels: 2, images: 2, size: [2, 2], window: 2, flat: false };
        let verdict = |flat, found: [f32; 4]| {
            pooling(&mut nothing(), "one", Pooled { flat, ..images }, [&given, &found]).is_ok()
        };
        assert!(verdict(false, [3.0, 13.0, 23.0, 33.0]));
        assert!(!verdict(false, [3.0, 23.0, 13.0, 33.0]));
        assert!(verdict(true, [3.0, 23.0, 13.0, 33.0]));
        assert!(!verdict(true, [3.0, 13.0, 23.0, 33.0]));
    }
}
