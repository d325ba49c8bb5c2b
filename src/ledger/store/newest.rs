//! The newest links, which are examined before a once-only call.

use std::rc::Rc;

use super::{StoreError, Tx};
use crate::ledger::record::{Link, NOTHING, Seq};

/// The number of newest links that are examined.
const NEWEST: Seq = 512;

impl Tx<'_> {
    /// The newest links, in ascending order. Each must have its hash and follow the one before: a link that was changed or
    /// removed may have been about any request.
    pub(crate) fn newest_links(&mut self) -> Result<Rc<[Link]>, StoreError> {
        if let Some(known) = &self.newest {
            return Ok(Rc::clone(known));
        }
        let head = self.head()?;
        let first = head.as_ref().map_or(0, |head| head.seq + 1);
        let first = first.saturating_sub(NEWEST);
        let links = self.links(first, usize::MAX)?;
        let mut before = (first == 0).then_some(NOTHING);
        for (seq, link) in (first..).zip(&links) {
            if link.seq != seq {
                return Err(self.damaged(format!("link {seq} is missing")));
            }
            if link.hash() != link.entry_hash {
                return Err(self.damaged(format!("link {seq} was changed")));
            }
            if before.is_some_and(|before| before != link.prev_hash) {
                return Err(self.damaged(format!("link {seq} does not follow the previous link")));
            }
            before = Some(&link.entry_hash);
        }
        let last = links.last().map(|link| (link.seq, &link.entry_hash));
        let head = head.as_ref().map(|head| (head.seq, &head.entry_hash));
        if let Some((seq, _)) = head.filter(|_| last != head) {
            return Err(self.damaged(format!("link {seq} is missing")));
        }
        let newest: Rc<[Link]> = links.into();
        self.newest = Some(Rc::clone(&newest));
        Ok(newest)
    }
}
