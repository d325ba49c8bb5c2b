//! One object that is read: by one request if it is small, else in several parts at once.

use std::{
    fs::File,
    io::{self, Write as _},
};

use bytes::Bytes;
use futures_util::{
    StreamExt as _, TryStreamExt as _,
    stream::{self, BoxStream},
};
use object_store::{Error, GetOptions, GetRange, GetResult, Result, path::Path};
use ring::digest::{Context, SHA256};

use super::{
    bucket::{Bucket, Ended},
    failure::Why,
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

/// An object whose content begins to arrive.
pub(super) struct Incoming<'a> {
    bucket: &'a Bucket,
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
        let ask = |range| bucket.wait(go_on, part(bucket, path, seen, range));
        let first = if seen.bytes < LARGE {
            ask(None)
        } else {
            match ask(Some(GetRange::Bounded(0..PART))) {
                // Some servers answer a range with something else.
                Err(Ended::Error(_)) => ask(None),
                first => first,
            }
        };
        let first = first?;
        Ok(Self {
            bucket,
            path,
            seen,
            first,
        })
    }

    /// The content in its order.
    fn blocks(self) -> BoxStream<'a, Result<Bytes>> {
        let Self {
            bucket,
            path,
            seen,
            first,
        } = self;
        let parts =
            (first.range.end..seen.bytes).step_by(usize::try_from(PART).unwrap_or(usize::MAX));
        let parts = stream::iter(parts).map(move |begin| async move {
            let range = GetRange::Bounded(begin..seen.bytes.min(begin + PART));
            let part = part(bucket, path, seen, Some(range)).await?;
            let blocks: Vec<Bytes> = part.into_stream().try_collect().await?;
            Ok::<_, Error>(stream::iter(blocks.into_iter().map(Ok)))
        });
        let rest = parts.buffered(AT_ONCE).try_flatten();
        first.into_stream().chain(rest).boxed()
    }

    /// Writes the content into the file.
    pub(super) fn receive(
        self,
        mut file: &File,
        go_on: GoOn<'_>,
    ) -> Result<io::Result<Received>, Why> {
        let Self { bucket, seen, .. } = self;
        let mut blocks = self.blocks();
        let mut bytes = 0;
        let mut hash = seen.sha256.as_ref().map(|_| Context::new(&SHA256));
        let written = bucket.wait(go_on, async {
            while let Some(block) = blocks.try_next().await? {
                if let Err(error) = file.write_all(&block) {
                    return Ok(Err(error));
                }
                bytes += block.len() as u64;
                if let Some(hash) = &mut hash {
                    hash.update(&block);
                }
            }
            Ok(Ok(()))
        })?;
        let sha256 = hash.map(|hash| hexadecimal(hash.finish().as_ref()));
        Ok(written.map(|()| Received { bytes, sha256 }))
    }
}

/// Asks for a range of the object, or for all of it. It must be the one that was seen: some servers ignore the condition.
async fn part(
    bucket: &Bucket,
    path: &Path,
    seen: &ObjectPrint,
    range: Option<GetRange>,
) -> Result<GetResult> {
    let options = GetOptions {
        if_match: seen.etag.clone(),
        range,
        ..GetOptions::default()
    };
    let part = bucket.client.store.get_opts(path, options).await?;
    if bucket.print(&part) == *seen {
        return Ok(part);
    }
    Err(Error::Precondition {
        path: path.to_string(),
        source: "the object is another one".into(),
    })
}
