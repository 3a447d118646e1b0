//! What is done for one inference, in order: multiplications alone, or all that is between them too.

use kernels::networks::{Convolution, Form, Layer, named};
use kernels::{Operand, Problem};
use selector_core::{GemmShape, ProblemClass};

use super::NetworkError;
use crate::opencl::layers::{Biased, Images, Pooled};

/// One inference.
#[derive(Clone, Debug)]
pub struct Plan {
    images: u32,
    steps: Vec<Step>,
    actions: Vec<Action>,
    whole: bool,
}

/// A layer that multiplies.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its name, e.g. `conv3_2`.
    pub name: String,
    /// The layer.
    pub layer: Layer,
    /// Its multiplications: one for as many images as memory allows.
    pub parts: Vec<Part>,
}

/// The multiplication of some images of a layer. For a convolution A holds the weights, B the columns
/// of these images, and C the channels of all images, of which these are written; for a fully connected
/// layer A holds the values of each image and B the weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Which images.
    pub images: Images,
    /// What is multiplied.
    pub problem: Problem,
}

/// A multiplication of an inference, and how often it is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Distinct {
    /// The layers, in order, separated by spaces.
    pub layers: String,
    /// The multiplication of the first of them.
    pub problem: Problem,
    /// Calls in one inference.
    pub times: u32,
    /// The first layer's step, and which of its parts.
    pub(crate) place: [usize; 2],
}

/// Where the values of a layer lie.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Place {
    /// What the network is given; never written.
    Image,
    First,
    Second,
}

/// One thing to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Action {
    /// Write the columns of a part of a convolution.
    Columns { step: usize, part: usize, from: Place },
    /// Multiply.
    Multiply { step: usize, part: usize, from: Place, to: Place },
    /// Add the bias; the layer's own values came `from`.
    Bias { step: usize, matrix: Biased, from: Place, at: Place },
    /// Keep the largest of each window.
    Pool { images: Pooled, from: Place, to: Place },
}

/// What a layer hands on.
#[derive(Clone, Copy)]
enum Have {
    Image { channels: u32, size: [u32; 2] },
    Row(u32),
}

impl Plan {
    /// The multiplications alone of `images` images at once, which may be at most 2¹⁶ - 1. A matrix of
    /// columns takes at most `limit` bytes, unless one image's already take more.
    #[must_use]
    pub fn multiplications(layers: Vec<Layer>, images: u16, limit: u64) -> Self {
        let steps = steps(layers, images, limit);
        let parts = |(step, one): (usize, &Step)| {
            let (from, to) = (Place::First, Place::Second);
            (0..one.parts.len()).map(move |part| Action::Multiply { step, part, from, to })
        };
        let actions = steps.iter().enumerate().flat_map(parts).collect();
        Self { images: images.into(), steps, actions, whole: false }
    }

    /// The whole inference, for networks whose layers follow each other: between two of them is nothing
    /// but a bias, ReLU (not behind the last), and where the next wants half the image's sides, pooling.
    ///
    /// # Errors
    /// [`NetworkError::NotAChain`] names the layer that does not take what the one before gives.
    pub fn whole(layers: Vec<Layer>, images: u16, limit: u64) -> Result<Self, NetworkError> {
        let count = layers.len();
        let steps = steps(layers, images, limit);
        let images = images.into();
        if steps.len() < count || steps.is_empty() {
            return Err(NetworkError::NotAChain { layer: "a depthwise layer".to_owned() });
        }
        let mut chain = Chain { images, actions: Vec::new(), at: Place::Image, have: None };
        for (index, step) in steps.iter().enumerate() {
            let fits = match step.layer {
                Layer::Convolution(layer) => chain.convolution(index, &layer, step),
                Layer::FullyConnected { inputs, outputs } => {
                    chain.fully_connected(index, [inputs, outputs], index + 1 < count)
                }
            };
            fits.ok_or_else(|| NetworkError::NotAChain { layer: step.name.clone() })?;
        }
        let actions = chain.actions;
        Ok(Self { images, steps, actions, whole: true })
    }

    /// Images at once.
    #[must_use]
    pub fn images(&self) -> u32 {
        self.images
    }

    /// The layers that multiply.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Whether it is the whole inference.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Each multiplication once, by where it is first made. Two are the same if all their sizes are,
    /// wherever in C the result goes.
    #[must_use]
    pub fn distinct(&self) -> Vec<Distinct> {
        let mut all: Vec<Distinct> = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            for (number, Part { problem, .. }) in step.parts.iter().enumerate() {
                let is_same = |one: &&mut Distinct| same(&one.problem, problem);
                match all.iter_mut().find(is_same) {
                    Some(known) => {
                        known.times += 1;
                        if known.layers.split(' ').next_back() != Some(step.name.as_str()) {
                            known.layers = format!("{} {}", known.layers, step.name);
                        }
                    }
                    None => all.push(Distinct {
                        layers: step.name.clone(),
                        problem: *problem,
                        times: 1,
                        place: [index, number],
                    }),
                }
            }
        }
        all
    }

    pub(crate) fn actions(&self) -> &[Action] {
        &self.actions
    }

    pub(crate) fn part(&self, step: usize, part: usize) -> Option<(&Step, Part)> {
        let step = self.steps.get(step)?;
        Some((step, *step.parts.get(part)?))
    }

    /// Values that the network is given.
    pub(crate) fn inputs(&self) -> u64 {
        let per_image = self.steps.first().map_or(0, |step| match step.layer {
            Layer::Convolution(layer) => {
                let [height, width] = layer.image.map(u64::from);
                u64::from(layer.channels_in).saturating_mul(height).saturating_mul(width)
            }
            Layer::FullyConnected { inputs, .. } => inputs.into(),
        });
        per_image.saturating_mul(self.images.into())
    }

    /// Values that the network gives.
    pub(crate) fn outputs(&self) -> u64 {
        let last = self.steps.last().and_then(|step| step.parts.last());
        last.map_or(0, |part| part.problem.buffer_lengths().map_or(0, |[.., c]| c))
    }

    /// Values of the largest matrix of columns, and of the largest layer.
    ///
    /// # Errors
    /// No buffers hold a multiplication.
    pub(crate) fn largest(&self) -> Result<[u64; 2], NetworkError> {
        let (mut columns, mut values) = (1, 1);
        for step in &self.steps {
            for part in &step.parts {
                let [a, b, c] = part.problem.buffer_lengths().map_err(crate::RuntimeError::from)?;
                match step.layer {
                    Layer::Convolution(_) => columns = b.max(columns),
                    Layer::FullyConnected { .. } => values = a.max(values),
                }
                values = c.max(values);
            }
        }
        Ok([columns, values])
    }
}

fn same(one: &Problem, other: &Problem) -> bool {
    let at = |problem: &Problem| Problem { c: Operand { offset: 0, ..problem.c }, ..*problem };
    at(one) == at(other)
}

/// The layers that multiply. Depthwise ones do not.
fn steps(layers: Vec<Layer>, images: u16, limit: u64) -> Vec<Step> {
    let parts = |(name, layer): (String, Layer)| {
        let parts = match layer {
            Layer::Convolution(one) if one.is_depthwise() => return None,
            Layer::Convolution(one) => convolution_parts(&one, images, limit),
            Layer::FullyConnected { .. } => vec![part(&layer, images, 0, images)?],
        };
        Some(Step { name, layer, parts })
    };
    named(layers).into_iter().filter_map(parts).collect()
}

fn convolution_parts(layer: &Convolution, images: u16, limit: u64) -> Vec<Part> {
    let whole = Layer::Convolution(*layer);
    let one = Form::INFERENCE.shape(&whole, 1).unwrap_or(GemmShape::new(0, 0, 0, 0));
    let bytes = [one.k, one.n, one.batch].into_iter().map(u64::from);
    let bytes = bytes.fold(4, u64::saturating_mul);
    let at_once = u16::try_from(limit / bytes.max(1)).unwrap_or(u16::MAX).max(1);
    let firsts = (0..images).step_by(at_once.into());
    firsts.filter_map(|first| part(&whole, images, first, at_once.min(images - first))).collect()
}

fn part(layer: &Layer, images: u16, first: u16, count: u16) -> Option<Part> {
    let shape = Form::INFERENCE.shape(layer, count)?;
    let mut problem = Problem::packed(ProblemClass::F32_NN, shape);
    if let Layer::Convolution(layer) = layer {
        let [height, width] = layer.output().map(u64::from);
        let pixels = height.saturating_mul(width);
        let leading = pixels.saturating_mul(images.into());
        problem.c = Operand {
            offset: pixels.saturating_mul(first.into()),
            leading,
            stride: leading.saturating_mul(shape.m.into()),
        };
    }
    let images = Images { all: images.into(), first: first.into(), count: count.into() };
    Some(Part { images, problem })
}

/// Actions so far, and what there is when they are done.
struct Chain {
    images: u32,
    actions: Vec<Action>,
    at: Place,
    have: Option<Have>,
}

impl Chain {
    /// `None` if the layer does not take what there is.
    fn convolution(&mut self, step: usize, layer: &Convolution, parts: &Step) -> Option<()> {
        let wanted = Have::Image { channels: layer.channels_in, size: layer.image };
        match (self.have.unwrap_or(wanted), layer.groups) {
            (Have::Image { channels, size }, 1) if channels == layer.channels_in => {
                if size != layer.image {
                    let pooled = self.pooled(channels, size, 2, false);
                    (pooled.out() == layer.image).then(|| self.pool(pooled))?;
                }
            }
            _ => return None,
        }
        let (from, to) = (self.at, self.next());
        for part in 0..parts.parts.len() {
            self.actions.push(Action::Columns { step, part, from });
            self.actions.push(Action::Multiply { step, part, from, to });
        }
        let out = layer.output();
        let [height, width] = out.map(u64::from);
        let columns = height.checked_mul(width)?.checked_mul(self.images.into())?;
        let (rows, by_row, relu) = (layer.channels_out, true, true);
        let matrix = Biased { rows, columns, by_row, relu };
        self.actions.push(Action::Bias { step, matrix, from, at: to });
        self.at = to;
        self.have = Some(Have::Image { channels: rows, size: out });
        Some(())
    }

    /// `None` if the layer does not take what there is.
    fn fully_connected(&mut self, step: usize, sizes: [u32; 2], relu: bool) -> Option<()> {
        let [inputs, outputs] = sizes;
        match self.have.unwrap_or(Have::Row(inputs)) {
            Have::Row(values) => (values == inputs).then_some(())?,
            Have::Image { channels, size } => {
                let windows = [1, 2].map(|window| self.pooled(channels, size, window, true));
                let values = |one: &Pooled| {
                    one.out().into_iter().try_fold(channels, u32::checked_mul) == Some(inputs)
                };
                let pooled = windows.into_iter().find(values)?;
                self.pool(pooled);
            }
        }
        let (from, to) = (self.at, self.next());
        self.actions.push(Action::Multiply { step, part: 0, from, to });
        let (rows, columns) = (self.images, outputs.into());
        let matrix = Biased { rows, columns, by_row: false, relu };
        self.actions.push(Action::Bias { step, matrix, from, at: to });
        self.at = to;
        self.have = Some(Have::Row(outputs));
        Some(())
    }

    fn pooled(&self, channels: u32, size: [u32; 2], window: u32, flat: bool) -> Pooled {
        Pooled { channels, images: self.images, size, window, flat }
    }

    fn pool(&mut self, images: Pooled) {
        let (from, to) = (self.at, self.next());
        self.actions.push(Action::Pool { images, from, to });
        self.at = to;
    }

    /// Where the next layer's values go.
    fn next(&self) -> Place {
        match self.at {
            Place::First => Place::Second,
            Place::Image | Place::Second => Place::First,
        }
    }
}

#[cfg(test)]
mod tests {
    use kernels::networks::{by_name, vgg16};

    use super::*;

    fn layers(network: &str) -> Vec<Layer> {
        by_name(network).unwrap().layers()
    }

    #[test]
    fn each_multiplication_is_there_once_and_their_calls_are_those_of_the_network() {
        for (network, count, calls) in
            [("vgg16", 12, 16), ("resnet50", 21, 54), ("mobilenet_v2", 21, 36)]
        {
            let plan = Plan::multiplications(layers(network), 1, u64::MAX);
            let distinct = plan.distinct();
            assert_eq!(distinct.len(), count, "{network}");
            assert_eq!(distinct.iter().map(|one| one.times).sum::<u32>(), calls, "{network}");
            assert_eq!(plan.actions().len(), calls as usize);
            let named: usize = distinct.iter().map(|one| one.layers.split(' ').count()).sum();
            assert_eq!(named, calls as usize);
        }
        let plan = Plan::multiplications(layers("vgg16"), 1, u64::MAX);
        let of_conv3_2 = &plan.distinct()[5];
        assert_eq!((of_conv3_2.layers.as_str(), of_conv3_2.times), ("conv3_2 conv3_3", 2));
        assert_eq!(of_conv3_2.problem.shape, GemmShape::new(256, 2304, 3136, 1));
    }

    #[test]
    fn images_that_do_not_fit_at_once_are_done_in_parts_beside_each_other_in_c() {
        // Columns of conv1_1 take 27 · 50176 · 4 bytes an image: two of five at once.
        let limit = 2 * 27 * 50176 * 4;
        let plan = Plan::whole(vgg16(224), 5, limit).unwrap();
        let first = &plan.steps()[0];
        let seen = first.parts.iter().map(|part| (part.images.first, part.images.count));
        let seen: Vec<_> = seen.collect();
        assert_eq!(seen, [(0, 2), (2, 2), (4, 1)]);
        let last = first.parts[2].problem;
        assert_eq!(last.shape, GemmShape::new(64, 27, 50176, 1));
        assert_eq!((last.c.offset, last.c.leading), (4 * 50176, 5 * 50176));
        // One image's columns of conv1_2 are more than the limit: one at a time.
        assert_eq!(plan.steps()[1].parts.len(), 5);
        // Fully connected layers take all images.
        assert_eq!(plan.steps()[13].parts.len(), 1);
        assert_eq!(plan.steps()[13].parts[0].problem.shape, GemmShape::new(5, 25088, 4096, 1));
        let distinct = plan.distinct();
        let calls = |one: &Distinct| (one.layers.clone(), one.times);
        assert_eq!(calls(&distinct[0]), ("conv1_1".to_owned(), 2));
        assert_eq!(calls(&distinct[1]), ("conv1_1".to_owned(), 1));
        assert_eq!(calls(&distinct[2]), ("conv1_2".to_owned(), 5));
    }

    #[test]
    fn between_the_layers_of_vgg16_there_are_five_poolings_the_last_of_them_flat() {
        let plan = Plan::whole(vgg16(224), 2, u64::MAX).unwrap();
        let pooled: Vec<_> = plan
            .actions()
            .iter()
            .filter_map(|action| match action {
                Action::Pool { images, .. } => Some((images.channels, images.size[0], images.flat)),
                _ => None,
            })
            .collect();
        let expected = [(64, 224, false), (128, 112, false), (256, 56, false), (512, 28, false)];
        assert_eq!(pooled[..4], expected);
        assert_eq!(pooled[4..], [(512, 14, true)]);
        let relu: Vec<bool> = plan
            .actions()
            .iter()
            .filter_map(|action| match action {
                Action::Bias { matrix, .. } => Some(matrix.relu),
                _ => None,
            })
            .collect();
        assert_eq!(relu.iter().filter(|relu| !**relu).count(), 1);
        assert_eq!((relu.len(), relu.last()), (16, Some(&false)));
        assert_eq!((plan.inputs(), plan.outputs()), (2 * 3 * 224 * 224, 2000));
        assert_eq!(plan.largest().unwrap(), [2 * 576 * 50176, 2 * 64 * 50176]);
    }

    #[test]
    fn no_action_writes_where_it_reads() {
        let plan = Plan::whole(vgg16(32), 1, u64::MAX).unwrap();
        for action in plan.actions() {
            match *action {
                Action::Multiply { from, to, .. } | Action::Pool { from, to, .. } => {
                    assert!(from != to && to != Place::Image, "{action:?}");
                }
                Action::Bias { from, at, .. } => assert!(from != at && at != Place::Image),
                Action::Columns { .. } => {}
            }
        }
    }

    #[test]
    fn a_network_that_branches_is_no_chain_and_the_layer_is_named() {
        let refused = |layers| Plan::whole(layers, 1, u64::MAX).unwrap_err().to_string();
        assert!(refused(layers("resnet50")).contains("conv2_2"), "{}", refused(layers("resnet50")));
        assert!(refused(layers("mobilenet_v2")).contains("depthwise"));
        let wrong =
            vec![Convolution::square(8, 3, 4, 3).into(), Layer::fully_connected(4 * 8 * 7, 10)];
        assert!(refused(wrong).contains("fc2"));
        assert!(refused(Vec::new()).contains("layer"));
    }
}
