//! Every multiplication of both headers beside a reference: layouts, transposes, offsets, leading dimensions,
//! strides, both precisions; and the codes that wrong arguments give.
//!
//! Values are eighths, so that all sums are exact in 32 bits and results are compared bit by bit.
#![expect(clippy::unwrap_used, unsafe_code, reason = "a C caller; and a test ends by a panic")]

mod common;

use std::sync::OnceLock;
use std::{env, fs, ptr};

use common::caller::{Caller, last_error, release, release_buffers, wait_for};
use common::{TILES, device, model};
use device_runtime::compile::compile;
use gemmtree::*;
use half::f16;
use opencl3::types::{cl_event, cl_mem};

const ALPHA: f32 = 1.5;
const BETA: f32 = 0.5;
const ROW_MAJOR: i32 = 101;
const COLUMN_MAJOR: i32 = 102;
const NO: i32 = 111;
const YES: i32 = 112;
const CONJUGATE: i32 = 113;

/// A bundle for all classes, which CLBlast's functions find too; `None` without a device.
fn bundle() -> Option<&'static [u8]> {
    static ONCE: OnceLock<Option<(Vec<u8>, tempfile::NamedTempFile)>> = OnceLock::new();
    let made = ONCE.get_or_init(|| {
        let bytes = compile(&device()?, &model(TILES), &[], |_| {}).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), &bytes).unwrap();
        // SAFETY: every test waits here for the first, and a driver's threads read no such variable.
        unsafe { env::set_var("GEMMTREE_BUNDLE", file.path()) };
        Some((bytes, file))
    });
    made.as_ref().map(|(bytes, _)| bytes.as_slice())
}

/// Where a matrix lies: offset, leading dimension, stride.
#[derive(Clone, Copy, Debug)]
struct Lies {
    offset: usize,
    leading: usize,
    stride: usize,
}

/// A multiplication, whatever function is called for it.
#[derive(Clone, Copy, Debug)]
struct Asked {
    half: bool,
    /// Whether by a function for batches.
    batched: bool,
    layout: i32,
    transposes: [i32; 2],
    sizes: [usize; 3],
    batch: usize,
    matrices: [Lies; 3],
}

impl Asked {
    /// With room beside every row or column, between matrices and before the first.
    fn new(half: bool, batched: bool, layout: i32, transposes: [i32; 2]) -> Self {
        let [m, n, k] = if layout == ROW_MAJOR { [13, 9, 11] } else { [37, 6, 5] };
        let [ta, tb] = transposes;
        let mut matrices = [[m, k], [k, n], [m, n]];
        for (matrix, transpose) in matrices.iter_mut().zip([ta, tb, NO]) {
            if transpose != NO {
                matrix.reverse();
            }
        }
        let mut number = 0;
        let matrices = matrices.map(|[rows, columns]| {
            number += 1;
            let (inner, outer) =
                if layout == ROW_MAJOR { (columns, rows) } else { (rows, columns) };
            let leading = inner + number;
            Lies { offset: 2 * number + 1, leading, stride: leading * outer + number }
        });
        let batch = if batched { 3 } else { 1 };
        Self { half, batched, layout, transposes, sizes: [m, n, k], batch, matrices }
    }

    /// Position of an element of a matrix as it is stored.
    fn at(&self, matrix: usize, batch: usize, [row, column]: [usize; 2]) -> usize {
        let Lies { offset, leading, stride } = self.matrices[matrix];
        let [outer, inner] = if self.layout == ROW_MAJOR { [row, column] } else { [column, row] };
        offset + batch * stride + outer * leading + inner
    }

    /// What C holds afterwards.
    fn expected(&self, a: &[f32], b: &[f32], c: &[f32]) -> Vec<f32> {
        let mut after = c.to_vec();
        let [m, n, k] = self.sizes;
        let stored = |transpose: i32, row: usize, column: usize| {
            if transpose == NO { [row, column] } else { [column, row] }
        };
        for batch in 0..self.batch {
            for row in 0..m {
                for column in 0..n {
                    let products = (0..k).map(|step| {
                        let in_a = stored(self.transposes[0], row, step);
                        let in_b = stored(self.transposes[1], step, column);
                        a[self.at(0, batch, in_a)] * b[self.at(1, batch, in_b)]
                    });
                    let at = self.at(2, batch, [row, column]);
                    after[at] = ALPHA * products.sum::<f32>() + BETA * c[at];
                }
            }
        }
        after
    }

    /// By `gemmtree.h`.
    fn own(&self, caller: &Caller, handle: *mut Handle, [a, b, c]: [cl_mem; 3]) -> (i32, cl_event) {
        let mut event = ptr::null_mut();
        let [ta, tb] = self.transposes;
        let ([m, n, k], [x, y, z]) = (self.sizes, self.matrices);
        let (queue, no_list) = (caller.queue, ptr::null());
        // SAFETY: all that is not null is live.
        let status = unsafe {
            if self.batched {
                let function = if self.half {
                    gemmtree_hgemm_strided_batched
                } else {
                    gemmtree_sgemm_strided_batched
                };
                function(
                    handle,
                    self.layout,
                    ta,
                    tb,
                    m,
                    n,
                    k,
                    ALPHA,
                    a,
                    x.offset,
                    x.leading,
                    x.stride,
                    b,
                    y.offset,
                    y.leading,
                    y.stride,
                    BETA,
                    c,
                    z.offset,
                    z.leading,
                    z.stride,
                    self.batch,
                    queue,
                    0,
                    no_list,
                    &raw mut event,
                )
            } else {
                let function = if self.half { gemmtree_hgemm } else { gemmtree_sgemm };
                function(
                    handle,
                    self.layout,
                    ta,
                    tb,
                    m,
                    n,
                    k,
                    ALPHA,
                    a,
                    x.offset,
                    x.leading,
                    b,
                    y.offset,
                    y.leading,
                    BETA,
                    c,
                    z.offset,
                    z.leading,
                    queue,
                    0,
                    no_list,
                    &raw mut event,
                )
            }
        };
        (status, event)
    }

    /// By `gemmtree_clblast.h`.
    fn clblast(&self, caller: &Caller, [a, b, c]: [cl_mem; 3]) -> (i32, cl_event) {
        let mut event = ptr::null_mut();
        let [ta, tb] = self.transposes;
        let ([m, n, k], [x, y, z]) = (self.sizes, self.matrices);
        let mut queue = caller.queue;
        let queue = &raw mut queue;
        macro_rules! call {
            ($function:ident, $alpha:expr, $beta:expr) => {
                $function(
                    self.layout,
                    ta,
                    tb,
                    m,
                    n,
                    k,
                    $alpha,
                    a,
                    x.offset,
                    x.leading,
                    b,
                    y.offset,
                    y.leading,
                    $beta,
                    c,
                    z.offset,
                    z.leading,
                    queue,
                    &raw mut event,
                )
            };
            (batch $function:ident, $alpha:expr, $beta:expr) => {
                $function(
                    self.layout,
                    ta,
                    tb,
                    m,
                    n,
                    k,
                    $alpha,
                    a,
                    x.offset,
                    x.leading,
                    x.stride,
                    b,
                    y.offset,
                    y.leading,
                    y.stride,
                    $beta,
                    c,
                    z.offset,
                    z.leading,
                    z.stride,
                    self.batch,
                    queue,
                    &raw mut event,
                )
            };
        }
        let [half_alpha, half_beta] = [ALPHA, BETA].map(|one| f16::from_f32(one).to_bits());
        // SAFETY: all that is not null is live.
        let code = unsafe {
            match (self.half, self.batched) {
                (false, false) => call!(CLBlastSgemm, ALPHA, BETA),
                (true, false) => call!(CLBlastHgemm, half_alpha, half_beta),
                (false, true) => call!(batch CLBlastSgemmStridedBatched, ALPHA, BETA),
                (true, true) => call!(batch CLBlastHgemmStridedBatched, half_alpha, half_beta),
            }
        };
        (code, event)
    }
}

/// So many eighths between -1 and 1.
fn eighths(length: usize, seed: usize) -> Vec<f32> {
    (0..length).map(|at| ((at * 7 + at / 5 + seed * 3) % 17) as f32 / 8.0 - 1.0).collect()
}

fn bytes(values: &[f32], half: bool) -> Vec<u8> {
    let one = |value: &f32| {
        if half {
            f16::from_f32(*value).to_ne_bytes().to_vec()
        } else {
            value.to_ne_bytes().to_vec()
        }
    };
    values.iter().flat_map(one).collect()
}

const LENGTH: usize = 2048;

/// Enqueue by `call`, and compare all of C, and what is beside it.
fn compare(caller: &Caller, asked: &Asked, call: impl FnOnce([cl_mem; 3]) -> (i32, cl_event)) {
    let values = [1, 2, 3].map(|seed| eighths(LENGTH, seed));
    let buffers = values.each_ref().map(|values| caller.buffer(&bytes(values, asked.half)));
    let (status, event) = call(buffers);
    assert_eq!(status, 0, "{asked:?}: {}", last_error());
    wait_for(event);
    let [a, b, c] = values;
    let expected = bytes(&asked.expected(&a, &b, &c), asked.half);
    let after = caller.read(buffers[2], expected.len(), &[event]);
    assert!(after == expected, "{asked:?}");
    assert!(after != bytes(&c, asked.half), "{asked:?}");
    release(&[event]);
    release_buffers(&buffers);
}

#[test]
fn all_functions_layouts_and_transposes_agree_with_the_reference() {
    let Some(bundle) = bundle() else { return };
    let caller = Caller::new(0);
    let handle = caller.handle(bundle);
    for half in [false, true] {
        for batched in [false, true] {
            for layout in [ROW_MAJOR, COLUMN_MAJOR] {
                for ta in [NO, YES, CONJUGATE] {
                    for tb in [NO, YES, CONJUGATE] {
                        let mut asked = Asked::new(half, batched, layout, [ta, tb]);
                        compare(&caller, &asked, |buffers| asked.clblast(&caller, buffers));
                        if ta != CONJUGATE && tb != CONJUGATE {
                            compare(&caller, &asked, |buffers| asked.own(&caller, handle, buffers));
                        }
                        if batched {
                            // The same A each time, then the same B.
                            asked.matrices[usize::from(ta == NO)].stride = 0;
                            compare(&caller, &asked, |buffers| asked.clblast(&caller, buffers));
                        }
                    }
                }
            }
        }
    }
    // SAFETY: it is used no more.
    unsafe { gemmtree_destroy(handle) };
    assert_eq!(CLBlastClearCache(), 0);
}

/// A change of a call, with the status of `gemmtree.h` and the code of CLBlast's that it gives.
type Wrong = (&'static str, i32, i32, fn(&mut Asked, &mut [cl_mem; 3]));

/// Bytes of a matrix end where its last row or column does, without room behind.
const WRONG: &[Wrong] = &[
    ("layout", 1, -30, |asked, _| asked.layout = 0),
    ("transpose of A", 1, -30, |asked, _| asked.transposes[0] = 110),
    ("transpose of B", 1, -30, |asked, _| asked.transposes[1] = 114),
    ("m", 0, -1017, |asked, _| asked.sizes[0] = 0),
    ("n", 0, -1017, |asked, _| asked.sizes[1] = 0),
    ("k", 0, -1017, |asked, _| asked.sizes[2] = 0),
    ("leading dimension of A", 2, -1016, |asked, _| asked.matrices[0].leading = 10),
    ("leading dimension of B", 2, -1015, |asked, _| asked.matrices[1].leading = 8),
    ("leading dimension of C", 2, -1014, |asked, _| asked.matrices[2].leading = 8),
    ("no leading dimension", 2, -1016, |asked, _| asked.matrices[0].leading = 0),
    ("no A", 1, -1022, |_, buffers| buffers[0] = ptr::null_mut()),
    ("no B", 1, -1021, |_, buffers| buffers[1] = ptr::null_mut()),
    ("no C", 1, -1020, |_, buffers| buffers[2] = ptr::null_mut()),
    ("offset of A", 3, -1011, |asked, _| asked.matrices[0].offset = LENGTH),
    ("offset of B", 3, -1010, |asked, _| asked.matrices[1].offset = LENGTH),
    ("offset of C", 3, -1009, |asked, _| asked.matrices[2].offset = LENGTH),
    ("offset beyond all numbers", 5, -1011, |asked, _| asked.matrices[0].offset = usize::MAX),
    ("m beyond 32 bits", 5, -1011, |asked, _| asked.sizes[0] = 1 << 40),
    ("the first that is wrong", 2, -1016, |asked, buffers| {
        asked.matrices[0].leading = 10;
        *buffers = [ptr::null_mut(); 3];
    }),
];

/// The same of batches alone.
const WRONG_BATCH: &[Wrong] = &[
    ("batch", 0, -2049, |asked, _| asked.batch = 0),
    ("stride of A", 3, -1011, |asked, _| asked.matrices[0].stride = LENGTH),
    ("stride of B", 3, -1010, |asked, _| asked.matrices[1].stride = LENGTH),
    ("stride of C", 3, -1009, |asked, _| asked.matrices[2].stride = LENGTH),
    ("matrices of C that overlap", 4, -30, |asked, _| asked.matrices[2].stride = 1),
    ("strides beyond all numbers", 5, -1011, |asked, _| asked.matrices[0].stride = usize::MAX),
];

#[test]
fn wrong_arguments_give_their_codes_and_write_nothing() {
    let Some(bundle) = bundle() else { return };
    let caller = Caller::new(0);
    let handle = caller.handle(bundle);
    for half in [false, true] {
        for batched in [false, true] {
            let right = Asked::new(half, batched, ROW_MAJOR, [NO, NO]);
            let before = bytes(&eighths(LENGTH, 1), half);
            let buffers = [(); 3].map(|()| caller.buffer(&before));
            let of_batches = if batched { WRONG_BATCH } else { &[] };
            for (what, status, code, change) in WRONG.iter().chain(of_batches) {
                let (mut asked, mut given) = (right, buffers);
                change(&mut asked, &mut given);
                let (found, event) = asked.clblast(&caller, given);
                assert_eq!(found, *code, "{what} {asked:?}: {}", last_error());
                assert!(event.is_null(), "{what}");
                // Nothing to do is no fault there.
                if *status != 0 {
                    let (found, event) = asked.own(&caller, handle, given);
                    assert_eq!(found, *status, "{what} {asked:?}: {}", last_error());
                    assert!(event.is_null(), "{what}");
                }
            }
            assert!(caller.read(buffers[2], before.len(), &[]) == before);
            let nothing: [fn(&mut Asked); 3] =
                [|asked| asked.sizes[0] = 0, |asked| asked.sizes[1] = 0, |asked| asked.batch = 0];
            for change in nothing.into_iter().take(if batched { 3 } else { 2 }) {
                let mut asked = right;
                change(&mut asked);
                let (found, event) = asked.own(&caller, handle, buffers);
                assert_eq!(found, 0, "{asked:?}: {}", last_error());
                wait_for(event);
                release(&[event]);
            }
            assert!(caller.read(buffers[2], before.len(), &[]) == before);
            let (found, event) = right.own(&caller, ptr::null_mut(), buffers);
            assert_eq!((found, event.is_null()), (1, true), "no handle");
            release_buffers(&buffers);
        }
    }
    // SAFETY: it is used no more.
    unsafe { gemmtree_destroy(handle) };
}
