//! Bytes in a fixed place: what `String` would be if we could allocate.

use core::ffi::CStr;
use core::mem::MaybeUninit;

use rustix::fs::CWD;

/// A path with its zero (PATH_MAX in include/uapi/linux/limits.h).
pub const PATH_BYTES: usize = 4096;

/// Up to `N - 1` bytes and, unless it is empty, a zero behind them. Zeros are the empty text.
#[repr(C)]
pub struct Text<const N: usize> {
    length: usize,
    bytes: [MaybeUninit<u8>; N],
}

impl<const N: usize> Text<N> {
    /// Returns the empty text. The bytes stay uninitialised: a path's buffer costs nothing.
    #[inline]
    pub const fn new() -> Self {
        Text { length: 0, bytes: [MaybeUninit::uninit(); N] }
    }

    /// Adds bytes; what does not fit is cut off.
    #[inline]
    pub fn push(&mut self, more: &[u8]) {
        let room = N.saturating_sub(self.length).saturating_sub(1);
        let count = more.len().min(room);
        if let Some(place) = self.bytes.get_mut(self.length..self.length + count) {
            for (to, from) in place.iter_mut().zip(more) {
                to.write(*from);
            }
            self.length += count;
            self.terminate();
        }
    }

    /// Puts the zero behind the text.
    #[inline]
    fn terminate(&mut self) {
        if let Some(end) = self.bytes.get_mut(self.length) {
            end.write(0);
        }
    }

    /// Adds a number in hexadecimal or decimal digits.
    pub fn push_number(&mut self, number: u64, base: u64) {
        let mut digits = [0u8; 20];
        let (mut at, mut rest) = (digits.len(), number);
        while at > 0 {
            at -= 1;
            let digit = (rest % base) as u8;
            if let Some(place) = digits.get_mut(at) {
                *place = if digit < 10 { b'0' + digit } else { b'a' + digit - 10 };
            }
            rest /= base;
            if rest == 0 {
                break;
            }
        }
        self.push(digits.get(at..).unwrap_or(&[]));
    }

    /// Replaces everything.
    pub fn set(&mut self, text: &[u8]) {
        self.length = 0;
        self.push(text);
    }

    /// Replaces everything by a path that does not depend on the working directory.
    pub fn set_absolute(&mut self, path: &[u8]) {
        self.length = 0;
        if !path.starts_with(b"/") {
            self.push_link(c"/proc/self/cwd");
            if self.as_bytes() == b"/" {
                self.length = 0;
            }
        }
        self.push_parts(path);
    }

    /// Adds the parts of a path, each behind a slash, without those that mean nothing.
    pub fn push_parts(&mut self, path: &[u8]) {
        for part in path.split(|byte| *byte == b'/') {
            if !part.is_empty() && part != b"." {
                self.push(b"/");
                self.push(part);
            }
        }
    }

    /// Adds what a symbolic link says; nothing when it cannot be read.
    pub fn push_link(&mut self, link: &CStr) {
        let room = N.saturating_sub(self.length).saturating_sub(1);
        let Some(place) = self.bytes.get_mut(self.length..self.length + room) else { return };
        if let Ok((text, _)) = rustix::fs::readlinkat_raw(CWD, link, place) {
            self.length += text.len();
            self.terminate();
        }
    }

    /// Shortens it.
    #[inline]
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
        self.terminate();
    }

    /// Returns the bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        let bytes = self.bytes.get(..self.length).unwrap_or(&[]);
        // SAFETY: everything up to the length was written.
        unsafe { &*(core::ptr::from_ref(bytes) as *const [u8]) }
    }

    /// Returns the bytes for a system call, up to the first zero.
    pub fn as_c_str(&self) -> &CStr {
        if self.length == 0 {
            return c"";
        }
        let bytes = self.bytes.get(..self.length + 1).unwrap_or(&[]);
        // SAFETY: everything up to the zero was written.
        let bytes = unsafe { &*(core::ptr::from_ref(bytes) as *const [u8]) };
        CStr::from_bytes_until_nul(bytes).unwrap_or(c"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_cut_off_and_a_zero_always_fits() {
        let mut text = Text::<8>::new();
        assert_eq!(text.as_c_str(), c"");
        text.push(b"seven");
        text.push(b"teen");
        assert_eq!(text.as_bytes(), b"sevente");
        assert_eq!(text.as_c_str(), c"sevente");
        text.truncate(5);
        assert_eq!(text.as_c_str(), c"seven");
        text.set(b"");
        assert!(text.as_bytes().is_empty());
    }

    #[test]
    fn numbers_have_digits_of_their_base() {
        let written = |number, base| {
            let mut text = Text::<32>::new();
            text.push_number(number, base);
            String::from_utf8(text.as_bytes().to_vec()).unwrap()
        };
        assert_eq!(written(0, 10), "0");
        assert_eq!(written(u64::MAX, 10), u64::MAX.to_string());
        assert_eq!(written(0xbeef, 16), "beef");
    }
}
