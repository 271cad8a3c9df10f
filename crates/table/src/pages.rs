//! The pages of a column, each looked at before it is decoded: decoders make room for as many values as a page claims to have.

use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

/// Pages that are what they claim, as far as their size tells.
pub(crate) struct CheckedPages {
    pages: Box<dyn PageReader>,
    /// The next page, if somebody asked about it.
    peeked: Option<Page>,
    /// Rows of the row group.
    rows: usize,
    /// The least bytes of a value in a dictionary.
    value_bytes: usize,
}

impl CheckedPages {
    pub fn new(pages: Box<dyn PageReader>, rows: usize, physical: Type) -> Self {
        let value_bytes = match physical {
            Type::INT64 | Type::DOUBLE => 8,
            // Of texts, their length.
            _ => 4,
        };
        CheckedPages { pages, peeked: None, rows, value_bytes }
    }

    fn check(&self, page: &Page) -> Result<()> {
        let values = page.num_values() as usize;
        let is_dictionary = matches!(page, Page::DictionaryPage { .. });
        let most = if is_dictionary { page.buffer().len() / self.value_bytes } else { self.rows };
        if values > most {
            let what = if is_dictionary { "a dictionary" } else { "a page" };
            return Err(refused(format!("{what} claims {values} values, and has at most {most}")));
        }
        // These say within the page, too, how many values there are.
        if matches!(page.encoding(), Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY)
        {
            let encoding = page.encoding();
            return Err(refused(format!("texts of encoding {encoding} are not read; hint: plain")));
        }
        Ok(())
    }
}

fn refused(problem: String) -> ParquetError {
    ParquetError::General(problem)
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        if self.peeked.is_some() {
            return Ok(self.peeked.take());
        }
        let page = self.pages.get_next_page()?;
        page.as_ref().map(|page| self.check(page)).transpose()?;
        Ok(page)
    }

    /// Reads the page: the reader, if it were asked, would read a page's header at one time and its bytes at another, and
    /// every place that is read from must be a header's.
    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.peeked = self.get_next_page()?;
        Ok(self.peeked.as_ref().map(|page| PageMetadata {
            num_rows: None,
            num_levels: Some(page.num_values() as usize),
            is_dict: matches!(page, Page::DictionaryPage { .. }),
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.get_next_page().map(drop)
    }
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One(Option<Page>);

    impl PageReader for One {
        fn get_next_page(&mut self) -> Result<Option<Page>> {
            Ok(self.0.take())
        }

        fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
            Ok(None)
        }

        fn skip_next_page(&mut self) -> Result<()> {
            Ok(())
        }
    }

    impl Iterator for One {
        type Item = Result<Page>;

        fn next(&mut self) -> Option<Self::Item> {
            self.get_next_page().transpose()
        }
    }

    fn is_read(page: Page, physical: Type) -> bool {
        CheckedPages::new(Box::new(One(Some(page))), 10, physical).get_next_page().is_ok()
    }

    fn dictionary(bytes: usize, num_values: u32) -> Page {
        let (buf, encoding) = (vec![0; bytes].into(), Encoding::PLAIN);
        Page::DictionaryPage { buf, num_values, encoding, is_sorted: false }
    }

    fn data(num_values: u32, encoding: Encoding) -> Page {
        Page::DataPage {
            buf: vec![0; 8].into(),
            num_values,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        }
    }

    #[test]
    fn no_page_has_more_values_than_it_can() {
        assert!(is_read(dictionary(80, 20), Type::BYTE_ARRAY));
        assert!(!is_read(dictionary(80, 21), Type::BYTE_ARRAY));
        assert!(is_read(dictionary(80, 10), Type::INT64));
        assert!(!is_read(dictionary(80, 11), Type::DOUBLE));
        assert!(!is_read(dictionary(80, 1 << 31), Type::BYTE_ARRAY));
        assert!(is_read(data(10, Encoding::PLAIN), Type::INT32));
        assert!(!is_read(data(11, Encoding::PLAIN), Type::INT32));
        assert!(!is_read(data(10, Encoding::DELTA_BYTE_ARRAY), Type::BYTE_ARRAY));
    }
}
