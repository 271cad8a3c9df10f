//! Which targets are measured, and what is said of them.

use std::collections::BTreeSet;
use std::fs;

use crate::support::command::{Outcome, binary};
use crate::support::storage::{SmallDisk, Storage};

const SMALL: &str = "pipeline --burst 64KiB --transfer 64KiB --rounds 9";

impl Storage {
    /// A site file with all targets, called t0, t1, ….
    fn site(&self) -> String {
        let targets = self.targets.iter().enumerate().map(|(index, path)| {
            format!("[[target]]\nname = \"t{index}\"\npath = \"{}\"\n", path.display())
        });
        let path = self.folder.path().join("site.toml");
        fs::write(&path, format!("version = 1\n{}", targets.collect::<String>())).unwrap();
        path.display().to_string()
    }

    /// `plimsoll bench` with these arguments alone.
    fn bench_with(&self, arguments: &str) -> Outcome {
        let mut command = binary();
        command.arg("bench").args(arguments.split_whitespace()).arg("-o").arg(self.results());
        command.output().unwrap().into()
    }

    /// The targets that were written, by name.
    fn written_targets(&self) -> BTreeSet<String> {
        let pairs = self.instances().into_iter().flat_map(|instance| instance.pairs);
        pairs.map(|pair| pair.target).collect()
    }
}

#[test]
fn targets_of_a_site_are_chosen_by_name() {
    for (chosen, wanted) in [
        ("--targets t0,t2", &["t0", "t2"][..]),
        ("--targets t1 t0", &["t0", "t1"]),
        ("", &["t0", "t1", "t2"]),
    ] {
        let storage = Storage::with_targets(3);
        let site = storage.site();
        let outcome = storage.bench_with(&format!("{SMALL} --seed 1 --site {site} {chosen}"));
        assert_eq!(outcome.status, Some(0), "{chosen}: {}", outcome.stderr);
        assert_eq!(Vec::from_iter(storage.written_targets()), wanted, "{chosen}");
    }
    let storage = Storage::with_targets(2);
    let site = storage.site();
    let outcome = storage.bench_with(&format!("{SMALL} --site {site} --targets t0,t7"));
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("no target \"t7\""), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("hint: t0, t1"), "{}", outcome.stderr);
    // A directory beside the site's targets, with a name of its own.
    let other = storage.targets[1].display();
    let outcome = storage.bench_with(&format!("{SMALL} --site {site} --targets t0 own={other}"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_eq!(Vec::from_iter(storage.written_targets()), ["own", "t0"]);
}

#[test]
fn several_directories_on_one_disk_are_told() {
    let storage = Storage::with_targets(3);
    let outcome = storage.bench(&format!("{SMALL} --dry-run"));
    let note = "note: ost0, ost1, ost2 lie on one storage";
    assert!(outcome.stderr.contains(note), "{}", outcome.stderr);
    let alone = Storage::with_targets(1);
    let outcome = alone.bench(&format!("{SMALL} --dry-run"));
    assert!(!outcome.stderr.contains("lie on one"), "{}", outcome.stderr);
    let Some(_disk) = SmallDisk::mount(&storage.targets[1], "32m") else { return };
    let outcome = storage.bench(&format!("{SMALL} --caching synced --dry-run"));
    let note = "note: ost0, ost2 lie on one storage";
    assert!(outcome.stderr.contains(note), "{}", outcome.stderr);
}
