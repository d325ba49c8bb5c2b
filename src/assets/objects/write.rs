//! Writes objects: sends the content, then makes it visible. Also tests whether a server keeps what that needs.

use std::{fs::File, sync::Arc};

use camino::Utf8Path;
use object_store::path::Path;

use super::{
    ObjectPlace, Objects,
    bucket::{Bucket, Conditions},
    error,
    failure::{ObjectError, Why},
    notes,
    upload::{self, About, Target, Upload},
};
use crate::{
    assets::print::GoOn,
    task::{ObjectPrint, Service, Uri},
};

impl Objects {
    /// Sends the content of the file.
    pub(crate) fn send(
        &self,
        uri: &Uri,
        file: &File,
        about: About,
        state_dir: &Utf8Path,
        go_on: GoOn<'_>,
    ) -> Result<Upload, ObjectError> {
        let send = || {
            let ObjectPlace { bucket, path } = self.must_place(uri)?;
            let target = Target {
                uri: uri.clone(),
                conditions: conditions(&bucket, &path, state_dir, go_on)?,
                mark: notes::mark(state_dir, &bucket, &path)?,
                bucket,
                path,
                about,
            };
            target.send(file, state_dir, go_on)
        };
        send().map_err(error("store", uri))
    }

    /// Makes the object visible, and remembers what the store says of it.
    pub(crate) fn commit(
        &self,
        upload: Upload,
        go_on: GoOn<'_>,
    ) -> Result<ObjectPrint, ObjectError> {
        let uri = upload.uri().clone();
        let print = upload.commit(go_on).map_err(error("store", &uri))?;
        self.remember(&uri, &print);
        Ok(print)
    }

    /// Fails if the object could not be stored, as far as that is known before its content is. Removes what killed runs
    /// have left of uploads into its bucket.
    pub(crate) fn has_room(
        &self,
        uri: &Uri,
        state_dir: &Utf8Path,
        go_on: GoOn<'_>,
    ) -> Result<(), ObjectError> {
        let look = || {
            let ObjectPlace { bucket, path } = self.must_place(uri)?;
            let mark = notes::mark(state_dir, &bucket, &path)?;
            match bucket.find(&bucket.client, &path, go_on) {
                Ok(found) if found.mark.as_ref() != Some(&mark) => return Err(Why::Occupied),
                Ok(_) | Err(Why::Gone) => {}
                Err(why) => return Err(why),
            }
            upload::sweep(&bucket, state_dir, go_on);
            conditions(&bucket, &path, state_dir, go_on).map(drop)
        };
        look().map_err(error("store", uri))
    }

    /// Makes an object and removes it. Remembers whether the server honours conditions.
    pub(crate) fn probe(
        &self,
        uri: &Uri,
        state_dir: &Utf8Path,
        go_on: GoOn<'_>,
    ) -> Result<Conditions, ObjectError> {
        let probe = || {
            let ObjectPlace { bucket, path } = self.must_place(uri)?;
            tested(&bucket, &path, state_dir, go_on)
        };
        probe().map_err(error("write", uri))
    }
}

fn unrandom(error: &std::io::Error) -> Why {
    Why::Refused(format!("the machine gives no random number: {error}"))
}

/// Tests the server with an object beside this one, whose name nobody else uses.
fn tested(
    bucket: &Bucket,
    path: &Path,
    state_dir: &Utf8Path,
    go_on: GoOn<'_>,
) -> Result<Conditions, Why> {
    let beside = Path::parse(format!(
        "{path}.oneact-probe-{}",
        notes::random().map_err(|error| unrandom(&error))?.simple()
    ));
    let beside = beside.map_err(|error| Why::Refused(error.to_string()))?;
    let found = bucket.probe(&beside, go_on)?;
    notes::keep_conditions(state_dir, bucket, found);
    Ok(found)
}

/// Services honour conditions. Other servers that speak the protocol of S3 are tested once.
fn conditions(
    bucket: &Arc<Bucket>,
    path: &Path,
    state_dir: &Utf8Path,
    go_on: GoOn<'_>,
) -> Result<Conditions, Why> {
    if bucket.service != Service::S3 || bucket.access.endpoint.is_none() {
        return Ok(Conditions::Honoured);
    }
    if let Some(known) = notes::conditions(state_dir, bucket) {
        return Ok(known);
    }
    tested(bucket, path, state_dir, go_on)
}
