//! The asset a tool made, wherever it put it (000 §Step 6).

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use crate::{
    assets::{Staging, open_regular},
    catalog::{Step, StepOutput, Take},
    mcp::{Content, Part, ToolAnswer},
    task::{Failure, Fault, Uri, redact_presigned},
};

use super::{
    Context,
    document::{Document, texts},
    watched::Watched,
};

/// Brings the asset of a step to its staged place.
pub(super) struct Taker<'a> {
    pub(super) step: &'a Step,
    pub(super) output: &'a StepOutput,
    pub(super) staging: &'a Staging,
    pub(super) context: &'a Context<'a>,
}

impl Taker<'_> {
    /// Takes it from the first of the entry's places that has it.
    pub(super) fn take(&self, answer: &ToolAnswer, data: Option<&Document>) -> Result<(), Failure> {
        let places = &self.step.entry.result.take;
        for place in places {
            if self.from(place, answer, data)? {
                return Ok(());
            }
        }
        let places: Vec<String> = places.iter().map(describe).collect();
        let message = format!(
            "{} reported success, but gave no asset for {}: looked for {}",
            self.step.entry.tool,
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
            Take::Pointer(pointer) => match data
                .and_then(|data| data.pointer(pointer))
                .as_deref()
                .and_then(Value::as_str)
            {
                Some(location) => self.fetch(location).map(|()| true),
                None => Ok(false),
            },
            Take::ResourceLink => {
                let mut blocks = answer.content.iter().map(Part::read);
                let link = blocks.find_map(|block| match &*block {
                    Content::ResourceLink { uri, .. } => Some(uri.clone()),
                    _ => None,
                });
                link.map_or(Ok(false), |uri| self.fetch(&uri).map(|()| true))
            }
            Take::Blob => {
                for block in answer.content.iter().map(Part::read) {
                    match &*block {
                        Content::Blob { base64, .. } => {
                            self.staging.write_base64(&self.output.file_name, base64)?
                        }
                        Content::TextResource { text, .. } => self.write(text.as_bytes())?,
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
                self.write(texts.join("\n").as_bytes())?;
                Ok(true)
            }
            Take::Data => {
                let Some(data) = data else { return Ok(false) };
                let mut text = data.to_string();
                text.push('\n');
                self.write(text.as_bytes())?;
                Ok(true)
            }
        }
    }

    fn write(&self, bytes: &[u8]) -> Result<Utf8PathBuf, Failure> {
        Ok(self.staging.write(&self.output.file_name, bytes)?)
    }

    /// Takes over the file a tool names. One in this run's scratch directory is linked, not moved: it
    /// may be the asset of the step before. Any other file is the tool's own, and is copied.
    fn fetch(&self, location: &str) -> Result<(), Failure> {
        let tool = &self.step.entry.tool;
        let shown = redact_presigned(location);
        let missing = |why: String| {
            Failure::new(
                Fault::OutputMissing,
                format!("{tool} says its asset is at {shown}, {why}"),
            )
        };
        let uri = Uri::parse(location)
            .map_err(|error| missing(format!("which cannot be used: {error}")))?;
        let base = self.context.root.join(&self.step.server.cwd);
        let path = uri
            .local_path(&base)
            .ok_or_else(|| missing("which is not on this machine".to_owned()))?;
        if path == self.output.staged {
            return Ok(());
        }
        let file = open_regular(&path).map_err(|error| missing(format!("but {error}")))?;
        if self.made_here(&path) && fs::hard_link(&path, &self.output.staged).is_ok() {
            return Ok(());
        }
        let watched = Watched::new(file, self.context)
            .map_err(|why| missing(format!("which cannot be taken: {why}")))?;
        match self.staging.write(&self.output.file_name, watched) {
            Ok(_) => Ok(()),
            // A signal, or the end of the run's time, says more than the read it broke off.
            Err(error) => Err(self.context.stopped().unwrap_or_else(|| error.into())),
        }
    }

    /// Whether the path lies in this run's scratch directory, links resolved.
    fn made_here(&self, path: &Utf8Path) -> bool {
        match (
            path.canonicalize_utf8(),
            self.staging.dir().canonicalize_utf8(),
        ) {
            (Ok(path), Ok(dir)) => path.starts_with(dir),
            _ => false,
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
