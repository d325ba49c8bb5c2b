//! A server's stderr: always drained, so that it never blocks there; only the end is kept.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::{io::AsyncReadExt, net::unix::pipe::Receiver, sync::watch};

use crate::task::Secrets;

const TAIL_BYTES: usize = 8 * 1024;
const BLOCK_BYTES: usize = 16 * 1024;

/// What came so far.
#[derive(Debug)]
pub(super) struct Stderr {
    kept: Arc<Mutex<Kept>>,
    /// Closed at its end.
    reading: watch::Receiver<()>,
}

#[derive(Debug, Default)]
struct Kept {
    /// The tail, and before it as much as the longest secret is long.
    bytes: Vec<u8>,
    total: u64,
}

impl Stderr {
    /// Starts to read.
    pub(super) fn drain(mut stderr: Receiver, secrets: &Secrets) -> Self {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let window = TAIL_BYTES + secrets.longest();
        let (done, reading) = watch::channel(());
        let shared = Arc::clone(&kept);
        tokio::spawn(async move {
            // Not zeroed: most servers say little, and touch little of it.
            let mut block = Vec::with_capacity(BLOCK_BYTES);
            while let Ok(count @ 1..) = stderr.read_buf(&mut block).await {
                let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                kept.total += count as u64;
                kept.bytes.append(&mut block);
                let surplus = kept.bytes.len().saturating_sub(window);
                kept.bytes.drain(..surplus);
            }
            drop(done);
        });
        Self { kept, reading }
    }

    /// Waits for its end.
    pub(super) async fn read_out(&self) {
        let _ = self.reading.clone().changed().await;
    }

    /// The tail without secrets, and the number of all bytes.
    pub(super) fn so_far(&self, secrets: &Secrets) -> (String, u64) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let end = kept.bytes.len();
        (
            secrets.cut_within(&kept.bytes, end.saturating_sub(TAIL_BYTES)..end),
            kept.total,
        )
    }
}
