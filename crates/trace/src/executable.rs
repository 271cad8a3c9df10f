//! What a file that is about to be executed says about whether a preloaded library will see into
//! it. Used by the library, for the programs that a recorded program starts, and by `plimsoll
//! record`, for the first. Allocates nothing and calls nothing but what it is given.

use crate::Unseen;

/// Longest interpreter's path that is followed: more than the kernel takes from a script.
pub const INTERPRETER_BYTES_MAX: usize = 512;

/// What kind of file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executable {
    /// A program of this kind of processor, or of another.
    Program(Option<Unseen>),
    /// A script: this many bytes of the buffer are the path of its interpreter.
    Script(usize),
    /// Something else: the kernel will refuse it or knows more about it.
    Unknown,
}

/// Looks at a file. `read` fills a buffer from an offset and gives the bytes that it found; `name`
/// is the file's name; an interpreter's path goes into `interpreter`.
pub fn look(
    mut read: impl FnMut(u64, &mut [u8]) -> usize,
    name: &[u8],
    interpreter: &mut [u8; INTERPRETER_BYTES_MAX],
) -> Executable {
    let mut start = [0u8; INTERPRETER_BYTES_MAX];
    let length = read(0, &mut start);
    let start = &start[..length.min(INTERPRETER_BYTES_MAX)];
    if let Some(line) = start.strip_prefix(b"#!") {
        return script(line, interpreter);
    }
    let Some(header) = start.first_chunk::<64>().filter(|it| it.starts_with(b"\x7fELF")) else {
        return Executable::Unknown;
    };
    Executable::Program(program(header, read, name))
}

/// Returns the first word of a script's first line.
fn script(line: &[u8], interpreter: &mut [u8; INTERPRETER_BYTES_MAX]) -> Executable {
    let end = line.iter().position(|byte| *byte == b'\n').unwrap_or(line.len());
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let mut words = line[..end].split(is_blank).filter(|word| !word.is_empty());
    let path = words.next().unwrap_or(b"");
    match interpreter.get_mut(..path.len()) {
        Some(place) if !path.is_empty() => {
            place.copy_from_slice(path);
            Executable::Script(path.len())
        }
        _ => Executable::Unknown,
    }
}

/// ELF's e_machine of the processor that this is compiled for (elf.h).
const OWN_MACHINE: u16 = if cfg!(target_arch = "x86_64") {
    62
} else if cfg!(target_arch = "aarch64") {
    183
} else if cfg!(target_arch = "powerpc64") {
    21
} else if cfg!(target_arch = "riscv64") {
    243
} else {
    0
};

const PT_INTERP: u32 = 3;
const PT_NOTE: u32 = 4;
/// Program headers that are looked at; programs have about a dozen.
const HEADERS_MAX: u16 = 64;

fn program(
    header: &[u8; 64],
    mut read: impl FnMut(u64, &mut [u8]) -> usize,
    name: &[u8],
) -> Option<Unseen> {
    const CLASS_64: u8 = 2;
    const LITTLE_ENDIAN: u8 = 1;
    let own_order = if cfg!(target_endian = "little") { LITTLE_ENDIAN } else { 2 };
    let is_own = header[4] == CLASS_64 && header[5] == own_order;
    if !is_own || OWN_MACHINE != 0 && half(header, 18) != OWN_MACHINE {
        return Some(Unseen::OtherMachine);
    }
    let (at, size, count) = (word(header, 32), half(header, 54), half(header, 56));
    let (mut has_linker, mut is_go) = (false, false);
    for index in 0..count.min(HEADERS_MAX) {
        let mut entry = [0u8; 56];
        let offset = at.saturating_add(u64::from(size) * u64::from(index));
        if read(offset, &mut entry) < entry.len() {
            break;
        }
        let kind = u32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]);
        let (from, length) = (word(&entry, 8), word(&entry, 32) as usize);
        let mut bytes = [0u8; INTERPRETER_BYTES_MAX];
        let room = length.min(INTERPRETER_BYTES_MAX);
        match kind {
            PT_INTERP => {
                has_linker = true;
                let found = read(from, &mut bytes[..room]).min(room);
                if contains(&bytes[..found], b"/ld-musl") {
                    return Some(Unseen::OtherLibc);
                }
            }
            PT_NOTE => {
                let found = read(from, &mut bytes[..room]).min(room);
                is_go |= has_go_note(&bytes[..found]);
            }
            _ => {}
        }
    }
    match (has_linker, is_go) {
        // The dynamic linker itself can be executed, with a program as its argument.
        (false, _) if is_linker(name) => None,
        (false, _) => Some(Unseen::Static),
        (true, true) => Some(Unseen::RawCalls),
        (true, false) => None,
    }
}

fn is_linker(name: &[u8]) -> bool {
    [&b"ld-linux"[..], b"ld.so", b"ld64.so", b"ld-2."].iter().any(|it| name.starts_with(it))
}

/// Returns whether the file has a note of the Go linker, which leaves the build's number in a note of type 4 by "Go" (elf(5) has the layout).
fn has_go_note(notes: &[u8]) -> bool {
    let mut type_and_name = *b"\0\0\0\0Go\0\0";
    type_and_name[..4].copy_from_slice(&4u32.to_ne_bytes());
    contains(notes, &type_and_name)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn half(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |it| u16::from_ne_bytes([it[0], it[1]]))
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0u8; 8];
    if let Some(eight) = bytes.get(at..at + 8) {
        word.copy_from_slice(eight);
    }
    u64::from_ne_bytes(word)
}

/// Whose rights a program would have.
#[derive(Debug, Clone, Copy)]
pub struct Rights {
    /// The file's mode.
    pub mode: u32,
    /// The file's owner and group.
    pub owner: (u32, u32),
    /// The real user and group of the process that executes it.
    pub process: (u32, u32),
    /// The file has the attribute "security.capability".
    pub has_capabilities: bool,
}

impl Rights {
    /// Returns true if the file has a bit that may change the user or the group.
    pub fn may_change(mode: u32) -> bool {
        const SET_USER: u32 = 0o4000;
        const SET_GROUP: u32 = 0o2010; // without the group's right to execute it means locking
        mode & SET_USER != 0 || mode & SET_GROUP == SET_GROUP
    }

    /// Returns why the dynamic linker will not preload anything (ld.so(8), secure-execution mode).
    pub fn unseen(&self) -> Option<Unseen> {
        let (user, group) = self.process;
        let changes_user = self.mode & 0o4000 != 0 && self.owner.0 != user;
        let changes_group = self.mode & 0o2010 == 0o2010 && self.owner.1 != group;
        match (changes_user || changes_group, self.has_capabilities && user != 0) {
            (true, _) => Some(Unseen::SetId),
            (false, true) => Some(Unseen::Capabilities),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look_at(file: &[u8], name: &str) -> (Executable, Vec<u8>) {
        let mut interpreter = [0u8; INTERPRETER_BYTES_MAX];
        let read = |at: u64, room: &mut [u8]| {
            let rest = file.get(at as usize..).unwrap_or(&[]);
            let count = rest.len().min(room.len());
            room[..count].copy_from_slice(&rest[..count]);
            count
        };
        let found = look(read, name.as_bytes(), &mut interpreter);
        let length = if let Executable::Script(length) = found { length } else { 0 };
        (found, interpreter[..length].to_vec())
    }

    /// A segment's kind and its bytes.
    type Segment = (u32, &'static [u8]);

    /// Returns a program with these segments.
    fn elf(machine: u16, segments: &[Segment]) -> Vec<u8> {
        let mut file = vec![0u8; 64 + 56 * segments.len()];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[18..20].copy_from_slice(&machine.to_le_bytes());
        file[32..40].copy_from_slice(&64u64.to_le_bytes());
        file[54..56].copy_from_slice(&56u16.to_le_bytes());
        file[56..58].copy_from_slice(&(segments.len() as u16).to_le_bytes());
        for (index, (kind, bytes)) in segments.iter().enumerate() {
            let (entry, at) = (64 + 56 * index, file.len() as u64);
            file[entry..entry + 4].copy_from_slice(&kind.to_le_bytes());
            file[entry + 8..entry + 16].copy_from_slice(&at.to_le_bytes());
            file[entry + 32..entry + 40].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            file.extend_from_slice(bytes);
        }
        file
    }

    #[test]
    fn programs_are_told_apart() {
        const LINKER: Segment = (PT_INTERP, b"/lib64/ld-linux-x86-64.so.2\0");
        const MUSL: Segment = (PT_INTERP, b"/lib/ld-musl-x86_64.so.1\0");
        const GO: Segment = (PT_NOTE, b"\x04\0\0\0\x02\0\0\0\x04\0\0\0Go\0\0xy\0\0");
        const GNU: Segment = (PT_NOTE, b"\x04\0\0\0\x02\0\0\0\x03\0\0\0GNU\0xy\0\0");
        const LOAD: Segment = (1, b"code");
        let cases: [(&str, &[Segment], Option<Unseen>); 8] = [
            ("app", &[LOAD, LINKER, GNU], None),
            ("app", &[LOAD, GNU], Some(Unseen::Static)),
            ("app", &[], Some(Unseen::Static)),
            ("ld-linux-x86-64.so.2", &[LOAD], None),
            ("app", &[MUSL, LOAD], Some(Unseen::OtherLibc)),
            ("app", &[LINKER, GO], Some(Unseen::RawCalls)),
            ("app", &[GO, LINKER], Some(Unseen::RawCalls)),
            ("app", &[GO], Some(Unseen::Static)),
        ];
        for (name, segments, expected) in cases {
            let found = look_at(&elf(OWN_MACHINE, segments), name).0;
            assert_eq!(found, Executable::Program(expected), "{name} {segments:?}");
        }
        let other = look_at(&elf(OWN_MACHINE + 1, &[LOAD, LINKER]), "app").0;
        assert_eq!(other, Executable::Program(Some(Unseen::OtherMachine)));
        let mut cut = elf(OWN_MACHINE, &[LOAD, LINKER]);
        cut.truncate(64 + 56 + 20);
        let found = look_at(&cut, "app").0;
        assert_eq!(found, Executable::Program(Some(Unseen::Static)), "half of a header is none");
        let mut small = elf(OWN_MACHINE, &[LOAD, LINKER]);
        small[4] = 1;
        assert_eq!(look_at(&small, "app").0, Executable::Program(Some(Unseen::OtherMachine)));
    }

    #[test]
    fn this_very_test_and_the_shell_can_be_seen_into() {
        for path in [std::env::current_exe().unwrap(), "/bin/sh".into()] {
            let file = std::fs::read(&path).unwrap();
            assert_eq!(look_at(&file, "x").0, Executable::Program(None), "{}", path.display());
        }
    }

    #[test]
    fn scripts_name_their_interpreter_and_junk_is_nothing() {
        for (line, expected) in [
            ("#!/bin/sh\nexit 0\n", "/bin/sh"),
            ("#! /usr/bin/env -S python3 -u\n", "/usr/bin/env"),
            ("#!/bin/sh", "/bin/sh"),
        ] {
            let (found, interpreter) = look_at(line.as_bytes(), "x");
            assert_eq!(found, Executable::Script(expected.len()));
            assert_eq!(interpreter, expected.as_bytes());
        }
        for junk in [&b""[..], b"#!", b"#!   \n/bin/sh", b"echo hello\n", b"\x7fELF", b"\0\0\0\0"] {
            assert_eq!(look_at(junk, "x").0, Executable::Unknown, "{junk:?}");
        }
        let endless = [b"#!/".to_vec(), vec![b'x'; 5000]].concat();
        assert_eq!(look_at(&endless, "x").0, Executable::Script(INTERPRETER_BYTES_MAX - 2));
    }

    #[test]
    fn rights_change_where_the_kernel_changes_them() {
        let rights = |mode, owner, process, has_capabilities| {
            Rights { mode, owner, process, has_capabilities }.unseen()
        };
        assert_eq!(rights(0o4755, (0, 0), (1000, 1000), false), Some(Unseen::SetId));
        assert_eq!(rights(0o4755, (0, 0), (0, 0), false), None, "root stays root");
        assert_eq!(rights(0o2755, (0, 5), (1000, 1000), false), Some(Unseen::SetId));
        assert_eq!(rights(0o2745, (0, 5), (1000, 1000), false), None, "means locking");
        assert_eq!(rights(0o755, (0, 0), (1000, 1000), true), Some(Unseen::Capabilities));
        assert_eq!(rights(0o755, (0, 0), (0, 0), true), None);
        let changing = [0o4755, 0o4644, 0o2755, 0o2745, 0o755].map(Rights::may_change);
        assert_eq!(changing, [true, true, true, false, false]);
    }
}
