//! Layer tables of published networks and size grids: where realistic shapes come from. To add a
//! network: write `networks/<name>.rs`, then list it in [`ALL`].
//!
//! Depthwise convolutions are in the tables but give no shape: each of their channels is its own
//! small filter, so there is no matrix product to speak of.

mod alexnet;
mod antonnet;
mod form;
mod googlenet;
mod grid;
mod layer;
mod mobilenet_v1;
mod mobilenet_v2;
mod names;
mod resnet50;
mod resnet50_v2;
mod squeezenet1_1;
mod vgg16;

use std::collections::BTreeSet;

use selector_core::GemmShape;

pub use form::{Form, Method, Pass};
pub use grid::{GRIDS, Grid, UnknownGrid};
pub use layer::{Convolution, Layer};
pub use names::named;

/// A published network.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// The name users type.
    pub name: &'static str,
    layers: fn() -> Vec<Layer>,
}

/// Every network, by name.
pub static ALL: &[Network] = &[
    Network { name: "alexnet", layers: alexnet::layers },
    Network { name: "googlenet", layers: googlenet::layers },
    Network { name: "mobilenet_v1", layers: mobilenet_v1::layers },
    Network { name: "mobilenet_v2", layers: mobilenet_v2::layers },
    Network { name: "resnet50", layers: resnet50::layers },
    Network { name: "resnet50_v2", layers: resnet50_v2::layers },
    Network { name: "squeezenet1.1", layers: squeezenet1_1::layers },
    Network { name: "vgg16", layers: vgg16::layers },
];

/// No network has this name.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no network is called `{name}`; networks: {}", names(ALL.iter().map(|one| one.name)))]
pub struct UnknownNetwork {
    /// The name given.
    pub name: String,
}

/// The network called `name`.
///
/// # Errors
/// [`UnknownNetwork`] lists the known ones.
pub fn by_name(name: &str) -> Result<Network, UnknownNetwork> {
    let known = ALL.iter().copied().find(|network| network.name == name);
    known.ok_or_else(|| UnknownNetwork { name: name.to_owned() })
}

impl Network {
    /// The layers that multiply, in order.
    #[must_use]
    pub fn layers(&self) -> Vec<Layer> {
        (self.layers)()
    }

    /// The distinct shapes of inference by im2col on `images` images, smallest first.
    #[must_use]
    pub fn shapes(&self, images: u16) -> Vec<GemmShape> {
        let layers = self.layers();
        distinct(layers.iter().filter_map(|layer| Form::INFERENCE.shape(layer, images)))
    }

    /// The distinct shapes of every form, for as many images as the first paper's, smallest first.
    #[must_use]
    pub fn every_shape(&self) -> Vec<GemmShape> {
        let layers = self.layers();
        distinct(FIRST_PAPER_IMAGES.into_iter().flat_map(|images| every_form(&layers, images)))
    }
}

/// The layers of VGG16 on square images of `side` pixels a side; the network's own are of 224. Each stage
/// halves what is there, rounding down; the least image that leaves something is of 32.
#[must_use]
pub fn vgg16(side: u32) -> Vec<Layer> {
    vgg16::on_images_of(side)
}

/// Images at once in the first paper's list.
const FIRST_PAPER_IMAGES: [u16; 2] = [1, 4];

/// The first paper's list: every form of every convolution of VGG16, ResNet-50 and MobileNet, for
/// 1 and 4 images.
#[must_use]
pub fn first_paper() -> Vec<GemmShape> {
    let tables = [vgg16::layers(), resnet50_v2::layers(), mobilenet_v1::layers()];
    let convolutions: Vec<Layer> = tables
        .into_iter()
        .flatten()
        .filter(|layer| matches!(layer, Layer::Convolution(_)))
        .collect();
    distinct(FIRST_PAPER_IMAGES.into_iter().flat_map(|images| every_form(&convolutions, images)))
}

/// Every form of `layers` that has a shape.
fn every_form(layers: &[Layer], images: u16) -> impl Iterator<Item = GemmShape> {
    let forms = move |layer| Form::ALL.iter().filter_map(move |form| form.shape(layer, images));
    layers.iter().flat_map(forms)
}

/// Smallest first by m, then k, n, batch; each once.
fn distinct(shapes: impl Iterator<Item = GemmShape>) -> Vec<GemmShape> {
    shapes.collect::<BTreeSet<_>>().into_iter().collect()
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(m: u32, k: u32, n: u32, batch: u32) -> GemmShape {
        GemmShape::new(m, k, n, batch)
    }

    #[test]
    fn each_network_has_its_published_number_of_layers_and_weights() {
        // Layers with a matrix product, their weights without biases, distinct shapes.
        let expected = [
            ("alexnet", 8, 60_954_656, 8),
            ("googlenet", 58, 6_990_272, 50),
            ("mobilenet_v1", 15, 4_164_448, 11),
            ("mobilenet_v2", 36, 3_405_536, 21),
            ("resnet50", 54, 25_502_912, 21),
            ("resnet50_v2", 54, 25_502_912, 27),
            ("squeezenet1.1", 26, 1_231_552, 18),
            ("vgg16", 16, 138_344_128, 12),
        ];
        let found = ALL.iter().map(|network| {
            let layers = network.layers();
            let gemms: Vec<_> =
                layers.iter().filter(|layer| Form::INFERENCE.shape(layer, 1).is_some()).collect();
            let weights: u64 = gemms.iter().map(|layer| layer.weights()).sum();
            (network.name, gemms.len(), weights, network.shapes(1).len())
        });
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn well_known_layers_have_their_shapes() {
        for (network, expected) in [
            ("alexnet", shape(96, 363, 3025, 1)),
            ("alexnet", shape(128, 1200, 729, 2)),
            ("googlenet", shape(192, 576, 3136, 1)),
            ("mobilenet_v1", shape(1024, 1024, 49, 1)),
            ("mobilenet_v2", shape(32, 27, 12544, 1)),
            ("mobilenet_v2", shape(1280, 320, 49, 1)),
            ("resnet50", shape(64, 147, 12544, 1)),
            ("resnet50", shape(2048, 1024, 49, 1)),
            ("resnet50_v2", shape(64, 576, 784, 1)),
            ("squeezenet1.1", shape(1000, 512, 196, 1)),
            ("vgg16", shape(64, 27, 50176, 1)),
            ("vgg16", shape(1, 25088, 4096, 1)),
        ] {
            let shapes = by_name(network).unwrap().shapes(1);
            assert!(shapes.contains(&expected), "{network} has no {expected}: {shapes:?}");
        }
    }

    #[test]
    fn images_lengthen_n_of_a_convolution_and_m_of_a_fully_connected_layer() {
        let shapes = by_name("vgg16").unwrap().shapes(4);
        assert!(shapes.contains(&shape(64, 27, 4 * 50176, 1)));
        assert!(shapes.contains(&shape(4, 25088, 4096, 1)));
    }

    #[test]
    fn the_first_papers_list_has_every_form() {
        let shapes = first_paper();
        assert_eq!(shapes.len(), 299);
        let batches = |batch| shapes.iter().filter(|shape| shape.batch == batch).count();
        assert_eq!([1, 16, 25, 36].map(batches), [183, 58, 25, 33]);
        for expected in [
            shape(64, 27, 50176, 1),    // im2col
            shape(3, 3136, 211_600, 1), // gradient of a padded image, 4 images
            shape(32, 12321, 27, 1),    // gradient of the weights
            shape(512, 784, 512, 16),   // the same by Winograd, 2×2 pixels a tile, 4 images
            shape(64, 5625, 3, 25),     // the same, 3×3 pixels a tile
            shape(512, 512, 4, 36),     // inference by Winograd, 4×4 pixels a tile
        ] {
            assert!(shapes.contains(&expected), "{expected}");
        }
    }

    #[test]
    fn the_largest_number_of_images_fits() {
        for network in ALL {
            let [one, most] = [1, u16::MAX].map(|images| network.shapes(images));
            let flop = |shapes: &[GemmShape]| shapes.iter().map(|shape| shape.flop()).sum::<f64>();
            let expected = flop(&one) * f64::from(u16::MAX);
            assert!((flop(&most) - expected).abs() < 1e-9 * expected, "{}", network.name);
        }
    }

    #[test]
    fn an_unknown_network_lists_the_known_ones() {
        let error = by_name("vgg").unwrap_err().to_string();
        assert!(error.contains("`vgg`") && error.contains("alexnet, googlenet"), "{error}");
    }
}
