//! GoogLeNet (Szegedy and others, 2014), 224×224, without the classifiers used in training only.

use super::{Convolution, Layer};

/// An inception module: side, channels in, then channels out of the 1×1 branch, the 3×3 branch
/// and what comes before it, the 5×5 branch and what comes before it, and the pooled branch.
type Module = (u32, u32, u32, [u32; 2], [u32; 2], u32);

const MODULES: [Module; 9] = [
    (28, 192, 64, [96, 128], [16, 32], 32),
    (28, 256, 128, [128, 192], [32, 96], 64),
    (14, 480, 192, [96, 208], [16, 48], 64),
    (14, 512, 160, [112, 224], [24, 64], 64),
    (14, 512, 128, [128, 256], [24, 64], 64),
    (14, 512, 112, [144, 288], [32, 64], 64),
    (14, 528, 256, [160, 320], [32, 128], 128),
    (7, 832, 256, [160, 320], [32, 128], 128),
    (7, 832, 384, [192, 384], [48, 128], 128),
];

pub(super) fn layers() -> Vec<Layer> {
    let mut layers: Vec<Layer> = vec![
        Convolution::square(224, 3, 64, 7).stride(2).into(),
        Convolution::square(56, 64, 64, 1).into(),
        Convolution::square(56, 64, 192, 3).into(),
    ];
    layers.extend(MODULES.into_iter().flat_map(module));
    layers.push(Layer::fully_connected(1024, 1000));
    layers
}

fn module((side, channels, one, three, five, pooled): Module) -> [Layer; 6] {
    [
        Convolution::square(side, channels, one, 1),
        Convolution::square(side, channels, three[0], 1),
        Convolution::square(side, three[0], three[1], 3),
        Convolution::square(side, channels, five[0], 1),
        Convolution::square(side, five[0], five[1], 5),
        Convolution::square(side, channels, pooled, 1),
    ]
    .map(Layer::from)
}
