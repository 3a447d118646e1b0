//! What `--version` says: the program, the model format and the kernel space.

use std::sync::LazyLock;

static TEXT: LazyLock<String> = LazyLock::new(|| {
    let (major, minor) = selector_core::FORMAT_VERSION;
    let (version, space) = (env!("CARGO_PKG_VERSION"), kernels::space::hash());
    format!("{version} (model format {major}.{minor}, kernel space {space:016x})")
});

/// The version of everything that files depend on.
pub(crate) fn text() -> &'static str {
    &TEXT
}
