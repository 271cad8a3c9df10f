//! What programs are told of the rights of a file that may be another one's: they copy it, with those rights.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Stowed;

/// The attack: an archive has a container with the id of a private one of whoever unpacks it, and with rights for all. To that user it is a file, which programs publish with its rights.
#[test]
fn what_a_copy_holds_is_told_to_be_private() {
    let stowed = Stowed::new();
    stowed.shell("umask 077; head -c 100000 /dev/zero > private");
    stowed.shell("umask 022; head -c 100000 /dev/zero > public; echo small > small");
    for name in ["private", "public", "small"] {
        let mut copy = Command::new("cp");
        copy.args(["-r", "--"]).arg(stowed.at(name)).arg(stowed.at(&format!("copy-of-{name}")));
        assert!(copy.status().unwrap().success());
    }
    let anchor = stowed.at("copy-of-private/anchor");
    fs::set_permissions(anchor, fs::Permissions::from_mode(0o755)).unwrap();
    let script = "
import os
for name in sorted(os.listdir('.')):
    fd = os.open(name, os.O_RDONLY)
    opened = [os.fstat(fd), os.stat(fd), os.stat(f'/proc/self/fd/{fd}')]
    named = [os.stat(name), os.lstat(name), next(it for it in os.scandir('.') if it.name == name).stat()]
    modes = {oct(it.st_mode) for it in opened + named}
    print(name, *modes)
";
    let told = stowed.python(script) + &stowed.shell("stat -c '%n %a' copy-of-private public");
    let expected = "copy-of-private 0o100700\ncopy-of-public 0o100600\ncopy-of-small 0o100644\nprivate 0o100600\npublic 0o100644\nsmall 0o100644\ncopy-of-private 700\npublic 644\n";
    assert_eq!(told, expected);
    stowed.shell("mkdir -m 755 ../published; umask 022; cp copy-of-private public ../published");
    let published = |name: &str| {
        let facts = fs::metadata(stowed.at("../published").join(name)).unwrap();
        facts.permissions().mode() & 0o777
    };
    assert_eq!((published("copy-of-private"), published("public")), (0o700, 0o644));
}

/// The attack: an archive has a container of the words of another one, which is public. Its owner takes the rights to it.
#[test]
fn who_may_read_a_container_is_not_decided_by_its_copy() {
    let stowed = Stowed::new();
    stowed.shell("umask 022; head -c 300000 /dev/zero > public");
    let mut copy = Command::new("cp");
    copy.arg("-rp").args(["public", "copy"].map(|it| stowed.at(it)));
    assert!(copy.status().unwrap().success());
    let inside = |it: &PathBuf| fs::read_dir(it).unwrap().map(|it| it.unwrap().path());
    let directories: Vec<PathBuf> = stowed.storage.targets.iter().flat_map(inside).collect();
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for directory in &directories {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    }
    stowed.shell("chmod 600 copy");
    assert!(!directories.is_empty() && directories.iter().all(|it| mode(it) == 0o755));
    stowed.shell("chmod 600 public");
    assert!(directories.iter().all(|it| mode(it) == 0o700));
    // Of what was moved or restored nobody else has the logs.
    for directory in &directories {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::remove_dir_all(stowed.at("public")).unwrap();
    stowed.shell("chmod 600 copy");
    assert!(directories.iter().all(|it| mode(it) == 0o700));
}

/// The attack: targets are in a directory of a project's group, as is usual, and files are another group's.
#[test]
fn rights_of_a_files_group_are_not_those_of_the_targets_group() {
    let stowed = Stowed::new();
    let [project, team] = [65_010, 65_011];
    let is_group = |path: &Path| chown(path, None, Some(project)).is_ok();
    if !stowed.storage.targets.iter().all(|it| is_group(it)) {
        eprintln!("SKIPPED: needs the right to give files to groups");
        return;
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let open = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    stowed.storage.targets.iter().for_each(|it| open(it, 0o2770));
    let inside = |it: &PathBuf| fs::read_dir(it).unwrap().map(|it| it.unwrap().path());
    let directories = || stowed.storage.targets.iter().flat_map(inside).collect::<Vec<_>>();
    stowed.shell("umask 022; head -c 300000 /dev/zero > changed; echo small > given");
    directories().iter().for_each(|it| open(it, 0o2750));
    stowed.shell("chmod 640 changed");
    assert!(!directories().is_empty() && directories().iter().all(|it| mode(it) == 0o700));
    // To members of another group than that of the directory.
    chown(stowed.at("given"), None, Some(project)).unwrap();
    chown(stowed.at("given/anchor"), None, Some(project)).unwrap();
    open(&stowed.at("given"), 0o750);
    stowed.shell(&format!("chmod 640 given; chgrp {project} given"));
    assert_eq!(mode(&stowed.at("given")), 0o750);
    stowed.shell(&format!("chgrp {team} given"));
    assert_eq!(mode(&stowed.at("given")), 0o700);
}

/// The rights that `ls -l` shows of a file with a list (acl(5)) are the most that the list gives, not those of its group.
#[test]
fn what_a_list_takes_from_others_is_taken_from_all_parts() {
    let stowed = Stowed::new();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let inside = |it: &PathBuf| fs::read_dir(it).unwrap().map(|it| it.unwrap().path());
    let parts = || {
        let logs = stowed.storage.targets.iter().flat_map(inside);
        logs.chain([stowed.at("file")]).collect::<Vec<_>>()
    };
    let opened = |mode: u32| {
        fs::set_permissions(stowed.at("file/anchor"), fs::Permissions::from_mode(0o644)).unwrap();
        let open = |it: &PathBuf| fs::set_permissions(it, fs::Permissions::from_mode(mode));
        parts().iter().for_each(|it| open(it).unwrap());
    };
    stowed.shell("umask 022; head -c 300000 /dev/zero > file");
    // The owner, user 4321, the group, the mask and others.
    let entries = "((1, 6, -1), (2, 4, 4321), (4, 0, -1), (16, 4, -1), (32, 0, -1))";
    let list =
        format!("struct.pack('<I', 2) + b''.join(struct.pack('<HHi', *it) for it in {entries})");
    let set = "name = 'system.posix_acl_access'\nfile = os.open('file', os.O_RDWR)";
    let ways = [
        format!("os.setxattr('file', name, {list})"),
        format!("os.setxattr(file, name, {list})"),
        format!("os.setxattr(f'/proc/self/fd/{{file}}', name, {list})"),
        // It has a list now.
        "os.chmod('file', 0o640)".into(),
        "os.removexattr('file', name)".into(),
        "os.chmod(f'/proc/self/fd/{file}', 0o600)".into(),
        "os.chmod(f'/dev/fd/{file}', 0o600)".into(),
    ];
    for way in ways {
        opened(0o750);
        let script = format!(
            "
import os, struct
{set}
try: {way}
except OSError as error: print(os.strerror(error.errno))"
        );
        if stowed.python(&script) == "Operation not supported\n" {
            println!("SKIPPED: no access control lists here");
            return;
        }
        let modes: Vec<_> = parts().iter().map(|it| mode(it)).collect();
        assert!(modes.len() > 1 && modes.iter().all(|it| *it == 0o700), "{way}: {modes:?}");
    }
}

/// A copy takes the place of the container that it is a copy of, and is private.
#[test]
fn whoever_gets_the_logs_of_another_container_says_who_may_read_them() {
    let stowed = Stowed::new();
    stowed.shell("umask 022; head -c 300000 /dev/zero > public");
    let mut copy = Command::new("cp");
    copy.arg("-rp").args(["public", "copy"].map(|it| stowed.at(it)));
    assert!(copy.status().unwrap().success());
    let inside = |it: &PathBuf| fs::read_dir(it).unwrap().map(|it| it.unwrap().path());
    let directories: Vec<PathBuf> = stowed.storage.targets.iter().flat_map(inside).collect();
    for directory in &directories {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    }
    stowed.shell("chmod 600 copy; mv copy public; echo more >> public");
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let directories: Vec<PathBuf> = stowed.storage.targets.iter().flat_map(inside).collect();
    assert!(!directories.is_empty() && directories.iter().all(|it| mode(it) == 0o700));
}

/// The attack: an archive has containers whose files claim to be private, while everybody may look into them and write to their parts. Their owner trusts them with a secret.
#[test]
fn who_may_not_read_a_file_may_not_look_into_its_container() {
    let stowed = Stowed::new();
    stowed.shell("umask 022; for it in small private lent narrowed held; do echo it > $it; done");
    stowed.shell(
        "for it in big wide; do head -c 300000 /dev/zero > $it; done; chmod 600 small private big",
    );
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let open = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let open_all = |directory: &Path| {
        open(directory, 0o755);
        for part in fs::read_dir(directory).unwrap() {
            let part = part.unwrap().path();
            if !part.ends_with("anchor") && !part.ends_with("container") {
                open(&part, 0o666);
            }
        }
    };
    let names = ["small", "big", "lent", "narrowed", "held", "wide"];
    names.iter().for_each(|it| open_all(&stowed.at(it)));
    let inside = |it: &PathBuf| fs::read_dir(it).unwrap().map(|it| it.unwrap().path());
    let directories: Vec<PathBuf> = stowed.storage.targets.iter().flat_map(inside).collect();
    directories.iter().for_each(|it| open_all(it));
    stowed.shell("for it in small big lent; do echo secret >> $it; done; chmod 600 narrowed wide");
    stowed.python("import os; os.fchmod(os.open('held', os.O_RDONLY), 0o600)");
    let modes = names.map(|it| mode(&stowed.at(it)));
    assert_eq!(modes, [0o700, 0o700, 0o755, 0o700, 0o700, 0o700]);
    // What `chmod` took from the file it took from its logs.
    let marker = fs::read(stowed.at("wide/plimsoll-container")).unwrap();
    let marker = String::from_utf8_lossy(&marker);
    let is_of_wide = |it: &&PathBuf| {
        let name = it.file_name().unwrap().to_str().unwrap();
        marker.contains(name.strip_prefix("plimsoll-stow-").unwrap())
    };
    let (of_wide, others): (Vec<_>, Vec<_>) = directories.iter().partition(is_of_wide);
    assert!(!of_wide.is_empty() && of_wide.iter().all(|it| mode(it) == 0o700), "{of_wide:?}");
    assert!(!others.is_empty() && others.iter().all(|it| mode(it) == 0o755), "{others:?}");
    let marker = |name: &str| mode(&stowed.at(name).join("plimsoll-container"));
    assert_eq!(["small", "lent"].map(marker), [0o600, 0o644]);
    let logs: Vec<PathBuf> = directories.iter().flat_map(inside).collect();
    let has_secret = |it: &&PathBuf| fs::read(it).unwrap().windows(6).any(|it| it == b"secret");
    let with_secret: Vec<&PathBuf> = logs.iter().filter(has_secret).collect();
    assert_eq!(with_secret.iter().map(|it| mode(it)).collect::<Vec<_>>(), [0o600]);
    // What says whose the logs are may be anybody's words.
    open(&with_secret[0].with_file_name("container"), 0o666);
    let refused = stowed.run(&["bash", "-c", "echo more >> big"]);
    assert!(refused.stderr.contains("Read-only file system"), "{}", refused.stderr);
}
