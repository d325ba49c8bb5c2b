//! One object that is written: all at once if it is small, else in parts. Nothing is visible under its name before the
//! last request, which states what must be there: nothing, or the object that was seen. An object is replaced only if
//! this root stored it under this name. A write that is given up removes its parts.

use std::{
    fs::File,
    io::Read as _,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use camino::Utf8Path;
use futures_util::{StreamExt as _, future::BoxFuture, stream::FuturesOrdered};
use object_store::{
    Attribute, Attributes, Error, MultipartUpload, PutMode, PutMultipartOptions, PutOptions,
    PutPayload, UpdateVersion, multipart::PartId, path::Path,
};

use super::{
    access::Client,
    bucket::{Bucket, Conditions, Ended, FoundObject, MARK},
    client::{AT_ONCE, Purpose, RETRY_TIMEOUT},
    failure::{Why, is_repeated},
    notes::{self, Held},
};
use crate::{
    assets::print::GoOn,
    task::{ObjectPrint, Service, Uri},
};

/// An object that is smaller than this is sent in one request. The size of a part.
pub(super) const PART: u64 = 8 << 20;
/// Stores accept 10,000 parts.
const MOST_PARTS: u64 = 9_000;
/// How often it is looked again at what is there.
const ROUNDS: u32 = 10;
/// The first pause before it is looked again after a write whose answer was lost. Each one is twice as long.
const PAUSE: Duration = Duration::from_millis(50);

/// What is written, and where.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) uri: Uri,
    pub(super) bucket: Arc<Bucket>,
    pub(super) path: Path,
    pub(super) about: About,
    /// By which the object is known again.
    pub(super) mark: String,
    pub(super) conditions: Conditions,
}

/// What is said of an object beside its content.
#[derive(Debug)]
pub(crate) struct About {
    pub(crate) bytes: u64,
    /// Lower-case hex.
    pub(crate) sha256: String,
    pub(crate) operation: String,
    pub(crate) media_type: &'static str,
}

/// An object of which everything is sent but the request that makes it visible.
#[derive(Debug)]
pub(crate) struct Upload {
    target: Target,
    body: Body,
    /// Whether the object may be visible, although no answer says so.
    is_unsure: bool,
}

#[derive(Debug)]
enum Body {
    Whole(Bytes),
    /// The client, the id, the parts, and the note for the case that this run is killed.
    Parts(Client, String, Vec<PartId>, Option<Held>),
    /// Of a service that removes what is not completed by itself.
    Blocks(Box<dyn MultipartUpload>),
    Ended,
}

/// What must be there when the object becomes visible.
#[derive(Debug)]
enum Condition {
    Nothing,
    This(UpdateVersion),
}

impl Target {
    fn attributes(&self) -> Attributes {
        let mut attributes = Attributes::new();
        attributes.insert(Attribute::ContentType, self.about.media_type.into());
        for (name, value) in [
            ("oneact-sha256", &self.about.sha256),
            ("oneact-operation", &self.about.operation),
            (MARK, &self.mark),
        ] {
            attributes.insert(self.bucket.metadata(name), value.clone().into());
        }
        attributes
    }

    /// Sends the content of the file.
    pub(super) fn send(
        self,
        file: &File,
        state_dir: &Utf8Path,
        go_on: GoOn<'_>,
    ) -> Result<Upload, Why> {
        let bucket = Arc::clone(&self.bucket);
        if self.about.bytes < PART {
            let mut whole = Vec::new();
            file.take(PART)
                .read_to_end(&mut whole)
                .map_err(|error| unreadable(&error))?;
            return Ok(Upload {
                target: self,
                body: Body::Whole(whole.into()),
                is_unsure: false,
            });
        }
        let failed = |ended: Ended| Why::from(ended).of_write();
        let size = PART.max(self.about.bytes.div_ceil(MOST_PARTS));
        let client = bucket.client(&Purpose::Late).map_err(failed)?;
        let options = PutMultipartOptions::from(self.attributes());
        let body = if let Some(parts) = &client.parts {
            let begun = parts.create_multipart_opts(&self.path, options);
            let id = bucket.wait(go_on, begun).map_err(failed)?;
            let note = Held::write(state_dir, &bucket, self.path.as_ref(), &id);
            let note = note.inspect_err(|error| {
                tracing::warn!(%error, "if this run is killed, the parts of its upload stay in the bucket");
            });
            Body::Parts(client.clone(), id, Vec::new(), note.ok())
        } else {
            let begun = client.store.put_multipart_opts(&self.path, options);
            Body::Blocks(bucket.wait(go_on, begun).map_err(failed)?)
        };
        // From here on, dropping the upload removes its parts.
        let mut upload = Upload {
            target: self,
            body,
            is_unsure: false,
        };
        let path = &upload.target.path;
        let sent = match &mut upload.body {
            Body::Parts(client, id, parts, _) => {
                let store = client.parts.as_ref().ok_or(Why::Stopped)?;
                let mut send = |number, part| -> BoxFuture<'_, Result<PartId, Error>> {
                    store.put_part(path, id, number, part)
                };
                let sent = bucket.wait(go_on, in_parts(file, size, &mut send));
                sent.map(|all| *parts = all)
            }
            Body::Blocks(blocks) => {
                let mut send = |_, part| blocks.put_part(part);
                bucket
                    .wait(go_on, in_parts(file, size, &mut send))
                    .map(drop)
            }
            Body::Whole(_) | Body::Ended => Ok(()),
        };
        sent.map_err(failed)?;
        Ok(upload)
    }
}

/// Sends a file in parts, a few at once. Returns what the store says of each, in their order.
async fn in_parts<'a, T>(
    file: &File,
    size: u64,
    send: &mut (dyn FnMut(usize, PutPayload) -> BoxFuture<'a, Result<T, Error>> + Send),
) -> Result<Vec<T>, Error> {
    let mut on_their_way = FuturesOrdered::new();
    let mut sent = Vec::new();
    loop {
        // Before the next part is read, so that no more parts are in memory.
        if on_their_way.len() as u64 >= AT_ONCE
            && let Some(done) = on_their_way.next().await
        {
            sent.push(done?);
        }
        let mut part = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        let read = file.take(size).read_to_end(&mut part);
        read.map_err(|error| Error::Generic {
            store: "file",
            source: Box::new(error),
        })?;
        if part.is_empty() {
            break;
        }
        let number = sent.len() + on_their_way.len();
        on_their_way.push_back(send(number, part.into()));
    }
    while let Some(done) = on_their_way.next().await {
        sent.push(done?);
    }
    Ok(sent)
}

fn unreadable(error: &std::io::Error) -> Why {
    Why::Damaged(format!("the file cannot be read: {error}"))
}

impl Upload {
    pub(crate) fn uri(&self) -> &Uri {
        &self.target.uri
    }

    /// Whether the server honours conditions.
    pub(crate) fn conditions(&self) -> Conditions {
        self.target.conditions
    }

    /// Makes the object visible, and returns what the store says of it then.
    pub(super) fn commit(mut self, go_on: GoOn<'_>) -> Result<ObjectPrint, Why> {
        self.attempts(go_on).map_err(|why| match why {
            // The last look has shown that it is not there.
            Why::Occupied | Why::Changed => why,
            why if self.is_unsure => Why::Unsure(Box::new(why)),
            why => why,
        })
    }

    /// A conditional write may be made again if its answer was lost.
    fn attempts(&mut self, go_on: GoOn<'_>) -> Result<ObjectPrint, Why> {
        let bucket = Arc::clone(&self.target.bucket);
        let looking = bucket.client(&Purpose::Late)?;
        let begun = Instant::now();
        let mut last = Why::Unreachable("other programs change the object all the time".to_owned());
        for round in 0..ROUNDS {
            match self.attempt(&looking, go_on) {
                Ok(Some(print)) => return Ok(print),
                Ok(None) => {}
                // The library has sent a request again for that time, so that a write and a look take twice as long.
                Err(why @ (Why::Unreachable(_) | Why::Altered(_)))
                    if begun.elapsed() < 2 * RETRY_TIMEOUT =>
                {
                    last = why;
                    let pause = PAUSE.saturating_mul(1 << round);
                    bucket.wait(go_on, async {
                        tokio::time::sleep(pause).await;
                        Ok(())
                    })?;
                }
                Err(why) => return Err(why),
            }
        }
        Err(last)
    }

    /// Looks, writes, and looks again. None if something else was there at the time of the write.
    fn attempt(&mut self, looking: &Client, go_on: GoOn<'_>) -> Result<Option<ObjectPrint>, Why> {
        let bucket = Arc::clone(&self.target.bucket);
        let path = self.target.path.clone();
        let condition = match bucket.find(looking, &path, go_on) {
            Err(Why::Gone) => Condition::Nothing,
            Err(why) => return Err(why),
            // Also if the answer to the last request was lost.
            Ok(found) if self.is_in(&found) => return Ok(Some(found.print)),
            Ok(found) if found.mark.as_ref() != Some(&self.target.mark) => {
                return Err(Why::Occupied);
            }
            Ok(found) if found.print.is_unidentified() => {
                let why = "the store says neither the ETag nor the version of the object that is to be replaced";
                return Err(Why::Refused(why.to_owned()));
            }
            Ok(found) => Condition::This(UpdateVersion {
                e_tag: found.print.etag,
                version: found.print.version,
            }),
        };
        let was_unsure = std::mem::replace(&mut self.is_unsure, true);
        let written = self.write(&condition, go_on);
        // The answer to the first of several requests may be lost.
        let is_repeated = matches!(&written, Err(Ended::Error(error)) if is_repeated(error));
        let written = written.map_err(Why::from);
        let is_whole = matches!(self.body, Body::Whole(_));
        match written {
            Ok(()) => {
                let found = bucket.find(looking, &path, go_on)?;
                if !self.is_in(&found) {
                    return Err(Why::Changed);
                }
                if !is_whole {
                    self.end();
                }
                Ok(Some(found.print))
            }
            // The upload is completed, or nothing is there any more: the next look shows which.
            Err(Why::Changed) => Ok(None),
            Err(Why::Gone) if !is_whole => Ok(None),
            Err(why @ (Why::Unreachable(_) | Why::Stopped)) => Err(why),
            Err(why) => {
                self.is_unsure = was_unsure || is_repeated;
                Err(why.of_write())
            }
        }
    }

    /// Whether it is the object of this upload: a mark of another root can stand beside any hash.
    fn is_in(&self, found: &FoundObject) -> bool {
        let (target, print) = (&self.target, &found.print);
        found.mark.as_ref() == Some(&target.mark)
            && print.sha256.as_ref() == Some(&target.about.sha256)
            && print.bytes == target.about.bytes
    }

    fn write(&mut self, condition: &Condition, go_on: GoOn<'_>) -> Result<(), Ended> {
        let Target { bucket, path, .. } = &self.target;
        match &mut self.body {
            Body::Whole(whole) => {
                let options = PutOptions {
                    mode: match condition {
                        Condition::Nothing => PutMode::Create,
                        Condition::This(version) => PutMode::Update(version.clone()),
                    },
                    attributes: self.target.attributes(),
                    ..PutOptions::default()
                };
                let client = bucket.client(&Purpose::Late)?;
                let put = client.store.put_opts(path, whole.clone().into(), options);
                bucket.wait(go_on, put).map(drop)
            }
            Body::Parts(_, id, parts, _) => {
                let client = bucket.client(&complete(bucket.service, condition))?;
                let Some(store) = client.parts else {
                    return Ok(());
                };
                let completed = store.complete_multipart(path, id, parts.clone());
                bucket.wait(go_on, completed).map(drop)
            }
            Body::Blocks(blocks) => bucket.wait(go_on, blocks.complete()).map(drop),
            Body::Ended => Ok(()),
        }
    }

    /// Nothing is left to be removed.
    fn end(&mut self) {
        if let Body::Parts(_, _, _, Some(note)) = std::mem::replace(&mut self.body, Body::Ended) {
            note.clear();
        }
    }
}

/// The header of a condition.
fn complete(service: Service, condition: &Condition) -> Purpose {
    let of = |version: &UpdateVersion| match service {
        Service::Gcs => version.version.clone(),
        Service::S3 | Service::Azure => version.e_tag.clone(),
    };
    match (service, condition) {
        (Service::Gcs, Condition::Nothing) => {
            Purpose::Complete("x-goog-if-generation-match", "0".to_owned())
        }
        (_, Condition::Nothing) => Purpose::Complete("if-none-match", "*".to_owned()),
        (_, Condition::This(version)) => match of(version) {
            Some(value) if service == Service::Gcs => {
                Purpose::Complete("x-goog-if-generation-match", value)
            }
            Some(value) => Purpose::Complete("if-match", value),
            None => Purpose::Late,
        },
    }
}

impl Drop for Upload {
    /// Removes the parts of an upload that was given up.
    fn drop(&mut self) {
        let Target { bucket, path, .. } = &self.target;
        let removed = match std::mem::replace(&mut self.body, Body::Ended) {
            Body::Whole(_) | Body::Ended => return,
            Body::Blocks(mut blocks) => bucket.briefly(blocks.abort()),
            Body::Parts(_, id, _, note) => {
                let removed = abort(bucket, path, &id);
                if let (Ok(()), Some(note)) = (&removed, note) {
                    note.clear();
                }
                removed
            }
        };
        if let Err(ended) = removed {
            let why = Why::from(ended);
            tracing::warn!(object = %path, %why, "the parts of an upload stay in the bucket; the next run removes them");
        }
    }
}

/// Removes the parts of an upload. One that does not exist has none.
fn abort(bucket: &Bucket, path: &Path, id: &String) -> Result<(), Ended> {
    let Some(store) = &bucket.client.parts else {
        return Ok(());
    };
    match bucket.briefly(store.abort_multipart(path, id)) {
        Err(Ended::Error(Error::NotFound { .. })) => Ok(()),
        ended => ended,
    }
}

/// Removes the parts that killed runs have left in this bucket.
pub(super) fn sweep(bucket: &Bucket, state_dir: &Utf8Path, go_on: GoOn<'_>) {
    for (open, note) in notes::left(state_dir, bucket) {
        if !go_on() {
            break;
        }
        let removed = Path::parse(&open.key).map(|path| abort(bucket, &path, &open.upload_id));
        match removed {
            Ok(Err(ended)) => {
                let why = Why::from(ended);
                tracing::warn!(object = open.key, %why, "the parts of an upload that a killed run left stay in the bucket");
            }
            Ok(Ok(())) | Err(_) => note.clear(),
        }
    }
}
