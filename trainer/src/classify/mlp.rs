//! A small neural network: two hidden layers of sixteen.

use std::cell::RefCell;

use argmin::core::{CostFunction, Error, Executor, Gradient};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, aview1};

use super::{Classifier, Examples, Fitted};
use crate::performance::first_largest;
use crate::random::Random;

/// Rectified layers, fitted to the cross-entropy by argmin's L-BFGS, as scikit-learn does by
/// SciPy's.
pub(super) struct Mlp;

const HIDDEN: [usize; 2] = [16, 16];
/// Weight of half the squared weights.
const ALPHA: f64 = 1e-5;
const ITERATIONS: u64 = 200;
/// Evaluations that a fit may take: a line search alone has no limit.
const EVALUATIONS: usize = 2000;
/// Steps that L-BFGS remembers.
const MEMORY: usize = 10;
/// A gradient, or a fall of the loss, below these ends the fit.
const LEAST_GRADIENT: f64 = 1e-4;
const LEAST_GAIN: f64 = 2e-9;

impl Classifier for Mlp {
    fn name(&self) -> &'static str {
        "mlp"
    }

    fn about(&self) -> &'static str {
        "a neural network with two hidden layers of 16, fitted by L-BFGS"
    }

    fn draws(&self) -> bool {
        true
    }

    fn fit(&self, examples: &Examples, seed: u64) -> Box<dyn Fitted> {
        let network = Network::new(examples.features.ncols(), examples.classes);
        let start = network.start(&mut Random::new(seed));
        let parameters = minimise(&network, examples, start);
        Box::new(Trained { network, parameters })
    }
}

struct Trained {
    network: Network,
    parameters: Vec<f64>,
}

impl Fitted for Trained {
    fn predict(&self, features: &[f64]) -> usize {
        let row = aview1(features).insert_axis(Axis(0));
        let layers = self.network.forward(&self.parameters, row);
        layers.last().map_or(0, first_largest)
    }
}

/// Which parameter is where: of each layer inputs × outputs weights, then a bias an output.
struct Network {
    sizes: Vec<usize>,
}

type Layer<'a> = (Array2<f64>, ArrayView1<'a, f64>);

impl Network {
    fn new(inputs: usize, outputs: usize) -> Self {
        Self { sizes: vec![inputs, HIDDEN[0], HIDDEN[1], outputs] }
    }

    /// Inputs and outputs of each layer.
    fn layers(&self) -> impl Iterator<Item = (usize, usize)> {
        self.sizes.windows(2).map(|pair| (pair[0], pair[1]))
    }

    /// Random parameters, smaller in wider layers (Glorot).
    fn start(&self, random: &mut Random) -> Vec<f64> {
        let layer = |(inputs, outputs): (usize, usize)| {
            let bound = (6.0 / (inputs + outputs) as f64).sqrt();
            (0..(inputs + 1) * outputs).map(|_| bound * (2.0 * random.unit() - 1.0)).collect()
        };
        self.layers().map(layer).collect::<Vec<Vec<f64>>>().concat()
    }

    /// The weights and biases of each layer.
    fn split<'a>(&self, mut parameters: &'a [f64]) -> Vec<Layer<'a>> {
        let layer = |(inputs, outputs): (usize, usize)| {
            let (weights, rest) = parameters.split_at(inputs * outputs);
            let (biases, rest) = rest.split_at(outputs);
            parameters = rest;
            let weight = |(input, output)| weights[input * outputs + output];
            (Array2::from_shape_fn((inputs, outputs), weight), aview1(biases))
        };
        self.layers().map(layer).collect()
    }

    /// What each layer puts out for each row; the last as it is, the others rectified.
    fn forward(&self, parameters: &[f64], rows: ArrayView2<'_, f64>) -> Vec<Array2<f64>> {
        let mut outputs: Vec<Array2<f64>> = Vec::new();
        for (weights, biases) in self.split(parameters) {
            let output = match outputs.last_mut() {
                None => rows.dot(&weights),
                Some(input) => {
                    input.mapv_inplace(|value| value.max(0.0));
                    input.dot(&weights)
                }
            };
            outputs.push(output + biases);
        }
        outputs
    }

    /// The mean cross-entropy with the penalty, and its gradient.
    fn loss(&self, parameters: &[f64], examples: &Examples) -> (f64, Vec<f64>) {
        let outputs = self.forward(parameters, examples.features.view());
        let layers = self.split(parameters);
        let count = examples.labels.len() as f64;
        let decay = ALPHA / count;
        let squares: f64 =
            layers.iter().flat_map(|(weights, _)| weights).map(|one| one * one).sum();
        let mut loss = 0.5 * decay * squares;
        let mut delta = outputs.last().cloned().unwrap_or_default();
        for (mut row, label) in delta.rows_mut().into_iter().zip(&examples.labels) {
            let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let own = row[*label];
            row.mapv_inplace(|value| (value - most).exp());
            let sum = row.sum();
            loss += (most + sum.ln() - own) / count;
            row /= sum;
            row[*label] -= 1.0;
        }
        delta /= count;
        let mut gradients = Vec::new();
        for (index, (weights, _)) in layers.iter().enumerate().rev() {
            let input = index.checked_sub(1).map_or(&examples.features, |below| &outputs[below]);
            let by_weight = input.t().dot(&delta) + &(weights * decay);
            gradients.push([by_weight.into_iter().collect(), by_bias(&delta)].concat());
            delta = delta.dot(&weights.t());
            if index > 0 {
                delta.zip_mut_with(input, |delta, input| {
                    if *input <= 0.0 {
                        *delta = 0.0;
                    }
                });
            }
        }
        gradients.reverse();
        (loss, gradients.concat())
    }
}

fn by_bias(delta: &Array2<f64>) -> Vec<f64> {
    let sums: Array1<f64> = delta.sum_axis(Axis(0));
    sums.to_vec()
}

/// The best parameters that the search meets.
fn minimise(network: &Network, examples: &Examples, start: Vec<f64>) -> Vec<f64> {
    let (loss, gradient) = network.loss(&start, examples);
    let length = gradient.iter().map(|one| one * one).sum::<f64>().sqrt();
    if !loss.is_finite() || !length.is_finite() || length <= LEAST_GRADIENT {
        return start;
    }
    let search = RefCell::new(Search {
        // The first step has length 1 at most, as in SciPy; later ones do not depend on the scale.
        scale: 1.0 / length.max(1.0),
        evaluations: 0,
        last: start.clone(),
        best: start.clone(),
        least: loss,
        loss,
        gradient,
    });
    let scale = search.borrow().scale;
    let problem = Problem { network, examples, search: &search };
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), MEMORY)
        .with_tolerance_grad(LEAST_GRADIENT * scale)
        .and_then(|solver| solver.with_tolerance_cost(LEAST_GAIN * scale));
    if let Ok(solver) = solver {
        // Where the search fails, it leaves the best that it met.
        let _ = Executor::new(problem, solver)
            .configure(|state| state.param(start).max_iters(ITERATIONS))
            .ctrlc(false)
            .timer(false)
            .run();
    }
    search.into_inner().best
}

/// What the search last asked for, and the best that it met.
struct Search {
    scale: f64,
    evaluations: usize,
    last: Vec<f64>,
    loss: f64,
    gradient: Vec<f64>,
    best: Vec<f64>,
    least: f64,
}

struct Problem<'a> {
    network: &'a Network,
    examples: &'a Examples,
    search: &'a RefCell<Search>,
}

impl Problem<'_> {
    /// Bring `search` to `parameters`, unless it is there.
    fn visit(&self, parameters: &[f64]) -> Result<(), Error> {
        let mut search = self.search.borrow_mut();
        if search.last == parameters {
            return Ok(());
        }
        search.evaluations += 1;
        let (loss, gradient) = self.network.loss(parameters, self.examples);
        if search.evaluations > EVALUATIONS || !loss.is_finite() {
            return Err(Error::msg("no further"));
        }
        if loss < search.least {
            search.least = loss;
            search.best = parameters.to_vec();
        }
        (search.last, search.loss, search.gradient) = (parameters.to_vec(), loss, gradient);
        Ok(())
    }
}

impl CostFunction for Problem<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, parameters: &Vec<f64>) -> Result<f64, Error> {
        self.visit(parameters)?;
        let search = self.search.borrow();
        Ok(search.loss * search.scale)
    }
}

impl Gradient for Problem<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, parameters: &Vec<f64>) -> Result<Vec<f64>, Error> {
        self.visit(parameters)?;
        let search = self.search.borrow();
        Ok(search.gradient.iter().map(|one| one * search.scale).collect())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::classify::tests::examples;

    fn noise() -> Examples {
        let mut random = Random::new(2);
        let features = Array2::from_shape_fn((12, 3), |_| random.unit() - 0.5);
        let labels: Vec<usize> = (0..12).map(|_| random.below(3)).collect();
        examples(features, &labels, 3)
    }

    #[test]
    fn the_gradient_is_that_of_the_loss() {
        let examples = noise();
        let network = Network::new(3, 3);
        let start = network.start(&mut Random::new(4));
        let (_, gradient) = network.loss(&start, &examples);
        assert_eq!(gradient.len(), start.len());
        for index in (0..start.len()).step_by(7) {
            let at = |off: f64| {
                let mut moved = start.clone();
                moved[index] += off;
                network.loss(&moved, &examples).0
            };
            let slope = (at(1e-6) - at(-1e-6)) / 2e-6;
            assert!((slope - gradient[index]).abs() < 1e-6, "{index}: {slope}");
        }
    }

    #[test]
    fn a_curved_border_is_learnt() {
        let at = |row: usize| ((row % 9) as f64 - 4.0, (row / 9) as f64 - 4.0);
        let features = Array2::from_shape_fn((81, 2), |(row, column)| {
            let (x, y) = at(row);
            if column == 0 { x } else { y }
        });
        let inside = |row| {
            let (x, y): (f64, f64) = at(row);
            usize::from(x * x + y * y < 7.0)
        };
        let labels: Vec<usize> = (0..81).map(inside).collect();
        let fitted = Mlp.fit(&examples(features.clone(), &labels, 2), 0);
        let rows = features.rows().into_iter().zip(&labels);
        let right = rows.filter(|(row, label)| fitted.predict(&row.to_vec()) == **label).count();
        assert!(right >= 79, "{right}");
    }

    #[test]
    fn the_loss_falls_and_features_of_any_size_leave_it_finite() {
        for size in [1.0, 1e12, super::super::LARGEST] {
            let mut examples = noise();
            examples.features *= size;
            let network = Network::new(3, 3);
            let start = network.start(&mut Random::new(4));
            let before = network.loss(&start, &examples).0;
            let after = network.loss(&minimise(&network, &examples, start), &examples).0;
            assert!(after.is_finite() && after < before, "{size}: {before} {after}");
        }
    }
}
