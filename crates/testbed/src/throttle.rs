//! Limits of block devices through cgroup v1, in the files of the root cgroup, where
//! they hold for every process and for direct I/O, fsync and write-back alike.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use plimsoll_domain::{BytesPerSec, Limit, OpsPerSec};
use plimsoll_machine::{DeviceNumber, THROTTLE_FILES};

use crate::error::file_error;
use crate::{Limits, TestbedError};

/// Sets all limits of a device and reads them back. When that fails, the limits
/// that it had before are set again as far as possible.
pub(crate) fn set(
    hierarchy: &Path,
    device: DeviceNumber,
    limits: &Limits,
) -> Result<(), TestbedError> {
    let before = get(hierarchy, device)?;
    set_each(hierarchy, device, limits).inspect_err(|_| {
        // The error to report is the first one.
        let _ = set_each(hierarchy, device, &before);
    })
}

/// Returns the limits that the kernel has for a device.
pub(crate) fn get(hierarchy: &Path, device: DeviceNumber) -> Result<Limits, TestbedError> {
    let mut values = [None; THROTTLE_FILES.len()];
    for (value, file) in values.iter_mut().zip(THROTTLE_FILES) {
        *value = read_rule(&hierarchy.join(file), device)?;
    }
    let [read_bytes, write_bytes, read_operations, write_operations] = values;
    let limit = |bytes: Option<u64>, operations: Option<u64>| Limit {
        bytes: bytes.map(BytesPerSec::new),
        operations: operations.map(OpsPerSec::new),
    };
    let (read, write) = (limit(read_bytes, read_operations), limit(write_bytes, write_operations));
    Ok(Limits { read, write })
}

/// One value for each of [`THROTTLE_FILES`], in their order.
fn values(limits: &Limits) -> [Option<u64>; THROTTLE_FILES.len()] {
    let bytes = |limit: Limit| limit.bytes.map(BytesPerSec::get);
    let operations = |limit: Limit| limit.operations.map(OpsPerSec::get);
    let Limits { read, write } = *limits;
    [bytes(read), bytes(write), operations(read), operations(write)]
}

fn set_each(hierarchy: &Path, device: DeviceNumber, limits: &Limits) -> Result<(), TestbedError> {
    for (value, file) in values(limits).into_iter().zip(THROTTLE_FILES) {
        let path = hierarchy.join(file);
        write_rule(&path, device, value)?;
        let found = read_rule(&path, device)?;
        if found != value {
            let text = |value: Option<u64>| value.map_or("none".to_owned(), |v| v.to_string());
            let (wanted, found) = (text(value), text(found));
            return Err(TestbedError::LimitNotTaken { device, file: path, wanted, found });
        }
    }
    Ok(())
}

/// "MAJOR:MINOR VALUE"; zero removes the rule
/// (Documentation/admin-guide/cgroup-v1/blkio-controller.rst).
fn write_rule(path: &Path, device: DeviceNumber, value: Option<u64>) -> Result<(), TestbedError> {
    let rule = format!("{device} {}\n", value.unwrap_or(0));
    append(path, &rule).map_err(file_error("write the limit to", path))
}

/// Control files take one rule per write. Appending changes nothing for them.
fn append(path: &Path, rule: &str) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.write_all(rule.as_bytes())
}

fn read_rule(path: &Path, device: DeviceNumber) -> Result<Option<u64>, TestbedError> {
    let text = fs::read_to_string(path).map_err(file_error("read the limit from", path))?;
    Ok(rule_in(&text, device))
}

/// Returns the value for a device; the last one counts, and zero is none.
fn rule_in(text: &str, device: DeviceNumber) -> Option<u64> {
    let rule = |line: &str| {
        let (number, value) = line.split_once(' ')?;
        (number.parse() == Ok(device)).then_some(())?;
        value.trim().parse::<u64>().ok()
    };
    text.lines().filter_map(rule).next_back().filter(|value| *value != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOOP7: DeviceNumber = DeviceNumber { major: 7, minor: 7 };

    fn hierarchy() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for file in THROTTLE_FILES {
            fs::write(directory.path().join(file), "7:70 5\n").unwrap();
        }
        directory
    }

    fn limits() -> Limits {
        let write = "20MiB/s,200op/s".parse().unwrap();
        Limits { read: "1GiB/s".parse().unwrap(), write }
    }

    #[test]
    fn what_is_set_is_read_back_and_removed() {
        let tree = hierarchy();
        set(tree.path(), LOOP7, &limits()).unwrap();
        assert_eq!(get(tree.path(), LOOP7).unwrap(), limits());
        let file = tree.path().join("blkio.throttle.write_bps_device");
        assert_eq!(fs::read_to_string(file).unwrap(), "7:70 5\n7:7 20971520\n");
        set(tree.path(), LOOP7, &Limits::NONE).unwrap();
        assert!(get(tree.path(), LOOP7).unwrap().is_none());
    }

    #[test]
    fn a_missing_file_is_an_error_and_changes_nothing() {
        let tree = hierarchy();
        fs::remove_file(tree.path().join("blkio.throttle.write_iops_device")).unwrap();
        let error = set(tree.path(), LOOP7, &limits()).unwrap_err().to_string();
        assert!(error.contains("write_iops_device"), "{error}");
        let file = tree.path().join("blkio.throttle.read_bps_device");
        assert_eq!(rule_in(&fs::read_to_string(file).unwrap(), LOOP7), None);
    }

    #[test]
    fn a_value_that_the_kernel_cut_is_noticed() {
        let tree = hierarchy();
        let file = tree.path().join("blkio.throttle.read_bps_device");
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/dev/null", &file).unwrap();
        let error = set(tree.path(), LOOP7, &limits()).unwrap_err().to_string();
        assert!(error.contains("set 1073741824, read back none"), "{error}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(7:7|[0-9: \n]|.){0,60}") {
            rule_in(&text, LOOP7);
        }
    }
}
