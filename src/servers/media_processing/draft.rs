//! Writes a file under a temporary name beside its final place, and renames it when it is complete. An existing
//! file is never replaced.

use std::{
    fs::{File, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tempfile::{NamedTempFile, TempDir};

use crate::servers::{
    files::{Placed, file_uri, free_place, parent, place, taken, temporary_directory},
    tool::ToolError,
};

/// The suffix of a file that is being written.
const UNFINISHED: &str = ".partial";

/// The largest number of characters of the input's name in the name of a new file.
const STEM: usize = 40;

#[derive(Debug)]
pub(super) struct Written {
    pub(super) uri: String,
    pub(super) bytes: u64,
}

/// A file that is being written. Dropping it removes the file.
#[derive(Debug)]
pub(super) struct Draft {
    file: NamedTempFile,
    path: PathBuf,
}

impl Draft {
    /// Creates a file for the place that `output_path` names, which must be free. Without a name, the place is a new file
    /// in the temporary directory, named after the input, with this ending.
    pub(super) fn create(
        output_path: Option<&str>,
        input: &Path,
        ending: &str,
    ) -> Result<Self, ToolError> {
        let place = output_path.map(free_place).transpose()?;
        let directory = match &place {
            Some(path) => parent(path).to_owned(),
            None => temporary_directory(),
        };
        let file = tempfile::Builder::new()
            .prefix(&format!(".{}-", stem(input)))
            .suffix(&format!(".{ending}{UNFINISHED}"))
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(&directory)
            .map_err(ToolError::io("create a file in", &directory))?;
        let path = place.unwrap_or_else(|| finished(file.path()));
        Ok(Self { file, path })
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(super) fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Makes a temporary directory beside the draft.
    pub(super) fn workshop(&self) -> Result<TempDir, ToolError> {
        let directory = parent(self.file.path());
        TempDir::with_prefix_in(".media-", directory)
            .map_err(ToolError::io("create a file in", directory))
    }

    /// Makes the error of a failed write.
    pub(super) fn failed(&self) -> impl Fn(io::Error) -> ToolError + use<> {
        let path = self.path.clone();
        move |error| ToolError::io("write", &path)(error)
    }

    /// Syncs the file and moves it to its place.
    pub(super) fn publish(self) -> Result<Written, ToolError> {
        let failed = self.failed();
        let Self { file, path } = self;
        let bytes = file.as_file().metadata().map_err(&failed)?.len();
        match place(file, &path).map_err(failed)? {
            Placed::Taken => Err(taken(&path)),
            Placed::New => Ok(Written {
                uri: file_uri(&path),
                bytes,
            }),
        }
    }
}

/// The final name: the draft's name without its prefix and suffix, which is as unique.
fn finished(draft: &Path) -> PathBuf {
    let name = draft.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_start_matches('.').trim_end_matches(UNFINISHED);
    draft.with_file_name(name)
}

/// The input's name without its ending, shortened.
fn stem(input: &Path) -> String {
    let stem = input.file_stem().unwrap_or_default().to_string_lossy();
    let stem: String = stem.trim_start_matches('.').chars().take(STEM).collect();
    if stem.is_empty() {
        "media".to_owned()
    } else {
        stem
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(directory: &TempDir) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("readable");
        let name = |entry: io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        entries
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect()
    }

    fn draft(directory: &TempDir, name: &str) -> Draft {
        let path = directory.path().join(name);
        let path = path.to_str().expect("Unicode");
        Draft::create(Some(path), Path::new("fox.mp4"), "wav").expect("created")
    }

    #[test]
    fn a_file_appears_at_its_place_only_when_finished() {
        let scratch = TempDir::new().expect("a directory");
        let draft = draft(&scratch, "out.wav");
        let [name] = names(&scratch).try_into().expect("one file");
        assert!(name.starts_with(".fox-") && name.ends_with(".wav.partial"));
        draft.publish().expect("finished");
        assert_eq!(names(&scratch), ["out.wav"]);
    }

    #[test]
    fn an_unfinished_file_leaves_nothing() {
        let scratch = TempDir::new().expect("a directory");
        drop(draft(&scratch, "out.wav"));
        assert!(names(&scratch).is_empty());
    }

    #[test]
    fn a_file_that_came_into_being_meanwhile_is_not_overwritten() {
        let scratch = TempDir::new().expect("a directory");
        let (path, draft) = (scratch.path().join("out.wav"), draft(&scratch, "out.wav"));
        fs::write(&path, "theirs").expect("written");
        let refused = draft.publish().expect_err("taken").to_string();
        assert!(
            refused.contains("exists already and is not overwritten"),
            "{refused}"
        );
        assert_eq!(fs::read(&path).expect("readable"), b"theirs");
        assert_eq!(names(&scratch), ["out.wav"]);
    }

    #[test]
    fn a_file_without_a_place_is_named_after_the_input() {
        let create = || Draft::create(None, Path::new("a/The End.mp4"), "flac").expect("created");
        let drafts = [create(), create()];
        assert_ne!(drafts[0].path, drafts[1].path);
        for draft in drafts {
            let name = draft.path.file_name().expect("a name").to_string_lossy();
            assert!(
                name.starts_with("The End-") && name.ends_with(".flac"),
                "{name}"
            );
        }
    }
}
