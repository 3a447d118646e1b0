//! MobileNetV2 (Sandler and others, 2018), width 1, 224×224.

use super::{Convolution, Layer};

/// Bottlenecks: expansion, channels out, how many, stride of the first.
const STAGES: [(u32, u32, u32, u32); 7] = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
];

pub(super) fn layers() -> Vec<Layer> {
    let mut layers = vec![Convolution::square(224, 3, 32, 3).stride(2).into()];
    let (mut side, mut channels) = (112, 32);
    for (expansion, next, count, first) in STAGES {
        for index in 0..count {
            let stride = if index == 0 { first } else { 1 };
            let expanded = expansion * channels;
            if expansion > 1 {
                layers.push(Convolution::square(side, channels, expanded, 1).into());
            }
            let depthwise = Convolution::square(side, expanded, expanded, 3);
            layers.push(depthwise.groups(expanded).stride(stride).into());
            side /= stride;
            layers.push(Convolution::square(side, expanded, next, 1).into());
            channels = next;
        }
    }
    layers.push(Convolution::square(side, channels, 1280, 1).into());
    layers.push(Layer::fully_connected(1280, 1000));
    layers
}
