//! How a file lies on targets.

use std::fmt;

use plimsoll_domain::Bytes;
use serde::{Deserialize, Serialize};

use crate::Stripe;

/// How a file lies on the targets of Lustre.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileLayout {
    /// Index of each target, in the order of the stripes.
    pub targets: Vec<u32>,
    /// Bytes before the next target follows.
    pub stripe_size: Bytes,
}

impl FileLayout {
    pub(crate) fn is(&self, wanted: Stripe) -> bool {
        self.targets.first() == Some(&u32::from(wanted.first))
            && self.targets.len() == usize::from(wanted.count)
            && self.stripe_size == wanted.size
    }

    pub(crate) fn shown(layout: Option<&Self>) -> String {
        layout.map_or_else(|| "no plain stripes".to_owned(), ToString::to_string)
    }
}

impl fmt::Display for FileLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} stripes of {} on targets ", self.targets.len(), self.stripe_size)?;
        let targets: Vec<String> = self.targets.iter().map(ToString::to_string).collect();
        f.write_str(&targets.join(","))
    }
}
