//! ResNet-50 (He and others, 2015), 224×224, in the form most frameworks ship ("version 1.5"): a
//! stage halves the image in the 3×3 convolution of its first block.

use super::{Convolution, Layer};

/// Blocks and inner channels of each stage.
pub(super) const STAGES: [(u32, u32); 4] = [(3, 64), (4, 128), (6, 256), (3, 512)];

pub(super) fn layers() -> Vec<Layer> {
    let mut layers = vec![Convolution::square(224, 3, 64, 7).stride(2).into()];
    let (mut side, mut channels) = (56, 64);
    for (blocks, inner) in STAGES {
        for block in 0..blocks {
            let stride = if block == 0 && inner > 64 { 2 } else { 1 };
            if block == 0 {
                layers
                    .push(Convolution::square(side, channels, 4 * inner, 1).stride(stride).into());
            }
            layers.extend(bottleneck(side, channels, inner, stride));
            side /= stride;
            channels = 4 * inner;
        }
    }
    layers.push(Layer::fully_connected(channels, 1000));
    layers
}

/// The three convolutions of a block, the second with the stride.
pub(super) fn bottleneck(side: u32, channels: u32, inner: u32, stride: u32) -> [Layer; 3] {
    [
        Convolution::square(side, channels, inner, 1).into(),
        Convolution::square(side, inner, inner, 3).stride(stride).into(),
        Convolution::square(side / stride, inner, 4 * inner, 1).into(),
    ]
}
