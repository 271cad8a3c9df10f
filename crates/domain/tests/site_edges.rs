//! Values at the edges of what a site file may say, and what is said of those beyond.

use std::path::Path;

use plimsoll_domain::site::{
    Client, ComponentKind, Cost, Costs, CountedBy, FileSystem, Persistence, Server, ServerRole,
    Site, SiteFile, Target,
};

fn parse(text: &str) -> Result<Site, String> {
    let file = SiteFile::parse(Path::new("site.toml"), text).map_err(|it| it.to_string())?;
    Ok(file.site().clone())
}

#[test]
fn a_file_that_is_not_there_is_to_be_made_and_any_other_trouble_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let said = |path: &Path| SiteFile::load(path).unwrap_err().to_string();
    assert!(said(&folder.path().join("none")).contains("hint: `plimsoll site init` writes one"));
    assert!(!said(folder.path()).contains("hint"), "{}", said(folder.path()));
}

#[test]
fn every_kind_of_entry_that_is_new_is_counted_once() {
    let mut file = SiteFile::parse(Path::new("site.toml"), "version = 1\n").unwrap();
    let named = |name: &str| Target { path: Some("/t".into()), ..Target::named(name) };
    let server = |name: &str| Server { name: name.into(), role: ServerRole::Storage, group: None };
    let found = Site {
        file_systems: vec![FileSystem { name: "f".into(), kind: "ext4".into(), mount: "/".into() }],
        servers: vec![server("s1"), server("s2")],
        targets: vec![named("t1"), named("t2"), named("t3")],
        clients: vec![Client { name: "c".into(), coordinates: Vec::new(), router: None }],
        ..Site::empty()
    };
    assert_eq!(file.add_new(&found).unwrap(), 7);
    assert_eq!(file.site(), &found);
    assert_eq!(file.add_new(&found).unwrap(), 0);
}

#[test]
fn what_is_not_known_is_not_written() {
    let mut target = Target::named("t");
    target.path = Some("/t".into());
    let mut site = Site { targets: vec![target], ..Site::empty() };
    let text = |site: &Site| SiteFile::create(Path::new("x"), site).unwrap().text();
    let bare = text(&site);
    for key in ["cost", "peak", "limits", "topology"] {
        assert!(!bare.contains(&format!("{key}]")) && !bare.contains(&format!("{key} ")), "{bare}");
    }
    let cost = Cost {
        seconds_per_operation: 1.0,
        seconds_per_byte: 1.0,
        relative_error: None,
        median_relative_error: None,
        max_relative_error: None,
        transactions: None,
        queue_depth: None,
        fill: None,
        measured: None,
    };
    site.targets[0].cost = Costs { read: None, write: Some(cost) };
    let known = text(&site);
    assert!(known.contains("[target.cost.write]") && !known.contains("cost.read"), "{known}");
    assert!(!known.contains("fill"), "{known}");
    site.topology.torus = vec![4, 4];
    assert!(text(&site).contains("[topology]\ntorus = "), "{}", text(&site));
}

/// Tables and messages use the words of the file.
#[test]
fn names_are_those_of_the_file() {
    let cost = |word: &str| {
        let text = format!(
            "version = 1\n[[target]]\nname = \"t\"\npath = \"/t\"\n[target.cost.write]\n\
             seconds_per_operation = 1.0\nseconds_per_byte = 1.0\ntransactions = \"{word}\"\n"
        );
        parse(&text).unwrap().targets[0].cost.write.clone().unwrap().transactions
    };
    for counted_by in [CountedBy::Device, CountedBy::Lustre, CountedBy::Requested] {
        assert_eq!(cost(counted_by.name()), Some(counted_by));
    }
    let straggler = |component: &str, verdict: &str| {
        let text = format!(
            "version = 1\n[[straggler]]\nname = \"t\"\ncomponent = \"{component}\"\n\
             verdict = \"{verdict}\"\nratio = 0.5\nmeasures = 9\n"
        );
        let straggler = parse(&text).unwrap().stragglers.remove(0);
        (straggler.component, straggler.verdict)
    };
    for component in [ComponentKind::Target, ComponentKind::Client] {
        for verdict in [Persistence::Transient, Persistence::Persistent] {
            let read = straggler(component.name(), verdict.name());
            assert_eq!(read, (component, verdict));
        }
    }
}

#[test]
fn a_quantile_lies_strictly_between_none_and_all() {
    let slowness = |quantile: &str| {
        parse(&format!(
            "version = 1\n[[slowness]]\nquantile = {quantile}\nlow_median = \"1s\"\n\
             normal_median = \"1s\"\nsequences = 3\n"
        ))
    };
    assert!(slowness("0.001").is_ok() && slowness("0.999").is_ok());
    for quantile in ["0.0", "1.0", "-0.1", "1.1", "nan", "inf"] {
        let problem = slowness(quantile).unwrap_err();
        assert!(problem.contains("is not between 0 and 1"), "{quantile}: {problem}");
    }
}

#[test]
fn a_ratio_is_a_number_that_can_be_measured() {
    let straggler = |ratio: &str| {
        parse(&format!(
            "version = 1\n[[straggler]]\nname = \"t\"\ncomponent = \"target\"\n\
             verdict = \"transient\"\nratio = {ratio}\nmeasures = 9\n"
        ))
    };
    assert!(straggler("0.0").is_ok() && straggler("3.5").is_ok());
    for ratio in ["-0.1", "nan", "inf", "-inf"] {
        let problem = straggler(ratio).unwrap_err();
        assert!(problem.contains("impossible ratio"), "{ratio}: {problem}");
    }
}

#[test]
fn a_name_has_at_most_a_hundred_characters() {
    let named =
        |name: &str| parse(&format!("version = 1\n[[target]]\nname = \"{name}\"\npath = \"/a\"\n"));
    // Characters, not bytes.
    assert!(named(&"\u{fc}".repeat(100)).is_ok());
    assert!(named(&"x".repeat(101)).unwrap_err().contains("longer than 100 characters"));
    assert!(named("a\\u0007b").unwrap_err().contains("control characters"));
}

#[test]
fn a_target_has_a_place() {
    let target = |keys: &str| parse(&format!("version = 1\n[[target]]\nname = \"t\"\n{keys}\n"));
    let lustre = "[[file_system]]\nname = \"f\"\nkind = \"lustre\"\nmount = \"/f\"";
    assert!(target("path = \"/t\"").is_ok());
    assert!(target("device = \"/dev/sda\"").is_ok());
    assert!(target(&format!("lustre_index = 3\nfile_system = \"f\"\n{lustre}")).is_ok());
    for (keys, problem) in [
        ("", "has no path, device or lustre_index"),
        ("lustre_index = 3", "has a lustre_index but no file_system"),
        ("path = \"t\"", "is not an absolute path"),
        ("device = \"sda\"", "is not an absolute path"),
        ("path = \"/t\\u0007\"", "control characters"),
    ] {
        assert!(target(keys).unwrap_err().contains(problem), "{keys}");
    }
}

#[test]
fn a_transaction_costs_something_that_can_be() {
    let cost = |operation: &str, byte: &str, more: &str| {
        parse(&format!(
            "version = 1\n[[target]]\nname = \"t\"\npath = \"/t\"\n[target.cost.read]\n\
             seconds_per_operation = {operation}\nseconds_per_byte = {byte}\n{more}\n"
        ))
    };
    assert!(cost("0.0", "1e-9", "fill = 1.0").is_ok());
    assert!(cost("1e-3", "0.0", "fill = 0.0").is_ok());
    assert!(cost("0.0", "0.0", "").unwrap_err().contains("costs nothing"));
    for wrong in ["-1.0", "nan", "inf"] {
        assert!(cost(wrong, "1.0", "").unwrap_err().contains("cost.read: seconds_per_operation"));
        assert!(cost("1.0", wrong, "").unwrap_err().contains("seconds_per_byte"));
    }
    for key in ["relative_error", "median_relative_error", "max_relative_error", "fill"] {
        let problem = cost("1.0", "1.0", &format!("{key} = -0.5")).unwrap_err();
        assert!(problem.contains(&format!("{key} = -0.5 is not possible")), "{problem}");
    }
    assert!(cost("1.0", "1.0", "fill = 1.01").unwrap_err().contains("fill"));
}

#[test]
fn only_the_file_that_was_read_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("site.toml"), folder.path().join("other"));
    std::fs::write(&path, "version = 1\n").unwrap();
    let loaded = SiteFile::load(&path).unwrap();
    loaded.save().unwrap();
    let mut loaded = SiteFile::load(&path).unwrap();
    // What is said about it does not make it another file.
    loaded.set_stragglers(&[], |_| false).unwrap();
    std::fs::write(&other, "thesis").unwrap();
    std::fs::rename(&other, &path).unwrap();
    let error = loaded.save().unwrap_err().to_string();
    assert!(error.contains("not the file that was read"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "thesis");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no draft stays");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("real", &link).unwrap();
    SiteFile::create(&link, loaded.site()).unwrap().save().unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    SiteFile::load(&folder.path().join("real")).unwrap();
}
