//! Where the files of a recording lie, as the site file says.

use std::path::Path;

use plimsoll_domain::burst::Operation;
use plimsoll_domain::site::{FileSystem, Site, SiteFile, Target};
use plimsoll_explain::{Analysis, FileAnalysis, Held, KnownTarget, Placement};
use plimsoll_machine::{LustreFiles, Machine};

use crate::found_site;

/// As many files are looked up on Lustre, those with the most I/O time first.
const LOOKED_UP_MAX: usize = 100;

/// Returns the targets of the site file that applies here, and the files that lie on one of them alone; nothing if there is none.
pub fn of(analysis: &Analysis) -> Placement {
    let site = found_site::find().and_then(|(path, _)| SiteFile::load(&path).ok());
    site.map_or_else(Placement::default, |site| in_site(analysis, site.site()))
}

fn in_site(analysis: &Analysis, site: &Site) -> Placement {
    let targets: Vec<&Target> =
        site.targets.iter().filter(|it| site.directory(it).is_some()).collect();
    let lustre = LustreFiles::of(&Machine::host());
    let known = |it: &&Target| KnownTarget { name: it.name.clone(), write_rate: write_rate(it) };
    let files = analysis.files.iter().enumerate();
    let held = files.filter_map(|(place, file)| {
        let by_path = || holder_by_path(&targets, Path::new(&file.path));
        let on_lustre = || match place < LOOKED_UP_MAX {
            true => holder_on_lustre(site, &targets, &lustre, file),
            false => None,
        };
        let target = by_path().or_else(on_lustre)?;
        Some(Held { file: file.id, target })
    });
    Placement { held: held.collect(), targets: targets.iter().map(known).collect() }
}

/// Returns what a target writes at best: its peak, or else what its transactions cost when they are large.
fn write_rate(target: &Target) -> Option<f64> {
    let peak = target.peak.trusted(Operation::Write).map(|it| it.get() as f64);
    let by_cost = || target.cost.write.as_ref().map(|cost| 1.0 / cost.seconds_per_byte);
    peak.or_else(by_cost).filter(|rate| rate.is_finite() && *rate > 0.0)
}

/// Returns the target whose own directory, the innermost one, a file is below.
fn holder_by_path(targets: &[&Target], file: &Path) -> Option<usize> {
    let depth = |target: &Target| {
        let path = target.path.as_deref().filter(|path| file.starts_with(path))?;
        Some(path.components().count())
    };
    let below = targets.iter().enumerate().filter_map(|(place, it)| Some((depth(it)?, place)));
    below.max().map(|(_, place)| place)
}

/// Returns the target that has the only stripe of a file that is still there. Only paths below the mounts of the site's Lustre file systems are
/// looked up.
fn holder_on_lustre(
    site: &Site,
    targets: &[&Target],
    lustre: &LustreFiles,
    file: &FileAnalysis,
) -> Option<usize> {
    let path = Path::new(&file.path);
    let is_of = |it: &&FileSystem| it.kind == "lustre" && path.starts_with(&it.mount);
    let file_system = site.file_systems.iter().find(is_of)?;
    let stripes = lustre.stripes(path)?.targets;
    let [index] = stripes[..] else { return None };
    let is_holder = |it: &&Target| {
        it.lustre_index == Some(index) && it.file_system.as_ref() == Some(&file_system.name)
    };
    targets.iter().position(is_holder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(name: &str, path: &str) -> Target {
        Target { path: Some(path.into()), ..Target::named(name) }
    }

    #[test]
    fn the_innermost_directory_holds_a_file() {
        let targets = [target("outer", "/data"), target("inner", "/data/t1"), target("t2", "/t2")];
        let targets: Vec<&Target> = targets.iter().collect();
        let holder = |path| holder_by_path(&targets, Path::new(path));
        assert_eq!(holder("/data/x"), Some(0));
        assert_eq!(holder("/data/t1/x"), Some(1));
        assert_eq!(holder("/data/t11"), Some(0), "names are compared as a whole");
        assert_eq!(holder("/t2/a/b"), Some(2));
        assert_eq!(holder("/elsewhere/x"), None);
    }
}
