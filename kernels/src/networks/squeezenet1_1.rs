//! SqueezeNet 1.1 (Iandola and others, 2016, as revised by its authors), 227×227.

use super::{Convolution, Layer};

/// Fire modules: side, channels in, squeezed, and out of each of the two expanding halves.
const MODULES: [(u32, u32, u32, u32); 8] = [
    (56, 64, 16, 64),
    (56, 128, 16, 64),
    (28, 128, 32, 128),
    (28, 256, 32, 128),
    (14, 256, 48, 192),
    (14, 384, 48, 192),
    (14, 384, 64, 256),
    (14, 512, 64, 256),
];

pub(super) fn layers() -> Vec<Layer> {
    let mut layers = vec![Convolution::square(227, 3, 64, 3).stride(2).padding(0).into()];
    for (side, channels, squeezed, half) in MODULES {
        layers.push(Convolution::square(side, channels, squeezed, 1).into());
        layers.push(Convolution::square(side, squeezed, half, 1).into());
        layers.push(Convolution::square(side, squeezed, half, 3).into());
    }
    layers.push(Convolution::square(14, 512, 1000, 1).into());
    layers
}
