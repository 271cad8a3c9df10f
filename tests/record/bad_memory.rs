//! Programs name memory that they do not have: that is their error, as without the library, and not their end.

use std::process::Command;

use crate::support::command::Outcome;
use crate::support::recording::{library, python, record};

/// Says what each call failed with.
const CALLS: &str = "
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
one, other = (os.open(name, os.O_CREAT | os.O_RDWR) for name in ['one', 'other'])
os.write(one, b'text')
nowhere, outside = ctypes.c_void_p(8), os.open('/etc/passwd', os.O_RDONLY)
def tell(name, *arguments):
    result = getattr(libc, name)(*arguments)
    print(name, result if result >= 0 else errno.errorcode[ctypes.get_errno()])
for file in [one, outside]:
    tell('copy_file_range', file, nowhere, other, None, ctypes.c_size_t(4), 0)
    tell('copy_file_range', file, None, other, nowhere, ctypes.c_size_t(4), 0)
    tell('sendfile', other, file, nowhere, ctypes.c_size_t(4))
    tell('splice', file, nowhere, os.pipe()[1], None, ctypes.c_size_t(4), 0)
tell('execve', nowhere, None, None)
place = ctypes.c_int64(1)
tell('copy_file_range', one, ctypes.byref(place), other, None, ctypes.c_size_t(3), 0)
tell('sendfile', other, one, ctypes.byref(place), ctypes.c_size_t(4))
print(place.value, os.pread(other, 10, 0))
";

#[test]
fn memory_that_is_not_there_is_an_error() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let at = |name: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).unwrap();
        path
    };
    let (mount, target, other, third) = (at("mount"), at("target"), at("other"), at("third"));
    let mut recorded = record(&folder.path().join("rec"));
    let mut stowed = Command::new(recorded.get_program());
    stowed.args(["stow", "run", "--quiet", "--mount"]).arg(&mount).arg("--targets").arg(&target);
    stowed.env("PLIMSOLL_LIBRARY", library());
    let run = |command: &mut Command, at| -> Outcome {
        command.args(["-c", CALLS]).current_dir(at).output().unwrap().into()
    };
    let plain = run(&mut Command::new(python()), &other);
    assert_eq!(plain.stdout.matches("EFAULT").count(), 9, "{}{}", plain.stdout, plain.stderr);
    for (command, at) in [(&mut recorded, &third), (&mut stowed, &mount)] {
        let outcome = run(command.args(["--", python()]), at);
        assert_eq!(outcome.status, Some(0), "{}{}", outcome.stdout, outcome.stderr);
        assert_eq!(outcome.stdout, plain.stdout);
    }
}
