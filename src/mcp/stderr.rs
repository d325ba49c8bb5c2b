//! A server's stderr: always drained, so that it never blocks there; only the end is kept.

use std::{
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

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
    /// The tail, and before it one byte and as much as the longest secret is long.
    bytes: Vec<u8>,
    total: u64,
}

impl Stderr {
    /// Starts to read.
    pub(super) fn drain(mut stderr: Receiver, secrets: &Secrets) -> Self {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let window = TAIL_BYTES + 1 + secrets.longest();
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
        (kept.shown(secrets), kept.total)
    }
}

impl Kept {
    /// The tail without secrets. In a line whose beginning is no longer kept, the end of a long secret could not be told
    /// from other text.
    fn shown(&self, secrets: &Secrets) -> String {
        let tail = tail(&self.bytes);
        let before = self.bytes.get(..tail.start).unwrap_or_default();
        let begins = self.total == self.bytes.len() as u64 || before.contains(&b'\n');
        if begins || secrets.is_empty() {
            secrets.cut_within(&self.bytes, tail)
        } else {
            String::new()
        }
    }
}

/// The last bytes from the beginning of a line on, or of a word where they are one line: behind the half of
/// a link nobody could tell that a password or a signature stands there.
fn tail(bytes: &[u8]) -> Range<usize> {
    let end = bytes.len();
    let Some(before) = end.checked_sub(TAIL_BYTES + 1) else {
        return 0..end;
    };
    let window = bytes.get(before..).unwrap_or_default();
    let start = |ends: fn(&u8) -> bool| {
        let start = window.iter().position(ends)? + 1;
        let rest = window.get(start..)?;
        (!rest.trim_ascii().is_empty()).then_some(before + start)
    };
    let line = start(|byte| *byte == b'\n');
    line.or_else(|| start(u8::is_ascii_whitespace))
        .unwrap_or(end)..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_secret_that_is_longer_than_what_is_kept_is_not_shown() {
        let secret = "some words ".repeat(30_000);
        let secrets = Secrets::new([secret.clone()]);
        let kept = |said: &str| Kept {
            bytes: said.as_bytes()[said.len() - 200_000..].to_vec(),
            total: said.len() as u64,
        };
        assert_eq!(kept(&format!("token {secret}bad")).shown(&secrets), "");
        let last = kept(&format!("token {secret}bad\nlast line"));
        assert_eq!(last.shown(&secrets), "last line");
        let without = kept(&"word ".repeat(60_000)).shown(&Secrets::default());
        assert!(without.starts_with("word "));
    }

    fn shown(said: &str) -> &str {
        said.get(tail(said.as_bytes())).unwrap()
    }

    #[test]
    fn a_tail_begins_with_a_whole_line_or_word() {
        let line = format!("{}\n", "z".repeat(63));
        let rest = line.repeat(200);
        let rest = |less: usize| rest.get(..TAIL_BYTES - less).unwrap();
        for (before, inside) in [
            ("https://h/?X-Amz-Signature=", "SIG tail\n"),
            ("postgres://u:", "pw@h\n"),
            ("x", "y\n"),
        ] {
            let said = format!("{before}{inside}{}", rest(inside.len()));
            assert_eq!(shown(&said), rest(inside.len()));
        }
        let whole = format!("first\n{}", rest(0));
        assert_eq!(shown(&whole), rest(0));
        let blanks = format!(
            "?sig={} word {}\n",
            "A".repeat(20),
            "b".repeat(TAIL_BYTES - 10)
        );
        assert!(shown(&blanks).starts_with("bbb") || shown(&blanks).starts_with("word bbb"));
        assert_eq!(shown(&"A".repeat(TAIL_BYTES + 1)), "");
        assert_eq!(shown("?sig=a"), "?sig=a");
        assert_eq!(shown(""), "");
    }
}
