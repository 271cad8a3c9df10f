//! What this process knows of the bytes of a container: its reader, and whether anything was written since.
//!
//! A view that was offered to descriptors is read without the container's lock, even by what a signal handler interrupts. Whoever changes it takes
//! it back first and waits until nobody reads it any more, but not for long: who reads may be below this very signal
//! handler, or have been left by `siglongjmp`. Such a view is put aside, and another one made.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use plimsoll_stow::{Container, News, Reader};

use super::entry::told;
use super::places;
use crate::watched_pages;

/// What was written to a container until somebody looked last.
pub struct View {
    reader: Reader,
    news: Option<News>,
    /// What the kernel need not be asked for is in memory here, so that a page of it may go away.
    watched: Option<usize>,
    version: u64,
}

/// How many versions of views there were.
static VERSIONS: AtomicU64 = AtomicU64::new(0);

fn next_version() -> u64 {
    1 + VERSIONS.fetch_add(1, Ordering::Relaxed)
}

/// The view of a container, and those that somebody may still read.
#[derive(Default)]
pub struct Views {
    now: Option<Arc<View>>,
    /// The descriptors that were offered it.
    offered: Vec<c_int>,
    aside: Vec<(Arc<View>, Vec<c_int>)>,
}

impl View {
    fn open(container: &Arc<Container>) -> Result<Self, c_int> {
        // Looked for first: what comes while the reader looks is news again.
        let mut news = News::of(container).ok();
        if let Some(news) = &mut news {
            news.are_there();
        }
        let reader = Reader::open(container.clone()).map_err(told)?;
        Ok(View { reader, news, watched: None, version: next_version() }.watching())
    }

    /// Adds what was written since.
    fn renew(&mut self, container: &Container) -> Result<(), c_int> {
        let are_there = match &mut self.news {
            Some(news) => news.are_there(),
            None => {
                self.news = News::of(container).ok();
                if let Some(news) = &mut self.news {
                    news.are_there();
                }
                true
            }
        };
        if are_there {
            self.version = next_version();
            self.reader.refresh().map_err(told)?;
        }
        self.watch();
        Ok(())
    }

    fn watching(mut self) -> Self {
        self.watch();
        self
    }

    /// From now on one can look without asking the kernel, where that can be.
    fn watch(&mut self) {
        if self.watched.is_none()
            && let Some((address, length)) = self.news.as_mut().and_then(News::look_by_memory)
            && watched_pages::add(address, length)
        {
            self.watched = Some(address);
        }
    }

    /// Returns whether it is certain, without asking the kernel, that nothing was written since.
    #[inline]
    pub fn is_certain(&self) -> bool {
        self.watched.is_some() && self.news.as_ref().is_some_and(News::are_none)
    }

    /// Returns which one it is: of two that may show other bytes, this differs. It is never 0.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the reader.
    #[inline]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }
}

impl Drop for View {
    fn drop(&mut self) {
        if let Some(address) = self.watched {
            watched_pages::remove(address);
        }
    }
}

impl Views {
    /// Returns a reader that sees what was published on this node until now.
    pub fn reader(&mut self, container: &Arc<Container>) -> Result<&Reader, c_int> {
        let view = match self.now.take() {
            Some(view) if view.is_certain() => view,
            Some(view) => self.renewed(view, container)?,
            None => Arc::new(View::open(container)?),
        };
        Ok(&self.now.insert(view).reader)
    }

    fn renewed(
        &mut self,
        mut view: Arc<View>,
        container: &Arc<Container>,
    ) -> Result<Arc<View>, c_int> {
        self.aside.retain(|(_, offered)| places::are_used(offered));
        let offered = core::mem::take(&mut self.offered);
        let is_alone = places::take_back(&view, &offered);
        match Arc::get_mut(&mut view).filter(|_| is_alone) {
            Some(alone) => alone.renew(container).map(|()| view),
            None => {
                self.aside.push((view, offered));
                View::open(container).map(Arc::new)
            }
        }
    }

    /// Lets a descriptor be read, which can be, without asking whose it is, until it is known to be closed. The view is the one that was read last.
    pub fn offer(&mut self, fd: c_int) {
        if let Some(view) = self.now.as_ref().filter(|it| it.is_certain())
            && places::offer(view, fd)
            && !self.offered.contains(&fd)
        {
            self.offered.push(fd);
        }
    }

    /// Forgets what is known. What somebody may still read stays in memory.
    pub fn forget(&mut self) {
        let offered = core::mem::take(&mut self.offered);
        if let Some(view) = self.now.take()
            && !places::take_back(&view, &offered)
        {
            self.aside.push((view, offered));
        }
        self.aside.retain(|(_, offered)| places::are_used(offered));
    }
}

impl Drop for Views {
    fn drop(&mut self) {
        self.forget();
        core::mem::take(&mut self.aside).into_iter().for_each(core::mem::forget);
    }
}
