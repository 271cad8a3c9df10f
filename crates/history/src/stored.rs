//! Days and components in files that programs of ours hand each other.

use plimsoll_stored::{Malformed, Reader, Stored};

use crate::{Component, ComponentKind, Day};

/// By its number since 1970.
impl Stored for Day {
    fn put(&self, out: &mut Vec<u8>) {
        (self.start() / Day::MILLIS).put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let number = u32::get(from)?;
        Ok(Day::ending_at(u64::from(number) * Day::MILLIS + 1))
    }
}

impl Stored for Component {
    fn put(&self, out: &mut Vec<u8>) {
        let Component { kind, cluster, file_system, name, job } = self;
        kind.name().to_string().put(out);
        [cluster, file_system, name, job].into_iter().for_each(|text| text.put(out));
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let kind = ComponentKind::named(&String::get(from)?).ok_or(Malformed)?;
        let [cluster, file_system, name, job] = Stored::get(from)?;
        Ok(Component { kind, cluster, file_system, name, job })
    }
}
