//! What a run found: a table for people, JSON for programs, and a file with every sample.

use std::fmt::{self, Write as _};

use serde::Serialize;

use super::record::{COLUMNS, INFERENCE, MULTIPLICATION};
use super::{Peer, Plan, Samples, Times};

/// What the run was of.
#[derive(Clone, Debug, Serialize)]
pub struct Header {
    /// The network.
    pub network: String,
    /// Images at once.
    pub images: u32,
    /// Pixels of a side of an image.
    pub side: u32,
    /// The device.
    pub device: String,
    /// Its platform.
    pub platform: String,
    /// Its driver.
    pub driver: String,
    /// Rounds.
    pub rounds: u32,
    /// Whether an inference is more than its multiplications.
    pub whole: bool,
    /// When, in UTC.
    pub date: String,
    /// Peers that do not take part, each with the reason.
    pub skipped: Vec<String>,
    /// Values that were computed again in double precision and found right, for each peer.
    pub checked: u64,
    /// How far the peers' results are apart at most, as a share of the largest value; `None` where only
    /// multiplications are done.
    pub apart: Option<f64>,
    /// The same between ours and a whole inference in double precision, if that was made.
    pub apart_from_host: Option<f64>,
}

/// Everything.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// `done`.
    pub event: &'static str,
    /// What it was of.
    #[serde(flatten)]
    pub header: Header,
    /// The peers, ours first.
    pub peers: Vec<PeerLine>,
    /// All of an inference but the multiplications.
    pub rest: Option<Spread>,
    /// Each multiplication.
    pub layers: Vec<LayerLine>,
    #[serde(skip)]
    samples: Vec<Sampled>,
}

/// Least, median and most of some times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The least.
    pub least_ns: f64,
    /// The middle one.
    pub median_ns: f64,
    /// The most.
    pub most_ns: f64,
}

/// A peer's inference.
#[derive(Clone, Debug, Serialize)]
pub struct PeerLine {
    /// Its name.
    pub peer: &'static str,
    /// Which library.
    pub version: String,
    /// An inference.
    pub inference: Spread,
    /// Median over the rounds of its time divided by ours.
    pub ratio: f64,
    /// Medians of the multiplications, summed as often as they are made.
    pub multiplications_ns: f64,
    /// These divided by ours.
    pub multiplications_ratio: f64,
}

/// A multiplication.
#[derive(Clone, Debug, Serialize)]
pub struct LayerLine {
    /// The layers that make it.
    pub layers: String,
    /// Its sizes, MxKxN, and xBATCH if there is one.
    pub shape: String,
    /// Calls in an inference.
    pub times: u32,
    /// The kernel that the tree chooses.
    pub kernel: String,
    /// One call, by peer.
    pub peers: Vec<Spread>,
}

#[derive(Clone, Debug)]
struct Sampled {
    part: &'static str,
    layers: String,
    shape: String,
    times: u32,
    peer: &'static str,
    kernel: String,
    samples: Samples,
}

/// The middle value, or the mean of the two in the middle; infinite of none.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = |place: usize| values.get(place).copied().unwrap_or(f64::INFINITY);
    middle(values.len().saturating_sub(1) / 2).midpoint(middle(values.len() / 2))
}

impl Spread {
    /// Of samples.
    #[must_use]
    pub fn of(samples: &Samples) -> Self {
        let of = |pick: fn(f64, f64) -> f64, start| {
            samples.nanoseconds.iter().copied().fold(start, pick)
        };
        Self {
            least_ns: of(f64::min, f64::INFINITY),
            median_ns: median(samples.nanoseconds.clone()),
            most_ns: of(f64::max, 0.0),
        }
    }
}

impl Report {
    /// The report of a race. `kernels` names the kernel of ours of each of `Plan::distinct`, `one` the one
    /// of all.
    #[must_use]
    pub fn new(
        header: Header,
        plan: &Plan,
        (peers, times): (&[Peer], &[Times]),
        rest: Option<&Samples>,
        (kernels, one): (&[String], &str),
    ) -> Self {
        let ours = times.first().cloned().unwrap_or_default();
        let distinct = plan.distinct();
        let sum = |times: &Times| -> f64 {
            let medians = times.multiplications.iter().map(|one| median(one.nanoseconds.clone()));
            medians.zip(&distinct).map(|(each, one)| each * f64::from(one.times)).sum()
        };
        let line = |(peer, times): (&Peer, &Times)| PeerLine {
            peer: peer.name(),
            version: match peer {
                Peer::OursOne(_) => format!("{}, {one}", peer.version()),
                _ => peer.version(),
            },
            inference: Spread::of(&times.whole),
            ratio: ratio(&times.whole, &ours.whole),
            multiplications_ns: sum(times),
            multiplications_ratio: sum(times) / sum(&ours),
        };
        let peer_lines = peers.iter().zip(times).map(line).collect();
        let kernel = |number: usize| kernels.get(number).cloned().unwrap_or_default();
        let layers = distinct.iter().enumerate().map(|(number, one)| LayerLine {
            layers: one.layers.clone(),
            shape: one.problem.shape.to_string(),
            times: one.times,
            kernel: kernel(number),
            peers: times
                .iter()
                .filter_map(|times| times.multiplications.get(number))
                .map(Spread::of)
                .collect(),
        });
        let mut samples = Vec::new();
        for (peer, times) in peers.iter().zip(times) {
            samples.push(Sampled::whole(INFERENCE, peer.name(), &times.whole));
            for (number, distinct) in distinct.iter().enumerate() {
                let Some(taken) = times.multiplications.get(number) else { continue };
                samples.push(Sampled {
                    part: MULTIPLICATION,
                    layers: distinct.layers.clone(),
                    shape: distinct.problem.shape.to_string(),
                    times: distinct.times,
                    peer: peer.name(),
                    kernel: match peer {
                        Peer::Ours => kernel(number),
                        Peer::OursOne(_) => one.to_owned(),
                        Peer::Clblast(_) | Peer::ClblastTuned(_) => String::new(),
                    },
                    samples: taken.clone(),
                });
            }
        }
        let layers = layers.collect();
        samples.extend(rest.map(|rest| Sampled::whole("rest", "", rest)));
        let rest = rest.map(Spread::of);
        Self { event: "done", header, peers: peer_lines, rest, layers, samples }
    }

    /// Every sample: lines `# key: value`, then a table with a row for each peer's inference and each
    /// of its multiplications; times are nanoseconds a call, separated by spaces.
    #[must_use]
    pub fn csv(&self) -> String {
        let header = &self.header;
        let checked = header.checked.to_string();
        let share =
            |share: Option<f64>| share.map_or("none".to_owned(), |share| format!("{share:e}"));
        let mut text = String::new();
        let lines = [
            ("network", header.network.clone()),
            ("images", header.images.to_string()),
            ("side", header.side.to_string()),
            ("device", header.device.clone()),
            ("platform", header.platform.clone()),
            ("driver", header.driver.clone()),
            ("rounds", header.rounds.to_string()),
            ("whole", header.whole.to_string()),
            ("date", header.date.clone()),
            ("checked", checked),
            ("apart", share(header.apart)),
            ("apart_from_host", share(header.apart_from_host)),
        ];
        let peers = self.peers.iter().map(|one| ("peer", format!("{}: {}", one.peer, one.version)));
        let skipped = header.skipped.iter().map(|one| ("skipped", one.clone()));
        for (key, value) in lines.into_iter().chain(peers).chain(skipped) {
            // A reason may have several lines, which would be rows.
            let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
            // Writing to a text does not fail.
            let _ = writeln!(text, "# {key}: {value}");
        }
        let _ = writeln!(text, "{COLUMNS}");
        for Sampled { part, layers, shape, times, peer, kernel, samples } in &self.samples {
            let each = samples.nanoseconds.iter().map(|one| format!("{one:.1}"));
            let each = each.collect::<Vec<_>>().join(" ");
            let calls = samples.calls;
            let _ =
                writeln!(text, "{part},{layers},{shape},{times},{peer},{kernel},{calls},{each}");
        }
        text
    }
}

impl Sampled {
    fn whole(part: &'static str, peer: &'static str, samples: &Samples) -> Self {
        let (layers, shape, kernel) = (String::new(), String::new(), String::new());
        Self { part, layers, shape, times: 1, peer, kernel, samples: samples.clone() }
    }
}

/// Median over the rounds of a time divided by ours in the same round.
fn ratio(theirs: &Samples, ours: &Samples) -> f64 {
    let rounds = theirs.nanoseconds.iter().zip(&ours.nanoseconds);
    median(rounds.map(|(theirs, ours)| theirs / ours).collect())
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Header { network, images, side, device, platform, driver, .. } = &self.header;
        writeln!(f, "{network}, {images} image(s) of {side}x{side} at once")?;
        writeln!(f, "{device} ({platform}, driver {driver}), {} rounds", self.header.rounds)?;
        let layers = self.layers.iter().map(|one| one.layers.len()).max().unwrap_or(0).max(24);
        let shapes = self.layers.iter().map(|one| one.shape.len()).max().unwrap_or(0).max(5);
        write!(f, "\n{:layers$}  {:shapes$}  times", "ms, median of a call", "shape")?;
        for one in &self.peers {
            write!(f, "  {:>13}", one.peer)?;
        }
        writeln!(f, "  kernel that the tree chooses")?;
        for one in &self.layers {
            write!(f, "{:layers$}  {:shapes$}  {:5}", one.layers, one.shape, one.times)?;
            for spread in &one.peers {
                write!(f, "  {:13.4}", milliseconds(spread.median_ns))?;
            }
            writeln!(f, "  {}", one.kernel)?;
        }
        let label = layers + shapes + 9;
        let mut row = |name: &str, value: &dyn Fn(&PeerLine) -> String| {
            write!(f, "{name:label$}")?;
            self.peers.iter().try_for_each(|one| write!(f, "  {:>13}", value(one)))?;
            writeln!(f)
        };
        row("all multiplications", &|one| format!("{:.3}", milliseconds(one.multiplications_ns)))?;
        row("    divided by ours", &|one| format!("{:.3}", one.multiplications_ratio))?;
        let name = if self.header.whole { "the whole inference" } else { "one after the other" };
        row(name, &|one| format!("{:.3}", milliseconds(one.inference.median_ns)))?;
        row("    least", &|one| format!("{:.3}", milliseconds(one.inference.least_ns)))?;
        row("    most", &|one| format!("{:.3}", milliseconds(one.inference.most_ns)))?;
        row("    divided by ours", &|one| format!("{:.3}", one.ratio))?;
        if let Some(rest) = self.rest {
            let [least, median, most] =
                [rest.least_ns, rest.median_ns, rest.most_ns].map(milliseconds);
            writeln!(
                f,
                "im2col, bias, ReLU and pooling: {median:.3} ms ({least:.3} to {most:.3})"
            )?;
        }
        for one in self.peers.iter() {
            writeln!(f, "{}: {}", one.peer, one.version)?;
        }
        for one in &self.header.skipped {
            writeln!(f, "skipped {one}")?;
        }
        write!(f, "{} values of each peer are right", self.header.checked)?;
        if let Some(apart) = self.header.apart {
            write!(f, "; the results are apart by {apart:.1e} of the largest value")?;
        }
        if let Some(apart) = self.header.apart_from_host {
            write!(f, ", from double precision on the host by {apart:.1e}")?;
        }
        Ok(())
    }
}

fn milliseconds(nanoseconds: f64) -> f64 {
    nanoseconds / 1e6
}

#[cfg(test)]
mod tests {
    use kernels::networks::vgg16;
    use selector_core::KernelId;

    use super::*;

    fn header() -> Header {
        Header {
            network: "vgg16".to_owned(),
            images: 1,
            side: 224,
            device: "a device".to_owned(),
            platform: "a platform".to_owned(),
            driver: "1".to_owned(),
            rounds: 3,
            whole: true,
            date: "2026-01-02".to_owned(),
            skipped: vec!["clblast: not found:\n  here".to_owned()],
            checked: 1,
            apart: Some(1e-6),
            apart_from_host: None,
        }
    }

    fn samples(nanoseconds: [f64; 3]) -> Samples {
        Samples { calls: 1, nanoseconds: nanoseconds.to_vec() }
    }

    #[test]
    fn ratios_are_of_the_same_round_and_multiplications_count_as_often_as_they_are_made() {
        let plan = Plan::whole(vgg16(224), 1, u64::MAX).unwrap();
        let times = |factor: f64, whole| Times {
            whole: samples(whole),
            multiplications: vec![samples([1e6 * factor, 9e9, 1.0]); 12],
        };
        let peers = [Peer::Ours, Peer::OursOne(KernelId(2))];
        // The second round was disturbed, for both alike.
        let times = [times(1.0, [1e6, 9e6, 2e6]), times(2.0, [2e6, 18e6, 6e6])];
        let kernels = vec!["some:kernel".to_owned(); 12];
        let rest = samples([5e5, 4e5, 6e5]);
        let report =
            Report::new(header(), &plan, (&peers, &times), Some(&rest), (&kernels, "one:kernel"));
        let [ours, one] = &report.peers[..] else { panic!("{report:?}") };
        assert_eq!((ours.ratio, one.ratio), (1.0, 2.0));
        assert_eq!((ours.multiplications_ns, one.multiplications_ns), (16e6, 32e6));
        assert_eq!(one.multiplications_ratio, 2.0);
        assert!(one.version.ends_with(", one:kernel"));
        let spread = Spread { least_ns: 4e5, median_ns: 5e5, most_ns: 6e5 };
        assert_eq!(report.rest, Some(spread));
        let text = report.to_string();
        for part in ["conv3_2 conv3_3", "256x2304x3136", "some:kernel", "0.500 ms", "2.000"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let csv = report.csv();
        let rows: Vec<&str> = csv.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(rows.len(), 1 + 2 * 13 + 1);
        assert!(rows.iter().all(|row| row.split(',').count() == 8), "{csv}");
        assert_eq!(rows[1], "inference,,,1,ours,,1,1000000.0 9000000.0 2000000.0");
        assert!(csv.contains("# skipped: clblast: not found: here\n"), "{csv}");
        let record = crate::network::Record::parse(&csv).unwrap();
        assert_eq!(record.ratio("ours-one", "ours"), Some(2.0));
        assert_eq!(record.multiplications("ours-one"), Some(32e6));
        assert_eq!(rows[27], "rest,,,1,,,1,500000.0 400000.0 600000.0");
    }

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_middle() {
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(vec![4.0, 1.0, 3.0]), 3.0);
        assert_eq!(median(Vec::new()), f64::INFINITY);
    }
}
