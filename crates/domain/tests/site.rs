//! Site files as people write them, as old versions wrote them, and as an enemy would.

use std::path::Path;

use plimsoll_domain::burst::Operation;
use plimsoll_domain::site::{
    ComponentKind, Cost, Costs, CountedBy, FILE_BYTES_MAX, MeasuredPeak, Peak, Persistence, Site,
    SiteError, SiteFile, Target,
};
use plimsoll_domain::{Bytes, BytesPerSec, Nanos};
use proptest::prelude::*;

const GOLDEN_V1: &str = include_str!("golden/site-v1.toml");

fn parse(text: &str) -> Result<SiteFile, SiteError> {
    SiteFile::parse(Path::new("site.toml"), text)
}

fn problem(text: &str) -> String {
    let message = parse(text).unwrap_err().to_string();
    assert!(!message.contains('\n'), "one line: {message}");
    message
}

fn with_target(keys: &str) -> String {
    format!("version = 1\n[[target]]\nname = \"a\"\npath = \"/a\"\n{keys}\n")
}

#[test]
fn golden_file_of_version_1_is_read_in_full() {
    let file = parse(GOLDEN_V1).unwrap();
    let site = file.site();
    let target = site.target("OST0000").unwrap();
    assert_eq!(target.lustre_index, Some(0));
    assert_eq!(target.capacity, Some(Bytes::new(7 << 40)));
    assert_eq!(target.peak.write, Some(BytesPerSec::new(551 << 20)));
    assert_eq!(target.peak.given(Operation::Write), target.peak.write, "a person's");
    let measured = &site.target("local").unwrap().peak;
    assert_eq!(measured.write_measured.as_ref().unwrap().instances, 48);
    assert_eq!(measured.given(Operation::Write), None, "to be measured again");
    let changed = Peak { write: Some(BytesPerSec::new(9)), ..measured.clone() };
    assert_eq!(changed.given(Operation::Write), changed.write, "changed by a person since");
    assert_eq!(target.cost.write.as_ref().unwrap().seconds_per_byte, 1.73e-9);
    assert_eq!(site.servers[0].group.as_deref(), Some("controller-3"));
    assert_eq!(site.clients[0].coordinates, [0, 3, 17]);
    assert_eq!(site.limits.network, Some(BytesPerSec::new(35_000_000_000)));
    assert_eq!(site.slowness[0].low_median, Nanos::new(40_000_000_000));
    assert_eq!(site.stragglers[0].verdict, Persistence::Persistent);
}

#[test]
fn what_is_created_reads_back() {
    let site = parse(GOLDEN_V1).unwrap().site().clone();
    let again = SiteFile::create(Path::new("x"), &site).unwrap();
    assert_eq!(again.site(), &site);
    let empty = SiteFile::create(Path::new("x"), &Site::empty()).unwrap();
    assert_eq!(empty.site(), &Site::empty());
}

#[test]
fn a_peak_is_trusted_when_a_person_gave_it_or_its_bursts_outlast_caches() {
    let trusted = |rate: &str, rest: &str| {
        let text = format!(
            "version = 1\n[[target]]\nname = \"t\"\npath = \"/t\"\n[target.peak]\nwrite = \"{rate}\"\n\
             write_measured = {{ rate = \"20MiB/s\", instances = 20{rest} }}\n"
        );
        parse(&text).unwrap().site().targets[0].peak.trusted(Operation::Write)
    };
    assert_eq!(trusted("20MiB/s", ""), None, "nobody knows whether a cache took it in");
    assert_eq!(trusted("20MiB/s", ", bytes = \"64MiB\""), Some(BytesPerSec::new(20 << 20)));
    assert_eq!(trusted("30MiB/s", ""), Some(BytesPerSec::new(30 << 20)), "a person changed it");
}

#[test]
fn coordinates_lie_on_the_torus_if_there_is_one() {
    let site = |torus: &str, coordinates: &str| {
        format!(
            "version = 1\n[topology]\ntorus = {torus}\n[[client]]\nname = \"a\"\ncoordinates = {coordinates}\n\
             [[client]]\nname = \"b\"\n"
        )
    };
    let on = parse(&site("[25, 16, 24]", "[24, 0, 23]")).unwrap();
    assert_eq!(on.site().topology.torus, [25, 16, 24]);
    for coordinates in ["[25, 0, 0]", "[0, -1, 0]", "[0, 0]"] {
        let said = problem(&site("[25, 16, 24]", coordinates));
        assert!(said.contains("client \"a\"") && said.contains("[25, 16, 24]"), "{said}");
    }
    assert!(problem(&site("[0]", "[0]")).contains("no nodes"));
    // Files from before there were tori hold any coordinates.
    parse(&site("[]", "[-3, 99]")).unwrap();
}

#[test]
fn scores_are_written_where_they_belong_and_comments_stay() {
    let commented = GOLDEN_V1
        .replace("quantile = 0.1", "quantile = 0.1 # the middle one")
        .replace("low_median = \"40s\"", "low_median = \"40s\" # short");
    let mut file = parse(&commented).unwrap();
    let mut slowness = file.site().slowness[0].clone();
    slowness.low_median = Nanos::new(9_000_000_000);
    let mut other = slowness.clone();
    other.quantile = 0.2;
    other.low_median = Nanos::new(8_000_000_000);
    file.set_slowness(&[slowness, other]).unwrap();
    let medians: Vec<(f64, u64)> =
        file.site().slowness.iter().map(|it| (it.quantile, it.low_median.get())).collect();
    assert_eq!(medians, [(0.1, 9_000_000_000), (0.2, 8_000_000_000)], "the same one is replaced");
    assert!(file.text().contains("low_median = \"9s\" # short"), "{}", file.text());

    let rate = BytesPerSec::new(20 << 20);
    let bytes = Some(Bytes::new(64 << 20));
    let rests_on = MeasuredPeak { rate, instances: 20, bytes, measured: None };
    let peak = Peak { write: Some(rate), write_measured: Some(rests_on), ..Peak::default() };
    file.set_peak("local", &peak).unwrap();
    assert_eq!(file.site().target("local").unwrap().peak, peak);
    let kept = file.site().target("OST0000").unwrap().peak.clone();
    file.set_peak("OST0000", &Peak { write: Some(BytesPerSec::new(1)), ..Peak::default() })
        .unwrap();
    let changed = &file.site().target("OST0000").unwrap().peak;
    assert_eq!((changed.read, changed.write), (kept.read, Some(BytesPerSec::new(1))));
    assert!(file.set_peak("nobody", &peak).unwrap_err().to_string().contains("nobody"));

    let mut straggler = file.site().stragglers[0].clone();
    straggler.name = "local".into();
    straggler.verdict = Persistence::Transient;
    file.set_stragglers(&[straggler], |it| it.name == "OST0000").unwrap();
    let names: Vec<&str> = file.site().stragglers.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["local"], "what is normal now is a straggler no more");
    let mut client = file.site().stragglers[0].clone();
    client.component = ComponentKind::Client;
    file.set_stragglers(&[client], |_| false).unwrap();
    let kinds: Vec<ComponentKind> = file.site().stragglers.iter().map(|it| it.component).collect();
    assert_eq!(kinds, [ComponentKind::Target, ComponentKind::Client], "of the same name");
    file.set_stragglers(&[], |it| it.component == ComponentKind::Client).unwrap();
    assert_eq!(file.site().stragglers.len(), 1);
    assert_eq!(file.site().stragglers[0].component, ComponentKind::Target);
    assert!(file.text().contains("# the middle one"));
}

#[test]
fn update_keeps_comments_and_measurements() {
    let mut file = parse(GOLDEN_V1).unwrap();
    let mut found = Site::empty();
    let mut known = Target::named("OST0000");
    known.path = Some("/elsewhere".into());
    let mut new = Target::named("OST0001");
    new.path = Some("/new".into());
    found.targets = vec![known, new];

    assert_eq!(file.add_new(&found).unwrap(), 1);
    assert!(file.text().starts_with(GOLDEN_V1.trim_end().split("[[client]]").next().unwrap()));
    assert_eq!(file.site().targets.len(), 3);
    assert_eq!(file.site().target("OST0000").unwrap().path, None, "what is known stays");
    assert_eq!(file.add_new(&found).unwrap(), 0, "a second time changes nothing");
}

#[test]
fn save_replaces_the_file_whole_and_leaves_no_temporary_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.toml");
    std::fs::write(&path, "old").unwrap();
    let file = SiteFile::create(&path, &Site::empty()).unwrap();
    file.save().unwrap();
    assert_eq!(SiteFile::load(&path).unwrap().site(), &Site::empty());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);

    let nowhere = SiteFile::create(&folder.path().join("no/such/folder"), &Site::empty()).unwrap();
    assert!(matches!(nowhere.save(), Err(SiteError::Write { .. })));
    let occupied = folder.path().join("occupied");
    std::fs::create_dir(&occupied).unwrap();
    std::fs::write(occupied.join("file"), "").unwrap();
    let occupied = SiteFile::create(&occupied, &Site::empty()).unwrap();
    assert!(matches!(occupied.save(), Err(SiteError::Write { .. })));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file");
}

#[test]
fn save_keeps_links_and_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real.toml"), folder.path().join("site.toml"));
    std::fs::write(&real, "version = 1").unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    SiteFile::create(&link, &Site::empty()).unwrap().save().unwrap();
    assert!(link.is_symlink());
    assert!(std::fs::read_to_string(&real).unwrap().starts_with("# The storage"));
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
}

/// Whoever left a site file with rights for all would have them on a file of root's.
#[test]
fn rights_of_others_files_are_not_taken_over() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.toml");
    let save = || SiteFile::create(&path, &Site::empty()).unwrap().save();
    std::fs::write(&path, "version = 1").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o6755)).unwrap();
    save().unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o644);
    if chown(&path, Some(65_533), None).is_err() {
        println!("SKIPPED: needs root");
        return;
    }
    assert!(save().unwrap_err().to_string().contains("it belongs to user 65533"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file");
}

#[test]
fn mistakes_are_named_with_their_line() {
    for (text, part) in [
        ("", "no `version = 1`"),
        ("version = \"1\"", "not a whole number"),
        ("version = 1\nlimits = 3", "expected a table of rates"),
        ("version = 2", "update plimsoll"),
        ("version = -1", "has version -1, this program reads 1 to 1"),
        ("version = 1\nnonsense = 3", "line 2: unknown field `nonsense`"),
        ("version = 1\n[[target]\n", "line 2"),
        (&with_target("capacity = \"7 lakh\""), "line 5: size \"7 lakh\""),
        (&with_target("capacity = \"-7B\""), "is negative"),
        (&with_target("lustre_index = -1"), "line 5"),
        (&with_target("[target.peak]\nwrite = \"0B/s\""), "peak rate of zero"),
    ] {
        let message = problem(text);
        assert!(message.contains(part), "{message:?} should contain {part:?}");
    }
}

#[test]
fn contradictions_are_named() {
    let cost = |operation: &str, byte: &str| {
        with_target(&format!(
            "[target.cost.write]\nseconds_per_operation = {operation}\nseconds_per_byte = {byte}"
        ))
    };
    for (text, part) in [
        (with_target("[[target]]\nname = \"a\"\npath = \"/b\""), "have the name \"a\""),
        (with_target("server = \"x\""), "unknown server \"x\""),
        (with_target("file_system = \"x\""), "unknown file_system \"x\""),
        (with_target("lustre_index = 3"), "no file_system"),
        ("version = 1\n[[target]]\nname = \"a\"\n".into(), "no path, device or lustre_index"),
        ("version = 1\n[[target]]\nname = \"a\"\npath = \"b\"\n".into(), "not an absolute path"),
        ("version = 1\n[[client]]\nname = \"\"\n".into(), "empty name"),
        ("version = 1\n[[client]]\nname = \"a\\u001b[2Jb\"\n".into(), "control characters"),
        (cost("nan", "1e-9"), "NaN is not possible"),
        (cost("-1.0", "1e-9"), "-1 is not possible"),
        (cost("0.0", "inf"), "inf is not possible"),
        (cost("0.0", "0.0"), "costs nothing"),
        ("version = 1\nname = \"a\\nb\"".into(), "control characters"),
        (
            "version = 1\n[[client]]\nname = \"a\"\nrouter = \"\\u0007\"".into(),
            "control characters",
        ),
        (cost("1.0", "0.0") + "measured = \"\\u001b]0;x\"\n", "control characters"),
        (cost("1.0", "0.0") + "fill = 1.5\n", "fill = 1.5 is not possible"),
        ("version = 1\n[limits]\nserver = \"0B/s\"".into(), "a rate of zero"),
    ] {
        let message = problem(&text);
        assert!(message.contains(part), "{message:?} should contain {part:?}");
    }
}

#[test]
fn hostile_files_get_an_answer_not_a_crash() {
    let nested = format!("version = 1\nx = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    problem(&nested);
    problem(&format!("version = 1\nname = \"{}\"", "x".repeat(100_000)));
    problem("version = 99999999999999999999999999");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.toml");
    std::fs::write(&path, b"version = 1\nname = \"\xff\"").unwrap();
    assert!(SiteFile::load(&path).unwrap_err().to_string().contains("line 2: not UTF-8"));
    assert!(matches!(SiteFile::load(folder.path()), Err(SiteError::Read { .. })));
    assert!(matches!(SiteFile::load(Path::new("/dev/zero")), Err(SiteError::TooLarge { .. })));
    let longest = format!("version = 1\n#{}", " ".repeat(FILE_BYTES_MAX as usize - 13));
    std::fs::write(&path, &longest).unwrap();
    SiteFile::load(&path).unwrap();
    std::fs::write(&path, longest + " ").unwrap();
    assert!(matches!(SiteFile::load(&path), Err(SiteError::TooLarge { .. })));
}

/// Two thousand targets with what is measured of them, and twenty thousand clients.
#[test]
fn the_site_file_of_a_large_machine_is_read() {
    let begin = GOLDEN_V1.split("[[target]]").next().unwrap().to_string();
    let target = GOLDEN_V1.split("[[target]]").nth(1).unwrap();
    let targets = (0..2000).map(|index| {
        let named = target.replace("OST0000", &format!("OST{index:04x}"));
        format!(
            "[[target]]{}",
            named.replace("lustre_index = 0", &format!("lustre_index = {index}"))
        )
    });
    let clients = (0..20_000).map(|index| {
        format!(
            "[[client]]\nname = \"nid{index:05}\"\ncoordinates = [0, 3, 17]\nrouter = \"rtr4\"\n"
        )
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.toml");
    let text: String = std::iter::once(begin).chain(targets).chain(clients).collect();
    std::fs::write(&path, text).unwrap();
    let file = SiteFile::load(&path).unwrap();
    assert_eq!((file.site().targets.len(), file.site().clients.len()), (2000, 20_000));
}

proptest! {
    #[test]
    fn no_text_panics(text in "(version = 1\n)?(.|\n){0,300}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_damage_to_a_good_file_panics(at in 0..GOLDEN_V1.len(), with in ".{0,3}") {
        if GOLDEN_V1.is_char_boundary(at) {
            let _ = parse(&format!("{}{with}{}", &GOLDEN_V1[..at], &GOLDEN_V1[(at + 1).min(GOLDEN_V1.len())..]));
        }
    }
}

fn cost(seconds_per_operation: f64) -> Cost {
    Cost {
        seconds_per_operation,
        seconds_per_byte: 2e-9,
        relative_error: None,
        median_relative_error: Some(0.01),
        max_relative_error: Some(0.05),
        transactions: Some(CountedBy::Device),
        queue_depth: Some(8),
        fill: Some(0.5),
        measured: Some("2026-02-01T00:00:00Z".into()),
    }
}

#[test]
fn a_measured_cost_replaces_the_old_one_in_its_place() {
    let text = "version = 1 # keep\n\n# ours\n[[target]]\nname = \"a\"\npath = \"/a\"\n\
        # from the vendor\n[target.cost.write]\nseconds_per_operation = 1e-3 # a guess\n\
        seconds_per_byte = 1e-9\nrelative_error = 0.5\n\n[[target]]\nname = \"b\"\npath = \"/b\"\n";
    let mut file = parse(text).unwrap();
    let costs = Costs { read: None, write: Some(cost(2e-3)) };
    file.set_cost("a", &costs).unwrap();
    assert_eq!(file.site().target("a").unwrap().cost, costs, "nothing of the old fit stays");
    for kept in ["# keep", "# ours\n[[target]]", "# from the vendor", " # a guess"] {
        assert!(file.text().contains(kept), "{kept}: {}", file.text());
    }
    let both = Costs { read: Some(cost(3e-3)), write: None };
    file.set_cost("a", &both).unwrap();
    file.set_cost("b", &both).unwrap();
    let a = &file.site().target("a").unwrap().cost;
    assert_eq!((a.read.clone(), a.write.clone()), (both.read.clone(), costs.write));
    assert_eq!(file.site().target("b").unwrap().cost, both);
    assert!(file.text().contains("[target.cost.read]"), "{}", file.text());
}

#[test]
fn a_cost_finds_its_place_in_inline_tables_too() {
    let keys = "cost = { read = { seconds_per_operation = 1e-3, seconds_per_byte = 1e-9 } }";
    let mut file = parse(&with_target(keys)).unwrap();
    let costs = Costs { read: Some(cost(2e-3)), write: Some(cost(4e-3)) };
    file.set_cost("a", &costs).unwrap();
    assert_eq!(file.site().target("a").unwrap().cost, costs);
}

#[test]
fn an_impossible_cost_or_target_changes_nothing() {
    let mut file = parse(GOLDEN_V1).unwrap();
    let costs = |seconds| Costs { read: None, write: Some(cost(seconds)) };
    let unknown = file.set_cost("nowhere", &costs(1e-3)).unwrap_err().to_string();
    assert!(unknown.contains("nowhere"), "{unknown}");
    assert!(file.set_cost("local", &costs(-1.0)).is_err());
    assert!(file.set_cost("local", &costs(f64::NAN)).is_err());
    assert_eq!(file.text(), GOLDEN_V1);
}
