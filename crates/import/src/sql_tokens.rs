//! Words, names, texts and numbers of the SQL that MySQL and MariaDB write, one after the other, in memory of one of them.

use std::io::{self, BufRead, BufReader, Read};

use crate::sqlite::LENGTH_MAX;

/// One piece of SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// A word without quotes: a keyword, or a name.
    Word(String),
    /// A name in back quotes.
    Name(String),
    /// A text in quotes, without them.
    Text(Vec<u8>),
    /// A number as it is written, without its sign.
    Number(Vec<u8>),
    /// Any other character.
    Symbol(u8),
}

/// Why there is no next piece.
#[derive(Debug)]
pub(crate) enum TokenError {
    Io(io::Error),
    /// What is wrong, in words.
    Wrong(&'static str),
}

impl From<io::Error> for TokenError {
    fn from(cause: io::Error) -> Self {
        TokenError::Io(cause)
    }
}

/// Longest piece that is kept.
const TOKEN_BYTES_MAX: usize = LENGTH_MAX as usize;

/// Longest comment that is looked at: those that say where a dump begins and ends are shorter.
const COMMENT_BYTES: usize = 32;

/// Reads SQL piece by piece. Comments are passed over, those with `!` too: nothing is executed.
pub(crate) struct Tokens<R> {
    input: BufReader<R>,
    line: u64,
    /// Whether a comment said that a program's dump begins, and that it is complete.
    is_dump: bool,
    is_complete: bool,
    /// Whether what is read is kept.
    is_kept: bool,
}

impl<R: Read> Tokens<R> {
    pub fn new(input: R) -> Self {
        let input = BufReader::with_capacity(1 << 16, input);
        Tokens { input, line: 1, is_dump: false, is_complete: false, is_kept: true }
    }

    /// Returns the number of the line.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Returns whether a dump said that it begins, and did not say that it is complete.
    pub fn is_cut_off(&self) -> bool {
        self.is_dump && !self.is_complete
    }

    /// Reads the next piece; nothing at the end.
    pub fn next(&mut self) -> Result<Option<Token>, TokenError> {
        self.is_kept = true;
        self.token()
    }

    /// Passes over everything up to the end of a statement, however long its pieces are.
    pub fn skip_statement(&mut self) -> Result<(), TokenError> {
        self.is_kept = false;
        loop {
            match self.token()? {
                Some(Token::Symbol(b';')) => return Ok(()),
                Some(_) => {}
                None => return Err(TokenError::Wrong("a statement has no end: it is cut off")),
            }
        }
    }

    /// Passes over lines up to one that begins like this, and over that one.
    pub fn skip_lines_to(&mut self, beginning: &[u8]) -> Result<(), TokenError> {
        loop {
            let mut head = Vec::new();
            while let Some(byte) = self.bump()? {
                if byte == b'\n' {
                    break;
                }
                if head.len() < beginning.len() {
                    head.push(byte);
                }
            }
            if head.eq_ignore_ascii_case(beginning) {
                return Ok(());
            }
            if self.peek()?.is_none() {
                return Err(TokenError::Wrong("a procedure has no end: it is cut off"));
            }
        }
    }

    /// Reads the rest of a line, of which only the beginning is kept.
    pub fn rest_of_line(&mut self) -> Result<Vec<u8>, TokenError> {
        let mut rest = Vec::new();
        while let Some(byte) = self.bump()? {
            if byte == b'\n' {
                break;
            }
            if rest.len() < COMMENT_BYTES {
                rest.push(byte);
            }
        }
        Ok(rest.trim_ascii().to_vec())
    }

    fn token(&mut self) -> Result<Option<Token>, TokenError> {
        loop {
            let Some(first) = self.bump()? else { return Ok(None) };
            match first {
                b' ' | b'\t' | b'\r' | b'\n' => {}
                b'#' => self.comment()?,
                b'-' if self.peek()? == Some(b'-') => {
                    self.bump()?;
                    self.comment()?;
                }
                b'/' if self.peek()? == Some(b'*') => {
                    self.bump()?;
                    self.long_comment()?;
                }
                b'\'' | b'"' => return Ok(Some(Token::Text(self.quoted(first)?))),
                b'`' => {
                    let name = self.quoted(first)?;
                    return Ok(Some(Token::Name(String::from_utf8_lossy(&name).into_owned())));
                }
                b'0'..=b'9' => return Ok(Some(self.number(first)?)),
                b'.' if self.peek()?.is_some_and(|it| it.is_ascii_digit()) => {
                    return Ok(Some(self.number(first)?));
                }
                it if is_word(it) => return Ok(Some(self.word(it)?)),
                0 => return Err(TokenError::Wrong("it has zero bytes, as no dump has")),
                other => return Ok(Some(Token::Symbol(other))),
            }
        }
    }

    fn comment(&mut self) -> Result<(), TokenError> {
        let text = self.rest_of_line()?;
        self.is_dump |= text.starts_with(b"MySQL dump") || text.starts_with(b"MariaDB dump");
        self.is_complete |= text.starts_with(b"Dump completed");
        Ok(())
    }

    fn long_comment(&mut self) -> Result<(), TokenError> {
        let mut last = 0;
        while let Some(byte) = self.bump()? {
            if (last, byte) == (b'*', b'/') {
                return Ok(());
            }
            last = byte;
        }
        Err(TokenError::Wrong("a comment has no end: it is cut off"))
    }

    /// Reads up to the closing quote. A quote in it is written twice or, but for names, after a backslash.
    fn quoted(&mut self, quote: u8) -> Result<Vec<u8>, TokenError> {
        let mut text = Vec::new();
        loop {
            let Some(byte) = self.bump()? else {
                return Err(TokenError::Wrong("a text has no end: it is cut off"));
            };
            let byte = if byte == quote {
                if self.peek()? != Some(quote) {
                    return Ok(text);
                }
                self.bump()?;
                quote
            } else if byte == b'\\' && quote != b'`' {
                match self.bump()? {
                    Some(b'0') => 0,
                    Some(b'b') => 8,
                    Some(b'n') => b'\n',
                    Some(b'r') => b'\r',
                    Some(b't') => b'\t',
                    Some(b'Z') => 26,
                    Some(other) => other,
                    None => continue,
                }
            } else {
                byte
            };
            self.keep(&mut text, byte)?;
        }
    }

    fn number(&mut self, first: u8) -> Result<Token, TokenError> {
        let mut text = vec![first];
        while let Some(byte) = self.peek()? {
            let is_exponent = matches!(text.last(), Some(b'e' | b'E')) && !text.starts_with(b"0x");
            let is_part = byte.is_ascii_alphanumeric() || byte == b'.';
            if !(is_part || is_exponent && matches!(byte, b'+' | b'-')) {
                break;
            }
            self.bump()?;
            self.keep(&mut text, byte)?;
        }
        Ok(Token::Number(text))
    }

    fn word(&mut self, first: u8) -> Result<Token, TokenError> {
        let mut text = vec![first];
        while let Some(byte) = self.peek()?.filter(|it| is_word(*it)) {
            self.bump()?;
            self.keep(&mut text, byte)?;
        }
        Ok(Token::Word(String::from_utf8_lossy(&text).into_owned()))
    }

    fn keep(&self, text: &mut Vec<u8>, byte: u8) -> Result<(), TokenError> {
        if !self.is_kept {
            return Ok(());
        }
        if text.len() >= TOKEN_BYTES_MAX {
            return Err(TokenError::Wrong("a value is longer than 64 KiB, as none of LMT is"));
        }
        text.push(byte);
        Ok(())
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        if let Some(byte) = self.input.buffer().first() {
            return Ok(Some(*byte));
        }
        loop {
            match self.input.fill_buf() {
                Ok(bytes) => return Ok(bytes.first().copied()),
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(cause),
            }
        }
    }

    fn bump(&mut self) -> io::Result<Option<u8>> {
        let byte = self.peek()?;
        if let Some(byte) = byte {
            self.input.consume(1);
            self.line += u64::from(byte == b'\n');
        }
        Ok(byte)
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'@') || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<Token> {
        let mut tokens = Tokens::new(text);
        std::iter::from_fn(|| tokens.next().unwrap()).collect()
    }

    #[test]
    fn sql_is_words_names_texts_and_numbers() {
        let text = b"-- a ' comment\n/*!40000 DROP TABLE x */ # another\nInsert `a``b` 'it''s \\'\\n\\\\' -1.5e+10,0xE1-2;\"q\"";
        let word = |it: &str| Token::Word(it.into());
        let number = |it: &str| Token::Number(it.into());
        let symbol = Token::Symbol;
        let expected = vec![
            word("Insert"),
            Token::Name("a`b".into()),
            Token::Text(b"it's '\n\\".to_vec()),
            symbol(b'-'),
            number("1.5e+10"),
            symbol(b','),
            number("0xE1"),
            symbol(b'-'),
            number("2"),
            symbol(b';'),
            Token::Text(b"q".to_vec()),
        ];
        assert_eq!(all(text), expected);
    }

    #[test]
    fn what_is_too_long_is_passed_over_or_refused() {
        let long = format!("'{}'; 1", "x".repeat(TOKEN_BYTES_MAX + 1));
        assert!(matches!(Tokens::new(long.as_bytes()).next(), Err(TokenError::Wrong(_))));
        let mut tokens = Tokens::new(long.as_bytes());
        tokens.skip_statement().unwrap();
        assert_eq!(tokens.next().unwrap(), Some(Token::Number(b"1".to_vec())));
        for cut in ["'a", "`a", "/* a", "'a\\"] {
            assert!(Tokens::new(cut.as_bytes()).next().is_err(), "{cut}");
        }
    }

    #[test]
    fn dumps_say_that_they_are_complete() {
        let cut_off = |text: &str| {
            let mut tokens = Tokens::new(text.as_bytes());
            while tokens.next().unwrap().is_some() {}
            tokens.is_cut_off()
        };
        assert!(cut_off("-- MySQL dump 10.13\nx;\n"));
        assert!(!cut_off("-- MariaDB dump 10.19\nx;\n-- Dump completed on 2018-01-28\n"));
        assert!(!cut_off("x;\n"));
    }
}
