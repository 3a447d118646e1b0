//! VGG16 (configuration D of Simonyan and Zisserman, 2014), 224×224.

use super::{Convolution, Layer};

/// Convolutions and channels of each stage; the image is halved after each.
const STAGES: [(u32, u32); 5] = [(2, 64), (2, 128), (3, 256), (3, 512), (3, 512)];

pub(super) fn layers() -> Vec<Layer> {
    on_images_of(224)
}

pub(super) fn on_images_of(mut side: u32) -> Vec<Layer> {
    let mut layers = Vec::new();
    let mut channels = 3;
    for (count, next) in STAGES {
        for _ in 0..count {
            layers.push(Convolution::square(side, channels, next, 3).into());
            channels = next;
        }
        side /= 2;
    }
    layers.push(Layer::fully_connected(channels * side * side, 4096));
    layers.push(Layer::fully_connected(4096, 4096));
    layers.push(Layer::fully_connected(4096, 1000));
    layers
}
