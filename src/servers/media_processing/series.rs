//! Many files of one video: how many there may be, and finding them again.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::ffmpeg::Film;
use crate::servers::tool::ToolError;

/// Files that are made of one video, at most.
pub(super) const MOST: usize = 10_000;

/// Refuses a step, in seconds, that would make too many files of a film; before anything is done,
/// where its length is known.
pub(super) fn bounded(argument: &'static str, step: f64, film: &Film) -> Result<(), ToolError> {
    match film.duration {
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        Some(duration) if duration / step > MOST as f64 => Err(too_many(argument)),
        _ => Ok(()),
    }
}

/// Refuses what has become too many.
pub(super) fn counted(argument: &'static str, files: usize) -> Result<(), ToolError> {
    if files > MOST {
        return Err(too_many(argument));
    }
    Ok(())
}

fn too_many(argument: &'static str) -> ToolError {
    ToolError::Argument {
        argument,
        problem: format!("it would make more than {MOST} files of this video; give more seconds"),
    }
}

/// The files of a directory, by name.
pub(super) fn files(directory: &Path) -> Result<Vec<PathBuf>, ToolError> {
    let failed = |error| ToolError::Failed(format!("cannot read {}: {error}", directory.display()));
    let entries = fs::read_dir(directory).map_err(failed)?;
    let mut files = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    files.sort();
    Ok(files)
}
