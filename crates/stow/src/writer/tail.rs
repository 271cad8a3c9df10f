//! Where the file ends, for a writer that appends again and again.
//!
//! While all that was published on this node since the last look is this writer's own, the end is where it left it.

use super::Writer;
use crate::states::state_name;
use crate::{News, StowError};

/// The end of the file when a writer looked last.
pub(super) struct Tail {
    news: News,
    /// How often something was published until then, by anybody and by this writer.
    published: (u64, u64),
    size: u64,
}

impl Writer {
    /// Returns the size of the file, while nobody else changes it. What is appended behind another one would lie over what is missing.
    pub(super) fn size_now(&mut self) -> Result<u64, StowError> {
        if let Some(size) = self.size_if_known() {
            return Ok(size);
        }
        // Asked for first: what comes while the reader looks is news the next time.
        let news = News::of(&self.container).ok();
        let total = news.as_ref().and_then(News::total);
        let size = self.reader()?.known_size()?;
        self.tail = news.zip(total).map(|(news, total)| Tail {
            news,
            published: (total, self.published),
            size,
        });
        Ok(size)
    }

    fn size_if_known(&self) -> Option<u64> {
        let tail = self.tail.as_ref()?;
        let (total, own) = tail.published;
        let is_own = tail.news.total()?.wrapping_sub(total) == self.published.wrapping_sub(own);
        // A node that came since has a memory of its own.
        let is_here = self.container.directory().kind_of(state_name(2)).is_err();
        (is_own && is_here).then_some(tail.size)
    }

    /// Notes that it wrote up to here.
    pub(super) fn note_end(&mut self, end: u64) {
        if let Some(tail) = &mut self.tail {
            tail.size = tail.size.max(end);
        }
    }
}
