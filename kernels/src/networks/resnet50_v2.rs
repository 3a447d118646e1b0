//! ResNet-50 with identity mappings (He and others, 2016), 224×224: a stage halves the image in
//! the 3×3 convolution of its last block, where the shortcut is pooled.
//!
//! Zeros around the image are added by an operation of its own before the first convolution, which
//! therefore sees 230×230.

use super::resnet50::{STAGES, bottleneck};
use super::{Convolution, Layer};

pub(super) fn layers() -> Vec<Layer> {
    let mut layers = vec![Convolution::square(230, 3, 64, 7).stride(2).padding(0).into()];
    let (mut side, mut channels) = (56, 64);
    for (blocks, inner) in STAGES {
        for block in 1..=blocks {
            let stride = if block == blocks && inner < 512 { 2 } else { 1 };
            if block == 1 {
                layers.push(Convolution::square(side, channels, 4 * inner, 1).into());
            }
            layers.extend(bottleneck(side, channels, inner, stride));
            side /= stride;
            channels = 4 * inner;
        }
    }
    layers.push(Layer::fully_connected(channels, 1000));
    layers
}
