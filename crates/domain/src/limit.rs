//! How much a target is allowed to do per second.

use std::fmt;
use std::str::FromStr;

use crate::{BytesPerSec, OpsPerSec, QuantityError};

/// A limit in bytes per second, operations per second, or both ("20MiB/s,200op/s").
///
/// The block layer applies both at once: the slower one holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Limit {
    /// At most this many bytes per second.
    pub bytes: Option<BytesPerSec>,
    /// At most this many operations per second.
    pub operations: Option<OpsPerSec>,
}

impl Limit {
    /// Neither bytes nor operations are limited.
    pub const NONE: Limit = Limit { bytes: None, operations: None };

    /// Returns true if nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }
}

impl FromStr for Limit {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut limit = Limit::NONE;
        for part in text.split(',') {
            match part.trim().parse::<OpsPerSec>() {
                Ok(operations) => limit.operations = Some(operations),
                Err(_) => limit.bytes = Some(part.parse::<BytesPerSec>()?),
            }
        }
        Ok(limit)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.bytes, self.operations) {
            (None, None) => f.pad("none"),
            (Some(bytes), None) => f.pad(&bytes.to_string()),
            (None, Some(operations)) => f.pad(&operations.to_string()),
            (Some(bytes), Some(operations)) => f.pad(&format!("{bytes},{operations}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_bytes_operations_or_both() {
        let both: Limit = "20MiB/s,200iops".parse().unwrap();
        assert_eq!(both.bytes, Some(BytesPerSec::new(20 << 20)));
        assert_eq!(both.operations, Some(OpsPerSec::new(200)));
        assert_eq!(both.to_string(), "20MiB/s,200op/s");
        assert_eq!("200op/s".parse::<Limit>().unwrap().bytes, None);
        assert!(Limit::NONE.is_none() && !both.is_none());
        assert!(!"200op/s".parse::<Limit>().unwrap().is_none());
        assert_eq!(Limit::NONE.to_string(), "none");
        assert!("fast".parse::<Limit>().is_err());
        assert!("20MiB".parse::<Limit>().unwrap_err().to_string().contains("MiB/s"));
    }
}
