//! What is wrong with a burst before any file is touched.

use plimsoll_domain::Bytes;
use plimsoll_domain::burst::{Engine, Pattern};

use crate::{Burst, EngineError};

/// The deepest queue: beyond it buffers and completions cost more than they hide.
pub const DEPTH_MAX: u32 = 4096;

/// MAX_RW_COUNT (include/linux/fs.h): no call moves more than this, it would always be short.
pub const TRANSFER_MAX: Bytes = Bytes::new(0x7fff_f000);

/// Finds what can be found without looking at the files. [`crate::Prepared::open`] begins with
/// this and goes on with what only the file system knows, such as the blocks of O_DIRECT.
pub fn check(burst: &Burst) -> Result<(), EngineError> {
    check_files(burst)?;
    check_sizes(burst)?;
    check_span(burst)?;
    check_depth(burst)?;
    check_stripe(burst)?;
    check_ends(burst)
}

fn check_files(burst: &Burst) -> Result<(), EngineError> {
    if burst.paths.is_empty() {
        return Err(EngineError::NoFiles);
    }
    let mut sorted: Vec<_> = burst.paths.iter().collect();
    sorted.sort();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(EngineError::SameFile { path: pair[0].clone() }),
        None => Ok(()),
    }
}

fn check_sizes(burst: &Burst) -> Result<(), EngineError> {
    let (bytes, transfer) = (burst.bytes, burst.transfer);
    for (what, value) in [("size", bytes), ("transfer size", transfer)] {
        if value == Bytes::default() {
            return Err(EngineError::Zero { what });
        }
    }
    if transfer > TRANSFER_MAX {
        return Err(EngineError::TransferTooLarge { transfer });
    }
    if transfer > bytes {
        return Err(EngineError::TooLarge {
            what: "a transfer",
            part: transfer,
            whole_name: "a burst",
            whole: bytes,
        });
    }
    if burst.paths.len() == 1 {
        return Ok(());
    }
    if burst.chunk == Bytes::default() {
        return Err(EngineError::Zero { what: "chunk size" });
    }
    multiple("a chunk", burst.chunk, transfer)
}

fn check_span(burst: &Burst) -> Result<(), EngineError> {
    let Some(span) = burst.span else { return Ok(()) };
    if burst.pattern != Pattern::Random {
        return Err(EngineError::SpanOfSequential { span });
    }
    if burst.bytes > span {
        return Err(EngineError::TooLarge {
            what: "a burst",
            part: burst.bytes,
            whole_name: "a span",
            whole: span,
        });
    }
    // Which transfer would be the shorter one, depends on the order.
    multiple("a burst with a span", burst.bytes, burst.transfer)?;
    multiple("a span", span, burst.transfer)
}

fn multiple(what: &'static str, value: Bytes, transfer: Bytes) -> Result<(), EngineError> {
    if value.get().is_multiple_of(transfer.get()) {
        Ok(())
    } else {
        Err(EngineError::NotAMultiple { what, value, of: "a transfer", unit: transfer })
    }
}

fn check_depth(burst: &Burst) -> Result<(), EngineError> {
    let depth = burst.depth;
    let reason = match burst.engine {
        _ if depth == 0 => "nothing would ever be in flight",
        Engine::Uring if depth > DEPTH_MAX => "that is more than helps",
        Engine::Synchronous if depth > 1 => "the synchronous engine has one transfer in flight",
        _ => return Ok(()),
    };
    Err(EngineError::Depth { depth, reason })
}

/// Lustre's own limits (lustre_idl.h: LOV_MIN_STRIPE_SIZE, and 32 bits); zero would be a default.
fn check_stripe(burst: &Burst) -> Result<(), EngineError> {
    const UNIT: Bytes = Bytes::new(64 << 10);
    const MOST: Bytes = Bytes::new((4 << 30) - (64 << 10));
    let Some(stripe) = burst.stripe else { return Ok(()) };
    let (what, size) = ("a stripe", stripe.size);
    if stripe.count == 0 {
        return Err(EngineError::Zero { what: "stripe count" });
    }
    if size == Bytes::default() || !size.get().is_multiple_of(UNIT.get()) {
        let of = "Lustre's unit";
        return Err(EngineError::NotAMultiple { what, value: size, of, unit: UNIT });
    }
    if size > MOST {
        let whole_name = "the largest";
        return Err(EngineError::TooLarge { what, part: size, whole_name, whole: MOST });
    }
    Ok(())
}

/// Fails if a burst ends beyond the kernel's offsets, which are signed.
fn check_ends(burst: &Burst) -> Result<(), EngineError> {
    let (offset, bytes) = (burst.offset, burst.span.unwrap_or(burst.bytes));
    let end = offset.get().checked_add(bytes.get());
    if end.is_some_and(|end| i64::try_from(end).is_ok()) {
        Ok(())
    } else {
        Err(EngineError::Beyond { offset, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::burst::tests_support::burst;

    fn stripe(count: u16, size: u64) -> Option<crate::Stripe> {
        Some(crate::Stripe { first: 0, count, size: Bytes::new(size) })
    }

    fn message(change: impl FnOnce(&mut Burst)) -> String {
        let mut burst = burst("/nowhere");
        change(&mut burst);
        check(&burst).unwrap_err().to_string()
    }

    #[test]
    fn an_ordinary_burst_is_fine() {
        check(&burst("/nowhere")).unwrap();
        let mut last_shorter = burst("/nowhere");
        last_shorter.bytes = Bytes::new(last_shorter.bytes.get() + 1);
        check(&last_shorter).unwrap();
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        let of = Bytes::new;
        for (expected, found) in [
            ("size is zero", message(|it| it.bytes = of(0))),
            ("transfer size is zero", message(|it| it.transfer = of(0))),
            ("without files", message(|it| it.paths.clear())),
            ("over /nowhere twice", message(|it| it.paths.push("/nowhere".into()))),
            ("one call can move (2097148KiB)", message(|it| it.transfer = of(1 << 31))),
            (
                "a transfer of 128KiB is more than a burst of 64KiB",
                message(|it| it.transfer = of(128 << 10)),
            ),
            (
                "chunk size is zero",
                message(|it| {
                    it.paths.push("/b".into());
                    it.chunk = of(0)
                }),
            ),
            (
                "a chunk of 6KiB is not a multiple of a transfer of 4KiB",
                message(|it| {
                    it.paths.push("/b".into());
                    it.chunk = of(6 << 10)
                }),
            ),
            ("needs the random pattern", message(|it| it.span = Some(of(1 << 20)))),
            (
                "a burst of 64KiB is more than a span of 4KiB",
                message(|it| {
                    it.pattern = Pattern::Random;
                    it.span = Some(of(4096))
                }),
            ),
            (
                "a span of 65537B is not a multiple",
                message(|it| {
                    it.pattern = Pattern::Random;
                    it.span = Some(of(65_537))
                }),
            ),
            ("depth of 0", message(|it| it.depth = 0)),
            ("depth of 2 is not possible: the synchronous", message(|it| it.depth = 2)),
            (
                "depth of 4097",
                message(|it| {
                    it.engine = Engine::Uring;
                    it.depth = 4097
                }),
            ),
            ("beyond what a file can hold", message(|it| it.offset = of(i64::MAX as u64))),
            ("beyond what a file can hold", message(|it| it.offset = of(u64::MAX))),
            ("stripe count is zero", message(|it| it.stripe = stripe(0, 1 << 20))),
            ("a stripe of 0B is not a multiple", message(|it| it.stripe = stripe(1, 0))),
            ("a stripe of 1kB is not a multiple", message(|it| it.stripe = stripe(1, 1000))),
            ("a stripe of 4GiB is more than", message(|it| it.stripe = stripe(1, 4 << 30))),
        ] {
            assert!(found.contains(expected), "{found:?} lacks {expected:?}");
        }
    }
}
