//! The kernels of `kernels::layers` on a device: what a network does beside multiplying.
#![expect(unsafe_code, reason = "OpenCL is called through its C interface")]

use std::ptr;

use cl3::load_library;
use kernels::Launch;
use kernels::layers::{FUNCTIONS, SOURCE};
use kernels::networks::Convolution;
use opencl3::error_codes::{CL_SUCCESS, ClError};
use opencl3::kernel::Kernel;
use opencl3::program::Program as ClProgram;
use opencl3::types::{cl_mem, cl_uint, cl_ulong};

use super::owned::Owned;
use super::{OpenCl, OpenClBuffer, failed, library_gone, sizes};
use crate::DeviceError;

/// Work-items of a work-group.
const GROUP: u64 = 64;
/// Bytes of a value.
const FLOAT: u64 = 4;

/// The kernels, built.
pub struct LayerKernels {
    columns: Owned<Kernel>,
    bias: Owned<Kernel>,
    pool: Owned<Kernel>,
    group: u64,
}

/// Some of the images that lie in a buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Images {
    /// All of them.
    pub all: u32,
    /// The first that is meant.
    pub first: u32,
    /// How many are.
    pub count: u32,
}

/// A matrix whose rows or columns have a bias.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Biased {
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub columns: u64,
    /// Whether each row has a bias, and not each column.
    pub by_row: bool,
    /// Whether what is negative becomes zero.
    pub relu: bool,
}

/// Images of which the largest of each window remain.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pooled {
    /// Channels.
    pub channels: u32,
    /// Images.
    pub images: u32,
    /// Pixels (height, width) before.
    pub size: [u32; 2],
    /// Pixels of a side of the window, at least 1, which changes nothing.
    pub window: u32,
    /// Whether the result is a row of values for each image, and not channel by channel.
    pub flat: bool,
}

impl Pooled {
    /// Pixels (height, width) afterwards.
    #[must_use]
    pub fn out(&self) -> [u32; 2] {
        self.size.map(|side| side / self.window.max(1))
    }

    fn planes(&self) -> u64 {
        u64::from(self.channels) * u64::from(self.images)
    }
}

impl LayerKernels {
    /// Build them for a device.
    ///
    /// # Errors
    /// The driver's build log, or its refusal.
    pub fn build(device: &OpenCl) -> Result<Self, DeviceError> {
        let built = ClProgram::create_from_source(&device.context, SOURCE);
        let mut built = Owned::new(built.map_err(failed("clCreateProgramWithSource"))?);
        if let Err(error) = built.build(device.context.devices(), "") {
            let log = built.get_build_log(device.device.id()).unwrap_or_default();
            let log = format!("{error}: {}", log.trim());
            return Err(DeviceError::Build { program: "layers".to_owned(), log });
        }
        let kernel = |name: &str| {
            let kernel = Kernel::create(&built, name).map_err(failed("clCreateKernel"))?;
            Ok(Owned::new(kernel))
        };
        let [columns, bias, pool] = FUNCTIONS;
        let limits = &device.info.limits;
        let [along_x, along_y, _] = limits.work_items;
        let group = GROUP.min(limits.work_group).min(along_x).min(along_y).max(1);
        Ok(Self { columns: kernel(columns)?, bias: kernel(bias)?, pool: kernel(pool)?, group })
    }

    /// Write the columns of a convolution on `images`, which must be some.
    ///
    /// # Errors
    /// A buffer is too small or foreign, or the driver refuses.
    pub fn columns(
        &self,
        device: &OpenCl,
        layer: &Convolution,
        images: Images,
        [from, to]: [&OpenClBuffer; 2],
    ) -> Result<(), DeviceError> {
        let Images { all, first, count } = images;
        let [height, width] = layer.image;
        let [out_height, out_width] = layer.output();
        let rows = elements(&[layer.channels_in, layer.kernel[0], layer.kernel[1]]);
        if first.checked_add(count).is_none_or(|end| end > all) {
            return Err(DeviceError::TooLarge("the number of images"));
        }
        has(device, from, elements(&[layer.channels_in, all, height, width]))?;
        let b = rows.saturating_mul(elements(&[count, out_height, out_width]));
        has(device, to, b)?;
        let numbers = [
            [all, first, count, height],
            [width, layer.kernel[0], layer.kernel[1], layer.stride[0]],
            [layer.stride[1], layer.padding[0], layer.padding[1], out_height],
            [out_width, layer.channels_in, 0, 0],
        ];
        let kernel = &self.columns;
        // SAFETY: types and order are those of the kernel function; both buffers are as large as it
        // reads and writes, and live until the launch, from which on OpenCL keeps them.
        let set = unsafe {
            buffers(kernel, [from, to]).and_then(|()| {
                let mut places = (2..).zip(numbers.as_flattened().iter().take(14));
                places.try_for_each(|(place, number)| kernel.set_arg::<cl_uint>(place, number))
            })
        };
        set.map_err(failed("clSetKernelArg"))?;
        let z = elements(&[layer.channels_in, count]);
        self.enqueue(device, kernel, [out_width.into(), out_height.into(), z])
    }

    /// Add a bias to each row or column of `values`.
    ///
    /// # Errors
    /// A buffer is too small or foreign, or the driver refuses.
    pub fn bias(
        &self,
        device: &OpenCl,
        matrix: Biased,
        values: &OpenClBuffer,
        biases: &OpenClBuffer,
    ) -> Result<(), DeviceError> {
        let Biased { rows, columns, by_row, relu } = matrix;
        has(device, values, u64::from(rows).saturating_mul(columns))?;
        has(device, biases, if by_row { rows.into() } else { columns })?;
        let kernel = &self.bias;
        // SAFETY: as in `columns`.
        let set = unsafe {
            buffers(kernel, [values, biases])
                .and_then(|()| kernel.set_arg::<cl_uint>(2, &rows))
                .and_then(|()| kernel.set_arg::<cl_ulong>(3, &columns))
                .and_then(|()| kernel.set_arg::<cl_uint>(4, &by_row.into()))
                .and_then(|()| kernel.set_arg::<cl_uint>(5, &relu.into()))
        };
        set.map_err(failed("clSetKernelArg"))?;
        self.enqueue(device, kernel, [columns, rows.into(), 1])
    }

    /// Write the largest value of each window.
    ///
    /// # Errors
    /// A buffer is too small or foreign, or the driver refuses.
    pub fn pool(
        &self,
        device: &OpenCl,
        images: Pooled,
        [from, to]: [&OpenClBuffer; 2],
    ) -> Result<(), DeviceError> {
        let Pooled { channels, images: count, size, window, flat } = images;
        let [out_height, out_width] = images.out();
        let [pixels, pixels_out] = [elements(&size), elements(&images.out())];
        has(device, from, images.planes().saturating_mul(pixels))?;
        has(device, to, images.planes().saturating_mul(pixels_out))?;
        let planes = images.planes();
        let plane_count = u32::try_from(planes).map_err(|_| DeviceError::TooLarge("a layer"))?;
        let strides = if flat {
            [pixels_out, pixels_out.saturating_mul(channels.into())]
        } else {
            [pixels_out.saturating_mul(count.into()), pixels_out]
        };
        let [height, width] = size;
        let numbers = [count, plane_count, height, width, window, out_height, out_width];
        let kernel = &self.pool;
        // SAFETY: as in `columns`.
        let set = unsafe {
            buffers(kernel, [from, to])
                .and_then(|()| {
                    let mut places = (2..).zip(&numbers);
                    places.try_for_each(|(place, number)| kernel.set_arg::<cl_uint>(place, number))
                })
                .and_then(|()| {
                    let mut places = (9..).zip(&strides);
                    places.try_for_each(|(place, stride)| kernel.set_arg::<cl_ulong>(place, stride))
                })
        };
        set.map_err(failed("clSetKernelArg"))?;
        self.enqueue(device, kernel, [out_width.into(), out_height.into(), planes])
    }

    /// Start one work-item an element; work-groups are no wider than a row.
    fn enqueue(
        &self,
        device: &OpenCl,
        kernel: &Kernel,
        items: [u64; 3],
    ) -> Result<(), DeviceError> {
        let [wide, ..] = items;
        let width = wide.next_power_of_two().min(self.group);
        let local = [width, self.group / width, 1];
        for launch in Launch::cover(items, local).iter() {
            let offset = sizes(launch.offset)?;
            let (global, local) = (sizes(launch.global)?, sizes(launch.local)?);
            let library =
                load_library().as_ref().map_err(|_| library_gone("clEnqueueNDRangeKernel"))?;
            // The arrays have the three dimensions announced, and no event is asked for.
            let code = library.clEnqueueNDRangeKernel(
                device.queue(),
                kernel.get(),
                3,
                offset.as_ptr(),
                global.as_ptr(),
                local.as_ptr(),
                0,
                ptr::null(),
                ptr::null_mut(),
            );
            match code {
                Some(CL_SUCCESS) => {}
                Some(code) => return Err(failed("clEnqueueNDRangeKernel")(ClError(code))),
                None => return Err(library_gone("clEnqueueNDRangeKernel")),
            }
        }
        Ok(())
    }
}

/// Set the two buffers that come first.
///
/// # Safety
/// The kernel's first arguments are buffers, as large as it takes them for.
unsafe fn buffers(kernel: &Kernel, buffers: [&OpenClBuffer; 2]) -> Result<(), ClError> {
    let mut places = (0..).zip(buffers);
    // SAFETY: the caller's promise.
    places.try_for_each(|(place, buffer)| unsafe {
        kernel.set_arg::<cl_mem>(place, &buffer.memory())
    })
}

/// Refuse a buffer that is another device's or holds fewer values.
fn has(device: &OpenCl, buffer: &OpenClBuffer, values: u64) -> Result<(), DeviceError> {
    device.check_mine("buffer", buffer.context)?;
    let (need, have) = (values.saturating_mul(FLOAT), buffer.bytes);
    if need > have { Err(DeviceError::BufferTooSmall { need, have }) } else { Ok(()) }
}

fn elements(sizes: &[u32]) -> u64 {
    sizes.iter().fold(1, |product: u64, size| product.saturating_mul(u64::from(*size)))
}
