//! Reading whole files, but no more than a limit.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// Most bytes of a data set, and of a file that is read before it is replaced; after unpacking.
pub(crate) const LARGEST: u64 = 1 << 30;

/// A file has more bytes than are read.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("larger than {mebibytes} MiB, which is the most that is read")]
pub struct TooLarge {
    /// The most that is read.
    pub mebibytes: u64,
}

/// The bytes of the file at `path`, unpacked if they are gzip.
///
/// # Errors
/// What the file system or the unpacking says; [`TooLarge`] in an error of that kind, if there are
/// more than `largest` bytes.
pub fn read_unpacked(path: &Path, largest: u64) -> io::Result<Vec<u8>> {
    unpacked(fs::File::open(path)?, largest)?.ok_or_else(|| too_large(largest))
}

/// The bytes of the file at `path`.
///
/// # Errors
/// What the file system says; [`TooLarge`] in an error of that kind, if there are more than
/// `largest` bytes.
pub fn read(path: &Path, largest: u64) -> io::Result<Vec<u8>> {
    all_of(fs::File::open(path)?, largest)?.ok_or_else(|| too_large(largest))
}

fn too_large(largest: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, TooLarge { mebibytes: largest >> 20 })
}

/// All that `packed` or plain bytes hold, or nothing if that is more than `largest` bytes.
pub(crate) fn unpacked(packed: impl Read, largest: u64) -> io::Result<Option<Vec<u8>>> {
    match all_of(packed, largest)? {
        Some(bytes) if bytes.starts_with(&[0x1f, 0x8b]) => {
            all_of(MultiGzDecoder::new(&bytes[..]), largest)
        }
        plain => Ok(plain),
    }
}

fn all_of(from: impl Read, largest: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    from.take(largest + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= largest).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_larger_than_the_limit_is_refused_by_that_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large");
        fs::write(&path, vec![b'x'; (1 << 20) + 1]).unwrap();
        assert_eq!(read(&path, (1 << 20) + 1).unwrap().len(), (1 << 20) + 1);
        let error = read(&path, 1 << 20).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(error.to_string(), "larger than 1 MiB, which is the most that is read");
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&fs::read(&path).unwrap()).unwrap();
        fs::write(&path, packed.finish().unwrap()).unwrap();
        assert!(read(&path, 1 << 20).is_ok());
        assert_eq!(read_unpacked(&path, 2 << 20).unwrap().len(), (1 << 20) + 1);
        assert!(read_unpacked(&path, 1 << 20).unwrap_err().to_string().contains("1 MiB"));
    }

    #[test]
    fn a_file_that_is_too_large_even_when_unpacked_is_not_kept() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&[b' '; 5000]).unwrap();
        let packed = packed.finish().unwrap();
        assert!(packed.len() < 1000);
        assert_eq!(unpacked(&packed[..], 1000).unwrap(), None);
        assert_eq!(unpacked(&packed[..], 5000).unwrap().map(|bytes| bytes.len()), Some(5000));
        assert_eq!(unpacked(&[b' '; 11][..], 10).unwrap(), None);
        assert!(unpacked(&packed[..packed.len() - 9], 5000).is_err());
    }
}
