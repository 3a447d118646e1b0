//! What layers are called: `conv3_2` is the second convolution of the third stage, `fc6` a fully
//! connected layer, which is a stage of its own.

use super::Layer;

/// The layers with their names. A stage begins where the image that comes out is smaller than any
/// before it.
#[must_use]
pub fn named(layers: Vec<Layer>) -> Vec<(String, Layer)> {
    let (mut stage, mut index, mut least) = (0_u32, 0_u32, u64::MAX);
    let mut name = |layer: &Layer| match layer {
        Layer::Convolution(layer) => {
            let pixels = layer.output().into_iter().map(u64::from).product();
            if pixels < least {
                (stage, index, least) = (stage + 1, 0, pixels);
            }
            index += 1;
            format!("conv{stage}_{index}")
        }
        Layer::FullyConnected { .. } => {
            stage += 1;
            format!("fc{stage}")
        }
    };
    layers.into_iter().map(|layer| (name(&layer), layer)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::by_name;
    use super::*;

    fn names(network: &str) -> Vec<String> {
        let layers = by_name(network).unwrap().layers();
        named(layers).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn vgg16_has_the_names_of_its_paper() {
        let expected = "conv1_1 conv1_2 conv2_1 conv2_2 conv3_1 conv3_2 conv3_3 conv4_1 conv4_2 conv4_3 \
                        conv5_1 conv5_2 conv5_3 fc6 fc7 fc8";
        assert_eq!(names("vgg16").join(" "), expected);
    }

    #[test]
    fn a_name_is_given_once_and_a_layer_on_the_larger_image_begins_no_stage() {
        for network in super::super::ALL {
            let names = names(network.name);
            let distinct: std::collections::BTreeSet<_> = names.iter().collect();
            assert_eq!(distinct.len(), names.len(), "{names:?}");
        }
        // The 1×1 convolution before one of stride 2 still sees the larger image.
        let resnet = names("resnet50");
        assert_eq!(resnet.first().map(String::as_str), Some("conv1_1"));
        assert_eq!(resnet.iter().filter(|name| name.starts_with("conv3_")).count(), 13);
        assert_eq!(resnet.last().map(String::as_str), Some("fc6"));
    }
}
