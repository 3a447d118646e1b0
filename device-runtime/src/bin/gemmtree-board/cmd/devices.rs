//! `gemmtree-board devices`: the OpenCL devices of this machine.

use std::fmt;

use device_runtime::DeviceInfo;
use device_runtime::nearest::file_name;
use device_runtime::opencl::{self, Found};
use kernels::SubGroups;
use serde::Serialize;

use crate::output::Output;

/// List the OpenCL devices of this machine
#[derive(clap::Args)]
#[command(after_help = "Example:\n  gemmtree-board devices")]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, out: &mut Output) -> anyhow::Result<()> {
    for found in opencl::devices()? {
        out.result(&Described::new(found))?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Described {
    index: String,
    name: String,
    platform: String,
    vendor: String,
    driver: String,
    version: String,
    compute_units: u32,
    work_group: u64,
    work_items: [u64; 3],
    local_memory: u64,
    sub_groups: Vec<u64>,
    memory: u64,
    largest_buffer: u64,
    clock_resolution_ns: u64,
    half_arithmetic: bool,
    extensions: Vec<String>,
    /// What its own bundle is called in a folder of bundles.
    bundle: String,
}

impl Described {
    fn new(found: Found) -> Self {
        let Found { index, info, .. } = found;
        let DeviceInfo { limits, .. } = &info;
        Self {
            index,
            bundle: file_name(&info.driver_key()),
            work_group: limits.work_group,
            work_items: limits.work_items,
            local_memory: limits.local_memory,
            sub_groups: limits.sub_groups.widths().collect(),
            half_arithmetic: info.half_arithmetic(),
            extensions: info.extensions.split_whitespace().map(str::to_owned).collect(),
            name: info.name,
            platform: info.platform,
            vendor: info.vendor,
            driver: info.driver,
            version: info.version,
            compute_units: info.compute_units,
            memory: info.memory,
            largest_buffer: info.largest_buffer,
            clock_resolution_ns: info.clock_resolution_ns,
        }
    }
}

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = |bytes: u64| bytes >> 20;
        let [columns, rows, batch] = self.work_items;
        writeln!(f, "{}  {}", self.index, self.name)?;
        writeln!(f, "     platform       {}", self.platform)?;
        writeln!(f, "     vendor         {}", self.vendor)?;
        writeln!(f, "     driver         {}", self.driver)?;
        writeln!(f, "     version        {}", self.version)?;
        writeln!(f, "     compute units  {}", self.compute_units)?;
        writeln!(f, "     work-group     {} ({columns}, {rows}, {batch})", self.work_group)?;
        let half = if self.half_arithmetic { "yes" } else { "no (no cl_khr_fp16)" };
        writeln!(f, "     16-bit sums    {half}")?;
        writeln!(f, "     local memory   {} KiB", self.local_memory >> 10)?;
        if !self.sub_groups.is_empty() {
            writeln!(
                f,
                "     sub-groups     {}",
                self.sub_groups.iter().copied().collect::<SubGroups>()
            )?;
        }
        writeln!(
            f,
            "     memory         {} MiB, {} in one buffer",
            mebibytes(self.memory),
            mebibytes(self.largest_buffer)
        )?;
        write!(f, "     bundle         {}", self.bundle)
    }
}
