//! A second CLBlast in one process, with caches and parameters of its own.
//!
//! Loading a copy of the file is not enough: the loader binds symbols of binding `GNU_UNIQUE`,
//! which C++ compilers give to what templates keep, to one object for the whole process. In the
//! copy they are global ones; as it is loaded for itself alone, it then finds its own first.

use std::fs;

use anyhow::{Context, ensure};
use object::elf::{FileHeader64, SHT_DYNSYM, STB_GLOBAL, STB_GNU_UNIQUE, Sym64};
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, LittleEndian};

use crate::peers::library::{self, Found};

/// Where `st_info` lies in a symbol.
const INFO: usize = 4;

/// Load a copy of a library that is loaded already.
pub(super) fn load(first: &Found) -> anyhow::Result<Found> {
    let path = library::mapped(&first.path)
        .with_context(|| format!("`{}` is not among the loaded files", first.path.display()))?;
    let mut bytes = fs::read(&path).with_context(|| format!("`{}`", path.display()))?;
    unbind(&mut bytes).with_context(|| format!("`{}` cannot be loaded twice", path.display()))?;
    let folder = tempfile::tempdir().context("could not make a temporary folder")?;
    let copy = folder.path().join("second.so");
    fs::write(&copy, bytes).context("could not write a copy of the library")?;
    // The loader keeps the file open for as long as it needs it.
    library::find(&[copy], &[], &[])
}

/// Make every unique symbol a global one.
fn unbind(bytes: &mut [u8]) -> anyhow::Result<()> {
    let mut places = Vec::new();
    {
        let header = FileHeader64::<LittleEndian>::parse(&*bytes)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, &*bytes)?;
        let size = size_of::<Sym64<Endianness>>();
        for section in sections.iter().filter(|one| one.sh_type(endian) == SHT_DYNSYM) {
            let (start, length) = section.file_range(endian).context("no dynamic symbols")?;
            let symbols = 0..length as usize / size;
            places.extend(symbols.map(|index| start as usize + index * size + INFO));
        }
    }
    ensure!(!places.is_empty(), "no dynamic symbols");
    for place in places {
        let info = bytes.get_mut(place).context("symbols beyond the end of the file")?;
        if *info >> 4 == STB_GNU_UNIQUE.0 {
            *info = (STB_GLOBAL.0 << 4) | (*info & 0xf);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_binding_of_unique_symbols_changes() {
        let found = library::find(&[], &["libstdc++.so.6"], &[]).unwrap();
        let path = library::mapped(&found.path).unwrap();
        let before = fs::read(path).unwrap();
        let mut after = before.clone();
        unbind(&mut after).unwrap();
        let changed: Vec<_> = before.iter().zip(&after).filter(|(old, new)| old != new).collect();
        assert!(!changed.is_empty());
        assert!(changed.iter().all(|(old, new)| **old >> 4 == 10 && **new == 16 | (**old & 15)));
        assert!(unbind(&mut b"no library".to_vec()).is_err());
    }

    #[test]
    fn a_copy_is_another_library() {
        let first = library::find(&[], &["libm.so.6"], &[]).unwrap();
        let second = load(&first).unwrap();
        // SAFETY: never called.
        #[expect(unsafe_code, reason = "a look-up is unsafe by its signature")]
        let [one, other] = [&first, &second].map(|found| unsafe {
            let function: extern "C" fn() = library::function(found.library, "cosf").unwrap();
            function as usize
        });
        assert_ne!(one, other);
    }
}
