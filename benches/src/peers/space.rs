//! Of the whole kernel space the configuration that is fastest for a shape: the few with the least
//! times of a measured data set race. They are built from source.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, ensure};
use device_runtime::{Arguments, Device, OpenCl, enqueue};
use kernels::{Configuration, Program};
use selector_core::GemmShape;
use trainer::dataset::Dataset;

use super::stage::{CLASS, Events};
use super::{Peer, Stage, Task, ours, race};

type Kernel = <OpenCl as Device>::Kernel;
type Buffer = <OpenCl as Device>::Buffer;

struct Space {
    version: String,
    fastest: Fastest,
    candidates: usize,
    /// Programs by name; what does not build has no kernel.
    built: Vec<(String, Option<Kernel>)>,
    scratch: Option<Buffer>,
    /// What races, with the place of its program.
    current: Vec<(Configuration, usize)>,
    chosen: usize,
}

/// The configurations of each shape that a data set has times of, the least time first.
#[derive(Debug, Default, PartialEq)]
struct Fastest(BTreeMap<GemmShape, Vec<Configuration>>);

pub(super) fn open(stage: &Stage<'_>) -> anyhow::Result<Box<dyn Peer>> {
    let path = stage.places().best_of.as_deref();
    let path = path.context("no data set is given that tells fast configurations")?;
    let candidates = stage.places().candidates.max(1);
    let dataset = Dataset::open(path).with_context(|| format!("`{}`", path.display()))?;
    let (theirs, here) = (&dataset.header.device, &stage.info().name);
    ensure!(theirs == here, "the data set is of `{theirs}`, but this is `{here}`");
    Ok(Box::new(Space {
        version: version(path, &dataset, candidates),
        fastest: Fastest::new(&dataset),
        candidates,
        built: Vec::new(),
        scratch: None,
        current: Vec::new(),
        chosen: 0,
    }))
}

fn version(path: &Path, dataset: &Dataset, candidates: usize) -> String {
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let (file, date) = (file.unwrap_or_default(), &dataset.header.date);
    format!("{}; the best {candidates} of {file} of {date}", ours::version())
}

impl Fastest {
    fn new(dataset: &Dataset) -> Self {
        // Names that this build does not know are of other sources.
        let known: Vec<Option<Configuration>> =
            dataset.configurations().iter().map(|name| name.parse().ok()).collect();
        let mut by_shape = BTreeMap::new();
        let tasks = dataset.tasks().iter().enumerate().filter(|(_, task)| task.class == CLASS);
        for (row, task) in tasks {
            let timed = known.iter().enumerate().filter_map(|(column, configuration)| {
                let time = dataset.time(row, column);
                Some((time, configuration.as_ref()?)).filter(|_| time.is_finite())
            });
            let mut timed: Vec<_> = timed.collect();
            // Stable: ties by the data set's order of configurations.
            timed.sort_by(|(one, _), (other, _)| one.total_cmp(other));
            let sorted = timed.into_iter().map(|(_, configuration)| configuration.clone());
            by_shape.insert(task.shape, sorted.collect());
        }
        Self(by_shape)
    }

    fn of(&self, shape: GemmShape) -> anyhow::Result<&[Configuration]> {
        self.0.get(&shape).map(Vec::as_slice).context("the data set has no times of this shape")
    }
}

impl Space {
    /// The fastest that build and run here, as many as are tried, with scratch memory for each.
    fn prepare(&mut self, stage: &Stage<'_>, task: &Task) -> anyhow::Result<()> {
        self.current.clear();
        self.scratch = None;
        let runtime = stage.runtime();
        let device = runtime.device();
        let mut bytes = 0;
        for configuration in self.fastest.of(task.shape())? {
            if self.current.len() == self.candidates {
                break;
            }
            if configuration.fits(&device.info().limits).is_err() {
                continue;
            }
            let at = built(&mut self.built, device, &configuration.program(CLASS));
            let Some(kernel) = &self.built[at].1 else { continue };
            if configuration.work_group() > device.work_group_limit(kernel)? {
                continue;
            }
            let arguments = Arguments::new(device, task.problem, task.matrices())?;
            bytes = bytes.max(configuration.scratch(arguments.problem()));
            self.current.push((configuration.clone(), at));
        }
        if bytes > 0 {
            self.scratch = Some(device.allocate(bytes)?);
        }
        Ok(())
    }

    /// Enqueue what has this place, as the runtime does; its events if they are `wanted`.
    fn call(
        &mut self,
        stage: &Stage<'_>,
        task: &Task,
        place: usize,
        wanted: bool,
    ) -> anyhow::Result<Events> {
        let runtime = stage.runtime();
        let device = runtime.device();
        let (configuration, at) = self.current.get(place).context("nothing is chosen")?;
        let kernel = self.built[*at].1.as_mut().context("it is not built")?;
        let arguments = Arguments::new(device, task.problem, task.matrices())?;
        let arguments = arguments.with_scratch(device, configuration, self.scratch.as_ref())?;
        let launches = configuration.launches(arguments.problem());
        let armed = device.set_arguments(kernel, &arguments)?;
        Ok(enqueue(device, &armed, &launches, wanted)?)
    }
}

/// The place of a program, which is built if it was not yet.
fn built(known: &mut Vec<(String, Option<Kernel>)>, device: &OpenCl, program: &Program) -> usize {
    known.iter().position(|(name, _)| *name == program.name).unwrap_or_else(|| {
        known.push((program.name.clone(), device.build(program).ok()));
        known.len() - 1
    })
}

impl Peer for Space {
    fn version(&self) -> String {
        self.version.clone()
    }

    fn begin(&mut self, stage: &Stage<'_>, task: &Task) -> anyhow::Result<()> {
        self.prepare(stage, task)?;
        let winner = race::fastest(stage, self.current.len(), None, |place| {
            self.call(stage, task, place, false).map(drop)
        });
        self.chosen = winner.context("none of the data set's best can run")?;
        Ok(())
    }

    fn configuration(&self) -> String {
        self.current.get(self.chosen).map(|(one, _)| one.to_string()).unwrap_or_default()
    }

    fn enqueue(&mut self, stage: &Stage<'_>, task: &Task) -> anyhow::Result<()> {
        self.call(stage, task, self.chosen, false).map(drop)
    }

    fn device_nanoseconds(
        &mut self,
        stage: &Stage<'_>,
        task: &Task,
    ) -> anyhow::Result<Option<u64>> {
        stage.recording(|| {
            self.call(stage, task, self.chosen, false)?;
            let events = self.call(stage, task, self.chosen, true)?;
            stage.finish()?;
            Ok(Some(stage.runtime().device().nanoseconds(&events)?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &str = "\
# device: one
# driver: 1
# platform: p
# space: none
# date: 2026-01-02
# tool: test
";

    #[test]
    fn the_least_times_of_a_shape_come_first_and_what_is_unknown_here_is_left_out() {
        let rows = [
            ("tile:1x1x1@8x8", "ok", "300"),
            ("tile:2x2x2@8x8", "ok", "100"),
            ("elsewhere:1", "ok", "50"),
            ("tile:4x4x4@8x8", "wrong_result", ""),
            ("tile:4x2x4@8x8", "ok", "200"),
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.csv");
        let mut text = DATA.to_owned() + "m,k,n,batch,class,configuration,status,samples_ns\n";
        for (configuration, status, time) in rows {
            text += &format!("4,5,6,1,f32-nn,{configuration},{status},{time}\n");
        }
        std::fs::write(&path, text).unwrap();
        let dataset = Dataset::open(&path).unwrap();
        let fastest = Fastest::new(&dataset);
        let shape = GemmShape::new(4, 5, 6, 1);
        let names: Vec<String> =
            fastest.of(shape).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["tile:2x2x2@8x8", "tile:4x2x4@8x8", "tile:1x1x1@8x8"]);
        let error = fastest.of(GemmShape::new(4, 5, 7, 1)).unwrap_err().to_string();
        assert!(error.contains("no times"), "{error}");
        let told = version(&path, &dataset, 3);
        assert!(told.ends_with("the best 3 of data.csv of 2026-01-02"), "{told}");
    }
}
