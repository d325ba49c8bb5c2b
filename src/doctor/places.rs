//! The places that runs write to.

use crate::assets::{Staging, Store, health};

use super::{
    Doctor,
    fact::{Fact, Subject},
};

/// Less than this is gone with a video or two.
const NEARLY_FULL: u64 = 256 * 1024 * 1024;

/// Nobody but the owner: what tools write there may be anything.
const PRIVATE: u32 = 0o700;

impl Doctor<'_> {
    /// Where assets go. `uri` is none where the catalog does not tell.
    pub(super) fn store(&mut self, uri: Option<&str>) {
        let Some(uri) = uri else {
            return;
        };
        let fact = match Store::open(uri, &self.setup.root) {
            Err(error) => Fact::StoreUnusable(error.to_string()),
            Ok(store) => match health::probe(store.dir()) {
                Err(error) => Fact::StoreUnusable(error.to_string()),
                Ok(room) if room.free_bytes < NEARLY_FULL => Fact::StoreNearlyFull {
                    dir: room.tried,
                    free_bytes: room.free_bytes,
                },
                Ok(room) => Fact::StoreGood {
                    dir: store.dir().to_owned(),
                    free_bytes: room.free_bytes,
                },
            },
        };
        self.note(Subject::Store, fact);
    }

    /// Where runs work: looked at first, then used as a run does.
    pub(super) fn scratch(&mut self) -> Option<Staging> {
        let dir = &self.setup.state_dir;
        let left_over = Staging::left_over(dir);
        let opened = left_over.and_then(|dirs| {
            let scratch = Staging::open(dir, self.operation().as_str())?;
            Ok((dirs, scratch, health::mode(dir)?))
        });
        let (dirs, scratch, mode) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.note(Subject::Scratch, Fact::ScratchUnusable(error.to_string()));
                return None;
            }
        };
        let dir = dir.clone();
        if mode & !PRIVATE == 0 {
            self.note(Subject::Scratch, Fact::ScratchGood { dir });
        } else {
            self.note(Subject::Scratch, Fact::ScratchOpen { dir, mode });
        }
        if !dirs.is_empty() {
            self.note(Subject::Scratch, Fact::ScratchLeftOver { dirs });
        }
        Some(scratch)
    }
}
