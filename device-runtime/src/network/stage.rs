//! The memory of a network on the device, and doing what a plan says.

use kernels::networks::Layer;
use kernels::reference::values;
use kernels::{Configuration, Problem};
use selector_core::KernelId;

use super::plan::{Action, Place, Plan};
use super::{NetworkError, Peer};
use crate::opencl::OpenClBuffer;
use crate::opencl::layers::LayerKernels;
use crate::{Device, DeviceError, OpenCl, Runtime};

/// Seeds of what the network is given, of weights and of biases by their layer's number.
const IMAGE: u64 = 1;
const WEIGHTS: u64 = 1000;
const BIASES: u64 = 2000;
/// Largest bias.
const BIAS: f32 = 0.1;

/// A network on a device.
///
/// Weights and what it is given are seeded, so that they are the same everywhere: weights are of
/// variance 2 / k, which keeps values in range from layer to layer where what is negative becomes zero
/// (He and others, 2015).
pub struct Stage<'a> {
    runtime: Runtime<'a, OpenCl>,
    plan: Plan,
    memory: Memory,
    kernels: Option<LayerKernels>,
}

struct Memory {
    weights: Vec<OpenClBuffer>,
    biases: Vec<OpenClBuffer>,
    columns: OpenClBuffer,
    image: OpenClBuffer,
    first: OpenClBuffer,
    second: OpenClBuffer,
}

impl Memory {
    fn at(&self, place: Place) -> &OpenClBuffer {
        match place {
            Place::Image => &self.image,
            Place::First => &self.first,
            Place::Second => &self.second,
        }
    }

    /// A, B and C of a multiplication, for the layer number `step`.
    fn matrices(
        &self,
        (step, layer): (usize, &Layer),
        [from, to]: [Place; 2],
    ) -> Result<[&OpenClBuffer; 3], DeviceError> {
        let weights = self.weights.get(step).ok_or(DeviceError::Foreign("layer"))?;
        let to = self.at(to);
        Ok(match layer {
            Layer::Convolution(_) => [weights, &self.columns, to],
            Layer::FullyConnected { .. } => [self.at(from), weights, to],
        })
    }
}

impl<'a> Stage<'a> {
    /// Allocate and fill the memory. The runtime's queue records no times from here on: what a library
    /// does with events of its own would cost more in one that does.
    ///
    /// # Errors
    /// Something does not fit the device, or its driver refuses.
    pub fn new(mut runtime: Runtime<'a, OpenCl>, plan: Plan) -> Result<Self, NetworkError> {
        runtime.device_mut().record_times(false)?;
        let device = runtime.device();
        let [columns, largest] = plan.largest()?;
        let kernels = if plan.is_whole() { Some(LayerKernels::build(device)?) } else { None };
        let (mut weights, mut biases) = (Vec::new(), Vec::new());
        for (number, step) in plan.steps().iter().enumerate() {
            let values = seeded_weights(number, &step.layer)?;
            weights.push(filled(device, "the weights of a layer", &values)?);
            if plan.is_whole() {
                biases.push(filled(device, "the biases", &seeded_biases(number, &step.layer))?);
            }
        }
        let image = filled(device, "the images", &seeded_image(&plan)?)?;
        // Values that nothing has written yet could be numbers that are slower to multiply.
        let any = |what, count| filled(device, what, &values(length(count)?, IMAGE));
        let columns = any("a matrix of columns", columns)?;
        let (first, second) = (any("a layer", largest)?, any("a layer", largest)?);
        device.finish()?;
        let memory = Memory { weights, biases, columns, image, first, second };
        Ok(Self { runtime, plan, memory, kernels })
    }

    /// What is done.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The bundle's runtime.
    #[must_use]
    pub fn runtime(&self) -> &Runtime<'a, OpenCl> {
        &self.runtime
    }

    /// The configuration of a kernel of the bundle.
    #[must_use]
    pub fn configuration(&self, id: KernelId) -> Option<&Configuration> {
        self.runtime.configurations().get(usize::from(id.0))
    }

    /// Have the scratch memory that the kernels want that the bundle chooses.
    ///
    /// # Errors
    /// The device has no such memory.
    pub fn reserve(&mut self) -> Result<(), NetworkError> {
        for one in self.plan.distinct() {
            let bytes = self.runtime.scratch_bytes(&one.problem)?;
            self.runtime.reserve(bytes)?;
        }
        Ok(())
    }

    /// Have the scratch memory that the kernel `id` wants.
    ///
    /// # Errors
    /// The device has no such memory.
    pub fn reserve_for(&mut self, id: KernelId) -> Result<(), NetworkError> {
        for one in self.plan.distinct() {
            let bytes = self.runtime.scratch_bytes_with(id, &one.problem)?;
            self.runtime.reserve(bytes)?;
        }
        Ok(())
    }

    /// The configurations that the tree chooses for `Plan::distinct`; each is launched.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn chosen(&mut self) -> Result<Vec<String>, NetworkError> {
        let mut names = Vec::new();
        for one in self.plan.distinct() {
            let kernel = self.multiply(&Peer::Ours, one.place)?;
            let configuration = kernel.and_then(|id| self.configuration(id));
            names.push(configuration.map(ToString::to_string).unwrap_or_default());
        }
        self.finish()?;
        Ok(names)
    }

    /// Enqueue one inference with this peer's multiplications, or all of it but those.
    ///
    /// # Errors
    /// The peer or the driver refuses.
    pub fn enqueue(&mut self, peer: Option<&Peer>) -> Result<(), NetworkError> {
        for number in 0..self.plan.actions().len() {
            let Some(action) = self.plan.actions().get(number).copied() else { break };
            self.act(action, peer)?;
        }
        Ok(())
    }

    /// Enqueue one multiplication of `Plan::distinct`; the kernel of the bundle that is launched, if one
    /// is.
    ///
    /// # Errors
    /// The peer or the driver refuses.
    pub(super) fn multiply(
        &mut self,
        peer: &Peer,
        [step, part]: [usize; 2],
    ) -> Result<Option<KernelId>, NetworkError> {
        self.multiply_at(peer, [step, part], [Place::First, Place::Second])
    }

    /// Wait for all that was enqueued.
    ///
    /// # Errors
    /// A launch failed.
    pub fn finish(&self) -> Result<(), NetworkError> {
        Ok(self.runtime.device().finish()?)
    }

    /// Do one thing.
    pub(super) fn act(&mut self, action: Action, peer: Option<&Peer>) -> Result<(), NetworkError> {
        let device = self.runtime.device();
        let memory = &self.memory;
        match (action, peer, &self.kernels) {
            (Action::Multiply { step, part, from, to }, Some(peer), _) => {
                self.multiply_at(peer, [step, part], [from, to])?;
            }
            (Action::Columns { step, part, from }, _, Some(kernels)) => {
                let Some((step, part)) = self.plan.part(step, part) else { return Ok(()) };
                if let Layer::Convolution(layer) = &step.layer {
                    let buffers = [memory.at(from), &memory.columns];
                    kernels.columns(device, layer, part.images, buffers)?;
                }
            }
            (Action::Bias { step, matrix, at, .. }, _, Some(kernels)) => {
                let biases = memory.biases.get(step).ok_or(DeviceError::Foreign("layer"))?;
                kernels.bias(device, matrix, memory.at(at), biases)?;
            }
            (Action::Pool { images, from, to }, _, Some(kernels)) => {
                kernels.pool(device, images, [memory.at(from), memory.at(to)])?;
            }
            // Multiplications without a peer, and plans of multiplications alone.
            _ => {}
        }
        Ok(())
    }

    fn multiply_at(
        &mut self,
        peer: &Peer,
        [step, part]: [usize; 2],
        places: [Place; 2],
    ) -> Result<Option<KernelId>, NetworkError> {
        let Some((layer, part)) = self.plan.part(step, part) else { return Ok(None) };
        let buffers = self.memory.matrices((step, &layer.layer), places)?;
        peer.multiply(&mut self.runtime, &part.problem, buffers)
    }

    /// Let a place hold NaN.
    pub(super) fn spoil(&mut self, place: Place) -> Result<(), NetworkError> {
        let buffer = match place {
            Place::Image => &mut self.memory.image,
            Place::First => &mut self.memory.first,
            Place::Second => &mut self.memory.second,
        };
        let device = self.runtime.device();
        let nothing = vec![f32::NAN; length(device.bytes(buffer) / size_of::<f32>() as u64)?];
        Ok(device.write(buffer, bytemuck::cast_slice(&nothing))?)
    }

    /// Wait, and read what lies at a place.
    pub(super) fn values(&self, place: Place, count: u64) -> Result<Vec<f32>, NetworkError> {
        self.read(self.memory.at(place), count)
    }

    /// Wait, and read A, B and C of a multiplication, each as long as it needs.
    pub(super) fn operands(
        &self,
        step: usize,
        problem: &Problem,
        places: [Place; 2],
    ) -> Result<[Vec<f32>; 3], NetworkError> {
        let layer = self.plan.steps().get(step).ok_or(DeviceError::Foreign("layer"))?;
        let [a, b, c] = self.memory.matrices((step, &layer.layer), places)?;
        let lengths = problem.buffer_lengths().map_err(crate::RuntimeError::from)?;
        let [of_a, of_b, of_c] = lengths;
        Ok([self.read(a, of_a)?, self.read(b, of_b)?, self.read(c, of_c)?])
    }

    fn read(&self, buffer: &OpenClBuffer, count: u64) -> Result<Vec<f32>, NetworkError> {
        let mut values = vec![0.0_f32; length(count)?];
        self.runtime.device().read(buffer, bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }
}

/// What the network is given: values in [-1, 1).
pub(super) fn seeded_image(plan: &Plan) -> Result<Vec<f32>, DeviceError> {
    Ok(values(length(plan.inputs())?, IMAGE))
}

/// The weights of a layer: for a convolution a row for each channel that comes out, for a fully
/// connected layer a column for each value.
pub(super) fn seeded_weights(number: usize, layer: &Layer) -> Result<Vec<f32>, DeviceError> {
    let outputs = u64::from(outputs(layer)).max(1);
    let count = layer.weights();
    // Values in [-1, 1) have a variance of 1 / 3.
    let scale = (6.0 / (count / outputs).max(1) as f64).sqrt() as f32;
    let seed = WEIGHTS.wrapping_add(number as u64);
    let mut weights = values(length(count)?, seed);
    weights.iter_mut().for_each(|weight| *weight *= scale);
    Ok(weights)
}

/// The biases of a layer.
pub(super) fn seeded_biases(number: usize, layer: &Layer) -> Vec<f32> {
    let mut biases = values(outputs(layer) as usize, BIASES.wrapping_add(number as u64));
    biases.iter_mut().for_each(|bias| *bias *= BIAS);
    biases
}

/// Channels, or values, that come out of a layer.
fn outputs(layer: &Layer) -> u32 {
    match *layer {
        Layer::Convolution(layer) => layer.channels_out,
        Layer::FullyConnected { outputs, .. } => outputs,
    }
}

fn filled(
    device: &OpenCl,
    what: &'static str,
    values: &[f32],
) -> Result<OpenClBuffer, DeviceError> {
    let bytes: &[u8] = bytemuck::cast_slice(values);
    let (need, have) = (bytes.len() as u64, device.info().largest_buffer);
    if need > have {
        return Err(DeviceError::LargestBuffer { what, need, have });
    }
    let mut buffer = device.allocate(need)?;
    device.write(&mut buffer, bytes)?;
    Ok(buffer)
}

pub(super) fn length(count: u64) -> Result<usize, DeviceError> {
    usize::try_from(count).map_err(|_| DeviceError::TooLarge("a layer"))
}
