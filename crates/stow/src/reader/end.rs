//! Where the file ends: not known while something is missing that may have given it another size.

use super::{Doubt, Reader};
use crate::StowError;

impl Reader {
    /// Returns the size of the file, as far as its logs can be read: what is behind may only be missing. Whoever goes by a size asks for
    /// [`Reader::known_size`].
    pub fn size(&self) -> u64 {
        self.pieces.size()
    }

    /// Returns the size of the file.
    ///
    /// # Errors
    /// If something that cannot be read may have given it another one.
    pub fn known_size(&self) -> Result<u64, StowError> {
        match self.doubt_of_end() {
            None => Ok(self.size()),
            Some(doubt) => {
                let (path, why) = (self.container.path().into(), doubt.why.clone());
                Err(StowError::UnknownSize { path, why })
            }
        }
    }

    /// Returns what may have given the file another size. A size that it got later, by being cut or by what the index says, is its size
    /// whatever is missing; a later record is not enough, as a missing one may reach further.
    pub(super) fn doubt_of_end(&self) -> Option<&Doubt> {
        let doubt = self.doubt.as_ref()?;
        let (given, _) = self.pieces.truncated();
        (given.sequence <= doubt.last).then_some(doubt)
    }
}
