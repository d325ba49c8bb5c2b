//! Fingerprints of files, and whether a file still has its fingerprint.

use std::{convert::identity, fs::File, io};

use camino::Utf8Path;
use ring::digest;
use rustix::fs::{AtFlags, CWD, fstat, statat};

use super::{
    error::StoreError,
    regular::{open_followed, open_regular},
};
use crate::{
    host,
    task::{Content, Links, Print, Sight, Stat, Still, Uri, hexadecimal},
};

/// Whether the run may continue. It is called before each block is read.
pub(crate) type GoOn<'a> = &'a dyn Fn() -> bool;

/// Longer than the time stamp granularity of any file system, in nanoseconds.
const TICK: i64 = 20_000_000;

/// The longest file whose content is read, in bytes. The content of a longer file is unknown, so that a sparse file of
/// terabytes does not hold up a run that has no `--timeout`.
const LONGEST: u64 = 64 << 30;

/// Reads the file at `uri`, if it is on this machine; a relative path is relative to `root`. If the run must stop
/// before the end is read, or the file is longer than [`LONGEST`], the content is unknown.
pub(crate) fn print(uri: &Uri, root: &Utf8Path, links: Links, go_on: GoOn<'_>) -> Print {
    let sight = match uri.local_path(root) {
        Some(path) => match open(&path, links).and_then(|file| content(&file, go_on)) {
            Ok(content) => Sight::Content(content),
            Err(NoFile::Absent) => Sight::Absent,
            Err(NoFile::Another | NoFile::Unseen) => Sight::Unknown,
        },
        None => Sight::Unknown,
    };
    Print {
        uri: uri.redacted().into_owned(),
        sight,
    }
}

/// The facts of the file system about a file. The file is not read.
pub(crate) fn stat(uri: &Uri, root: &Utf8Path, links: Links) -> Option<Stat> {
    let path = uri.local_path(root)?;
    stat_of(&open(&path, links).ok()?)
}

/// Whether a file still is as it was `seen`. It is read only if the facts of the file system have changed.
pub(crate) fn still(
    seen: &Print,
    uri: &Uri,
    root: &Utf8Path,
    links: Links,
    go_on: GoOn<'_>,
) -> Still {
    let Some(path) = uri.local_path(root) else {
        return Still::Unknown;
    };
    let (then, file) = match (&seen.sight, open(&path, links)) {
        (Sight::Unknown | Sight::Object(_), _) | (Sight::Absent, Err(NoFile::Unseen)) => {
            return Still::Unknown;
        }
        (Sight::Absent, Err(NoFile::Absent)) => return Still::Same,
        (Sight::Content(_), Err(NoFile::Absent)) => return Still::Gone,
        (Sight::Absent, Ok(_) | Err(NoFile::Another))
        | (Sight::Content(_), Err(NoFile::Another | NoFile::Unseen)) => return Still::Other,
        (Sight::Content(then), Ok(file)) => (then, file),
    };
    match stat_of(&file) {
        Some(now) if then.stat == Some(now) => return Still::Same,
        Some(now) if now.bytes != then.bytes => return Still::Other,
        _ => {}
    }
    match content(&file, go_on) {
        Ok(now) if now.blake3 == then.blake3 => Still::Same,
        Err(_) if !go_on() => Still::Unknown,
        Ok(_) | Err(_) => Still::Other,
    }
}

/// Whether an opened file has the content that was recorded.
pub(crate) fn has_content(file: &File, recorded: &Content, go_on: GoOn<'_>) -> bool {
    content(file, go_on).is_ok_and(|now| now.blake3 == recorded.blake3)
}

enum NoFile {
    Absent,
    /// The name belongs to something that is not a regular file.
    Another,
    Unseen,
}

fn open(path: &Utf8Path, links: Links) -> Result<File, NoFile> {
    let opened = match links {
        Links::Followed => open_followed(path),
        Links::Refused => open_regular(path),
    };
    opened.map_err(|error| match error {
        StoreError::Symlink(_) | StoreError::NotAFile(_) => NoFile::Another,
        StoreError::Io { error, .. }
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            NoFile::Absent
        }
        _ => NoFile::Unseen,
    })
}

fn content(file: &File, go_on: GoOn<'_>) -> Result<Content, NoFile> {
    let before = stat_of(file).ok_or(NoFile::Unseen)?;
    if before.bytes > LONGEST {
        return Err(NoFile::Unseen);
    }
    let (bytes, blake3) = hash(file, before.bytes, go_on).map_err(|_| NoFile::Unseen)?;
    let now = host::file_time();
    // If the file was written while it was read, or so recently that another write could leave its times
    // unchanged, the facts of the file system do not identify the content.
    let settled =
        stat_of(file) == Some(before) && now.saturating_sub(before.mtime.max(before.ctime)) > TICK;
    Ok(Content {
        bytes,
        blake3,
        stat: settled.then_some(before),
    })
}

/// The size of a block.
const MOST: u64 = 1 << 17;

fn hash(file: &File, expected: u64, go_on: GoOn<'_>) -> io::Result<(u64, String)> {
    let mut hash = blake3::Hasher::new();
    let mut bytes = 0;
    each_block(file, expected, go_on, |block| {
        hash.update(block);
        bytes += block.len() as u64;
    })?;
    Ok((bytes, hash.finalize().to_hex().to_string()))
}

/// The SHA-256 of the rest of a file, in lower-case hex.
pub(super) fn sha256(file: &File, go_on: GoOn<'_>) -> io::Result<String> {
    let mut hash = digest::Context::new(&digest::SHA256);
    each_block(file, MOST, go_on, |block| hash.update(block))?;
    Ok(hexadecimal(hash.finish().as_ref()))
}

/// Reads the rest of a file, of which so many bytes are expected.
fn each_block(
    mut file: &File,
    expected: u64,
    go_on: GoOn<'_>,
    mut see: impl FnMut(&[u8]),
) -> io::Result<()> {
    let room = usize::try_from(expected.saturating_add(1).min(MOST)).unwrap_or_default();
    host::each_block(&mut file, room, identity, |block| {
        if !go_on() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        see(block);
        Ok(())
    })
}

/// The facts of the file system about the file at `path`. A link is not followed.
pub(crate) fn stat_at(path: &Utf8Path) -> Option<Stat> {
    let stat = statat(CWD, path.as_std_path(), AtFlags::SYMLINK_NOFOLLOW);
    stat_from(stat.ok()?)
}

pub(crate) fn stat_of(file: &File) -> Option<Stat> {
    stat_from(fstat(file).ok()?)
}

fn stat_from(stat: rustix::fs::Stat) -> Option<Stat> {
    let nanoseconds = |seconds: i64, rest: u64| {
        seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(i64::try_from(rest).unwrap_or_default())
    };
    Some(Stat {
        dev: stat.st_dev,
        ino: stat.st_ino,
        bytes: u64::try_from(stat.st_size).ok()?,
        mtime: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        ctime: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, thread, time::Duration};

    use camino::Utf8PathBuf;

    use super::*;

    fn place() -> (tempfile::TempDir, Utf8PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::try_from(dir.path().canonicalize().unwrap()).unwrap();
        (dir, path)
    }

    fn seen(root: &Utf8Path) -> (Print, Uri) {
        let uri = Uri::parse("a.bin").unwrap();
        (print(&uri, root, Links::Refused, &|| true), uri)
    }

    #[test]
    fn a_file_without_end_is_read_no_further_than_the_run_may_go_on() {
        let (_keep, root) = place();
        let file = File::create(root.join("a.bin")).unwrap();
        file.set_len(LONGEST).unwrap();
        let uri = Uri::parse("a.bin").unwrap();
        let asked = std::cell::Cell::new(0);
        let go_on = || {
            asked.set(asked.get() + 1);
            asked.get() < 10
        };
        let seen = print(&uri, &root, Links::Refused, &go_on);
        assert_eq!((seen.sight, asked.get()), (Sight::Unknown, 10));
    }

    #[test]
    fn a_sparse_file_of_terabytes_is_not_read() {
        let (_keep, root) = place();
        let file = File::create(root.join("a.bin")).unwrap();
        file.set_len(2 << 40).unwrap();
        let uri = Uri::parse("a.bin").unwrap();
        let seen = print(&uri, &root, Links::Refused, &|| panic!("a block is read"));
        assert_eq!(seen.sight, Sight::Unknown);
    }

    #[test]
    fn a_file_is_known_again_by_its_bytes() {
        let (_keep, root) = place();
        fs::write(root.join("a.bin"), b"one").unwrap();
        let (then, uri) = seen(&root);
        assert!(matches!(&then.sight, Sight::Content(content) if content.bytes == 3));
        assert_eq!(
            still(&then, &uri, &root, Links::Refused, &|| true),
            Still::Same
        );
        // Written again with the same bytes: another time, the same content.
        fs::write(root.join("a.bin"), b"one").unwrap();
        assert_eq!(
            still(&then, &uri, &root, Links::Refused, &|| true),
            Still::Same
        );
        fs::write(root.join("a.bin"), b"two").unwrap();
        assert_eq!(
            still(&then, &uri, &root, Links::Refused, &|| true),
            Still::Other
        );
        fs::remove_file(root.join("a.bin")).unwrap();
        assert_eq!(
            still(&then, &uri, &root, Links::Refused, &|| true),
            Still::Gone
        );
    }

    #[test]
    fn a_file_that_was_written_just_now_is_not_known_by_its_times() {
        let (_keep, root) = place();
        fs::write(root.join("a.bin"), b"one").unwrap();
        let known = || match seen(&root).0.sight {
            Sight::Content(content) => content.stat.is_some(),
            Sight::Object(_) | Sight::Absent | Sight::Unknown => panic!("it is there"),
        };
        assert!(!known());
        thread::sleep(Duration::from_millis(60));
        assert!(known());
    }

    #[test]
    fn what_was_deleted_is_the_same_while_it_is_not_there() {
        let (_keep, root) = place();
        let (then, uri) = seen(&root);
        assert_eq!(then.sight, Sight::Absent);
        assert_eq!(
            still(&then, &uri, &root, Links::Refused, &|| true),
            Still::Same
        );
        fs::write(root.join("a.bin"), b"back").unwrap();
        assert_eq!(
            still(&then, &uri, &root, Links::Refused, &|| true),
            Still::Other
        );
    }

    #[test]
    fn what_is_elsewhere_is_unknown() {
        let (_keep, root) = place();
        let uri = Uri::parse("s3://bucket/a.bin").unwrap();
        let then = print(&uri, &root, Links::Followed, &|| true);
        assert_eq!(then.sight, Sight::Unknown);
        assert_eq!(
            still(&then, &uri, &root, Links::Refused, &|| true),
            Still::Unknown
        );
    }

    #[test]
    fn an_input_that_is_a_link_is_what_it_leads_to() {
        let (_keep, root) = place();
        fs::write(root.join("one.bin"), b"one").unwrap();
        fs::write(root.join("two.bin"), b"two").unwrap();
        let link = |to: &str| {
            let _ = fs::remove_file(root.join("a.bin"));
            std::os::unix::fs::symlink(root.join(to), root.join("a.bin")).unwrap();
        };
        let uri = Uri::parse("a.bin").unwrap();
        link("one.bin");
        let then = print(&uri, &root, Links::Followed, &|| true);
        assert!(matches!(&then.sight, Sight::Content(content) if content.bytes == 3));
        assert_eq!(
            still(&then, &uri, &root, Links::Followed, &|| true),
            Still::Same
        );
        link("two.bin");
        assert_eq!(
            still(&then, &uri, &root, Links::Followed, &|| true),
            Still::Other
        );
        link("nowhere");
        assert_eq!(
            still(&then, &uri, &root, Links::Followed, &|| true),
            Still::Gone
        );
    }

    #[test]
    fn an_output_that_was_made_a_link_is_another() {
        let (_keep, root) = place();
        fs::write(root.join("a.bin"), b"one").unwrap();
        let (then, uri) = seen(&root);
        fs::rename(root.join("a.bin"), root.join("b.bin")).unwrap();
        std::os::unix::fs::symlink(root.join("b.bin"), root.join("a.bin")).unwrap();
        assert_eq!(
            still(&then, &uri, &root, Links::Refused, &|| true),
            Still::Other
        );
    }

    #[test]
    fn what_is_there_and_no_file_is_not_taken_for_absent() {
        let (_keep, root) = place();
        fs::create_dir(root.join("a.bin")).unwrap();
        let (then, uri) = seen(&root);
        assert_eq!(then.sight, Sight::Unknown);
        assert_eq!(
            still(&then, &uri, &root, Links::Refused, &|| true),
            Still::Unknown
        );
    }
}
