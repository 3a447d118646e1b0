//! Who multiplies: our kernels, chosen in two ways, or another library.
#![expect(unsafe_code, reason = "another library is called through its C interface")]

use std::path::{Path, PathBuf};
use std::ptr;

use kernels::Problem;
use selector_core::KernelId;

use super::NetworkError;
use crate::clblast::{Clblast, ClblastError};
use crate::opencl::OpenClBuffer;
use crate::{Device, OpenCl, Runtime};

/// One way to multiply.
pub enum Peer {
    /// CLBlast with the parameters that it ships.
    Clblast(Clblast),
    /// CLBlast with parameters that its own tuners found on the device.
    ClblastTuned(Clblast),
    /// The bundle: its tree chooses the kernel.
    Ours,
    /// The bundle: one kernel for everything.
    OursOne(KernelId),
}

impl Peer {
    /// CLBlast as shipped, from `places` (files or folders), or from where the loader looks.
    ///
    /// # Errors
    /// It is not there.
    pub fn clblast(places: &[PathBuf]) -> Result<Self, ClblastError> {
        Ok(Self::Clblast(Clblast::shipped(places)?))
    }

    /// CLBlast with the `parameters` of a file.
    ///
    /// # Errors
    /// It is not there, or they are not of this device.
    pub fn clblast_tuned(
        places: &[PathBuf],
        parameters: &Path,
        device: &OpenCl,
    ) -> Result<Self, ClblastError> {
        let name = device.info().name.clone();
        let id = device.context().devices().first().copied().unwrap_or(ptr::null_mut());
        // SAFETY: it is the device of an open context; a context without one does not exist.
        let tuned = unsafe { Clblast::tuned(places, parameters, id, &name)? };
        Ok(Self::ClblastTuned(tuned))
    }

    /// What tables call it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Clblast(_) => "clblast",
            Self::ClblastTuned(_) => "clblast-tuned",
            Self::Ours => "ours",
            Self::OursOne(_) => "ours-one",
        }
    }

    /// Which library it is.
    #[must_use]
    pub fn version(&self) -> String {
        match self {
            Self::Clblast(library) | Self::ClblastTuned(library) => library.version().to_owned(),
            Self::Ours | Self::OursOne(_) => {
                let space = kernels::space::hash();
                format!("gemmtree {}, kernel space {space:016x}", env!("CARGO_PKG_VERSION"))
            }
        }
    }

    /// Enqueue a multiplication; the kernel of the bundle that was launched, if one was.
    pub(super) fn multiply(
        &self,
        runtime: &mut Runtime<'_, OpenCl>,
        problem: &Problem,
        buffers: [&OpenClBuffer; 3],
    ) -> Result<Option<KernelId>, NetworkError> {
        match self {
            Self::Ours => Ok(runtime.gemm(*problem, buffers)?.kernel),
            Self::OursOne(id) => Ok(runtime.gemm_with(*id, *problem, buffers)?.kernel),
            Self::Clblast(library) | Self::ClblastTuned(library) => {
                let device = runtime.device();
                let size = problem.class.element().bytes();
                let [a, b, c] = buffers.map(|buffer| device.bytes(buffer) / size);
                problem.check(a, b, c).map_err(crate::RuntimeError::from)?;
                let memory = buffers.map(OpenClBuffer::memory);
                let queue = device.queue();
                // SAFETY: queue and buffers live, are of one context, and hold the problem.
                let done = unsafe { library.gemm(queue, problem, memory, ptr::null_mut()) };
                done.map(|()| None).map_err(|cause| NetworkError::Peer {
                    peer: self.name(),
                    shape: problem.shape.to_string(),
                    cause,
                })
            }
        }
    }
}
