//! AntonNet, the second paper's list of layer sizes: AlexNet, GoogLeNet and
//! SqueezeNet 1.1 for 2, 4 … 128 images at once.
//!
//! The paper counts about 460 triples, 35 % of them with k = 1, and does not say how it reads the
//! layers. This reading is the nearest known and has 494, so the list is like the paper's, not the
//! same: a convolution is multiplied image by image, group by group, so images do not lengthen it,
//! or the list would have thousands; a fully connected layer has a row an image; and adding a
//! layer's bias is a product too, with k = 1.

use selector_core::GemmShape;

use super::{Form, Layer, alexnet, distinct, googlenet, squeezenet1_1};

/// Images at once.
fn images() -> impl Iterator<Item = u16> {
    (2..=128).step_by(2)
}

pub(super) fn shapes() -> Vec<GemmShape> {
    let tables = [alexnet::layers(), googlenet::layers(), squeezenet1_1::layers()];
    let layers: Vec<Layer> = tables.into_iter().flatten().collect();
    distinct(layers.iter().flat_map(of_layer))
}

/// The products of a layer, and those that add its bias.
fn of_layer(layer: &Layer) -> Vec<GemmShape> {
    let shape = |images| Form::INFERENCE.shape(layer, images);
    match layer {
        Layer::Convolution(_) => shape(1).into_iter().flat_map(by_image).collect(),
        Layer::FullyConnected { .. } => {
            images().filter_map(shape).flat_map(|whole| [whole, bias(whole)]).collect()
        }
    }
}

/// A convolution on one image: a product for each group, one bias for all.
fn by_image(whole: GemmShape) -> [GemmShape; 2] {
    let channels = whole.m.saturating_mul(whole.batch);
    [GemmShape { batch: 1, ..whole }, bias(GemmShape { m: channels, batch: 1, ..whole })]
}

fn bias(whole: GemmShape) -> GemmShape {
    GemmShape { k: 1, ..whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_triples_as_the_paper_counts_and_as_many_with_k_1() {
        let shapes = shapes();
        assert_eq!(shapes.len(), 494);
        let biases = shapes.iter().filter(|shape| shape.k == 1).count();
        assert_eq!(biases, 168);
        // About 460 and 35 %, says the paper.
        assert!((shapes.len() as f64 / 460.0 - 1.0).abs() < 0.1);
        assert!((biases as f64 / shapes.len() as f64 - 0.35).abs() < 0.02);
        assert!(shapes.iter().all(|shape| shape.batch == 1));
    }

    #[test]
    fn images_are_rows_of_fully_connected_layers_alone() {
        let shapes = shapes();
        for images in images() {
            for (k, n) in [(9216, 4096), (4096, 4096), (4096, 1000), (1024, 1000), (1, 4096)] {
                assert!(shapes.contains(&GemmShape::new(images.into(), k, n, 1)), "{images}");
            }
        }
        let of_images = |images: u32| shapes.iter().filter(|shape| shape.m == images).count();
        assert_eq!([2, 6, 126].map(of_images), [6; 3]);
        assert_eq!([1, 3, 127].map(of_images), [0; 3]);
    }

    #[test]
    fn convolutions_are_those_of_one_image_and_one_group_with_a_bias_for_all_channels() {
        let shapes = shapes();
        for (m, k, n) in [
            (96, 363, 3025),  // AlexNet's first layer
            (96, 1, 3025),    // its bias
            (128, 1200, 729), // one of two groups
            (256, 1, 729),    // the bias of both
            (64, 147, 12544), // GoogLeNet's first layer
            (16, 480, 196),
            (320, 1440, 49),
            (64, 27, 12769), // SqueezeNet's first layer
            (1000, 512, 196),
            (1000, 1, 196),
        ] {
            assert!(shapes.contains(&GemmShape::new(m, k, n, 1)), "{m}x{k}x{n}");
        }
    }
}
