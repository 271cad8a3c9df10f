//! What programs are told of the rights of a file that may be another one's: they copy it, with those rights.

use std::fs;
use std::os::unix::fs::PermissionsExt;
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
