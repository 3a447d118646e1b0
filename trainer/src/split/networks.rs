//! Splits that leave out one network each: its shapes are held out, and the rest is learnt from.

use std::collections::BTreeSet;

use kernels::networks;
use selector_core::GemmShape;

use super::{Split, SplitError, Splits};

/// A split for each network that has some of `shapes`, which are sorted, but not all; a shape of
/// several networks is held out with each of them.
pub(super) fn splits(shapes: &[GemmShape]) -> Result<Splits, SplitError> {
    let mut splits = Vec::new();
    let (mut absent, mut only) = (Vec::new(), Vec::new());
    let mut known = BTreeSet::new();
    for network in networks::ALL {
        let own: BTreeSet<_> = network.every_shape().into_iter().collect();
        known.extend(own.iter().copied());
        let (test, train): (Vec<_>, Vec<_>) =
            shapes.iter().copied().partition(|shape| own.contains(shape));
        match (train.is_empty(), test.is_empty()) {
            (_, true) => absent.push(network.name),
            (true, false) => only.push(network.name),
            (false, false) => splits.push(Split { name: network.name.to_owned(), train, test }),
        }
    }
    match (splits.is_empty(), only.is_empty()) {
        (true, true) => Err(SplitError::NoNetwork),
        (true, false) => Err(SplitError::OneNetwork { networks: only.join(", ") }),
        (false, _) => {
            let mut warnings = told(&absent, &only);
            let strange = shapes.iter().filter(|shape| !known.contains(shape)).count();
            if strange > 0 {
                warnings.push(format!(
                    "{strange} shapes belong to no network for 1 or 4 images: they are always \
                     learnt from, though they may be layers of the network that is held out"
                ));
            }
            Ok(Splits { splits, warnings })
        }
    }
}

/// Which networks are no split, and why.
fn told(absent: &[&str], only: &[&str]) -> Vec<String> {
    let told = |networks: &[&str], why: &str| {
        (!networks.is_empty()).then(|| format!("not held out: {}, {why}", networks.join(", ")))
    };
    let absent = told(absent, "of which the data set has no shape");
    let only = told(only, "without which the data set has no shape left");
    absent.into_iter().chain(only).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By im2col, one image: the second is in both networks, the last in none.
    fn shapes() -> Vec<GemmShape> {
        let [vgg, mobile, both, none] = [
            GemmShape::new(64, 27, 50176, 1),
            GemmShape::new(64, 32, 12544, 1),
            GemmShape::new(1024, 1024, 49, 1),
            GemmShape::new(7, 7, 7, 7),
        ];
        let mut shapes = vec![vgg, mobile, both, none];
        shapes.sort_unstable();
        shapes
    }

    #[test]
    fn each_network_is_held_out_once_and_never_learnt_from() {
        let shapes = shapes();
        let Splits { splits, warnings } = splits(&shapes).unwrap();
        let names: Vec<_> = splits.iter().map(|split| split.name.as_str()).collect();
        assert_eq!(names, ["mobilenet_v1", "vgg16"]);
        for split in &splits {
            let own = networks::by_name(&split.name).unwrap().every_shape();
            assert!(split.test.iter().all(|shape| own.contains(shape)));
            assert!(!split.train.iter().any(|shape| own.contains(shape)));
            let mut both = [&split.train[..], &split.test[..]].concat();
            both.sort_unstable();
            assert_eq!(both, shapes);
        }
        assert!(warnings[0].starts_with("not held out: alexnet, googlenet"), "{warnings:?}");
        assert!(warnings[1].starts_with("1 shapes belong to no network"), "{warnings:?}");
    }

    #[test]
    fn winograd_and_gradients_for_one_and_four_images_belong_to_their_network() {
        let mut shapes = networks::first_paper();
        shapes.push(GemmShape::new(7, 7, 7, 7));
        shapes.sort_unstable();
        let splits = splits(&shapes).unwrap().splits;
        let held_out = |name: &str| {
            splits.iter().find(|split| split.name == name).map_or(0, |split| split.test.len())
        };
        let paper = ["mobilenet_v1", "resnet50_v2", "vgg16"];
        assert_eq!(paper.map(held_out), [52, 137, 127]);
        let none = GemmShape::new(7, 7, 7, 7);
        assert!(splits.iter().all(|split| split.train.contains(&none)));
    }

    #[test]
    fn data_of_no_network_or_of_one_alone_cannot_be_split() {
        let none = [GemmShape::new(7, 7, 7, 7), GemmShape::new(8, 8, 8, 8)];
        assert!(matches!(splits(&none), Err(SplitError::NoNetwork)));
        let alone = [GemmShape::new(64, 27, 50176, 1)];
        let error = splits(&alone).unwrap_err().to_string();
        assert!(error.contains("vgg16"), "{error}");
    }
}
