//! Dumps of MySQL and MariaDB (`mysqldump`): statements as text, of which rows of LMT's tables are read. Nothing is executed.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use crate::ImportError;
use crate::lmt_copy::{LmtCopy, LmtTable};
use crate::sql_tokens::{Token, TokenError, Tokens};
use crate::sql_value::SqlValue;

/// Columns that a table of LMT has at most.
const COLUMNS_MAX: usize = 256;

/// Returns how many rows of LMT's tables a dump has that is read from its beginning to its end; `path` is for errors.
///
/// # Errors
/// If it is damaged, or of several databases.
pub fn count_dump_rows(path: &Path, input: impl Read) -> Result<u64, ImportError> {
    let mut copied = LmtCopy::new(path)?;
    copy(path, input, &mut copied)?;
    Ok(copied.rows())
}

/// Copies the rows of LMT's tables.
pub(crate) fn copy(
    path: &Path,
    input: impl Read,
    into: &mut LmtCopy<'_>,
) -> Result<(), ImportError> {
    let mut dump = Dump { path, tokens: Tokens::new(input), columns: HashMap::new(), into };
    while let Some(token) = dump.next()? {
        dump.statement(token)?;
    }
    if dump.tokens.is_cut_off() {
        let reason = "it is cut off: its last line does not say that the dump is complete";
        return Err(ImportError::content(path, reason));
    }
    Ok(())
}

struct Dump<'a, 'c, R> {
    path: &'a Path,
    tokens: Tokens<R>,
    /// Names of columns, by table.
    columns: HashMap<&'static str, Vec<String>>,
    into: &'a mut LmtCopy<'c>,
}

impl<R: Read> Dump<'_, '_, R> {
    /// Reads a statement that begins with this.
    fn statement(&mut self, first: Token) -> Result<(), ImportError> {
        let Token::Word(word) = first else {
            return if first == Token::Symbol(b';') { Ok(()) } else { self.skip() };
        };
        match word.to_ascii_uppercase().as_str() {
            "CREATE" => self.create(),
            "INSERT" | "REPLACE" => self.insert(),
            "DELIMITER" => self.delimiter(),
            _ => self.skip(),
        }
    }

    /// Procedures and triggers are between lines that say what ends a statement.
    fn delimiter(&mut self) -> Result<(), ImportError> {
        let delimiter = self.tokens.rest_of_line();
        if self.checked(delimiter)? == b";" {
            return Ok(());
        }
        let skipped = self.tokens.skip_lines_to(b"DELIMITER ;");
        self.checked(skipped)
    }

    fn create(&mut self) -> Result<(), ImportError> {
        match self.some()? {
            Token::Word(word) if word.eq_ignore_ascii_case("table") => {}
            Token::Symbol(b';') => return Ok(()),
            _ => return self.skip(),
        }
        let (name, mut next) = self.table_name(&["IF", "NOT", "EXISTS"])?;
        let Some(table) = LmtCopy::table(&name) else {
            return if next == Token::Symbol(b';') { Ok(()) } else { self.skip() };
        };
        if next != Token::Symbol(b'(') {
            return Err(self.wrong("a table is made in a way that no dump does"));
        }
        let mut columns: Vec<String> = Vec::new();
        loop {
            next = self.some()?;
            match next {
                Token::Name(name) => columns.push(name),
                Token::Word(word) if !is_no_column(&word) => columns.push(word),
                Token::Word(_) => {}
                _ => return Err(self.wrong("a table is made in a way that no dump does")),
            }
            if columns.len() > COLUMNS_MAX {
                return Err(self.wrong("a table has more columns than any of LMT"));
            }
            if self.end_of_item()? {
                break;
            }
        }
        if self.columns.insert(table.name, columns).is_some() {
            let reason = format!(
                "table {} is in it more than once: these are databases of several file systems; hint: dump each one to a file of its own",
                table.name
            );
            return Err(ImportError::content(self.path, reason));
        }
        self.begin(table, None)?;
        self.skip()
    }

    /// Passes over the rest of an item of a list in brackets; returns whether it was the last.
    fn end_of_item(&mut self) -> Result<bool, ImportError> {
        let mut depth = 0u32;
        loop {
            match (self.some()?, depth) {
                (Token::Symbol(b','), 0) => return Ok(false),
                (Token::Symbol(b')'), 0) => return Ok(true),
                (Token::Symbol(b'('), _) => depth = depth.saturating_add(1),
                (Token::Symbol(b')'), _) => depth -= 1,
                (Token::Symbol(b';'), _) => {
                    return Err(self.wrong("a statement ends within brackets"));
                }
                _ => {}
            }
        }
    }

    /// Reads the name of a table behind some words; returns what follows it, too.
    fn table_name(&mut self, before: &[&str]) -> Result<(String, Token), ImportError> {
        let mut name = String::new();
        loop {
            match self.some()? {
                Token::Word(word) if before.iter().any(|it| word.eq_ignore_ascii_case(it)) => {}
                Token::Word(found) | Token::Name(found) => {
                    name = found;
                    match self.some()? {
                        // What came before it was the name of the database.
                        Token::Symbol(b'.') => {}
                        next => return Ok((name, next)),
                    }
                }
                next => return Ok((name, next)),
            }
        }
    }

    fn begin(
        &mut self,
        table: &'static LmtTable,
        named: Option<&[String]>,
    ) -> Result<usize, ImportError> {
        let columns = match named {
            Some(columns) => columns,
            None => match self.columns.get(table.name) {
                Some(columns) => columns,
                None => {
                    let reason = format!(
                        "it does not name the columns of {}; hint: dump it without --no-create-info, or with --complete-insert",
                        table.name
                    );
                    return Err(ImportError::content(self.path, reason));
                }
            },
        };
        self.into.begin(table, columns)?;
        Ok(columns.len())
    }

    fn insert(&mut self) -> Result<(), ImportError> {
        const BEFORE: [&str; 5] = ["IGNORE", "DELAYED", "LOW_PRIORITY", "HIGH_PRIORITY", "INTO"];
        let (name, mut next) = self.table_name(&BEFORE)?;
        let Some(table) = LmtCopy::table(&name) else {
            return if next == Token::Symbol(b';') { Ok(()) } else { self.skip() };
        };
        let mut named = None;
        if next == Token::Symbol(b'(') {
            named = Some(self.names()?);
            next = self.some()?;
        }
        let is_values = |it: &Token| matches!(it, Token::Word(it) if it.to_ascii_uppercase().starts_with("VALUE"));
        if !is_values(&next) {
            return Err(self.wrong("rows are added in a way that no dump does"));
        }
        let columns = self.begin(table, named.as_deref())?;
        let mut row = Vec::with_capacity(columns);
        loop {
            if self.some()? != Token::Symbol(b'(') {
                return Err(self.wrong("a row does not begin with a bracket"));
            }
            self.row(&mut row, columns)?;
            self.into.row(&row)?;
            match self.some()? {
                Token::Symbol(b',') => {}
                Token::Symbol(b';') => return Ok(()),
                _ => return self.skip(),
            }
        }
    }

    fn names(&mut self) -> Result<Vec<String>, ImportError> {
        let mut names = Vec::new();
        loop {
            match self.some()? {
                Token::Name(name) | Token::Word(name) if names.len() < COLUMNS_MAX => {
                    names.push(name)
                }
                Token::Symbol(b',') => {}
                Token::Symbol(b')') => return Ok(names),
                _ => return Err(self.wrong("columns are not named")),
            }
        }
    }

    /// Reads the values of a row, up to its closing bracket.
    fn row(&mut self, row: &mut Vec<SqlValue>, columns: usize) -> Result<(), ImportError> {
        row.clear();
        loop {
            let value = self.value()?;
            row.push(value);
            match self.some()? {
                Token::Symbol(b',') if row.len() < columns => {}
                Token::Symbol(b')') if row.len() == columns => return Ok(()),
                Token::Symbol(b',' | b')') => {
                    return Err(
                        self.wrong("a row has more or fewer values than its table has columns")
                    );
                }
                _ => return Err(self.wrong("a row has something that is no value")),
            }
        }
    }

    fn value(&mut self) -> Result<SqlValue, ImportError> {
        let wrong = "a row has something that is no value";
        let mut is_negative = false;
        loop {
            match self.some()? {
                Token::Symbol(b'-') if !is_negative => is_negative = true,
                Token::Number(mut text) => {
                    if is_negative {
                        text.insert(0, b'-');
                    }
                    // Numbers of another base are bytes, as which nothing of LMT is written.
                    return match text.get(1) {
                        Some(b'x' | b'X') => Ok(SqlValue::Null),
                        _ => SqlValue::number(&text).ok_or_else(|| self.wrong(wrong)),
                    };
                }
                _ if is_negative => return Err(self.wrong(wrong)),
                Token::Text(text) => return Ok(SqlValue::Bytes(text)),
                // What character set a text has.
                Token::Word(word) if word.starts_with('_') => {}
                Token::Word(word) => {
                    return match word.to_ascii_uppercase().as_str() {
                        "NULL" | "DEFAULT" => Ok(SqlValue::Null),
                        "TRUE" => Ok(SqlValue::Whole(1)),
                        "FALSE" => Ok(SqlValue::Whole(0)),
                        _ => Err(self.wrong(wrong)),
                    };
                }
                _ => return Err(self.wrong(wrong)),
            }
        }
    }

    fn next(&mut self) -> Result<Option<Token>, ImportError> {
        let token = self.tokens.next();
        self.checked(token)
    }

    /// Reads what must be there.
    fn some(&mut self) -> Result<Token, ImportError> {
        match self.next()? {
            Some(token) => Ok(token),
            None => Err(self.wrong("a statement has no end: it is cut off")),
        }
    }

    fn skip(&mut self) -> Result<(), ImportError> {
        let skipped = self.tokens.skip_statement();
        self.checked(skipped)
    }

    fn checked<T>(&self, result: Result<T, TokenError>) -> Result<T, ImportError> {
        result.map_err(|error| match error {
            TokenError::Io(cause) => ImportError::io(self.path, cause),
            TokenError::Wrong(reason) => self.wrong(reason),
        })
    }

    fn wrong(&self, reason: &str) -> ImportError {
        ImportError::content(self.path, format!("line {}: {reason}", self.tokens.line()))
    }
}

/// Returns whether an item of a table that begins so is a key or a condition.
fn is_no_column(word: &str) -> bool {
    const OTHERS: [&str; 10] = [
        "PRIMARY",
        "KEY",
        "UNIQUE",
        "INDEX",
        "FULLTEXT",
        "SPATIAL",
        "CONSTRAINT",
        "FOREIGN",
        "CHECK",
        "PERIOD",
    ];
    OTHERS.iter().any(|it| word.eq_ignore_ascii_case(it))
}
