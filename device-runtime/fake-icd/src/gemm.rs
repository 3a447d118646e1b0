//! The one thing that kernels compute: the contract's product, on the host.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use bytemuck::Pod;
use half::f16;
use kernels::reference::{self, Element};
use kernels::{CheckedProblem, Operand, Problem};
use selector_core::{ElementType, GemmShape, ProblemClass};

use crate::cl;
use crate::objects::{Buffer, Value};

/// Bytes that tell in scratch memory that a function ran.
const TOKEN: usize = 8;

/// A launch of one of the project's kernel functions.
pub(crate) struct Call {
    pub(crate) function: String,
    /// Group numbers along the three dimensions: the first, and how many.
    pub(crate) groups: [(u64, u64); 3],
    pub(crate) class: ProblemClass,
    sizes: [u32; 3],
    factors: [f32; 2],
    operands: [Operand; 3],
    buffers: [Option<Arc<Buffer>>; 3],
    parts: u32,
    scratch: Option<Arc<Buffer>>,
}

impl Call {
    /// Read the arguments; `None` if they are not those of a product.
    pub(crate) fn new(
        function: &str,
        class: ProblemClass,
        groups: [(u64, u64); 3],
        values: &[Value],
    ) -> Option<Self> {
        let [m, n, k, alpha, beta, matrices @ ..] = values else { return None };
        let (first, rest) = matrices.split_at_checked(12)?;
        let (each, _) = first.as_chunks::<4>();
        let [a, b, c] = each else { return None };
        let (parts, scratch) = match rest {
            [] => (1, None),
            [parts, scratch] => (int(parts)?, buffer(scratch)?),
            _ => return None,
        };
        Some(Self {
            function: function.to_owned(),
            groups,
            class,
            sizes: [int(m)?, int(n)?, int(k)?],
            factors: [f32::from_bits(int(alpha)?), f32::from_bits(int(beta)?)],
            operands: [operand(a)?, operand(b)?, operand(c)?],
            buffers: [buffer(&a[0])?, buffer(&b[0])?, buffer(&c[0])?],
            parts,
            scratch,
        })
    }

    /// The whole problem, of which the launch may be a piece of the batch.
    ///
    /// # Errors
    /// The buffers do not hold it: a device would fail, or worse.
    pub(crate) fn problem(&self) -> Result<CheckedProblem, i32> {
        let layers = self.groups[2].1;
        let is_split = self.parts > 1 && self.function != "reduce";
        let batch = if is_split { layers / u64::from(self.parts) } else { layers };
        let batch = u32::try_from(batch).map_err(|_| cl::OUT_OF_RESOURCES)?;
        let [m, n, k] = self.sizes;
        let [alpha, beta] = self.factors;
        // Without products alpha counts for nothing.
        let (alpha, k) = if k == 0 { (0.0, 1) } else { (alpha, k) };
        let first = self.groups[2].0;
        let shifted = self.operands.map(|one| {
            let offset = one.offset.saturating_add(one.stride.saturating_mul(first));
            Operand { offset, ..one }
        });
        let [a, b, c] = shifted;
        let shape = GemmShape::new(m, k, n, batch);
        let problem = Problem { class: self.class, shape, alpha, beta, a, b, c };
        let size = self.class.element().bytes();
        let [a, b, c] = self
            .buffers
            .each_ref()
            .map(|buffer| buffer.as_ref().map_or(0, |buffer| buffer.size as u64 / size));
        problem.check(a, b, c).map_err(|_| cl::OUT_OF_RESOURCES)
    }

    /// Do what the launch does; `wrong` asks for another result.
    ///
    /// # Errors
    /// The buffers do not hold the problem.
    pub(crate) fn run(&self, wrong: bool) -> Result<(), i32> {
        // The first of several launches does the work of all that cover one matrix.
        if self.groups[0].0 != 0 || self.groups[1].0 != 0 {
            return Ok(());
        }
        let helps = match &self.function[..] {
            "pack" => true,
            "gemm" => self.parts > 1,
            _ => false,
        };
        if helps {
            return self.leave_token();
        }
        let wrong = !self.took_token()? || wrong;
        let problem = self.problem()?;
        match self.class.element() {
            ElementType::F32 => self.multiply::<f32>(&problem, wrong),
            ElementType::F16 => self.multiply::<f16>(&problem, wrong),
        }
    }

    fn multiply<T: Element + Pod>(&self, problem: &CheckedProblem, wrong: bool) -> Result<(), i32> {
        let [a, b, c] = &self.buffers;
        let (a, b, mut result) = (elements::<T>(a)?, elements::<T>(b)?, elements::<T>(c)?);
        reference::gemm(problem, &a, &b, &mut result);
        if wrong {
            spoil(problem, &mut result);
        }
        match c {
            Some(c) => c.write(0, bytemuck::cast_slice(&result)),
            None => Err(cl::OUT_OF_RESOURCES),
        }
    }

    /// What a function that helps writes, so that the next one knows that it ran before.
    fn token(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        (self.sizes, self.parts, self.factors.map(f32::to_bits)).hash(&mut hash);
        let of_buffer = |one: &Option<Arc<Buffer>>| one.as_ref().map(Arc::as_ptr);
        self.buffers.each_ref().map(of_buffer).hash(&mut hash);
        self.operands.map(|one| (one.offset, one.leading, one.stride)).hash(&mut hash);
        hash.finish()
    }

    fn leave_token(&self) -> Result<(), i32> {
        match &self.scratch {
            Some(scratch) if scratch.size >= TOKEN => scratch.write(0, &self.token().to_ne_bytes()),
            Some(_) => Ok(()),
            None => Err(cl::OUT_OF_RESOURCES),
        }
    }

    /// Whether the function that helps ran since the last call, if there is one.
    fn took_token(&self) -> Result<bool, i32> {
        let k = self.sizes[2];
        let Some(scratch) = self.scratch.as_ref().filter(|one| k > 0 && one.size >= TOKEN) else {
            return Ok(true);
        };
        let found = scratch.read(0, TOKEN)?;
        scratch.write(0, &[0; TOKEN])?;
        Ok(found == self.token().to_ne_bytes())
    }
}

/// Change the last element of the result: who looks at the first ones only does not see it.
fn spoil<T: Element>(problem: &CheckedProblem, result: &mut [T]) {
    let Problem { shape, c, .. } = *problem.problem();
    let last = u64::from(shape.batch).saturating_sub(1) * c.stride
        + u64::from(shape.m).saturating_sub(1) * c.leading
        + u64::from(shape.n).saturating_sub(1)
        + c.offset;
    let at = usize::try_from(last).ok();
    if let Some(element) = at.and_then(|at| result.get_mut(at)) {
        let value = element.to_f64();
        *element = T::nearest(if value.is_finite() { value + 1.0 + value.abs() } else { 0.0 });
    }
}

fn elements<T: Pod>(buffer: &Option<Arc<Buffer>>) -> Result<Vec<T>, i32> {
    let Some(buffer) = buffer else { return Ok(Vec::new()) };
    let whole = buffer.size / size_of::<T>() * size_of::<T>();
    Ok(bytemuck::pod_collect_to_vec(&buffer.read(0, whole)?))
}

fn int(value: &Value) -> Option<u32> {
    let Value::Bytes(bytes) = value else { return None };
    Some(u32::from_ne_bytes(bytes[..].try_into().ok()?))
}

fn long(value: &Value) -> Option<u64> {
    let Value::Bytes(bytes) = value else { return None };
    Some(u64::from_ne_bytes(bytes[..].try_into().ok()?))
}

/// A buffer that is there, or a null pointer; `None` if it is neither.
fn buffer(value: &Value) -> Option<Option<Arc<Buffer>>> {
    match value {
        Value::Nothing => Some(None),
        Value::Buffer(buffer) => buffer.upgrade().map(Some),
        _ => None,
    }
}

fn operand([_, offset, leading, stride]: &[Value; 4]) -> Option<Operand> {
    let leading = u64::from(int(leading)?);
    Some(Operand { offset: long(offset)?, leading, stride: long(stride)? })
}
