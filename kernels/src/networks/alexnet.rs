//! AlexNet (Krizhevsky, Sutskever and Hinton, 2012), 227×227, with its two groups.

use super::{Convolution, Layer};

pub(super) fn layers() -> Vec<Layer> {
    vec![
        Convolution::square(227, 3, 96, 11).stride(4).padding(0).into(),
        Convolution::square(27, 96, 256, 5).groups(2).into(),
        Convolution::square(13, 256, 384, 3).into(),
        Convolution::square(13, 384, 384, 3).groups(2).into(),
        Convolution::square(13, 384, 256, 3).groups(2).into(),
        Layer::fully_connected(256 * 6 * 6, 4096),
        Layer::fully_connected(4096, 4096),
        Layer::fully_connected(4096, 1000),
    ]
}
