//! Many files as one asset: a zip that stores them as they are.
//!
//! An asset is one file. The names within tell the time of each in milliseconds, so that their order
//! is that of time and no list beside them is needed. The same files make the same bytes.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use zip::{CompressionMethod, ZipWriter, result::ZipError, write::SimpleFileOptions};

use super::place::{Draft, Place, PlaceError, Written};
use crate::servers::{
    files::{absolute, file_uri, measure},
    tool::{Run, ToolError},
};

/// A file to be put into a bundle.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) file: PathBuf,
    pub(super) name: String,
}

/// The name of what begins at `seconds`, such as `frame_0000002000ms.jpg`.
pub(super) fn timed(kind: &str, seconds: f64, ending: &str) -> String {
    let milliseconds = (seconds * 1000.0).round();
    format!("{kind}_{milliseconds:010.0}ms.{ending}")
}

/// A finished bundle.
#[derive(Debug)]
pub(super) struct Bundle {
    pub(super) uri: String,
    pub(super) bytes: u64,
}

/// Has files made in a directory of their own, and puts them into one zip at the place, in the order
/// in which `make` names them. What else it has found out comes back.
pub(super) fn bundle<T>(
    place: &Place,
    run: &Run<'_>,
    make: impl FnOnce(&Path) -> Result<(Vec<Member>, T), ToolError>,
) -> Result<(Bundle, T), ToolError> {
    let mut draft = Draft::create(place, "zip")?;
    let workshop = draft.workshop()?;
    let (members, found) = make(workshop.path())?;
    pack(&mut draft, &members, run)?;
    let Written { path, bytes } = draft.publish()?;
    let uri = file_uri(&absolute("output_path", &path)?);
    Ok((Bundle { uri, bytes }, found))
}

/// Writes the members.
fn pack(draft: &mut Draft, members: &[Member], run: &Run<'_>) -> Result<(), ToolError> {
    let mut zip = ZipWriter::new(BufWriter::new(draft.file()));
    let packed = pack_all(&mut zip, members, run);
    let finished = packed.and_then(|()| zip.finish()?.flush().map_err(Problem::Write));
    finished.map_err(|problem| match problem {
        Problem::Tool(error) => error,
        Problem::Write(source) => PlaceError::into(draft.failed(source)),
    })
}

/// Why a bundle is not made: what is read, or what is written.
enum Problem {
    Tool(ToolError),
    Write(io::Error),
}

fn pack_all(
    zip: &mut ZipWriter<impl Write + io::Seek>,
    members: &[Member],
    run: &Run<'_>,
) -> Result<(), Problem> {
    for Member { file, name } in members {
        let mut reader = File::open(file).map_err(|error| {
            Problem::Tool(ToolError::Failed(format!(
                "cannot open {}: {error}",
                file.display()
            )))
        })?;
        let large = reader
            .metadata()
            .is_ok_and(|about| about.len() >= u64::from(u32::MAX));
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .unix_permissions(0o644)
            .large_file(large);
        zip.start_file(name.as_str(), options)?;
        measure(&mut reader, file, run, |block| {
            zip.write_all(block).map_err(|error| {
                ToolError::Failed(format!("cannot write {name} into the zip: {error}"))
            })
        })
        .map_err(Problem::Tool)?;
    }
    Ok(())
}

impl From<ZipError> for Problem {
    fn from(error: ZipError) -> Self {
        Self::Write(error.into())
    }
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
