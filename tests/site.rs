//! `plimsoll site`: init, show, check.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::command::{Outcome, binary, samples};
use crate::support::storage::changing_mounts;

/// Looks for no test bed but those in the folder: others' come and go.
fn site(folder: &Path, arguments: &[&str]) -> Outcome {
    let mut command = binary();
    command.current_dir(folder).arg("site").args(arguments);
    if arguments[0] == "init" {
        command.arg("--base").arg(folder.join("beds"));
    }
    command.output().unwrap().into()
}

fn shown(folder: &Path, arguments: &[&str]) -> Value {
    let outcome = site(folder, arguments);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    serde_json::from_str::<Value>(&outcome.stdout).unwrap()["result"].clone()
}

#[test]
fn init_writes_a_file_that_checks_and_never_overwrites_it() {
    let _no_others = changing_mounts();
    let folder = tempfile::tempdir().unwrap();
    let written = shown(folder.path(), &["init", "--json"]);
    assert!(!written["clients"].as_array().unwrap().is_empty(), "this machine is a client");
    let targets = written["targets"].as_array().unwrap();
    assert!(targets.iter().all(|target| target["path"] != "/"), "never the root disk");
    assert_eq!(
        shown(folder.path(), &["show", "site.toml", "--json"])["targets"],
        written["targets"]
    );
    assert_eq!(shown(folder.path(), &["show", "--json"])["clients"], written["clients"]);
    assert_eq!(site(folder.path(), &["check"]).status, Some(0));

    let file = folder.path().join("site.toml");
    let before = fs::read_to_string(&file).unwrap();
    let again = site(folder.path(), &["init"]);
    assert_eq!(again.status, Some(2));
    assert!(again.stderr.contains("--update"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn update_adds_what_is_new_and_keeps_every_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("site.toml");
    let _no_others = changing_mounts();
    let mine = "# mine\nversion = 1 # keep me\n[[target]]\nname = \"own\"\npath = \"/\"\n";
    fs::write(&file, mine).unwrap();
    assert_eq!(site(folder.path(), &["init", "--update"]).status, Some(0));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with(mine), "{text}");
    assert_eq!(site(folder.path(), &["init", "--update"]).status, Some(0));
    assert_eq!(fs::read_to_string(&file).unwrap(), text, "a second time adds nothing");
}

#[test]
fn init_to_standard_output_writes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = site(folder.path(), &["init", "-o", "-"]);
    assert_eq!(outcome.status, Some(0));
    assert!(outcome.stdout.contains("version = 1"), "{}", outcome.stdout);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn check_fails_for_what_this_machine_does_not_have() {
    let folder = tempfile::tempdir().unwrap();
    let text = "version = 1\n[[target]]\nname = \"a\"\npath = \"/nowhere/at/all\"\n";
    fs::write(folder.path().join("site.toml"), text).unwrap();
    let outcome = site(folder.path(), &["check"]);
    assert_eq!(outcome.status, Some(1), "a failed check, not wrong use");
    assert!(outcome.stdout.contains("/nowhere/at/all"), "{}", outcome.stdout);
    assert_eq!(site(folder.path(), &["check", "--offline"]).status, Some(0));
}

#[test]
fn broken_files_get_one_line_with_the_line_number() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("site.toml"), "version = 1\n[[target]]\nnmae = \"a\"\n").unwrap();
    let outcome = site(folder.path(), &["check"]);
    assert_eq!(outcome.status, Some(2));
    assert_eq!(outcome.stderr.lines().count(), 1);
    assert!(outcome.stderr.contains("line 3: unknown field `nmae`"), "{}", outcome.stderr);
}

#[test]
fn models_take_from_the_site_what_flags_leave_out() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../domain/tests/golden/site-v1.toml");
    let model = |arguments: &str| -> Value {
        let output = binary()
            .args(["model"])
            .args(arguments.split_whitespace())
            .args(["--json", "--site", golden])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["result"].clone()
    };
    assert_eq!(model("contention --per-job 1 --jobs 2")["targets"], 2);
    assert_eq!(model("contention --per-job 1 --jobs 2 --targets 7")["targets"], 7, "flags win");
    let flag =
        model("utilization --writes 1MiB=100 --interval 1s --target OST0000 --write-cost 1s,0");
    assert_eq!(flag["time"], 100.0, "flags win");
    let flags = model("utilization --writes 1MiB=100 --interval 1s --write-cost 1s,0");
    assert_eq!(flags["time"], 100.0, "no target is needed when flags say it all");
    let busy = model("utilization --writes 1MiB=100 --interval 1s --target OST0000");
    let seconds = 100.0 * (1.04e-3 + 1.73e-9 * 1048576.0);
    assert!((busy["time"].as_f64().unwrap() - seconds).abs() < 1e-9);
}

#[test]
fn the_drain_rate_is_that_of_all_targets_within_the_network() {
    let folder = tempfile::tempdir().unwrap();
    let target = |name: &str| {
        format!("[[target]]\nname = \"{name}\"\npath = \"/\"\npeak = {{ write = \"3GB/s\" }}\n")
    };
    let drain = |limits: &str| -> f64 {
        let text = format!("version = 1\n{limits}\n{}{}", target("a"), target("b"));
        fs::write(folder.path().join("site.toml"), text).unwrap();
        let output = binary()
            .current_dir(folder.path())
            .args(
                "model absorb --compute 1s --burst 1GB --cache 0B --site site.toml --json"
                    .split(' '),
            )
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        result["result"]["drain"].as_f64().unwrap()
    };
    assert_eq!(drain(""), 6e9);
    assert_eq!(drain("limits = { network = \"5GB/s\" }"), 5e9);
}

#[test]
fn devices_on_servers_are_not_looked_for_here() {
    let folder = tempfile::tempdir().unwrap();
    let text = "version = 1\n[[server]]\nname = \"s\"\nrole = \"combined\"\n\
        [[target]]\nname = \"a\"\nserver = \"s\"\ndevice = \"/dev/no-such-disk\"\n";
    fs::write(folder.path().join("site.toml"), text).unwrap();
    assert_eq!(site(folder.path(), &["check"]).status, Some(0));
    fs::write(folder.path().join("site.toml"), text.replace("server = \"s\"\n", "")).unwrap();
    assert_eq!(site(folder.path(), &["check"]).status, Some(1));
}

/// A node with its system on one disk, data on another, and every network file system there is.
const MOUNTS: &str = "\
27 1 8:2 / / rw,relatime - ext4 /dev/sda2 rw
28 27 8:1 / /boot/efi rw - vfat /dev/sda1 rw
29 27 8:3 / /home rw - xfs /dev/sda3 rw
30 27 8:16 / /data rw - xfs /dev/sdb rw
31 27 8:32 / /cdrom ro - iso9660 /dev/sdc ro
32 27 8:2 /etc/hosts /etc/hosts rw - ext4 /dev/sda2 rw
40 27 0:40 / /projects rw - nfs4 filer:/export/projects rw,vers=4.2
41 27 0:41 / /gluster rw - fuse.glusterfs node1:/vol rw,user_id=0
42 27 0:42 / /ceph rw - ceph 10.0.0.3:6789:/ rw,acl
43 27 0:43 / /beegfs rw - beegfs beegfs_nodev rw,cfgFile=/etc/beegfs/x.conf
44 27 0:44 / /gpfs/fs1 rw - gpfs fs1 rw
45 27 0:45 / /weka rw - wekafs weka/default rw
46 27 0:46 / /orange rw - pvfs2 tcp://n:3334/orangefs rw
47 27 0:47 / /mnt/data rw - fuse.ceph-fuse ceph-fuse rw
48 27 0:48 / /software ro - nfs filer:/software ro,vers=3
49 27 0:49 / /dev/shm rw - tmpfs tmpfs rw
";

#[test]
fn network_file_systems_are_offered_and_the_root_disk_never_is() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("proc/self")).unwrap();
    fs::write(root.path().join("proc/self/mountinfo"), MOUNTS).unwrap();
    fs::create_dir_all(root.path().join("sys/class/block")).unwrap();
    for (name, number, partition) in [
        ("sda", "8:0", false),
        ("sda/sda1", "8:1", true),
        ("sda/sda2", "8:2", true),
        ("sda/sda3", "8:3", true),
        ("sdb", "8:16", false),
        ("sdc", "8:32", false),
    ] {
        let device = root.path().join("sys/devices").join(name);
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("dev"), number).unwrap();
        fs::write(device.join("size"), "2048\n").unwrap();
        if partition {
            fs::write(device.join("partition"), "1\n").unwrap();
        }
        let link = root.path().join("sys/class/block").join(device.file_name().unwrap());
        std::os::unix::fs::symlink(format!("../../devices/{name}"), link).unwrap();
    }

    let folder = tempfile::tempdir().unwrap();
    let arguments = ["init", "--root", root.path().to_str().unwrap(), "--json"];
    let outcome = site(folder.path(), &arguments);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let result = &serde_json::from_str::<Value>(&outcome.stdout).unwrap()["result"];
    let kind_of = |name: &Value| {
        let systems = result["file_systems"].as_array().unwrap().iter();
        systems.clone().find(|it| it["name"] == *name).unwrap()["kind"].clone()
    };
    let targets = result["targets"].as_array().unwrap().iter();
    let found: Vec<[String; 3]> = targets
        .map(|it| [it["name"].clone(), it["path"].clone(), kind_of(&it["file_system"])])
        .map(|texts| texts.map(|text| text.as_str().unwrap().to_string()))
        .collect();
    let wanted = [
        ["beegfs", "/beegfs", "beegfs"],
        ["ceph", "/ceph", "ceph"],
        ["gluster", "/gluster", "fuse.glusterfs"],
        ["fs1", "/gpfs/fs1", "gpfs"],
        ["data", "/mnt/data", "fuse.ceph-fuse"],
        ["orange", "/orange", "pvfs2"],
        ["projects", "/projects", "nfs4"],
        ["weka", "/weka", "wekafs"],
        ["sdb", "/data", "xfs"],
    ];
    assert_eq!(found, wanted.map(|row| row.map(str::to_string)));
    assert_eq!(result["servers"].as_array().unwrap().len(), 1);
    assert_eq!(result["servers"][0]["name"], "filer");
    for note in ["/home (/dev/sda3) is no target", "/software (nfs) is no target"] {
        assert!(outcome.stderr.contains(note), "{}", outcome.stderr);
    }
    assert_eq!(site(folder.path(), &["check", "--offline"]).status, Some(0));
}

/// A Lustre client's own /proc, captured by others: seven targets on two servers.
#[test]
fn lustre_targets_are_found_in_a_captured_tree() {
    let Some(samples) = samples("discovery of Lustre targets") else { return };
    let archive = samples.join("lustre/gsi_lustre_exporter_2.10.1_proc_sys.tar.gz");
    let root = tempfile::tempdir().unwrap();
    let unpacked = Command::new("tar").arg("xzf").arg(archive).arg("-C").arg(root.path()).status();
    assert!(unpacked.unwrap().success());
    fs::create_dir_all(root.path().join("proc/self")).unwrap();
    let mount = "9 1 0:1 / /lustre rw - lustre 172.20.20.1@o2ib:/lustrefs rw\n";
    fs::write(root.path().join("proc/self/mountinfo"), mount).unwrap();

    let folder = tempfile::tempdir().unwrap();
    let root = root.path().to_str().unwrap();
    let found = shown(folder.path(), &["init", "--root", root, "--json"]);
    let targets = found["targets"].as_array().unwrap();
    let indexes: Vec<u64> = targets.iter().map(|it| it["lustre_index"].as_u64().unwrap()).collect();
    assert_eq!(indexes, [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(targets[3]["server"], "172.20.20.6@o2ib");
    assert_eq!(targets[3]["name"], "lustrefs-OST0003");
    let servers = found["servers"].as_array().unwrap();
    assert_eq!(servers.iter().filter(|server| server["role"] == "storage").count(), 2);
    assert_eq!(servers.iter().filter(|server| server["role"] == "metadata").count(), 1);
}

#[test]
fn the_site_file_of_a_directory_above_applies_unless_another_is_named() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let below = folder.path().join("run/1");
    std::fs::create_dir_all(&below).unwrap();
    let site = "version = 1\n[[file_system]]\nname = \"scratch\"\nkind = \"ext4\"\nmount = \"/\"\n";
    let targets: String = (0..3)
        .map(|it| {
            format!(
                "[[target]]\nname = \"t{it}\"\nfile_system = \"scratch\"\npath = \"/mnt/t{it}\"\n"
            )
        })
        .collect();
    std::fs::write(folder.path().join("site.toml"), format!("{site}{targets}")).unwrap();
    let run = |arguments: &str, named: Option<&str>| -> Outcome {
        let mut command = binary();
        command.args(arguments.split_whitespace()).current_dir(&below);
        command.env("XDG_CONFIG_HOME", "/nonexistent").env_remove("PLIMSOLL_SITE");
        if let Some(named) = named {
            command.env("PLIMSOLL_SITE", named);
        }
        command.output().unwrap().into()
    };
    let show = run("site show", None);
    assert_eq!((show.status, show.stderr.as_str()), (Some(0), ""));
    assert!(show.stdout.contains("of this directory or one above it"), "{}", show.stdout);
    let load = "model contention --per-job 1 --jobs 2 --json";
    let found = run(load, None);
    assert_eq!(found.status, Some(0), "{}", found.stderr);
    assert!(found.stderr.contains("/site.toml, of this directory"), "{}", found.stderr);
    assert!(found.stdout.contains("\"targets\": 3"), "{}", found.stdout);
    let none = run(load, Some(""));
    assert!(none.stderr.contains("hint: --targets N or --site FILE"), "{}", none.stderr);
    let flag = run("model contention --targets 5 --per-job 1 --jobs 2", None);
    assert_eq!((flag.status, flag.stderr.as_str()), (Some(0), ""), "nothing of it is needed");
}

#[test]
fn settings_of_the_project_the_user_and_the_system_apply_unless_the_command_line_says_otherwise() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (project, user) = (folder.path().join("project/run"), folder.path().join("config"));
    std::fs::create_dir_all(&project).unwrap();
    std::fs::create_dir_all(user.join("plimsoll")).unwrap();
    let of_project = folder.path().join("project/plimsoll.toml");
    let of_user = user.join("plimsoll/plimsoll.toml");
    std::fs::write(&of_project, "[all]\ncolor = \"always\"\n[report]\ntop = 3\n").unwrap();
    std::fs::write(&of_user, "[all]\ncolor = \"never\"\nwide = true\n").unwrap();
    let run = |arguments: &str, named: Option<&str>| -> Outcome {
        let mut command = binary();
        command.args(arguments.split_whitespace()).current_dir(&project);
        command.env("XDG_CONFIG_HOME", &user).env("PLIMSOLL_SITE", "").env_remove("NO_COLOR");
        if let Some(named) = named {
            command.env("PLIMSOLL_SETTINGS", named);
        }
        command.output().unwrap().into()
    };
    let shown = run("site show --json", None);
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let settings = shown["result"]["settings"].as_array().unwrap();
    let told = |option: &str| settings.iter().find(|it| it["option"] == option).unwrap();
    assert_eq!((settings.len(), &told("color")["value"]), (3, &"always".into()), "the nearest");
    assert_eq!(told("color")["file"], of_project.to_str().unwrap());
    assert_eq!(told("wide")["origin"], "the user's");
    let model = "model contention --targets 480 --per-job 160 --jobs 4";
    assert!(run(model, None).stdout.contains('\u{1b}'), "colours off a terminal");
    assert!(!run(&format!("{model} --color never"), None).stdout.contains('\u{1b}'));
    assert!(!run(model, Some("")).stdout.contains('\u{1b}'), "none");
    // None may replace files, and what nobody typed is told to come from the file.
    std::fs::write(&of_project, "[report]\nforce = true\n").unwrap();
    let refused = run(model, None);
    assert_eq!(refused.status, Some(2));
    assert!(refused.stderr.contains("plimsoll.toml: [report] force cannot be set; hint: top"));
    let recorded = run("record /no/such/program", None);
    // A job goes on.
    assert!(
        recorded.stderr.starts_with("warning: cannot use the settings "),
        "{}",
        recorded.stderr
    );
    std::fs::write(&of_project, "[all]\ncolor = \"blue\"\n").unwrap();
    let wrong = run(model, None);
    assert_eq!((wrong.status, wrong.stderr.lines().count()), (Some(2), 1), "{}", wrong.stderr);
    assert!(wrong.stderr.ends_with("plimsoll.toml says so\n"), "{}", wrong.stderr);
    assert!(wrong.stderr.contains(of_project.to_str().unwrap()), "{}", wrong.stderr);
    let recorded = run("record /no/such/program", None);
    assert!(recorded.stderr.starts_with("warning: invalid value 'blue'"), "{}", recorded.stderr);
}
