//! Objects in stores of S3, Google Cloud Storage and Azure: whether they exist, what identifies their content, copies
//! and presigned URLs for tools, and uploads.
//!
//! `object_store` speaks to the services. Its future-based calls are made here and nowhere else. Nothing is contacted
//! before an object is asked for.

mod access;
mod bucket;
mod client;
mod failure;
mod notes;
mod profile;
mod receive;
#[cfg(test)]
pub(in crate::assets) mod tests;
mod upload;
mod write;

use std::{
    collections::BTreeMap,
    fs::File,
    os::unix::fs::OpenOptionsExt as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use camino::Utf8Path;
use object_store::path::Path;
use reqwest::Method;

use self::{
    bucket::Bucket,
    receive::{Incoming, Received},
};
use super::{error::StoreError, print::GoOn};
use crate::{
    catalog::Storage,
    task::{Location, ObjectPrint, Print, Service, Sight, Still, Uri},
};

pub(crate) use bucket::Conditions;
pub(crate) use failure::{ObjectError, Why};
pub(crate) use upload::{About, Upload};

/// The object stores that a run can reach, and what it has seen there. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Objects(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    storage: Storage,
    buckets: Mutex<BTreeMap<(Service, String), Arc<Bucket>>>,
    /// By the text of the URI.
    seen: Mutex<BTreeMap<String, ObjectPrint>>,
}

/// An object, with its bucket.
struct ObjectPlace {
    bucket: Arc<Bucket>,
    path: Path,
}

/// The longest key. Some servers refuse longer ones.
const LONGEST_KEY: usize = 900;

impl Objects {
    pub(crate) fn of(storage: &Storage) -> Self {
        Self(Arc::new(Inner {
            storage: storage.clone(),
            buckets: Mutex::default(),
            seen: Mutex::default(),
        }))
    }

    /// The bucket; none if nothing says how the service is reached.
    fn bucket(&self, service: Service, name: &str) -> Result<Option<Arc<Bucket>>, Why> {
        let mut buckets = lock(&self.0.buckets);
        let known = (service, name.to_owned());
        if let Some(bucket) = buckets.get(&known) {
            return Ok(Some(Arc::clone(bucket)));
        }
        let Some(opened) = Bucket::open(service, name, &self.0.storage)? else {
            return Ok(None);
        };
        let opened = Arc::new(opened);
        buckets.insert(known, Arc::clone(&opened));
        Ok(Some(opened))
    }

    /// Whether it is an object of a store that this run can reach.
    pub(crate) fn has(&self, uri: &Uri) -> Result<bool, ObjectError> {
        let place = self.place(uri).map_err(error("read", uri))?;
        Ok(place.is_some())
    }

    fn place(&self, uri: &Uri) -> Result<Option<ObjectPlace>, Why> {
        let Some((service, bucket, path)) = named(uri)? else {
            return Ok(None);
        };
        let bucket = self.bucket(service, bucket)?;
        Ok(bucket.map(|bucket| ObjectPlace { bucket, path }))
    }

    fn must_place(&self, uri: &Uri) -> Result<ObjectPlace, Why> {
        let missing = || Why::Refused(unconfigured(uri));
        self.place(uri)?.ok_or_else(missing)
    }

    /// Asks the store for the object, and remembers what it says.
    pub(crate) fn look(&self, uri: &Uri, go_on: GoOn<'_>) -> Result<ObjectPrint, ObjectError> {
        let look = || {
            let ObjectPlace { bucket, path } = self.must_place(uri)?;
            bucket.look(&path, go_on)
        };
        let print = look().map_err(error("read", uri))?;
        self.remember(uri, &print);
        Ok(print)
    }

    fn remember(&self, uri: &Uri, print: &ObjectPrint) {
        lock(&self.0.seen).insert(uri.as_str().to_owned(), print.clone());
    }

    /// What this run has seen of the object last.
    pub(crate) fn seen(&self, uri: &Uri) -> Option<ObjectPrint> {
        lock(&self.0.seen).get(uri.as_str()).cloned()
    }

    /// The fingerprint of an object; none if it is no object, cannot be reached, or was not seen and is not to be.
    pub(crate) fn print(&self, uri: &Uri, fresh: Fresh, go_on: GoOn<'_>) -> Option<Print> {
        let found = match fresh {
            Fresh::No => Ok(self.seen(uri)?),
            Fresh::Yes if self.has(uri).ok()? => self.look(uri, go_on),
            Fresh::Yes => return None,
        };
        let sight = match found {
            Ok(print) if print.is_unidentified() => Sight::Unknown,
            Ok(print) => Sight::Object(print),
            Err(ObjectError { why: Why::Gone, .. }) => Sight::Absent,
            Err(_) => Sight::Unknown,
        };
        Some(Print {
            uri: uri.redacted().into_owned(),
            sight,
        })
    }

    /// Whether an object still is as it was `seen`; none if it is no object.
    pub(crate) fn still(&self, seen: &Print, uri: &Uri, go_on: GoOn<'_>) -> Option<Still> {
        let Sight::Object(then) = &seen.sight else {
            return None;
        };
        Some(match self.look(uri, go_on) {
            Ok(now) if now.is_unidentified() || then.is_unidentified() => Still::Unknown,
            Ok(now) if now == *then => Still::Same,
            Ok(_) => Still::Other,
            Err(ObjectError { why: Why::Gone, .. }) => Still::Gone,
            Err(_) => Still::Unknown,
        })
    }

    /// Copies an object into a new file. It must be the one that this run has seen before.
    pub(crate) fn copy(
        &self,
        uri: &Uri,
        to: &Utf8Path,
        go_on: GoOn<'_>,
    ) -> Result<u64, StoreError> {
        let fail = |why| StoreError::from(error("read", uri)(why));
        let ObjectPlace { bucket, path } = self.must_place(uri).map_err(fail)?;
        let seen = match self.seen(uri) {
            Some(seen) => seen,
            None => self.look(uri, go_on)?,
        };
        let incoming = Incoming::ask(&bucket, &path, &seen, go_on).map_err(fail)?;
        let mut options = File::options();
        let file = options.write(true).create_new(true).mode(0o644).open(to);
        let file = file.map_err(StoreError::io("create", to))?;
        let received = incoming.receive(&file, go_on).map_err(fail)?;
        let Received { bytes, sha256 } = received.map_err(StoreError::io("write", to))?;
        let why = if bytes != seen.bytes {
            format!("{bytes} of {} bytes arrived", seen.bytes)
        } else if sha256 != seen.sha256 {
            "its content does not have the SHA-256 that it had when it was stored".to_owned()
        } else {
            return Ok(bytes);
        };
        Err(fail(Why::Damaged(why)))
    }

    /// A URL with which anybody can read the object for the time that the settings say.
    pub(crate) fn presigned(&self, uri: &Uri, go_on: GoOn<'_>) -> Result<String, ObjectError> {
        let sign = || {
            let ObjectPlace { bucket, path } = self.must_place(uri)?;
            let signer = bucket.client.signer.as_ref();
            let signer = signer
                .ok_or_else(|| Why::Refused("this store has no presigned URLs".to_owned()))?;
            let lifetime: Duration = self.0.storage.presigned_lifetime;
            Ok(bucket.wait(go_on, signer.signed_url(Method::GET, &path, lifetime))?)
        };
        let url = sign().map_err(error("make a presigned URL of", uri))?;
        Ok(url.into())
    }
}

/// Whether the store is asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fresh {
    Yes,
    /// What it said before in this run.
    No,
}

/// Why an object of that service cannot be reached.
pub(super) fn unconfigured(uri: &Uri) -> String {
    let (scheme, _) = uri.as_str().split_once(':').unwrap_or_default();
    format!("no credentials for {scheme}: are configured")
}

/// The service, the bucket and the key of an object; none if it is none. Nothing is contacted.
pub(super) fn named(uri: &Uri) -> Result<Option<(Service, &str, Path)>, Why> {
    let Location::Object {
        service,
        bucket,
        key,
    } = uri.location()
    else {
        return Ok(None);
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = bucket.len() <= 255 && !bucket.starts_with('.') && !bucket.contains("..");
    if !is_name || !bucket.chars().all(plain) {
        return Err(Why::Refused(format!("{bucket:?} is no name of a bucket")));
    }
    Ok(Some((*service, bucket, key_path(key)?)))
}

/// Checks a key, and changes nothing in it.
fn key_path(key: &str) -> Result<Path, Why> {
    let why = if key.is_empty() {
        "it is empty"
    } else if key.starts_with('/') || key.ends_with('/') || key.contains("//") {
        "it has an empty part: a slash at its begin or end, or two in a row"
    } else if key.contains('\\') {
        "it contains a back slash"
    } else if key.chars().any(char::is_control) {
        "it contains a control character"
    } else if key.split('/').any(|part| matches!(part, "." | "..")) {
        "a part of it is `.` or `..`"
    } else if key.len() > LONGEST_KEY {
        "it is longer than 900 bytes"
    } else {
        return Path::parse(key).map_err(|error| Why::Refused(error.to_string()));
    };
    Err(Why::Refused(format!("the key cannot be used: {why}")))
}

pub(super) fn error(doing: &'static str, uri: &Uri) -> impl FnOnce(Why) -> ObjectError + use<> {
    let uri = uri.redacted().into_owned();
    move |why| ObjectError { doing, uri, why }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
