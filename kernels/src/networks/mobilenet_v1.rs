//! MobileNet (Howard and others, 2017), width 1, 224×224.
//!
//! As frameworks export it: zeros are added on two sides only, by an operation of its own, so the
//! first convolution is written here without padding and its image comes out 111×111; the layers
//! after it are 112×112 as published.

use super::{Convolution, Layer};

/// Channels out and stride of each depthwise and pointwise pair.
const PAIRS: [(u32, u32); 13] = [
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    (512, 1),
    (512, 1),
    (512, 1),
    (512, 1),
    (512, 1),
    (1024, 2),
    (1024, 1),
];

pub(super) fn layers() -> Vec<Layer> {
    let mut layers = vec![Convolution::square(224, 3, 32, 3).stride(2).padding(0).into()];
    let (mut side, mut channels) = (112, 32);
    for (next, stride) in PAIRS {
        let depthwise = Convolution::square(side, channels, channels, 3);
        layers.push(depthwise.groups(channels).stride(stride).into());
        side /= stride;
        layers.push(Convolution::square(side, channels, next, 1).into());
        channels = next;
    }
    layers.push(Layer::fully_connected(1024, 1000));
    layers
}
