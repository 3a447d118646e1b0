//! A whole inference on the host in double precision, from the same seeds.

use std::num::NonZero;
use std::thread;

use kernels::networks::{Convolution, Layer};

use super::plan::{Action, Place, Plan};
use super::stage::{length, seeded_biases, seeded_image, seeded_weights};
use crate::DeviceError;
use crate::opencl::layers::{Biased, Pooled};

/// What the network gives, on all processors of the machine. Of a plan of multiplications alone, nothing
/// that means anything.
///
/// # Errors
/// A layer does not fit this machine's sizes.
pub fn inference(plan: &Plan) -> Result<Vec<f64>, DeviceError> {
    let image: Vec<f64> = seeded_image(plan)?.into_iter().map(f64::from).collect();
    let mut values = Values { image, first: Vec::new(), second: Vec::new() };
    let mut last = Place::Image;
    for action in plan.actions() {
        match *action {
            Action::Columns { .. } => {}
            Action::Multiply { step, part: 0, from, to } => {
                let Some(one) = plan.steps().get(step) else { continue };
                let weights = seeded_weights(step, &one.layer)?;
                let result = match &one.layer {
                    Layer::Convolution(layer) => {
                        let images = plan.images() as usize;
                        convolve(layer, images, values.at(from), &weights)
                    }
                    Layer::FullyConnected { inputs, outputs } => {
                        let sizes = [*inputs, *outputs].map(|size| size as usize);
                        fully_connect(sizes, values.at(from), &weights)
                    }
                };
                values.put(to, result);
                last = to;
            }
            Action::Multiply { .. } => {}
            Action::Bias { step, matrix, at, .. } => {
                let Some(one) = plan.steps().get(step) else { continue };
                let columns = length(matrix.columns)?;
                add_bias(matrix, columns, values.at_mut(at), &seeded_biases(step, &one.layer));
            }
            Action::Pool { images, from, to } => {
                let result = pool(images, values.at(from));
                values.put(to, result);
                last = to;
            }
        }
    }
    Ok(std::mem::take(values.at_mut(last)))
}

struct Values {
    image: Vec<f64>,
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Values {
    fn at(&self, place: Place) -> &[f64] {
        match place {
            Place::Image => &self.image,
            Place::First => &self.first,
            Place::Second => &self.second,
        }
    }

    fn at_mut(&mut self, place: Place) -> &mut Vec<f64> {
        match place {
            Place::Image => &mut self.image,
            Place::First => &mut self.first,
            Place::Second => &mut self.second,
        }
    }

    fn put(&mut self, place: Place, values: Vec<f64>) {
        *self.at_mut(place) = values;
    }
}

/// A convolution without bias, a channel of an image after the other.
fn convolve(layer: &Convolution, images: usize, given: &[f64], weights: &[f32]) -> Vec<f64> {
    let [height, width] = layer.image.map(|side| side as usize);
    let [out_height, out_width] = layer.output().map(|side| side as usize);
    let pixels = (out_height * out_width).max(1);
    let filter = layer.kernel.iter().map(|side| *side as usize).product::<usize>().max(1);
    let column = layer.channels_in as usize * filter;
    let planes = layer.channels_out as usize * images;
    let mut result = vec![0.0; planes * pixels];
    // A plane that comes out, from its channel's weights and the planes of its image.
    let plane = |number: usize, out: &mut [f64]| {
        let (channel, image) = (number / images, number % images);
        let filters = weights.chunks_exact(column).nth(channel).unwrap_or_default();
        let all = given.chunks_exact((height * width).max(1)).skip(image).step_by(images);
        for (filter, plane) in filters.chunks_exact(filter).zip(all) {
            add_filtered(layer, [width, out_width], plane, filter, out);
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let share = planes.div_ceil(threads).max(1);
    thread::scope(|scope| {
        for (first, shared) in result.chunks_mut(share * pixels).enumerate() {
            scope.spawn(move || {
                for (number, out) in shared.chunks_mut(pixels).enumerate() {
                    plane(first * share + number, out);
                }
            });
        }
    });
    result
}

/// Add what a filter of one channel sees of `plane` to each pixel of `out`.
fn add_filtered(
    layer: &Convolution,
    [width, out_width]: [usize; 2],
    plane: &[f64],
    filter: &[f32],
    out: &mut [f64],
) {
    let [.., filter_width] = layer.kernel.map(|side| side as usize);
    let [stride_y, stride_x] = layer.stride.map(|step| (step as usize).max(1));
    let [padding_y, padding_x] = layer.padding.map(|side| side as usize);
    for (place, weight) in filter.iter().enumerate() {
        let (filter_y, filter_x) = (place / filter_width, place % filter_width);
        let weight = f64::from(*weight);
        // The first pixel that does not see the padding, and what it sees.
        let first = padding_x.saturating_sub(filter_x).div_ceil(stride_x);
        let seen = first * stride_x + filter_x - padding_x;
        for (out_y, row) in out.chunks_mut(out_width.max(1)).enumerate() {
            let y = (out_y * stride_y + filter_y).checked_sub(padding_y);
            let from = y.and_then(|y| plane.get(y * width..(y + 1) * width));
            let (Some(from), Some(row)) =
                (from.and_then(|from| from.get(seen..)), row.get_mut(first..))
            else {
                continue;
            };
            if stride_x == 1 {
                row.iter_mut().zip(from).for_each(|(sum, value)| *sum += weight * value);
            } else {
                let from = from.iter().step_by(stride_x);
                row.iter_mut().zip(from).for_each(|(sum, value)| *sum += weight * value);
            }
        }
    }
}

/// A row of values for each image.
fn fully_connect([inputs, outputs]: [usize; 2], given: &[f64], weights: &[f32]) -> Vec<f64> {
    let image = |values: &[f64]| {
        let mut sums = vec![0.0; outputs];
        for (value, row) in values.iter().zip(weights.chunks_exact(outputs.max(1))) {
            sums.iter_mut().zip(row).for_each(|(sum, weight)| *sum += value * f64::from(*weight));
        }
        sums
    };
    given.chunks_exact(inputs.max(1)).flat_map(image).collect()
}

fn add_bias(matrix: Biased, columns: usize, values: &mut [f64], biases: &[f32]) {
    for (row, bias) in values.chunks_mut(columns.max(1)).zip(0..) {
        for (column, value) in row.iter_mut().enumerate() {
            let bias: Option<&f32> = biases.get(if matrix.by_row { bias } else { column });
            *value += bias.map_or(0.0, |bias| f64::from(*bias));
            if matrix.relu && *value < 0.0 {
                *value = 0.0;
            }
        }
    }
}

fn pool(images: Pooled, given: &[f64]) -> Vec<f64> {
    let [height, width] = images.size.map(|side| side as usize);
    let [out_height, out_width] = images.out().map(|side| side as usize);
    let window = images.window as usize;
    let planes: Vec<&[f64]> = given.chunks_exact((height * width).max(1)).collect();
    let (channels, count) = (images.channels as usize, images.images as usize);
    let order: Vec<usize> = if images.flat {
        (0..count).flat_map(|image| (0..channels).map(move |one| one * count + image)).collect()
    } else {
        (0..planes.len()).collect()
    };
    let mut result = Vec::with_capacity(planes.len() * out_height * out_width);
    for plane in order.into_iter().filter_map(|number| planes.get(number)) {
        for pixel in 0..out_height * out_width {
            let (y, x) = (pixel / out_width * window, pixel % out_width * window);
            let seen = (0..window * window)
                .filter_map(|one| plane.get((y + one / window) * width + x + one % window));
            result.push(seen.copied().fold(f64::NEG_INFINITY, f64::max));
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_convolution_sums_what_its_filter_sees_and_zeros_beyond_the_edge() {
        // One channel of two images of 3×3 ones; two filters: all ones, and the middle alone.
        let layer = Convolution::square(3, 1, 2, 3);
        let mut weights = vec![1.0; 18];
        weights[9..].copy_from_slice(&[0., 0., 0., 0., 1., 0., 0., 0., 0.]);
        let mut given = vec![1.0; 18];
        given[9..].fill(2.0);
        let result = convolve(&layer, 2, &given, &weights);
        let sums = [4., 6., 4., 6., 9., 6., 4., 6., 4.];
        assert_eq!(result[..9], sums);
        assert_eq!(result[9..18], sums.map(|sum| 2.0 * sum));
        assert_eq!(result[18..27], [1.0; 9]);
        assert_eq!(result[27..], [2.0; 9]);
        // With stride 2 the corners remain.
        let result = convolve(&layer.stride(2), 2, &given, &weights);
        assert_eq!(result[..8], [4., 4., 4., 4., 8., 8., 8., 8.]);
    }

    #[test]
    fn the_channels_of_two_images_are_summed_apart() {
        let layer = Convolution::square(1, 2, 1, 1);
        // (channel, image): 1, 2 and 10, 20.
        assert_eq!(convolve(&layer, 2, &[1., 2., 10., 20.], &[1., 0.5]), [6., 12.]);
    }

    #[test]
    fn a_fully_connected_layer_has_a_row_an_image_and_relu_keeps_what_is_positive() {
        let mut values = fully_connect([2, 3], &[1., 2., 3., 4.], &[1., 0., -1., 0., 1., -1.]);
        assert_eq!(values, [1., 2., -3., 3., 4., -7.]);
        let matrix = Biased { rows: 2, columns: 3, by_row: false, relu: true };
        add_bias(matrix, 3, &mut values, &[0., -3., 1.]);
        assert_eq!(values, [1., 0., 0., 3., 1., 0.]);
        let matrix = Biased { by_row: true, relu: false, ..matrix };
        add_bias(matrix, 3, &mut values, &[-1., 1.]);
        assert_eq!(values, [0., -1., -1., 4., 2., 1.]);
    }

    #[test]
    fn pooling_keeps_the_largest_and_leaves_an_odd_edge_out() {
        let images = Pooled { channels: 1, images: 1, size: [3, 5], window: 2, flat: false };
        let given: Vec<f64> = (0..15).map(f64::from).collect();
        assert_eq!(pool(images, &given), [6.0, 8.0]);
        let order = Pooled { channels: 2, images: 2, size: [1, 1], window: 1, flat: true };
        assert_eq!(pool(order, &[1., 2., 3., 4.]), [1., 3., 2., 4.]);
    }
}
