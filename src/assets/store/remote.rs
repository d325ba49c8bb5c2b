//! The store in a bucket: `{uri}/{session_id}/{file_name}`.

use std::{fs::File, io::Seek as _};

use camino::{Utf8Path, Utf8PathBuf};

use super::asset::{Finished, Probed, Stored};
use crate::{
    assets::{
        error::{StoreError, component},
        objects::{About, Conditions, Objects, Upload, error, named},
        print::{self, GoOn, stat_at, stat_of},
        regular::open_regular,
    },
    task::{Format, Stat, Uri},
};

#[derive(Debug, Clone)]
pub(super) struct Remote {
    objects: Objects,
    /// Without a slash at its end.
    uri: String,
    state_dir: Utf8PathBuf,
}

/// A file whose content is in the bucket, but not visible.
#[derive(Debug)]
pub(crate) struct Prepared {
    objects: Objects,
    upload: Upload,
    staged: Utf8PathBuf,
    /// The checked file. It is kept open, so that its inode number is not used again.
    file: File,
    seen: Option<Stat>,
}

impl Remote {
    pub(super) fn open(
        uri: &Uri,
        objects: &Objects,
        state_dir: &Utf8Path,
    ) -> Result<Self, StoreError> {
        let remote = Self {
            objects: objects.clone(),
            uri: uri.as_str().trim_end_matches('/').to_owned(),
            state_dir: state_dir.to_owned(),
        };
        // The name of another asset would be refused, too.
        let uri = remote.uri_of("session", "asset")?;
        named(&uri).map_err(error("store", &uri))?;
        Ok(remote)
    }

    pub(super) fn uri_of(&self, session_id: &str, file_name: &str) -> Result<Uri, StoreError> {
        let session = component("session id", session_id)?;
        let name = component("file name", file_name)?;
        Uri::parse(&format!("{}/{session}/{name}", self.uri)).map_err(StoreError::BadUri)
    }

    pub(super) fn has_room(
        &self,
        session_id: &str,
        file_name: &str,
        go_on: GoOn<'_>,
    ) -> Result<(), StoreError> {
        let uri = self.uri_of(session_id, file_name)?;
        Ok(self.objects.has_room(&uri, &self.state_dir, go_on)?)
    }

    pub(super) fn prepare(&self, finished: Finished<'_>) -> Result<Prepared, StoreError> {
        let Finished {
            session_id,
            file_name,
            staged,
            seen,
            operation_id,
            go_on,
        } = finished;
        let uri = self.uri_of(session_id, file_name)?;
        let mut file = open_regular(staged)?;
        let found = stat_of(&file);
        if seen.is_some() && found.as_ref() != seen {
            return Err(StoreError::Changed(staged.to_owned()));
        }
        let sha256 = print::sha256(&file, go_on);
        let sha256 = sha256.map_err(StoreError::io("read", staged))?;
        file.rewind().map_err(StoreError::io("read", staged))?;
        let about = About {
            bytes: found.map_or(0, |found| found.bytes),
            sha256,
            operation: operation_id.to_owned(),
            media_type: media_type(file_name),
        };
        let objects = self.objects.clone();
        Ok(Prepared {
            upload: objects.send(&uri, &file, about, &self.state_dir, go_on)?,
            objects,
            staged: staged.to_owned(),
            file,
            seen: found,
        })
    }

    pub(super) fn probe(&self, operation_id: &str, go_on: GoOn<'_>) -> Result<Probed, StoreError> {
        let uri = self.uri_of(".oneact-probe", operation_id)?;
        let conditions = self.objects.probe(&uri, &self.state_dir, go_on)?;
        Ok(Probed::Bucket {
            uri: self.uri.clone(),
            conditions,
        })
    }
}

impl Prepared {
    pub(super) fn commit(self, go_on: GoOn<'_>) -> Result<Stored, StoreError> {
        // The content was read twice: for its hash, and to be sent.
        if self.seen.is_none() || [stat_at(&self.staged), stat_of(&self.file)] != [self.seen; 2] {
            return Err(StoreError::Changed(self.staged));
        }
        let (uri, conditions) = (self.upload.uri().clone(), self.upload.conditions());
        let print = self.objects.commit(self.upload, go_on)?;
        let note = (conditions == Conditions::Ignored).then(|| {
            format!(
                "The store of {} ignores the condition that nothing else is written there: another program could have \
                 written {} at the same time.",
                uri.redacted(), uri.redacted()
            )
        });
        Ok(Stored {
            uri,
            bytes: print.bytes,
            note,
        })
    }
}

/// The media type of an asset, by the ending of its name.
fn media_type(file_name: &str) -> &'static str {
    let ending = file_name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match Format::of_ending(ending) {
        Some(Format::Wav) => "audio/wav",
        Some(Format::Flac) => "audio/flac",
        Some(Format::Mp3) => "audio/mpeg",
        Some(Format::Ogg) => "audio/ogg",
        Some(Format::Mp4) => "video/mp4",
        Some(Format::Mov) => "video/quicktime",
        Some(Format::Mkv) => "video/x-matroska",
        Some(Format::WebM) => "video/webm",
        Some(Format::Json) => "application/json",
        Some(Format::JsonLines) => "application/jsonl",
        Some(Format::Text) => "text/plain; charset=utf-8",
        Some(Format::Jpeg) => "image/jpeg",
        Some(Format::Png) => "image/png",
        Some(Format::Zip) if ending == "zip" => "application/zip",
        Some(Format::Zip | Format::Any) | None => "application/octet-stream",
    }
}
