//! Finds the asset that a tool made, and moves it into the scratch directory (000 §Step 6).

use std::{
    fs::{self, File, Metadata},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    time::SystemTime,
};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use crate::{
    assets::{Staging, Store, StoreError, open_regular, open_within},
    catalog::{Step, StepOutput, Take},
    host::is_being_written,
    mcp::{Content, ToolAnswer},
    task::{Failure, Fault, Uri, redact_presigned},
};

use super::{context::Context, document::Document, hidden::Hidden, texts::texts};

/// The name of a copy until it replaces its original.
const COPY: &str = ".oneact-copy";

/// Moves the asset of a step to its staged place.
pub(super) struct Taker<'a> {
    pub(super) step: &'a Step,
    pub(super) output: &'a StepOutput,
    pub(super) staging: &'a Staging,
    pub(super) store: &'a Store,
    pub(super) hidden: &'a Hidden,
    pub(super) context: &'a Context<'a>,
}

impl Taker<'_> {
    /// Takes the asset from the first of the entry's places that has it.
    pub(super) fn take(&self, answer: &ToolAnswer, data: Option<&Document>) -> Result<(), Failure> {
        let tool = &self.step.entry.tool;
        if !self.staging.is_in_place() {
            let message =
                format!("{tool} removed or replaced its TMPDIR: nothing was taken from there");
            return Err(Failure::new(Fault::OutputMissing, message));
        }
        let places = &self.step.entry.result.take;
        for place in places {
            let what = describe(place);
            if self.from(place, answer, data)? {
                self.make_own()?;
                tracing::info!("Took {} from {what}.", self.output.ref_id);
                return Ok(());
            }
            tracing::info!("There is no {} in {what}.", self.output.ref_id);
        }
        let places: Vec<String> = places.iter().map(describe).collect();
        let message = format!(
            "{tool} reported success, but gave no asset for {}: looked for {}",
            self.output.ref_id,
            places.join(", ")
        );
        Err(Failure::new(Fault::OutputMissing, message))
    }

    /// Whether the asset was there and is staged now.
    fn from(
        &self,
        place: &Take,
        answer: &ToolAnswer,
        data: Option<&Document>,
    ) -> Result<bool, Failure> {
        match place {
            Take::Output => Ok(fs::symlink_metadata(&self.output.staged).is_ok()),
            Take::Pointer(pointer) => {
                let found = data.and_then(|data| data.pointer(pointer));
                self.fetch(found.as_deref().and_then(Value::as_str))
            }
            Take::ResourceLink => {
                let link = answer.content.iter().find_map(|block| match block.read() {
                    Content::ResourceLink { uri, .. } => Some(uri),
                    _ => None,
                });
                self.fetch(link.as_deref())
            }
            Take::Blob => {
                for block in &answer.content {
                    match block.read() {
                        Content::Blob { base64, .. } => {
                            self.staging.write_base64(&self.output.file_name, &base64)?
                        }
                        Content::TextResource { text, .. } => self.write_text(&text)?,
                        _ => continue,
                    };
                    return Ok(true);
                }
                Ok(false)
            }
            Take::Text => {
                let texts = texts(answer);
                if texts.is_empty() {
                    return Ok(false);
                }
                self.write_text(&texts.join("\n"))?;
                Ok(true)
            }
            Take::Data => {
                let Some(data) = data else { return Ok(false) };
                let mut text = self.hidden.document(data.clone()).to_string();
                text.push('\n');
                self.write(text.as_bytes())?;
                Ok(true)
            }
        }
    }

    /// Replaces a staged file by a copy if it has another name, or is open for writing in a process of the server, because
    /// its content could change after the checks.
    fn make_own(&self) -> Result<(), Failure> {
        let staged = &self.output.staged;
        // The checks report a path that is no file.
        let Ok(file) = open_regular(staged) else {
            return Ok(());
        };
        let found = file.metadata().map_err(StoreError::io("look at", staged))?;
        if found.nlink() == 1 && !is_being_written(&found) {
            return Ok(());
        }
        let copy = self.staging.file(COPY)?;
        // If this fails, the copy fails, and that is reported.
        let _ = fs::remove_file(&copy);
        let tool = &self.step.entry.tool;
        self.copy(file, COPY, |why| {
            let message = format!("the output {} of {tool}, {why}", self.output.ref_id);
            Failure::new(Fault::OutputMissing, message)
        })?;
        fs::rename(&copy, staged).map_err(StoreError::io("put a copy at", staged))?;
        Ok(())
    }

    fn write_text(&self, text: &str) -> Result<Utf8PathBuf, Failure> {
        self.write(self.hidden.asset(text, self.output.format).as_bytes())
    }

    fn write(&self, bytes: &[u8]) -> Result<Utf8PathBuf, Failure> {
        Ok(self.staging.write(&self.output.file_name, bytes)?)
    }

    /// Takes the file that a tool names, if it names one, and if the tool may name files there. A file in the scratch
    /// directory is linked, because it may also be the asset of the previous step. Any other file is copied.
    fn fetch(&self, location: Option<&str>) -> Result<bool, Failure> {
        let Some(location) = location else {
            return Ok(false);
        };
        let tool = &self.step.entry.tool;
        let shown = redact_presigned(location);
        let missing = |why: String| {
            let message = format!("{tool} says its asset is at {shown}, {why}");
            Failure::new(Fault::OutputMissing, message)
        };
        let uri = Uri::parse(location)
            .map_err(|error| missing(format!("which cannot be used: {error}")))?;
        let base = self.context.desk.root.join(&self.step.server.cwd);
        let path = uri
            .local_path(&base)
            .ok_or_else(|| missing("which is not on this machine".to_owned()))?;
        if path == self.output.staged {
            return Ok(true);
        }
        let opened = |place: &Utf8Path| {
            open_within(place, &path).map_err(|error| {
                let failure = missing(format!("but {error}"));
                let is_final = matches!(error, StoreError::Symlink(_) | StoreError::NotAFile(_));
                Failure {
                    recoverable: failure.recoverable && !is_final,
                    ..failure
                }
            })
        };
        if let Some(file) = opened(self.staging.dir())? {
            if !self.link(&path, &file) {
                self.copy(file, &self.output.file_name, missing)?;
            }
            return Ok(true);
        }
        // The ledger, the keys and the scratch directories of other runs contain no assets.
        if open_within(self.context.state_dir, &path).is_ok_and(|found| found.is_none()) {
            for place in self.places() {
                if let Some(file) = opened(&place)? {
                    self.copy(file, &self.output.file_name, missing)?;
                    return Ok(true);
                }
            }
        }
        let below = self
            .store
            .dir()
            .map_or_else(String::new, |dir| format!(", below {dir}"));
        let refused = missing(format!(
            "where its server may not name files; it may name files in its TMPDIR{below}, and in the directories that \
             `files` of [server.{}] lists",
            self.step.server.name
        ));
        Err(Failure {
            recoverable: false,
            ..refused
        })
    }

    /// The directories where a tool may name files, besides the scratch directory.
    fn places(&self) -> impl Iterator<Item = Utf8PathBuf> {
        let files = self.step.server.files.iter();
        let files = files.map(|directory| self.context.desk.root.join(directory));
        let store = self.store.dir().map(ToOwned::to_owned);
        store.into_iter().chain(files)
    }

    /// Links a file of the scratch directory to the name of the asset. Returns false if the path now leads to another
    /// file.
    fn link(&self, path: &Utf8Path, file: &File) -> bool {
        let staged = &self.output.staged;
        if fs::hard_link(path, staged).is_err() {
            return false;
        }
        let same = match (fs::symlink_metadata(staged), file.metadata()) {
            (Ok(linked), Ok(opened)) => {
                (linked.dev(), linked.ino()) == (opened.dev(), opened.ino())
            }
            _ => false,
        };
        if !same {
            // If this fails, writing the copy fails.
            let _ = fs::remove_file(staged);
        }
        same
    }

    fn copy(
        &self,
        file: File,
        name: &str,
        missing: impl Fn(String) -> Failure,
    ) -> Result<(), Failure> {
        let watched = Watched::new(file, self.context)
            .map_err(|why| missing(format!("which cannot be taken: {why}")))?;
        match self.staging.write(name, watched) {
            Ok(_) => Ok(()),
            // The read may have failed because of a signal or the end of the run's time.
            Err(error) => Err(self.context.stopped().unwrap_or_else(|| error.into())),
        }
    }
}

fn describe(place: &Take) -> String {
    match place {
        Take::Output => "the file it was told to write".to_owned(),
        Take::Pointer(pointer) => format!("a URI at `{pointer}`"),
        Take::ResourceLink => "a resource link".to_owned(),
        Take::Blob => "embedded bytes".to_owned(),
        Take::Text => "text".to_owned(),
        Take::Data => "structured content".to_owned(),
    }
}

/// File systems whose files are generated while they are read (magic numbers of statfs(2)).
const MADE_UP: [i64; 4] = [
    0x9fa0,      // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
];

/// A file of the server with its present size. Reading ends after that many bytes, at a signal, or when the run's time
/// is over.
struct Watched<'a> {
    from: io::Take<File>,
    begin: Metadata,
    context: &'a Context<'a>,
}

impl<'a> Watched<'a> {
    /// Refuses files that are not on a disk, because they have no size and may have no end.
    fn new(file: File, context: &'a Context<'a>) -> Result<Self, String> {
        let begin = file.metadata().map_err(|error| error.to_string())?;
        let system = rustix::fs::fstatfs(&file).map_err(|error| error.to_string())?;
        if MADE_UP.contains(&system.f_type) {
            return Err("it lies on no disk".to_owned());
        }
        Ok(Self {
            from: file.take(begin.len()),
            begin,
            context,
        })
    }

    fn state(found: &Metadata) -> (u64, Option<SystemTime>) {
        (found.size(), found.modified().ok())
    }
}

impl Read for Watched<'_> {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        if let Some(failure) = self.context.stopped() {
            return Err(io::Error::other(failure.message));
        }
        let read = self.from.read(block)?;
        if read == 0 {
            let end = self.from.get_ref().metadata()?;
            if Self::state(&end) != Self::state(&self.begin) {
                return Err(io::Error::other("it was changed while it was read"));
            }
        }
        Ok(read)
    }
}
