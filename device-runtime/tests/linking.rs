//! The program finds OpenCL when it runs: it must start on machines that have none.

use object::read::elf::{Dyn, FileHeader};
use object::{Endianness, elf};

#[test]
fn no_opencl_library_is_needed_at_link_time() {
    let bytes = std::fs::read(env!("CARGO_BIN_EXE_gemmtree-board")).unwrap();
    let header = elf::FileHeader64::<Endianness>::parse(&*bytes).unwrap();
    let endian = header.endian().unwrap();
    let sections = header.sections(endian, &*bytes).unwrap();
    let (entries, strings) = sections.dynamic(endian, &*bytes).unwrap().unwrap();
    let strings = sections.strings(endian, &*bytes, strings).unwrap();
    let needed: Vec<String> = entries
        .iter()
        .filter(|entry| entry.d_tag(endian) == elf::DT_NEEDED)
        .map(|entry| String::from_utf8_lossy(entry.string(endian, strings).unwrap()).into_owned())
        .collect();
    assert!(needed.iter().any(|name| name.starts_with("libc.so")), "{needed:?}");
    for name in needed {
        let lower = name.to_lowercase();
        assert!(!lower.contains("opencl") && !lower.contains("mali"), "{name}");
    }
}
