//! Checks that an input is whole before it is read. Readers leave out what they cannot read of a damaged file, and
//! succeed.

use std::{io::Seek, path::Path};

use camino::Utf8PathBuf;

use crate::{
    assets::format::{FormatError, HEAD, check_opened, recognised},
    servers::{
        files::{head, open_regular},
        tool::{Run, ToolError},
    },
    task::Format,
};

/// Fails if a file is empty, or if its headers show that it is incomplete. Returns the format, if it is one of audio or
/// video that is checked.
pub(super) fn check_whole(path: &Path, run: &Run<'_>) -> Result<Option<Format>, ToolError> {
    let mut file = open_regular("input_uri", path)?;
    let head = head(&mut file, HEAD).map_err(ToolError::io("read", path))?;
    let corrupt = |problem: &str| ToolError::Corrupt(format!("{}: {problem}", path.display()));
    if head.is_empty() {
        return Err(corrupt("it is empty"));
    }
    let format = recognised(&head).and_then(|(ending, _)| Format::of_ending(ending));
    let Some(format) = format.filter(|format| Format::media().any(|media| media == *format)) else {
        return Ok(None);
    };
    file.rewind().map_err(ToolError::io("read", path))?;
    let shown = Utf8PathBuf::from(path.to_string_lossy().into_owned());
    let go_on = || run.check_cancelled().is_ok();
    let checked = check_opened(file, &shown, format, &go_on);
    run.check_cancelled()?;
    match checked {
        Ok(_) => Ok(Some(format)),
        Err(FormatError::Broken { problem, .. }) => Err(corrupt(&problem)),
        Err(FormatError::Other { .. }) => Ok(None),
        Err(FormatError::File(error)) => Err(ToolError::Failed(error.to_string())),
    }
}
