//! One object that is read: by one request if it is small, else in several parts at once. What arrives is written on one
//! thread and hashed on another, so that the store waits for neither.

use std::{
    fs::File,
    io::{self, Write as _},
    sync::mpsc,
    thread,
};

use bytes::Bytes;
use futures_util::{
    StreamExt as _, TryStreamExt as _,
    stream::{self, BoxStream},
};
use object_store::{Error, GetOptions, GetRange, GetResult, Result, path::Path};
use ring::digest;

use super::{
    access::Client,
    bucket::{Bucket, Ended},
    client::Purpose,
    failure::{Trouble, Why},
};
use crate::{
    assets::print::GoOn,
    task::{ObjectPrint, hexadecimal},
};

/// The size of a part.
const PART: u64 = 8 << 20;
/// An object of this size or more is read in parts.
const LARGE: u64 = 4 * PART;
/// Parts that are on their way at once.
const AT_ONCE: usize = 3;
/// Blocks that have arrived and are not written or hashed yet.
const WAITING: usize = 16;

/// An object whose content begins to arrive.
pub(super) struct Incoming<'a> {
    bucket: &'a Bucket,
    client: Client,
    path: &'a Path,
    seen: &'a ObjectPrint,
    first: GetResult,
}

/// What has arrived.
pub(super) struct Received {
    pub(super) bytes: u64,
    /// Lower-case hex; none if the store says no SHA-256 to compare it with.
    pub(super) sha256: Option<String>,
}

impl<'a> Incoming<'a> {
    /// Asks for the object. It must be the one that was seen.
    pub(super) fn ask(
        bucket: &'a Bucket,
        path: &'a Path,
        seen: &'a ObjectPrint,
        go_on: GoOn<'_>,
    ) -> Result<Self, Why> {
        let client = bucket.client(&Purpose::Large).map_err(Trouble::from)?;
        let ask = |range| bucket.wait(go_on, part(bucket, &client, path, seen, range));
        let first = if seen.bytes < LARGE {
            ask(None)
        } else {
            match ask(Some(GetRange::Bounded(0..PART))) {
                // Some servers answer a range with something else.
                Err(Ended::Error(_)) => ask(None),
                first => first,
            }
        };
        let first = first.map_err(Trouble::from)?;
        Ok(Self {
            bucket,
            client,
            path,
            seen,
            first,
        })
    }

    /// The content in its order.
    fn blocks(self) -> BoxStream<'a, Result<Bytes>> {
        let Self {
            bucket,
            client,
            path,
            seen,
            first,
        } = self;
        let parts =
            (first.range.end..seen.bytes).step_by(usize::try_from(PART).unwrap_or(usize::MAX));
        let parts = stream::iter(parts).map(move |begin| {
            let client = client.clone();
            async move {
                let range = GetRange::Bounded(begin..seen.bytes.min(begin + PART));
                let part = part(bucket, &client, path, seen, Some(range)).await?;
                let blocks: Vec<Bytes> = part.into_stream().try_collect().await?;
                Ok::<_, Error>(stream::iter(blocks.into_iter().map(Ok)))
            }
        });
        let rest = parts.buffered(AT_ONCE).try_flatten();
        first.into_stream().chain(rest).boxed()
    }

    /// Writes the content into the file.
    pub(super) fn receive(self, file: &File, go_on: GoOn<'_>) -> Result<io::Result<Received>, Why> {
        let Self { bucket, seen, .. } = self;
        let mut blocks = self.blocks();
        let (to_write, written) = mpsc::sync_channel(WAITING);
        let (to_hash, hashed) = mpsc::sync_channel(WAITING);
        let to_hash = seen.sha256.as_ref().map(|_| to_hash);
        thread::scope(|scope| {
            let writer = scope.spawn(|| write(file, written));
            let hasher = to_hash.is_some().then(|| scope.spawn(|| hash(hashed)));
            let received = bucket.wait(go_on, async move {
                while let Some(block) = blocks.try_next().await? {
                    if let Some(to_hash) = &to_hash {
                        let _ = to_hash.send(block.clone());
                    }
                    if to_write.send(block).is_err() {
                        // The writer has failed.
                        break;
                    }
                }
                Ok(())
            });
            let bytes = writer.join();
            let sha256 = hasher.map(|hasher| hasher.join().unwrap_or_default());
            received.map_err(Trouble::from)?;
            let bytes = bytes.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
            Ok(bytes.map(|bytes| Received { bytes, sha256 }))
        })
    }
}

/// Asks for a range of the object, or for all of it. It must be the one that was seen: some servers ignore the condition.
async fn part(
    bucket: &Bucket,
    client: &Client,
    path: &Path,
    seen: &ObjectPrint,
    range: Option<GetRange>,
) -> Result<GetResult> {
    let options = GetOptions {
        if_match: seen.etag.clone(),
        range,
        ..GetOptions::default()
    };
    let part = client.store().get_opts(path, options).await?;
    if bucket.print(&part) == *seen {
        return Ok(part);
    }
    Err(Error::Precondition {
        path: path.to_string(),
        source: "the object is another one".into(),
    })
}

/// Returns the number of bytes.
fn write(mut file: &File, blocks: mpsc::Receiver<Bytes>) -> io::Result<u64> {
    let mut bytes = 0;
    for block in blocks {
        file.write_all(&block)?;
        bytes += block.len() as u64;
    }
    Ok(bytes)
}

/// Returns the SHA-256 in lower-case hex.
fn hash(blocks: mpsc::Receiver<Bytes>) -> String {
    let mut sha256 = digest::Context::new(&digest::SHA256);
    for block in blocks {
        sha256.update(&block);
    }
    hexadecimal(sha256.finish().as_ref())
}
