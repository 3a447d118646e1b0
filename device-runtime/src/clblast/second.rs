//! A second CLBlast in one process, with caches and parameters of its own.
//!
//! Loading a copy of the file is not enough: the loader binds symbols of binding `GNU_UNIQUE`,
//! which C++ compilers give to what templates keep, to one object for the whole process. In the
//! copy they are global ones; as it is loaded for itself alone, it then finds its own first.

use std::fs;

use object::elf::{FileHeader64, SHT_DYNSYM, STB_GLOBAL, STB_GNU_UNIQUE, Sym64};
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, LittleEndian};

use super::ClblastError;
use crate::shared_library::{self, Found};

/// Where `st_info` lies in a symbol.
const INFO: usize = 4;

/// Load a copy of a library that is loaded already.
///
/// # Errors
/// [`ClblastError::Copy`] says what of it cannot be done.
pub(super) fn load(first: &Found) -> Result<Found, ClblastError> {
    let failed =
        |why: &dyn ToString| ClblastError::Copy { path: first.path.clone(), why: why.to_string() };
    let path = shared_library::mapped(&first.path);
    let path = path.ok_or_else(|| failed(&"it is not among the loaded files"))?;
    let mut bytes = fs::read(path).map_err(|error| failed(&error))?;
    unbind(&mut bytes).map_err(|why| failed(&why))?;
    let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
    let copy = folder.path().join("second.so");
    fs::write(&copy, bytes).map_err(|error| failed(&error))?;
    // The loader keeps the file open for as long as it needs it.
    Ok(shared_library::find(&[copy], &[], &[])?)
}

/// Make every unique symbol a global one.
///
/// # Errors
/// The bytes are not those of a library with symbols.
fn unbind(bytes: &mut [u8]) -> Result<(), &'static str> {
    let places = infos(bytes).map_err(|_| "it is not a library of 64 bits")?;
    if places.is_empty() {
        return Err("it has no dynamic symbols");
    }
    for place in places {
        let info = bytes.get_mut(place).ok_or("its symbols lie beyond its end")?;
        if *info >> 4 == STB_GNU_UNIQUE.0 {
            *info = (STB_GLOBAL.0 << 4) | (*info & 0xf);
        }
    }
    Ok(())
}

/// Where the binding of each dynamic symbol is written.
fn infos(bytes: &[u8]) -> object::Result<Vec<usize>> {
    let header = FileHeader64::<LittleEndian>::parse(bytes)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, bytes)?;
    let size = size_of::<Sym64<Endianness>>();
    let mut places = Vec::new();
    for section in sections.iter().filter(|one| one.sh_type(endian) == SHT_DYNSYM) {
        let Some((start, length)) = section.file_range(endian) else { continue };
        let symbols = 0..length as usize / size;
        places.extend(symbols.map(|index| start as usize + index * size + INFO));
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_binding_of_unique_symbols_changes() {
        let found = shared_library::find(&[], &["libstdc++.so.6"], &[]).unwrap();
        let path = shared_library::mapped(&found.path).unwrap();
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
        let first = shared_library::find(&[], &["libm.so.6"], &[]).unwrap();
        let second = load(&first).unwrap();
        // SAFETY: never called.
        #[expect(unsafe_code, reason = "a look-up is unsafe by its signature")]
        let [one, other] = [&first, &second].map(|found| unsafe {
            let function: extern "C" fn() =
                shared_library::function(found.library, "cosf").unwrap();
            function as usize
        });
        assert_ne!(one, other);
    }
}
