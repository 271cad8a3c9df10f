//! A lock between processes, any of which may be killed while it holds it.

use plimsoll_route::lease::Word;

/// The lock. Its word is 0, or says who holds it.
pub struct Lock<'a, W> {
    word: &'a W,
}

/// Who holds the lock, or would like to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockHolder {
    /// Its place among the members.
    pub place: usize,
    /// Tells it from others that had the place before.
    pub generation: u32,
}

/// How somebody waits for the lock.
pub trait Patience<W> {
    /// Looks at a lock that may be about to be opened, before one waits in earnest.
    const SPINS: u32;

    /// Waits a while, or until the word is no longer `known`. Fails if it has waited too long.
    fn wait(&mut self, word: &W, known: u64) -> Result<(), Stuck>;

    /// Wakes one that waits.
    fn wake(&mut self, word: &W);

    /// Whether the process that holds the lock is dead.
    fn is_dead(&mut self, holder: LockHolder) -> bool;
}

/// The lock is held by somebody who is alive and does not go on: it was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "another process of this user holds the node's lock and was stopped; hint: let it go on, or end it"
)]
pub struct Stuck;

/// Somebody waits, so that whoever opens the lock must wake one.
const WAITED_FOR: u64 = 1 << 15;
const PLACE_MASK: u64 = WAITED_FOR - 1;
const GENERATION_MASK: u64 = 0x7fff;

impl LockHolder {
    /// Fits into 32 bits, which is what the kernel can wait for.
    fn bits(self) -> u64 {
        (u64::from(self.generation) & GENERATION_MASK) << 16 | (self.place as u64 + 1)
    }

    fn from_bits(bits: u64) -> Self {
        let place = (bits & PLACE_MASK).saturating_sub(1) as usize;
        LockHolder { place, generation: (bits >> 16 & GENERATION_MASK) as u32 }
    }

    /// Returns whether a generation could be the one that is meant.
    pub fn is_of(self, generation: u32) -> bool {
        u64::from(self.generation) == u64::from(generation) & GENERATION_MASK
    }
}

impl<'a, W: Word> Lock<'a, W> {
    /// The lock at this word.
    pub fn new(word: &'a W) -> Self {
        Lock { word }
    }

    /// Holds the lock as `me`, who does not hold it now.
    ///
    /// # Errors
    /// Fails if `patience` does.
    pub fn close<P: Patience<W>>(&self, me: LockHolder, patience: &mut P) -> Result<(), Stuck> {
        let mut mine = me.bits();
        for _ in 0..P::SPINS {
            let known = self.word.get();
            if known == 0 && self.word.replace(0, mine) {
                return Ok(());
            }
            if known & WAITED_FOR != 0 || known & PLACE_MASK == mine & PLACE_MASK {
                break;
            }
            std::hint::spin_loop();
        }
        loop {
            let known = self.word.get();
            if known == 0 {
                if self.word.replace(0, mine) {
                    return Ok(());
                }
                continue;
            }
            // Who had this place before, and was killed.
            let is_mine = known & PLACE_MASK == mine & PLACE_MASK;
            if is_mine || patience.is_dead(LockHolder::from_bits(known)) {
                if self.word.replace(known, mine | WAITED_FOR) {
                    return Ok(());
                }
                continue;
            }
            let waited_for = known | WAITED_FOR;
            if known != waited_for && !self.word.replace(known, waited_for) {
                continue;
            }
            patience.wait(self.word, waited_for)?;
            // Others may still wait: they must be woken, too.
            mine = me.bits() | WAITED_FOR;
        }
    }

    /// Opens the lock that `me` holds.
    pub fn open(&self, me: LockHolder, patience: &mut impl Patience<W>) {
        if self.word.replace(me.bits(), 0) {
            return;
        }
        if self.word.replace(me.bits() | WAITED_FOR, 0) {
            patience.wake(self.word);
        }
    }
}
