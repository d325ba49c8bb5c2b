//! Writes a page to the file that a person names: completely or not at all.

use std::{
    fs::{self, File, Metadata},
    io,
    io::Write as _,
    os::unix::fs::MetadataExt as _,
    path::Path,
    process::ExitCode,
};

use camino::Utf8Path;
use rustix::fs::fstat;

use serde_json::{Map, Value};

use crate::{
    cli::{
        ended::{Stop, code_or_signal, printed, stop},
        settings::FormArgs,
    },
    host::{self, Interrupts},
    perform::Project,
    task::visible,
};

/// Writes the page, and prints where it is, with these facts about it. `file` is resolved from the working directory. It
/// may not be among the records of the project. If it is what stdout is, no other text is printed, because it would become
/// part of the page.
pub(crate) fn written(
    (file, page): (&Utf8Path, &str),
    (project, interrupts): (&Project, &Interrupts),
    form: &FormArgs,
    (facts, told): ([(&str, Value); 2], &str),
) -> Result<ExitCode, Stop> {
    let path = host::working_directory().map_err(stop(2))?.join(file);
    if is_record(&path, project) {
        return Err(stop(2)(format!(
            "{path} is where oneact keeps its records; give the page another place"
        )));
    }
    if is_stdout(&path) {
        return Ok(printed(page, 0));
    }
    write(&path, page.as_bytes(), interrupts)
        .map_err(|error| stop(1)(format!("cannot write {path}: {error}")))?;
    let mut document = Map::from_iter([("file".to_owned(), path.as_str().into())]);
    document.extend(facts.map(|(key, value)| (key.to_owned(), value)));
    let told = || visible(&format!("Wrote {path}: {told}.")).into_owned() + "\n";
    Ok(form.printed(&document, told, code_or_signal(0, interrupts)))
}

/// Whether the path is in a directory of oneact.
fn is_record(path: &Utf8Path, project: &Project) -> bool {
    let place = host::resolved(path.as_std_path());
    let below = ["agent_outputs/reports", "agent_logs"].map(|dir| project.root.join(dir));
    let mut own = below.iter().chain([&project.state_dir]);
    own.any(|own| place.starts_with(host::resolved(own.as_std_path())))
}

/// Whether the path names the file that stdout is, e.g. `/dev/stdout`.
fn is_stdout(path: &Utf8Path) -> bool {
    let (Ok(there), Ok(stdout)) = (fs::metadata(path), fstat(io::stdout())) else {
        return false;
    };
    (there.dev(), there.ino()) == (stdout.st_dev, stdout.st_ino)
}

/// Writes a whole file or nothing, also through a symbolic link. A pipe or device is written to directly. A new file is
/// readable for its owner only, because the page can contain secrets; a file that is replaced keeps its mode.
fn write(path: &Utf8Path, bytes: &[u8], interrupts: &Interrupts) -> io::Result<()> {
    let there = fs::metadata(path).ok();
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        return File::options().write(true).open(path)?.write_all(bytes);
    }
    // A signal that ends the process would leave a part of the file beside it.
    interrupts.stand_by();
    let placed = place(&host::resolved(path.as_std_path()), bytes, there.as_ref());
    interrupts.stand_down();
    placed
}

/// Writes a new file beside the place, under a name that no other run uses, and moves it there.
fn place(path: &Path, bytes: &[u8], there: Option<&Metadata>) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(bytes)?;
    if let Some(there) = there {
        file.as_file().set_permissions(there.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_new_page_is_readable_for_its_owner_only_and_a_replaced_one_keeps_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("page.html");
        let mode = || fs::metadata(&path).unwrap().mode() & 0o7777;
        let interrupts = Interrupts::catch();
        write(&path, b"one", &interrupts).unwrap();
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write(&path, b"two", &interrupts).unwrap();
        assert_eq!((mode(), fs::read(&path).unwrap()), (0o640, b"two".to_vec()));
    }
}
