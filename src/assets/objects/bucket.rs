//! One bucket: a client, and the runtime on which its requests are made. Every call waits for its end, for the end of
//! the run, or for its longest time.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use super::{
    access::{Access, Client},
    client::Purpose,
    failure::{Why, is_bare},
};
use crate::{
    assets::print::GoOn,
    catalog::Storage,
    task::{ObjectPrint, Service},
    web::Waiting,
};
use object_store::{
    Attribute, Error, GetOptions, GetRange, GetResult, ObjectStoreExt as _, PutMode, PutOptions,
    PutPayload, path::Path,
};

#[derive(Debug)]
pub(super) struct Bucket {
    pub(super) service: Service,
    pub(super) name: String,
    pub(super) access: Access,
    pub(super) client: Client,
    waiting: Waiting,
}

/// The longest time to tidy up one thing.
const BRIEFLY: Duration = Duration::from_secs(2);

/// The field of metadata by which a root knows again what it stored under a name.
pub(super) const MARK: &str = "oneact-mark";

/// An object that is there.
#[derive(Debug)]
pub(super) struct FoundObject {
    pub(super) print: ObjectPrint,
    pub(super) mark: Option<String>,
}

/// How a request ended without an answer.
#[derive(Debug)]
pub(super) enum Ended {
    Stopped,
    Error(Error),
}

impl From<Ended> for Why {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Stopped => Self::Stopped,
            Ended::Error(error) => Self::of(&error),
        }
    }
}

impl Bucket {
    /// None if nothing says how the service is reached.
    pub(super) fn open(
        service: Service,
        name: &str,
        storage: &Storage,
    ) -> Result<Option<Self>, Why> {
        let Some(access) = Access::of(service, storage).map_err(Why::Refused)? else {
            return Ok(None);
        };
        let unusable = |error: &Error| {
            Why::Refused(format!("the settings of the store cannot be used: {error}"))
        };
        let client = access
            .client(service, name, &Purpose::Early)
            .map_err(|error| unusable(&error))?;
        Self::with(service, name, access, client).map(Some)
    }

    pub(super) fn with(
        service: Service,
        name: &str,
        access: Access,
        client: Client,
    ) -> Result<Self, Why> {
        Ok(Self {
            service,
            name: name.to_owned(),
            access,
            client,
            waiting: Waiting::new().map_err(|error| Why::Unreachable(error.to_string()))?,
        })
    }

    /// A client for another purpose.
    pub(super) fn client(&self, purpose: &Purpose) -> Result<Client, Ended> {
        let client = self.access.client(self.service, &self.name, purpose);
        client.map_err(Ended::Error)
    }

    /// Waits for the end of a request.
    pub(super) fn wait<T>(
        &self,
        go_on: GoOn<'_>,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Ended> {
        match self.waiting.wait(go_on, request) {
            Some(ended) => ended.map_err(Ended::Error),
            None => Err(Ended::Stopped),
        }
    }

    /// Waits for the end of a request that tidies up, also if the run must stop, but not for long.
    pub(super) fn briefly<T>(
        &self,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Ended> {
        let begun = Instant::now();
        self.wait(&|| begun.elapsed() < BRIEFLY, request)
    }

    /// What the store says of an object.
    pub(super) fn look(&self, path: &Path, go_on: GoOn<'_>) -> Result<ObjectPrint, Why> {
        let found = self.find(&self.client, path, go_on)?;
        Ok(found.print)
    }

    /// What the store says of an object, and whose it is.
    pub(super) fn find(
        &self,
        client: &Client,
        path: &Path,
        go_on: GoOn<'_>,
    ) -> Result<FoundObject, Why> {
        let ask = |options| self.wait(go_on, client.store.get_opts(path, options));
        let head = GetOptions {
            head: true,
            ..GetOptions::default()
        };
        match ask(head) {
            Ok(found) => {
                let mark = found.attributes.get(&self.metadata(MARK));
                Ok(FoundObject {
                    print: self.print(&found),
                    mark: mark.map(|value| value.as_ref().to_owned()),
                })
            }
            // The answer to HEAD has no text that tells a missing bucket, or why access is denied.
            Err(Ended::Error(error)) if is_bare(&error) => {
                let begin = GetOptions {
                    range: Some(GetRange::Bounded(0..1)),
                    ..GetOptions::default()
                };
                Err(ask(begin).map_or_else(Why::from, |_| Why::of(&error)))
            }
            Err(ended) => Err(ended.into()),
        }
    }

    pub(super) fn print(&self, found: &GetResult) -> ObjectPrint {
        let meta = &found.meta;
        let sha256 = found.attributes.get(&self.metadata("oneact-sha256"));
        ObjectPrint {
            bytes: meta.size,
            etag: meta.e_tag.clone(),
            modified: meta.last_modified.to_rfc3339(),
            version: meta.version.clone(),
            sha256: sha256.map(|value| value.as_ref().to_owned()),
        }
    }

    /// The name of a field of metadata; in Azure it can have no hyphen.
    pub(super) fn metadata(&self, name: &str) -> Attribute {
        Attribute::Metadata(match self.service {
            Service::S3 | Service::Gcs => name.to_owned().into(),
            Service::Azure => name.replace('-', "_").into(),
        })
    }

    /// Whether the server honours conditions: it must not make the same object twice. The object is removed, also if the
    /// run must stop.
    pub(super) fn probe(&self, path: &Path, go_on: GoOn<'_>) -> Result<Conditions, Why> {
        let store = &self.client.store;
        let create = || {
            let options = PutOptions::from(PutMode::Create);
            self.wait(
                go_on,
                store.put_opts(path, PutPayload::from_static(b"probe"), options),
            )
        };
        let first = match create().map_err(Why::from) {
            Err(why) if !matches!(why, Why::Stopped | Why::Unreachable(_) | Why::Changed) => {
                return Err(why.of_write());
            }
            first => first,
        };
        let answer = first.and_then(|_| Ok(create()?));
        if let Err(ended) = self.briefly(store.delete(path)) {
            let why = Why::from(ended);
            tracing::warn!(object = %path, %why, "the object of the probe stays in the bucket");
        }
        match answer {
            // Also if the first one was refused: nobody else knows the name, and the library sends a request again.
            Err(Why::Changed) => Ok(Conditions::Honoured),
            Ok(_) => Ok(Conditions::Ignored),
            Err(why) => Err(why),
        }
    }
}

/// Whether a server honours the conditions of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conditions {
    Honoured,
    Ignored,
}
