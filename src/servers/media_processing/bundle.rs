//! Packs many files into one asset: a zip file without compression. The name of each member contains its time in
//! milliseconds, so the members sort by time. The same files give the same bytes.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::{
    draft::{Draft, Written},
    ffmpeg::Input,
};
use crate::servers::{
    files::measure,
    tool::{Run, ToolError},
};

/// The largest number of files that are made of one video.
pub(super) const MOST_MEMBERS: u32 = 10_000;

/// A file for the zip.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) file: PathBuf,
    pub(super) name: String,
}

/// The name of a file that begins at `seconds`, such as `frame_0000002000ms.jpg`.
pub(super) fn timed(kind: &str, seconds: f64, ending: &str) -> String {
    let milliseconds = (seconds * 1000.0).round();
    format!("{kind}_{milliseconds:010.0}ms.{ending}")
}

/// Calls `make` to write files into a directory, and packs them into one zip in the order that it returns. Its
/// other result is passed on. `argument` asks for one file every `step` seconds. If the duration of the input is
/// known, too many files are refused before anything is made.
pub(super) fn bundle<T>(
    input: &Input<'_>,
    (argument, step): (&'static str, f64),
    mut draft: Draft,
    run: &Run<'_>,
    make: impl FnOnce(&Path) -> Result<(Vec<Member>, T), ToolError>,
) -> Result<(Written, T), ToolError> {
    let problem = || {
        format!(
            "it would make more than {MOST_MEMBERS} files of this video; use a larger number of seconds"
        )
    };
    if input
        .film
        .duration
        .is_some_and(|duration| duration > step * f64::from(MOST_MEMBERS))
    {
        return Err(ToolError::argument(argument, problem()));
    }
    let workshop = draft.workshop()?;
    let (members, found) = make(workshop.path())?;
    if members.len() > MOST_MEMBERS as usize {
        return Err(ToolError::argument(argument, problem()));
    }
    pack(&mut draft, &members, run)?;
    Ok((draft.publish()?, found))
}

fn pack(draft: &mut Draft, members: &[Member], run: &Run<'_>) -> Result<(), ToolError> {
    let failed = draft.failed();
    let mut zip = ZipWriter::new(BufWriter::new(draft.file()));
    for Member { file, name } in members {
        let mut reader = File::open(file).map_err(ToolError::io("open", file))?;
        let large = reader
            .metadata()
            .is_ok_and(|about| about.len() >= u64::from(u32::MAX));
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .unix_permissions(0o644)
            .large_file(large);
        let started = zip.start_file(name.as_str(), options);
        started.map_err(|error| failed(error.into()))?;
        measure(&mut reader, file, run, |block| {
            zip.write_all(block).map_err(&failed)
        })?;
    }
    let finished = zip.finish().map_err(io::Error::from);
    finished.and_then(|mut rest| rest.flush()).map_err(&failed)
}

/// The files of a directory, sorted by name.
pub(super) fn files(directory: &Path) -> Result<Vec<PathBuf>, ToolError> {
    let failed = |error| ToolError::io("read", directory)(error);
    let entries = fs::read_dir(directory).map_err(failed)?;
    let files = entries.map(|entry| Ok(entry?.path()));
    let mut files = files.collect::<io::Result<Vec<_>>>().map_err(failed)?;
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_time() {
        let names: Vec<_> = [0.0, 0.04, 2.0, 10.5, 360_000.0]
            .map(|seconds| timed("frame", seconds, "jpg"))
            .to_vec();
        assert_eq!(names[1], "frame_0000000040ms.jpg");
        assert!(names.is_sorted(), "{names:?}");
    }
}
