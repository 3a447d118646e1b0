//! How a layer becomes a multiplication.
//!
//! | | m | k | n | batch |
//! |---|---|---|---|---|
//! | convolution, im2col | channels out | channels in × filter | pixels out × images | groups |
//! | … gradient of its image | channels in | channels out × filter | pixels in × images | groups |
//! | … gradient of its weights | channels out | pixels out × images | channels in × filter | groups |
//! | convolution, Winograd | channels out | channels in | tiles × images | (tile + 2)² |
//! | … gradient of its image | channels in | channels out | tiles × images | (tile + 2)² |
//! | … gradient of its weights | channels out | tiles × images | channels in | (tile + 2)² |
//! | fully connected | images | inputs | outputs | 1 |
//! | … gradient of its image | images | outputs | inputs | 1 |
//! | … gradient of its weights | inputs | images | outputs | 1 |
//!
//! With groups, channels are those of one group. Winograd is for 3×3 filters of stride 1 without
//! groups; the image that comes out (for weights: its gradient) is cut into tiles of tile × tile
//! pixels, of which the last of a row or column may be partly empty. F(2×2, 3×3) and F(4×4, 3×3)
//! have tiles of 2 and 4; for weights the filter is the result and the tile plays the filter:
//! F(3×3, 2×2) and F(3×3, 3×3) have tiles of 2 and 3.

use selector_core::GemmShape;

use super::{Convolution, Layer};

/// Which product of a layer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pass {
    /// The layer's result.
    Forward,
    /// Gradient of what goes in.
    InputGradient,
    /// Gradient of the weights.
    WeightGradient,
}

/// How a convolution is written as a product.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Method {
    /// One column of the image's values for each pixel that comes out.
    Im2col,
    /// Winograd's minimal filtering on tiles of this many pixels along each side.
    Winograd(u32),
}

/// A pass by a method.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Form {
    /// Which product.
    pub pass: Pass,
    /// How.
    pub method: Method,
}

impl Form {
    /// The result of a layer, by im2col.
    pub const INFERENCE: Self = Self::new(Pass::Forward, Method::Im2col);

    /// Every form: three passes by im2col, and by Winograd with the two tiles usual for each.
    pub const ALL: [Self; 9] = [
        Self::INFERENCE,
        Self::new(Pass::Forward, Method::Winograd(2)),
        Self::new(Pass::Forward, Method::Winograd(4)),
        Self::new(Pass::InputGradient, Method::Im2col),
        Self::new(Pass::InputGradient, Method::Winograd(2)),
        Self::new(Pass::InputGradient, Method::Winograd(4)),
        Self::new(Pass::WeightGradient, Method::Im2col),
        Self::new(Pass::WeightGradient, Method::Winograd(2)),
        Self::new(Pass::WeightGradient, Method::Winograd(3)),
    ];

    const fn new(pass: Pass, method: Method) -> Self {
        Self { pass, method }
    }

    /// The shape of `layer` in this form, for `images` images at once; `None` if the layer has no
    /// such form or is depthwise. Sizes beyond 32 bits become the largest that fits.
    #[must_use]
    pub fn shape(self, layer: &Layer, images: u16) -> Option<GemmShape> {
        let images = u32::from(images);
        match (layer, self.method) {
            (Layer::Convolution(layer), _) if layer.is_depthwise() => None,
            (Layer::Convolution(layer), Method::Im2col) => Some(im2col(layer, self.pass, images)),
            (Layer::Convolution(layer), Method::Winograd(tile)) => {
                winograd(layer, self.pass, tile, images)
            }
            (&Layer::FullyConnected { inputs, outputs }, Method::Im2col) => Some(match self.pass {
                Pass::Forward => GemmShape::new(images, inputs, outputs, 1),
                Pass::InputGradient => GemmShape::new(images, outputs, inputs, 1),
                Pass::WeightGradient => GemmShape::new(inputs, images, outputs, 1),
            }),
            (Layer::FullyConnected { .. }, Method::Winograd(_)) => None,
        }
    }
}

fn im2col(layer: &Convolution, pass: Pass, images: u32) -> GemmShape {
    let groups = layer.groups.max(1);
    let [channels_in, channels_out] =
        [layer.channels_in, layer.channels_out].map(|channels| channels / groups);
    let filter = product(layer.kernel);
    let pixels = |image| images.saturating_mul(product(image));
    let pixels_out = pixels(layer.output());
    match pass {
        Pass::Forward => GemmShape::new(channels_out, layer.column_length(), pixels_out, groups),
        Pass::InputGradient => {
            let k = channels_out.saturating_mul(filter);
            GemmShape::new(channels_in, k, pixels(layer.image), groups)
        }
        Pass::WeightGradient => {
            GemmShape::new(channels_out, pixels_out, layer.column_length(), groups)
        }
    }
}

fn winograd(layer: &Convolution, pass: Pass, tile: u32, images: u32) -> Option<GemmShape> {
    let suits = layer.kernel == [3, 3] && layer.stride == [1, 1] && layer.groups == 1;
    if !suits || tile == 0 {
        return None;
    }
    let tiles = product(layer.output().map(|side| side.div_ceil(tile))).saturating_mul(images);
    let batch = product([tile.saturating_add(2); 2]);
    let (channels_in, channels_out) = (layer.channels_in, layer.channels_out);
    Some(match pass {
        Pass::Forward => GemmShape::new(channels_out, channels_in, tiles, batch),
        Pass::InputGradient => GemmShape::new(channels_in, channels_out, tiles, batch),
        Pass::WeightGradient => GemmShape::new(channels_out, tiles, channels_in, batch),
    })
}

fn product([height, width]: [u32; 2]) -> u32 {
    height.saturating_mul(width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(layer: impl Into<Layer>, images: u16) -> Vec<Option<String>> {
        let layer = layer.into();
        Form::ALL.iter().map(|form| form.shape(&layer, images).map(|s| s.to_string())).collect()
    }

    #[test]
    fn a_3x3_convolution_has_every_form() {
        let found = shapes(Convolution::square(14, 20, 30, 3), 2);
        let expected = [
            "30x180x392",
            "30x20x98x16",
            "30x20x32x36",
            "20x270x392",
            "20x30x98x16",
            "20x30x32x36",
            "30x392x180",
            "30x98x20x16",
            "30x50x20x25",
        ];
        assert_eq!(found, expected.map(|text| Some(text.to_owned())));
    }

    #[test]
    fn groups_are_a_batch_of_products_and_strides_rule_winograd_out() {
        let layer = Convolution::square(27, 96, 256, 5).groups(2).stride(2);
        let found: Vec<String> = shapes(layer, 1).into_iter().flatten().collect();
        assert_eq!(found, ["128x1200x196x2", "48x3200x729x2", "128x196x1200x2"]);
    }

    #[test]
    fn depthwise_layers_have_no_form_and_fully_connected_ones_three() {
        let depthwise = Convolution::square(112, 32, 32, 3).groups(32);
        assert_eq!(shapes(depthwise, 1), vec![None; 9]);
        let found: Vec<_> = shapes(Layer::fully_connected(25088, 4096), 4);
        let found: Vec<_> = found.into_iter().flatten().collect();
        assert_eq!(found, ["4x25088x4096", "4x4096x25088", "25088x4x4096"]);
    }

    #[test]
    fn oversized_layers_saturate() {
        let layer = Convolution::square(u32::MAX, u32::MAX, u32::MAX, u32::MAX);
        let shape = Form::INFERENCE.shape(&layer.into(), 2).unwrap();
        assert_eq!(shape, GemmShape::new(u32::MAX, u32::MAX, 2, 1));
    }
}
