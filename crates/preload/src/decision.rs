//! What is recorded and served in this program: decided once, by whoever comes first, the constructor or a call.

use crate::{backend, clock, config, environment, hot, process};

/// Decides. Harmless when it was decided already, or is being decided.
#[cold]
pub fn make() {
    if !hot::begin_to_decide() {
        return;
    }
    // SAFETY: we are the one that decides, and nobody reads before that.
    let layers = unsafe { config::read() };
    let recorded = if layers != 0 && process::init() { layers } else { 0 };
    if recorded != 0 {
        clock::init();
        // SAFETY: as above.
        unsafe { config::set_loaded(clock::anchor()) };
    }
    let has_backend = backend::begin();
    if recorded != 0 || has_backend {
        environment::keep();
        hot::decide(recorded, has_backend);
    }
}
