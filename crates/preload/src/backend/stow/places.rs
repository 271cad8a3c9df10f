//! Descriptors that are known to be of a container and readable, with what is known of it, so that they can be read without a lock and
//! without asking the kernel whose they are. They are forgotten with whatever gives a number to another file, as it is known whose descriptors are.
//!
//! Who reads is counted at the descriptor: one addition before what is known is looked up, and one after it was used. Whoever
//! takes a view back clears it first and looks at the counts then, so that either sees the other. A view is known here and taken back by itself, and it speaks of errors as its entry does: `entry`, `places` and `view` use each other.

use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::Arc;

use rustix::fs::Timespec;
use rustix::thread::nanosleep;

use super::fetched::Room;
use super::order::ReadOrder;
use super::view::View;
use crate::thread::{self, AtOnce, Serving};

/// Descriptors beyond this are asked about at each call.
const PLACES: usize = 1024;

struct Place {
    view: AtomicPtr<View>,
    /// Those who read without keeping signals out: they may never come back.
    at_once: AtomicU32,
    /// Those who do so while the backend works for them.
    serving: AtomicU32,
    order: ReadOrder,
    room: Room,
}

static ALL: [Place; PLACES] = [const {
    Place {
        view: AtomicPtr::new(ptr::null_mut()),
        at_once: AtomicU32::new(0),
        serving: AtomicU32::new(0),
        order: ReadOrder::new(),
        room: Room::none(),
    }
}; PLACES];

/// No place from here on was ever used.
static END: AtomicUsize = AtomicUsize::new(0);

/// What is known of a descriptor, while it is used.
pub struct KnownView {
    place: &'static Place,
    count: &'static AtomicU32,
    view: *mut View,
    _at_once: Option<AtOnce>,
}

impl KnownView {
    /// Returns what is known of a descriptor, for who is not kept from being interrupted.
    #[inline]
    pub fn at_once(fd: c_int) -> Option<Self> {
        let place = occupied(fd)?;
        let at_once = AtOnce::begin();
        Self::counted(place, &place.at_once, Some(at_once))
    }

    /// Returns what is known of a descriptor.
    pub fn serving(_serving: &Serving, fd: c_int) -> Option<Self> {
        let place = occupied(fd)?;
        Self::counted(place, &place.serving, None)
    }

    #[inline(always)]
    fn counted(
        place: &'static Place,
        count: &'static AtomicU32,
        at_once: Option<AtOnce>,
    ) -> Option<Self> {
        count.fetch_add(1, Ordering::SeqCst);
        let view = place.view.load(Ordering::SeqCst);
        let known = KnownView { place, count, view, _at_once: at_once };
        (!view.is_null()).then_some(known)
    }

    /// Returns the view.
    #[inline]
    pub fn view(&self) -> &View {
        // SAFETY: not null, and whoever lets it go waits until nobody is counted here.
        unsafe { &*self.view }
    }

    /// Returns in what order the descriptor is read.
    #[inline]
    pub fn order(&self) -> &'static ReadOrder {
        &self.place.order
    }

    /// Returns where more of the file can be kept than was asked for.
    #[inline]
    pub fn room(&self) -> &'static Room {
        &self.place.room
    }

    /// Returns whether this is still what is known. It is not in a child that was forked by a signal handler meanwhile, whose files are others.
    #[inline]
    pub fn is_so_still(&self) -> bool {
        ptr::eq(self.place.view.load(Ordering::Acquire), self.view)
    }
}

impl Drop for KnownView {
    #[inline]
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Release);
    }
}

#[inline(always)]
fn occupied(fd: c_int) -> Option<&'static Place> {
    ALL.get(fd as usize).filter(|it| !it.view.load(Ordering::Relaxed).is_null())
}

/// Lets a descriptor be read, which was just found to be of this view's container. Returns false where it is not to be: somebody may have begun
/// to read it before and never have come back.
pub fn offer(view: &Arc<View>, fd: c_int) -> bool {
    let Some(place) = ALL.get(fd as usize) else { return false };
    if place.at_once.load(Ordering::SeqCst) != 0 {
        return false;
    }
    END.fetch_max(fd as usize + 1, Ordering::Relaxed);
    place.view.store(Arc::as_ptr(view).cast_mut(), Ordering::SeqCst);
    true
}

/// Forgets what is known of a descriptor.
#[inline]
pub fn forget(fd: c_int) {
    if let Some(place) = occupied(fd) {
        place.view.store(ptr::null_mut(), Ordering::SeqCst);
    }
    if let Some(place) = ALL.get(fd as usize) {
        place.order.begin_anew();
        place.room.give_back();
    }
}

/// Forgets what is known of all descriptors from `first` to `last`.
pub fn forget_range(first: u32, last: u32) {
    let end = END.load(Ordering::Relaxed).min((last as usize).saturating_add(1));
    (first as usize..end).for_each(|fd| forget(fd as c_int));
}

/// How long is waited for those who may never come back, and for others, in tenths of a millisecond.
const WAIT_AT_ONCE: u32 = 500;
const WAIT_SERVING: u32 = 100_000;

/// How often is looked without letting others run, or without sleeping.
const LOOKS: u32 = 64;
const YIELDS: u32 = 256;

/// Takes a view back from all descriptors that it was offered to; returns whether nobody reads it any more.
pub fn take_back(view: &Arc<View>, offered: &[c_int]) -> bool {
    let own = Arc::as_ptr(view).cast_mut();
    for place in offered.iter().filter_map(|fd| ALL.get(*fd as usize)) {
        let (none, order) = (ptr::null_mut(), Ordering::SeqCst);
        // Another container's may be there by now.
        let _ = place.view.compare_exchange(own, none, order, order);
    }
    let is_used = |count: fn(&Place) -> &AtomicU32| {
        let mut places = offered.iter().filter_map(|fd| ALL.get(*fd as usize));
        places.any(|it| count(it).load(Ordering::SeqCst) != 0)
    };
    // It would be waited for what this thread itself has begun.
    let wait = if thread::reads_at_once() { 0 } else { WAIT_AT_ONCE };
    let ended = waited(WAIT_SERVING, || is_used(|it| &it.serving));
    ended && waited(wait, || is_used(|it| &it.at_once))
}

/// Returns whether something ended, in the time that is given to it.
fn waited(most: u32, goes_on: impl Fn() -> bool) -> bool {
    for look in 0..most + YIELDS {
        if !goes_on() {
            return true;
        }
        match look {
            ..LOOKS => core::hint::spin_loop(),
            LOOKS..YIELDS => rustix::thread::sched_yield(),
            _ => drop(nanosleep(&Timespec { tv_sec: 0, tv_nsec: 100_000 })),
        }
        if most == 0 {
            return false;
        }
    }
    false
}

/// Returns whether anybody reads by one of these descriptors.
pub fn are_used(offered: &[c_int]) -> bool {
    let mut places = offered.iter().filter_map(|fd| ALL.get(*fd as usize));
    places
        .any(|it| it.at_once.load(Ordering::SeqCst) != 0 || it.serving.load(Ordering::SeqCst) != 0)
}

/// Forgets everything in a forked child. Threads that it has not got read nothing; what the one that it has was interrupted in goes on.
pub fn begin_anew() {
    for place in ALL.iter().take(END.load(Ordering::Relaxed)) {
        place.view.store(ptr::null_mut(), Ordering::SeqCst);
        place.serving.store(0, Ordering::SeqCst);
        if !thread::reads_at_once() {
            place.at_once.store(0, Ordering::SeqCst);
        }
    }
}
