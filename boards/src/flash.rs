//! Replace a board's bundle so that a whole one is in place at every moment.
//!
//! The new one is written beside the old one, read back and compared, the old one is kept under
//! another name, and only then does one rename put the new one in its place.

use kernels::bundle::{Bundle, BundleError};

use crate::Digest;
use crate::reach::{Reach, ReachError};

/// The bundle that the board's runtime loads.
pub const CURRENT: &str = "current.gtb";
/// The one before it.
pub const PREVIOUS: &str = "previous.gtb";

/// What was done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Flashed {
    /// Digest of the new bundle, as read back.
    pub digest: Digest,
    /// Digest of the old one, now [`PREVIOUS`], if there was one.
    pub previous: Option<Digest>,
}

/// Why nothing was replaced. The old bundle is in place, whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FlashError {
    /// What should be sent is not a bundle.
    #[error("nothing was sent")]
    Bundle(#[from] BundleError),
    /// What arrived is not what was sent.
    #[error("`{file}` arrived damaged: sent {sent}, the board reads {read}; nothing was replaced")]
    Damaged {
        /// The file.
        file: String,
        /// Digest of what was sent.
        sent: Digest,
        /// Digest of what the board reads.
        read: Digest,
    },
    /// The board did not do something.
    #[error("nothing was replaced")]
    Reach(#[from] ReachError),
}

/// Check `bundle` and put it in the place of the board's current one.
///
/// # Errors
/// [`FlashError`]; the old bundle is then still in place.
pub fn flash(reach: &dyn Reach, bundle: &[u8]) -> Result<Flashed, FlashError> {
    Bundle::parse(bundle)?;
    let temporary = send(reach, CURRENT, bundle)?;
    let kept = keep_current(reach).and_then(|previous| {
        reach.rename(&temporary, CURRENT)?;
        Ok(previous)
    });
    let previous = or_remove(reach, &temporary, kept)?;
    Ok(Flashed { digest: Digest::of(bundle), previous })
}

/// Put a file on the board at once: it has either its old content or all of the new one.
///
/// # Errors
/// [`FlashError`]; a file of that name is then as it was.
pub fn deliver(reach: &dyn Reach, file: &str, bytes: &[u8]) -> Result<(), FlashError> {
    let temporary = send(reach, file, bytes)?;
    let renamed = reach.rename(&temporary, file).map_err(FlashError::from);
    or_remove(reach, &temporary, renamed)
}

/// Send a file under a temporary name, which is returned, and compare what arrived.
fn send(reach: &dyn Reach, file: &str, bytes: &[u8]) -> Result<String, FlashError> {
    let temporary = temporary_name(file);
    let sent = Digest::of(bytes);
    let arrived = reach.put(&temporary, bytes).and_then(|()| reach.digest(&temporary));
    let compared = match arrived {
        Ok(read) if read == sent => Ok(()),
        Ok(read) => Err(FlashError::Damaged { file: file.to_owned(), sent, read }),
        Err(error) => Err(error.into()),
    };
    or_remove(reach, &temporary, compared).map(|()| temporary)
}

/// Make the current bundle the previous one as well, whole at every moment.
fn keep_current(reach: &dyn Reach) -> Result<Option<Digest>, FlashError> {
    if !reach.exists(CURRENT)? {
        return Ok(None);
    }
    let temporary = temporary_name(PREVIOUS);
    let kept = copy_whole(reach, &temporary).and_then(|digest| {
        reach.rename(&temporary, PREVIOUS)?;
        Ok(Some(digest))
    });
    or_remove(reach, &temporary, kept)
}

fn copy_whole(reach: &dyn Reach, to: &str) -> Result<Digest, FlashError> {
    let sent = reach.digest(CURRENT)?;
    reach.copy(CURRENT, to)?;
    let read = reach.digest(to)?;
    if read == sent {
        Ok(sent)
    } else {
        Err(FlashError::Damaged { file: PREVIOUS.to_owned(), sent, read })
    }
}

/// After a failure, take away what was left under a temporary name, if the board still answers.
fn or_remove<T>(
    reach: &dyn Reach,
    temporary: &str,
    result: Result<T, FlashError>,
) -> Result<T, FlashError> {
    if result.is_err() {
        // The failure that matters is the first one.
        let _unreachable = reach.remove(temporary);
    }
    result
}

/// Two hosts that send at once must not write into each other's files.
fn temporary_name(file: &str) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanoseconds = now.map_or(0, |time| time.as_nanos());
    format!(".{file}.{:x}-{nanoseconds:x}.new", std::process::id())
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeMap;
    use std::io;
    use std::sync::atomic::AtomicBool;

    use kernels::Configuration;
    use kernels::bundle::{self, DriverKey};
    use selector_core::{
        KernelId, Leaf, Loss, ModelSource, ProblemClass, Samples, Tree, TreeSource,
    };

    use super::*;
    use crate::reach::{Exit, Line};

    /// What goes wrong.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Fault {
        /// A written file gets 60 % of its bytes, and from then on nothing answers.
        Dropped,
        /// A written file gets 60 % of its bytes; the rest of the board goes on working.
        Full,
        /// A written file gets a wrong byte, and nobody notices.
        Flipped,
    }

    /// A board in memory on which the step number `at` goes wrong.
    struct Fake {
        files: RefCell<BTreeMap<String, Vec<u8>>>,
        fault: Fault,
        at: usize,
        step: Cell<usize>,
        gone: Cell<bool>,
    }

    impl Fake {
        fn new(fault: Fault, at: usize, files: &[(&str, &[u8])]) -> Self {
            let owned = |(name, bytes): &(&str, &[u8])| ((*name).to_owned(), bytes.to_vec());
            let files = RefCell::new(files.iter().map(owned).collect());
            Self { files, fault, at, step: Cell::new(0), gone: Cell::new(false) }
        }

        fn file(&self, name: &str) -> Option<Vec<u8>> {
            self.files.borrow().get(name).cloned()
        }

        /// One step; whether it goes wrong.
        fn step(&self) -> bool {
            let step = self.step.replace(self.step.get() + 1);
            step == self.at
        }

        fn error(&self, what: &str) -> ReachError {
            let source = io::Error::from(match self.fault {
                Fault::Dropped => io::ErrorKind::BrokenPipe,
                _ => io::ErrorKind::StorageFull,
            });
            ReachError::Failed { what: what.to_owned(), place: "fake".to_owned(), source }
        }

        fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ReachError> {
            let wrong = self.check("write")?;
            let mut written = bytes.to_vec();
            match (wrong, self.fault) {
                (false, _) => {}
                (true, Fault::Flipped) => written[0] ^= 1,
                (true, _) => written.truncate(bytes.len() * 6 / 10),
            }
            self.files.borrow_mut().insert(name.to_owned(), written);
            if wrong && self.fault != Fault::Flipped { Err(self.error("write")) } else { Ok(()) }
        }

        /// A step that only a dropped connection can fail, apart from writing.
        fn check(&self, what: &str) -> Result<bool, ReachError> {
            let wrong = self.step();
            if self.gone.get() {
                return Err(self.error(what));
            }
            if wrong && self.fault == Fault::Dropped {
                self.gone.set(true);
                if what != "write" {
                    return Err(self.error(what));
                }
            }
            Ok(wrong)
        }
    }

    impl Reach for Fake {
        fn place(&self) -> String {
            "fake".to_owned()
        }
        fn put(&self, file: &str, bytes: &[u8]) -> Result<(), ReachError> {
            self.write(file, bytes)
        }
        fn get(&self, file: &str) -> Result<Vec<u8>, ReachError> {
            self.check("read")?;
            self.file(file).ok_or_else(|| self.error("read"))
        }
        fn digest(&self, file: &str) -> Result<Digest, ReachError> {
            Ok(Digest::of(&self.get(file)?))
        }
        fn copy(&self, from: &str, to: &str) -> Result<(), ReachError> {
            let bytes = self.file(from).unwrap();
            self.write(to, &bytes)
        }
        fn rename(&self, from: &str, to: &str) -> Result<(), ReachError> {
            self.check("rename")?;
            let bytes = self.files.borrow_mut().remove(from).unwrap();
            self.files.borrow_mut().insert(to.to_owned(), bytes);
            Ok(())
        }
        fn remove(&self, file: &str) -> Result<(), ReachError> {
            self.check("remove")?;
            self.files.borrow_mut().remove(file);
            Ok(())
        }
        fn exists(&self, file: &str) -> Result<bool, ReachError> {
            self.check("look")?;
            Ok(self.file(file).is_some())
        }
        fn run(
            &self,
            _: &[String],
            _: &AtomicBool,
            _: &mut dyn FnMut(Line<'_>),
        ) -> Result<Exit, ReachError> {
            Err(self.error("run"))
        }
    }

    fn bundle() -> Vec<u8> {
        let class = ProblemClass::F32_NN;
        let leaf = Leaf::new(&[KernelId(0)], Loss::UNKNOWN, Loss::UNKNOWN, Samples::new(1));
        let source = ModelSource {
            device: "device",
            driver: "1",
            method: "test",
            space: None,
            score: None,
            kernels: Vec::new(),
            trees: vec![Tree::Leaf(leaf)],
            classes: vec![TreeSource { class, measured_as: class, tree: 0 }],
        };
        let text = |text: &str| text.to_owned();
        let key = DriverKey {
            platform: text("p"),
            vendor: text("v"),
            device: text("d"),
            compute_units: 1,
            driver: text("1"),
            space: 7,
        };
        let program = (Configuration::universal().program(class).name, vec![1, 2, 3]);
        bundle::write(&key, &source.encode().unwrap(), &[program]).unwrap()
    }

    const OLD: &[u8] = b"the old bundle";
    const OLDER: &[u8] = b"the one before";
    const NEVER: usize = usize::MAX;

    #[test]
    fn the_new_bundle_is_in_place_and_the_old_one_is_kept() {
        let new = bundle();
        let board = Fake::new(Fault::Full, NEVER, &[(CURRENT, OLD), (PREVIOUS, OLDER)]);
        let flashed = flash(&board, &new).unwrap();
        assert_eq!(flashed.digest, Digest::of(&new));
        assert_eq!(flashed.previous, Some(Digest::of(OLD)));
        let files = board.files.into_inner();
        let expected = [(CURRENT, &new[..]), (PREVIOUS, OLD)];
        let expected = expected.map(|(name, bytes)| (name.to_owned(), bytes.to_vec()));
        assert_eq!(files, BTreeMap::from(expected));
    }

    #[test]
    fn the_first_bundle_has_none_before_it() {
        let board = Fake::new(Fault::Full, NEVER, &[]);
        assert_eq!(flash(&board, &bundle()).unwrap().previous, None);
        assert_eq!(board.files.borrow().len(), 1);
    }

    #[test]
    fn whatever_goes_wrong_at_whatever_step_a_whole_bundle_is_in_place() {
        let new = bundle();
        for fault in [Fault::Dropped, Fault::Full, Fault::Flipped] {
            let mut failures = 0;
            let steps = (0..).find(|at| {
                let board = Fake::new(fault, *at, &[(CURRENT, OLD), (PREVIOUS, OLDER)]);
                let result = flash(&board, &new);
                let (current, previous) = (board.file(CURRENT), board.file(PREVIOUS));
                let expected = if result.is_ok() { &new[..] } else { OLD };
                assert_eq!(current.as_deref(), Some(expected), "{fault:?} at {at}");
                let previous = previous.unwrap();
                assert!(previous == OLD || previous == OLDER, "{fault:?} at {at}");
                if fault != Fault::Dropped {
                    assert_eq!(board.files.borrow().len(), 2, "{fault:?} at {at}");
                }
                failures += usize::from(result.is_err());
                board.step.get() <= *at
            });
            // Every step matters to a connection; a full disk and a wrong byte, to two writes.
            let expected = if fault == Fault::Dropped { 8 } else { 2 };
            assert_eq!(failures, expected, "{fault:?}");
            assert_eq!(steps, Some(8), "{fault:?}");
        }
    }

    #[test]
    fn a_damaged_copy_is_named_with_both_digests() {
        let board = Fake::new(Fault::Flipped, 0, &[(CURRENT, OLD)]);
        let error = flash(&board, &bundle()).unwrap_err();
        assert!(matches!(&error, FlashError::Damaged { sent, read, .. } if sent != read));
        assert!(error.to_string().contains("arrived damaged"), "{error}");
    }

    #[test]
    fn what_is_not_a_bundle_is_not_sent() {
        let board = Fake::new(Fault::Full, NEVER, &[]);
        let mut damaged = bundle();
        damaged.pop();
        for bytes in [&damaged[..], b"", b"#!/bin/sh"] {
            assert!(matches!(flash(&board, bytes), Err(FlashError::Bundle(_))));
        }
        assert_eq!(board.step.get(), 0);
    }

    #[test]
    fn a_delivered_file_is_old_or_new() {
        for at in 0..3 {
            let board = Fake::new(Fault::Dropped, at, &[("plan.csv", OLD)]);
            assert!(deliver(&board, "plan.csv", b"new").is_err(), "at {at}");
            assert_eq!(board.file("plan.csv").as_deref(), Some(OLD), "at {at}");
        }
        let board = Fake::new(Fault::Dropped, NEVER, &[("plan.csv", OLD)]);
        deliver(&board, "plan.csv", b"new").unwrap();
        assert_eq!(board.file("plan.csv").as_deref(), Some(&b"new"[..]));
    }
}
