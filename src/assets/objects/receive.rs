//! One object that is read.

use std::{
    fs::File,
    io::{self, Write as _},
};

use futures_util::TryStreamExt as _;
use object_store::{GetOptions, GetResult, path::Path};
use ring::digest::{Context, SHA256};

use super::{bucket::Bucket, failure::Why};
use crate::{
    assets::print::GoOn,
    task::{ObjectPrint, hexadecimal},
};

/// What has arrived.
pub(super) struct Received {
    pub(super) bytes: u64,
    /// Lower-case hex; none if the store says no SHA-256 to compare it with.
    pub(super) sha256: Option<String>,
}

/// Asks for the content of an object. It must be the one that was seen.
pub(super) fn ask(
    bucket: &Bucket,
    path: &Path,
    seen: &ObjectPrint,
    go_on: GoOn<'_>,
) -> Result<GetResult, Why> {
    let options = GetOptions {
        if_match: seen.etag.clone(),
        ..GetOptions::default()
    };
    let found = bucket.wait(go_on, bucket.client.store.get_opts(path, options))?;
    // Some servers ignore the condition.
    if bucket.print(&found) == *seen {
        return Ok(found);
    }
    Err(Why::Changed)
}

/// Writes the content into the file.
pub(super) fn receive(
    bucket: &Bucket,
    content: GetResult,
    seen: &ObjectPrint,
    mut file: &File,
    go_on: GoOn<'_>,
) -> Result<io::Result<Received>, Why> {
    let mut blocks = content.into_stream();
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
