//! System errors by name.

/// Errors that can stop a recording, by their numbers on Linux (asm-generic/errno-base.h and
/// errno.h).
const NAMES: [(u32, &str); 16] = [
    (1, "EPERM"),
    (2, "ENOENT"),
    (5, "EIO"),
    (9, "EBADF"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (17, "EEXIST"),
    (20, "ENOTDIR"),
    (22, "EINVAL"),
    (27, "EFBIG"),
    (28, "ENOSPC"),
    (30, "EROFS"),
    (36, "ENAMETOOLONG"),
    (107, "ENOTCONN"),
    (116, "ESTALE"),
    (122, "EDQUOT"),
];

/// "no space left on device (ENOSPC)".
pub(crate) fn describe(number: u32) -> String {
    if number == 0 {
        return "unknown reason".to_string();
    }
    let code = i32::try_from(number).unwrap_or(i32::MAX);
    let message = std::io::Error::from_raw_os_error(code).to_string();
    let message = message.split(" (os error").next().unwrap_or_default().to_lowercase();
    match NAMES.iter().find(|(known, _)| *known == number) {
        Some((_, name)) => format!("{message} ({name})"),
        None => format!("{message} (system error {number})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_names() {
        assert_eq!(describe(28), "no space left on device (ENOSPC)");
        assert_eq!(describe(122), "disk quota exceeded (EDQUOT)");
        assert_eq!(describe(40), "too many levels of symbolic links (system error 40)");
        assert_eq!(describe(0), "unknown reason");
        assert!(describe(u32::MAX).contains(&u32::MAX.to_string()));
    }
}
