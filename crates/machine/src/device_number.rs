//! Numbers of block devices as the kernel writes them, "7:0".

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The major and minor number of a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// Which driver; 7 is the loop driver (Documentation/admin-guide/devices.txt).
    pub major: u32,
    /// Which device of that driver.
    pub minor: u32,
}

/// The text is not a device number.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not a device number like 7:0")]
pub struct DeviceNumberError(String);

impl FromStr for DeviceNumber {
    type Err = DeviceNumberError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |part: &str| part.parse::<u32>().ok();
        text.trim()
            .split_once(':')
            .and_then(|(major, minor)| Some((number(major)?, number(minor)?)))
            .map(|(major, minor)| Self { major, minor })
            .ok_or_else(|| DeviceNumberError(text.to_owned()))
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints() {
        let number: DeviceNumber = "259:12\n".parse().unwrap();
        assert_eq!(number, DeviceNumber { major: 259, minor: 12 });
        assert_eq!(number.to_string(), "259:12");
        assert!("7".parse::<DeviceNumber>().is_err());
        assert!("7:x".parse::<DeviceNumber>().unwrap_err().to_string().contains("7:x"));
    }
}
