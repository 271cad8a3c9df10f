//! The parameters that are read, and which reader each has.

/// What a parameter's text is, and so which reader it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Content {
    /// Operations, for [`crate::stats`].
    Stats,
    /// Histograms, for [`crate::brw_stats`].
    Histograms,
    /// Jobs, for [`crate::job_stats`].
    Jobs,
    /// For [`crate::Recovery`].
    Recovery,
    /// For [`crate::Health`].
    Health,
    /// For [`crate::Import`].
    Import,
    /// One number, for [`crate::number`].
    Number,
    /// For [`crate::LnetCounters`].
    Lnet,
    /// A table of LNet's, for [`crate::lnet_table`].
    LnetTable,
}

/// A parameter that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// The part of Lustre, e.g. "obdfilter"; empty for those of the whole node.
    pub component: &'static str,
    /// The name, e.g. "stats".
    pub leaf: &'static str,
    /// What it is.
    pub content: Content,
    /// What it says, in words.
    pub says: &'static str,
}

const fn row(
    component: &'static str,
    leaf: &'static str,
    content: Content,
    says: &'static str,
) -> Parameter {
    Parameter { component, leaf, content, says }
}

/// All parameters that are read. docs/monitoring.md has the same list.
pub const PARAMETERS: &[Parameter] = &[
    row("", "health_check", Content::Health, "whether Lustre works on this node"),
    row("", "memused", Content::Number, "memory that Lustre uses, in bytes"),
    row("", "lnet_memused", Content::Number, "memory that LNet uses, in bytes"),
    row("obdfilter", "stats", Content::Stats, "bytes and operations of an OST"),
    row(
        "obdfilter",
        "brw_stats",
        Content::Histograms,
        "an OST's requests and disk I/O (until 2.3)",
    ),
    row("obdfilter", "job_stats", Content::Jobs, "what each job did on an OST"),
    row("obdfilter", "recovery_status", Content::Recovery, "how far an OST's recovery is"),
    row("obdfilter", "degraded", Content::Number, "whether an OST's RAID is being rebuilt"),
    row("obdfilter", "num_exports", Content::Number, "connections to an OST"),
    row("obdfilter", "tot_dirty", Content::Number, "bytes that clients hold for an OST"),
    row("obdfilter", "tot_granted", Content::Number, "bytes that an OST has granted to clients"),
    row("obdfilter", "tot_pending", Content::Number, "granted bytes on their way to an OST"),
    row("obdfilter", "eviction_count", Content::Number, "clients that an OST threw out"),
    row("obdfilter", "kbytestotal", Content::Number, "an OST's size in KiB"),
    row("obdfilter", "kbytesfree", Content::Number, "an OST's free KiB"),
    row("obdfilter", "kbytesavail", Content::Number, "an OST's free KiB without root's reserve"),
    row("obdfilter", "filestotal", Content::Number, "objects that an OST can hold"),
    row("obdfilter", "filesfree", Content::Number, "objects that it can still take"),
    row("osd-ldiskfs", "stats", Content::Stats, "the cache of a target"),
    row("osd-ldiskfs", "brw_stats", Content::Histograms, "a target's requests and disk I/O"),
    row("osd-ldiskfs", "kbytestotal", Content::Number, "a target's size in KiB"),
    row("osd-ldiskfs", "kbytesfree", Content::Number, "a target's free KiB"),
    row(
        "osd-ldiskfs",
        "kbytesavail",
        Content::Number,
        "a target's free KiB without root's reserve",
    ),
    row("osd-ldiskfs", "filestotal", Content::Number, "files that a target can hold"),
    row("osd-ldiskfs", "filesfree", Content::Number, "files that it can still take"),
    row("osd-zfs", "stats", Content::Stats, "the cache of a target"),
    row("osd-zfs", "brw_stats", Content::Histograms, "a target's requests and disk I/O"),
    row("osd-zfs", "kbytestotal", Content::Number, "a target's size in KiB"),
    row("osd-zfs", "kbytesfree", Content::Number, "a target's free KiB"),
    row("osd-zfs", "kbytesavail", Content::Number, "a target's free KiB without root's reserve"),
    row("osd-zfs", "filestotal", Content::Number, "files that a target can hold"),
    row("osd-zfs", "filesfree", Content::Number, "files that it can still take"),
    row("mdt", "md_stats", Content::Stats, "operations of an MDT"),
    row("mdt", "job_stats", Content::Jobs, "what each job did on an MDT"),
    row("mdt", "recovery_status", Content::Recovery, "how far an MDT's recovery is"),
    row("mdt", "num_exports", Content::Number, "connections to an MDT"),
    row("mdt", "eviction_count", Content::Number, "clients that an MDT threw out"),
    row("mgs", "num_exports", Content::Number, "connections to the MGS"),
    row("mgs", "eviction_count", Content::Number, "clients that the MGS threw out"),
    row("llite", "stats", Content::Stats, "what this client did on a file system"),
    row("osc", "stats", Content::Stats, "requests of this client to an OST"),
    row("osc", "rpc_stats", Content::Histograms, "sizes of this client's requests to an OST"),
    row("osc", "import", Content::Import, "this client's connection to an OST"),
    row("osc", "kbytestotal", Content::Number, "an OST's size in KiB, as this client sees it"),
    row("osc", "kbytesfree", Content::Number, "its free KiB"),
    row("osc", "kbytesavail", Content::Number, "its free KiB without root's reserve"),
    row("mdc", "stats", Content::Stats, "requests of this client to an MDT"),
    row("mdc", "import", Content::Import, "this client's connection to an MDT"),
    row("ost", "stats", Content::Stats, "queues of an OSS's services"),
    row("mds", "stats", Content::Stats, "queues of an MDS's services"),
    row("ldlm", "stats", Content::Stats, "queues of the lock services"),
    row("lnet", "stats", Content::Lnet, "messages and bytes of LNet"),
    row("lnet", "routers", Content::LnetTable, "routers"),
    row("lnet", "nis", Content::LnetTable, "this node's interfaces"),
];

/// A parameter's name in its parts: "obdfilter.fs-OST0000.stats".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name<'a> {
    /// The part of Lustre; empty for those of the whole node.
    pub component: &'a str,
    /// Which one; it may have dots. Empty where there is but one.
    pub instance: &'a str,
    /// The name within it.
    pub leaf: &'a str,
}

impl<'a> Name<'a> {
    /// Parts a name as `lctl` writes it.
    pub fn of(name: &'a str) -> Self {
        let Some((component, rest)) = name.split_once('.') else {
            return Self { component: "", instance: "", leaf: name };
        };
        let (instance, leaf) = rest.rsplit_once('.').unwrap_or(("", rest));
        Self { component, instance, leaf }
    }

    /// Returns the parameter, if it is one that is read. Those of single clients (`exports`) are not.
    pub fn parameter(&self) -> Option<&'static Parameter> {
        let parameter = PARAMETERS
            .iter()
            .find(|row| row.component == self.component && row.leaf == self.leaf)?;
        // The services of a server have an instance of two parts: "OSS.ost_io". Nothing else has a dot in it.
        let is_service = match self.component {
            "ost" | "mds" => self.instance.matches('.').count() == 1,
            "ldlm" => self.instance.starts_with("services."),
            _ => !self.instance.contains(".exports.") && !self.instance.contains(".pool"),
        };
        is_service.then_some(parameter)
    }

    /// Returns the name with `*` for the instance.
    pub fn pattern(&self) -> String {
        match (self.component, self.instance) {
            ("", _) => self.leaf.to_owned(),
            (component, "") => format!("{component}.{}", self.leaf),
            (component, _) => format!("{component}.*.{}", self.leaf),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_parts() {
        let name = Name::of("obdfilter.fs-OST0000.stats");
        assert_eq!(
            (name.component, name.instance, name.leaf),
            ("obdfilter", "fs-OST0000", "stats")
        );
        assert_eq!(name.parameter().unwrap().content, Content::Stats);
        assert_eq!(name.pattern(), "obdfilter.*.stats");
        assert_eq!(Name::of("ost.OSS.ost_io.stats").parameter().unwrap().component, "ost");
        assert_eq!(Name::of("obdfilter.fs-OST0000.exports.10.0.0.1@tcp.stats").parameter(), None);
        assert_eq!(Name::of("health_check").parameter().unwrap().content, Content::Health);
        assert_eq!(Name::of("lnet.stats").parameter().unwrap().content, Content::Lnet);
        assert_eq!(Name::of("ldlm.namespaces.MGS.pool.stats").parameter(), None);
        assert_eq!(Name::of("").parameter(), None);
    }

    #[test]
    fn the_documentation_has_the_same_list() {
        let place = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/monitoring.md");
        let text = std::fs::read_to_string(place).unwrap();
        for row in PARAMETERS {
            let name = match row.component {
                "" => row.leaf.to_owned(),
                "lnet" => format!("lnet.{}", row.leaf),
                "ost" | "mds" => format!("{}.*.*.{}", row.component, row.leaf),
                "ldlm" => format!("ldlm.services.*.{}", row.leaf),
                component => format!("{component}.*.{}", row.leaf),
            };
            let line = format!("| `{name}` | {} |", row.says);
            assert!(text.lines().any(|it| it == line), "docs/monitoring.md lacks {line}");
        }
    }

    #[test]
    fn each_parameter_is_listed_once() {
        let mut names: Vec<_> = PARAMETERS.iter().map(|row| (row.component, row.leaf)).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PARAMETERS.len());
    }
}
