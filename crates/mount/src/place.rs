//! Where a file is below the directory that is mounted, and what it was when the kernel was told of it.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// What a file is, whatever its name: device and number there.
pub type Identity = (u64, u64);

/// Directories inside of each other. A path has no more names than this (PATH_MAX in limits.h, each with a slash), and each of them
/// is opened anew whenever the kernel asks for what is below.
const DEPTH_MAX: usize = 2048;

/// The names that lead to a file from the directory that is mounted, and what was there. The kernel's permission is for that, and
/// not for what somebody has put there since.
#[derive(Debug)]
pub struct Place {
    /// The directory above and the name in it; `None` for the directory that is mounted.
    step: Option<(Arc<Place>, OsString)>,
    identity: Identity,
    depth: usize,
}

impl Place {
    /// The directory that is mounted.
    pub fn root(identity: Identity) -> Self {
        Place { step: None, identity, depth: 0 }
    }

    /// Returns the place of what was found at a name in this directory; `None` if it is too deep.
    pub fn below(self: &Arc<Self>, name: &OsStr, identity: Identity) -> Option<Self> {
        let step = Some((self.clone(), name.to_os_string()));
        let depth = self.depth + 1;
        (depth <= DEPTH_MAX).then_some(Place { step, identity, depth })
    }

    /// Returns the directory above and the name in it; `None` for the directory that is mounted.
    pub fn step(&self) -> Option<(&Arc<Place>, &OsStr)> {
        self.step.as_ref().map(|(above, name)| (above, name.as_os_str()))
    }

    /// Returns what was there.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Returns the places from the one below the directory that is mounted to this one.
    pub fn way(&self) -> Vec<&Place> {
        let mut way = Vec::with_capacity(self.depth);
        let mut at = self;
        while let Some((above, _)) = at.step() {
            way.push(at);
            at = above;
        }
        way.reverse();
        way
    }
}

/// One after the other: each inside of the drop of the one below would take more stack the deeper it is.
impl Drop for Place {
    fn drop(&mut self) {
        let mut above = self.step.take();
        while let Some((place, _)) = above {
            above = Arc::into_inner(place).and_then(|mut it| it.step.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_deep_has_no_place() {
        let mut place = Arc::new(Place::root((1, 1)));
        for level in 0..DEPTH_MAX as u64 {
            place = Arc::new(place.below(OsStr::new("d"), (1, level + 2)).unwrap());
        }
        assert!(place.below(OsStr::new("d"), (1, 0)).is_none());
        let way = place.way();
        assert_eq!(way.len(), DEPTH_MAX);
        assert_eq!((way[0].identity(), way[DEPTH_MAX - 1].identity()), ((1, 2), place.identity()));
    }
}
