//! The engines of a thread, by context and device.
//!
//! An engine holds its context, so that no other context can have the address that it is known by. Only the
//! engines used last are kept: a program that makes contexts again and again does not grow.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use super::bundles;
use crate::engine::{Engine, Home};
use crate::status::Failure;

/// Engines that a thread keeps.
const KEPT: usize = 8;

/// How often the caches were cleared.
static CLEARED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static CACHE: RefCell<Cache<Home, Engine>> = const { RefCell::new(Cache::new()) };
}

/// Do something with this thread's engine of `home`, which is made if need be.
///
/// # Errors
/// No engine can be made; or those of `work`.
pub(super) fn with<T>(
    home: Home,
    work: impl FnOnce(&mut Engine) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut engine = match in_cache(|cache| cache.take(home))? {
        Some(engine) => engine,
        None => bundles::engine(home)?,
    };
    // After a panic it is not put back.
    let done = work(&mut engine);
    let _evicted = in_cache(|cache| cache.put(home, engine))?;
    done
}

/// Drop the engines of this thread now, and those of others at their next call; bundles are looked for anew.
///
/// # Errors
/// The thread is ending.
pub(super) fn clear() -> Result<(), Failure> {
    CLEARED.fetch_add(1, Ordering::Relaxed);
    bundles::forget();
    in_cache(|_| ())
}

/// Drops happen outside, since a driver may call back.
fn in_cache<T>(work: impl FnOnce(&mut Cache<Home, Engine>) -> T) -> Result<T, Failure> {
    let gone = || Failure::Panicked("the thread is ending, or its kernels are in use".to_owned());
    let (done, _stale) = CACHE
        .try_with(|cache| {
            let mut cache = cache.try_borrow_mut().map_err(|_| gone())?;
            let stale = cache.refresh(CLEARED.load(Ordering::Relaxed));
            Ok::<_, Failure>((work(&mut cache), stale))
        })
        .map_err(|_| gone())??;
    Ok(done)
}

/// Values by key, the one used last at the end.
struct Cache<K, V> {
    cleared: u64,
    entries: Vec<(K, V)>,
}

impl<K: Eq, V> Cache<K, V> {
    const fn new() -> Self {
        Self { cleared: 0, entries: Vec::new() }
    }

    /// Give up what was kept before the caches were cleared for the last time.
    fn refresh(&mut self, cleared: u64) -> Vec<(K, V)> {
        if self.cleared == cleared {
            return Vec::new();
        }
        self.cleared = cleared;
        std::mem::take(&mut self.entries)
    }

    fn take(&mut self, key: K) -> Option<V> {
        let at = self.entries.iter().rposition(|(one, _)| *one == key)?;
        Some(self.entries.remove(at).1)
    }

    /// What had to go.
    fn put(&mut self, key: K, value: V) -> Option<(K, V)> {
        let evicted = (self.entries.len() >= KEPT).then(|| self.entries.remove(0));
        self.entries.push((key, value));
        evicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_used_last_are_kept_until_the_caches_are_cleared() {
        let mut cache = Cache::new();
        for key in 0..KEPT {
            assert_eq!(cache.put(key, key), None);
        }
        let first = cache.take(0).unwrap();
        assert_eq!(cache.put(0, first), None);
        assert_eq!(cache.put(KEPT, KEPT), Some((1, 1)));
        assert_eq!(cache.take(1), None);
        assert_eq!(cache.take(0), Some(0));
        assert_eq!(cache.entries.len(), KEPT - 1);
        assert!(cache.refresh(0).is_empty());
        assert_eq!(cache.refresh(1).len(), KEPT - 1);
        assert_eq!(cache.take(2), None);
        assert!(cache.refresh(1).is_empty());
    }
}
