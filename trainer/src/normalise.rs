//! Ways to weigh relative performance before kernels are chosen.

use ndarray::Array2;

/// A weighing of relative performance, 0…1.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub enum Normalisation {
    /// What exceeds 0.9, stretched to 0…1; the rest is 0.
    Cutoff,
    /// As it is above 0.9; the rest is 0.
    RawCutoff,
    /// As it is.
    #[default]
    Scaled,
    /// A smooth step at 0.85.
    Sigmoid,
}

impl Normalisation {
    /// All, as they are without any first.
    pub const ALL: [Self; 4] = [Self::Scaled, Self::RawCutoff, Self::Cutoff, Self::Sigmoid];

    /// The weight of a relative performance.
    #[must_use]
    pub fn weigh(self, relative: f64) -> f64 {
        match self {
            Self::Cutoff => ((relative - 0.9) / 0.1).max(0.0),
            Self::RawCutoff if relative > 0.9 => relative,
            Self::RawCutoff => 0.0,
            Self::Scaled => relative,
            Self::Sigmoid => 1.0 / (1.0 + (50.0 * (0.85 - relative)).exp()),
        }
    }

    /// The weights of a whole matrix.
    #[must_use]
    pub fn apply(self, relative: &Array2<f64>) -> Array2<f64> {
        relative.mapv(|value| self.weigh(value))
    }
}

impl std::fmt::Display for Normalisation {
    /// Its name on the command line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Cutoff => "cutoff",
            Self::RawCutoff => "raw-cutoff",
            Self::Scaled => "scaled",
            Self::Sigmoid => "sigmoid",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_called_as_on_the_command_line() {
        use clap::ValueEnum as _;
        for one in Normalisation::value_variants() {
            assert!(Normalisation::ALL.contains(one));
            assert_eq!(one.to_possible_value().unwrap().get_name(), one.to_string());
        }
    }

    #[test]
    fn each_weighing_is_what_it_says() {
        let weigh = |one: Normalisation| [0.0, 0.85, 0.9, 0.95, 1.0].map(|value| one.weigh(value));
        assert_eq!(weigh(Normalisation::Scaled), [0.0, 0.85, 0.9, 0.95, 1.0]);
        assert_eq!(weigh(Normalisation::RawCutoff), [0.0, 0.0, 0.0, 0.95, 1.0]);
        let cutoff = weigh(Normalisation::Cutoff);
        assert_eq!(cutoff[..3], [0.0; 3]);
        assert!((cutoff[3] - 0.5).abs() < 1e-12 && (cutoff[4] - 1.0).abs() < 1e-12);
        let sigmoid = weigh(Normalisation::Sigmoid);
        assert_eq!(sigmoid[1], 0.5);
        assert!(sigmoid.is_sorted() && sigmoid[0] < 1e-12 && sigmoid[4] > 0.999);
    }
}
