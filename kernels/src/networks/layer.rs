//! What a layer table is made of.

/// A layer that multiplies.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Layer {
    /// A two-dimensional convolution.
    Convolution(Convolution),
    /// Every output sees every input.
    FullyConnected {
        /// Values in, per image.
        inputs: u32,
        /// Values out, per image.
        outputs: u32,
    },
}

/// A two-dimensional convolution. Pairs are (height, width).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Convolution {
    /// Pixels of the image that goes in, padding not counted.
    pub image: [u32; 2],
    /// Channels of that image.
    pub channels_in: u32,
    /// Channels of the image that comes out.
    pub channels_out: u32,
    /// Pixels of the filter.
    pub kernel: [u32; 2],
    /// Step of the filter.
    pub stride: [u32; 2],
    /// Zeros added on each side.
    pub padding: [u32; 2],
    /// Channels split into this many parts that do not see each other.
    pub groups: u32,
}

impl Layer {
    /// A fully connected layer.
    #[must_use]
    pub const fn fully_connected(inputs: u32, outputs: u32) -> Self {
        Self::FullyConnected { inputs, outputs }
    }

    /// Number of weights, biases not counted.
    #[must_use]
    pub fn weights(&self) -> u64 {
        match *self {
            Self::Convolution(layer) => {
                u64::from(layer.channels_out) * u64::from(layer.column_length())
            }
            Self::FullyConnected { inputs, outputs } => u64::from(inputs) * u64::from(outputs),
        }
    }
}

impl From<Convolution> for Layer {
    fn from(layer: Convolution) -> Self {
        Self::Convolution(layer)
    }
}

impl Convolution {
    /// A square image and filter, stride 1, padded so that an odd filter keeps the image's size.
    #[must_use]
    pub const fn square(side: u32, channels_in: u32, channels_out: u32, kernel: u32) -> Self {
        Self {
            image: [side; 2],
            channels_in,
            channels_out,
            kernel: [kernel; 2],
            stride: [1; 2],
            padding: [kernel / 2; 2],
            groups: 1,
        }
    }

    /// The same with another stride.
    #[must_use]
    pub const fn stride(self, stride: u32) -> Self {
        Self { stride: [stride; 2], ..self }
    }

    /// The same with another padding.
    #[must_use]
    pub const fn padding(self, padding: u32) -> Self {
        Self { padding: [padding; 2], ..self }
    }

    /// The same in groups.
    #[must_use]
    pub const fn groups(self, groups: u32) -> Self {
        Self { groups, ..self }
    }

    /// Whether each channel has filters of its own: not a matrix product.
    #[must_use]
    pub const fn is_depthwise(&self) -> bool {
        self.groups > 1 && self.groups == self.channels_in
    }

    /// Pixels of the image that comes out; 0 where the filter is larger than the padded image.
    #[must_use]
    pub fn output(&self) -> [u32; 2] {
        std::array::from_fn(|axis| {
            let padded = self.image[axis].saturating_add(self.padding[axis].saturating_mul(2));
            let room = padded.checked_sub(self.kernel[axis]);
            room.map_or(0, |room| room / self.stride[axis].max(1) + 1)
        })
    }

    /// Weights of one filter: the length of an im2col column.
    pub(super) fn column_length(&self) -> u32 {
        let channels = self.channels_in / self.groups.max(1);
        channels.saturating_mul(self.kernel[0]).saturating_mul(self.kernel[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_sizes_are_the_published_ones() {
        let vgg = Convolution::square(224, 3, 64, 3);
        assert_eq!(vgg.output(), [224; 2]);
        assert_eq!(Convolution::square(224, 3, 64, 7).stride(2).output(), [112; 2]);
        assert_eq!(vgg.stride(2).padding(0).output(), [111; 2]);
        assert_eq!(Convolution::square(227, 3, 96, 11).stride(4).padding(0).output(), [55; 2]);
        assert_eq!(Convolution::square(2, 3, 64, 7).padding(0).output(), [0; 2]);
    }

    #[test]
    fn a_group_of_one_channel_is_depthwise() {
        assert!(Convolution::square(112, 32, 32, 3).groups(32).is_depthwise());
        assert!(!Convolution::square(112, 32, 32, 3).groups(2).is_depthwise());
        assert!(!Convolution::square(112, 1, 32, 3).is_depthwise());
    }
}
