//! The fingerprint of a file, and whether a file still has it.

use std::{
    fs::File,
    io::{self, Read},
};

use camino::Utf8Path;
use rustix::fs::fstat;

use crate::{
    host,
    task::{Content, Print, Sight, Stat, Still, Uri},
};

use super::open_regular;

/// Longer than the clock of any file system stands still, in nanoseconds.
const TICK: i64 = 20_000_000;

/// Reads what is at `uri`, if it is a file here; a relative path is taken from `root`.
pub(crate) fn print(uri: &Uri, root: &Utf8Path) -> Print {
    Print {
        uri: uri.redacted().into_owned(),
        sight: match uri.local_path(root) {
            Some(path) => content(&path).map_or(Sight::Absent, Sight::Content),
            None => Sight::Unknown,
        },
    }
}

/// What the file system says of a file, without reading it.
pub(crate) fn stat(uri: &Uri, root: &Utf8Path) -> Option<Stat> {
    let path = uri.local_path(root)?;
    stat_of(&open_regular(&path).ok()?)
}

/// Whether what was seen is still there. A file is read only where the file system does not say that it
/// is untouched.
pub(crate) fn still(seen: &Print, uri: &Uri, root: &Utf8Path) -> Still {
    let Some(path) = uri.local_path(root) else {
        return Still::Unknown;
    };
    let file = open_regular(&path);
    let (then, file) = match (&seen.sight, file) {
        (Sight::Unknown, _) => return Still::Unknown,
        (Sight::Absent, Ok(_)) => return Still::Other,
        (Sight::Absent, Err(_)) => return Still::Same,
        (Sight::Content(_), Err(_)) => return Still::Gone,
        (Sight::Content(then), Ok(file)) => (then, file),
    };
    match stat_of(&file) {
        Some(now) if then.stat == Some(now) => return Still::Same,
        Some(now) if now.bytes != then.bytes => return Still::Other,
        _ => {}
    }
    match content(&path) {
        Some(now) if now.blake3 == then.blake3 => Still::Same,
        Some(_) => Still::Other,
        None => Still::Gone,
    }
}

fn content(path: &Utf8Path) -> Option<Content> {
    let file = open_regular(path).ok()?;
    let before = stat_of(&file)?;
    let (bytes, blake3) = hash(&file, before.bytes).ok()?;
    let now = host::file_time();
    // Written to while it was read, or so lately that it could be again without its times changing.
    let settled =
        stat_of(&file) == Some(before) && now.saturating_sub(before.mtime.max(before.ctime)) > TICK;
    Some(Content {
        bytes,
        blake3,
        stat: settled.then_some(before),
    })
}

/// Bytes read at once.
const MOST: u64 = 1 << 17;

fn hash(mut file: &File, expected: u64) -> io::Result<(u64, String)> {
    let mut hash = blake3::Hasher::new();
    let room = usize::try_from(expected.saturating_add(1).min(MOST)).unwrap_or_default();
    let mut buffer = vec![0; room];
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((bytes, hash.finalize().to_hex().to_string())),
            Ok(read) => {
                hash.update(buffer.get(..read).unwrap_or_default());
                bytes += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn stat_of(file: &File) -> Option<Stat> {
    let stat = fstat(file).ok()?;
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
        (print(&uri, root), uri)
    }

    #[test]
    fn a_file_is_known_again_by_its_bytes() {
        let (_keep, root) = place();
        fs::write(root.join("a.bin"), b"one").unwrap();
        let (then, uri) = seen(&root);
        assert!(matches!(&then.sight, Sight::Content(content) if content.bytes == 3));
        assert_eq!(still(&then, &uri, &root), Still::Same);
        // Written again with the same bytes: another time, the same content.
        fs::write(root.join("a.bin"), b"one").unwrap();
        assert_eq!(still(&then, &uri, &root), Still::Same);
        fs::write(root.join("a.bin"), b"two").unwrap();
        assert_eq!(still(&then, &uri, &root), Still::Other);
        fs::remove_file(root.join("a.bin")).unwrap();
        assert_eq!(still(&then, &uri, &root), Still::Gone);
    }

    #[test]
    fn a_file_that_was_written_just_now_is_not_known_by_its_times() {
        let (_keep, root) = place();
        fs::write(root.join("a.bin"), b"one").unwrap();
        let known = || match seen(&root).0.sight {
            Sight::Content(content) => content.stat.is_some(),
            Sight::Absent | Sight::Unknown => panic!("it is there"),
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
        assert_eq!(still(&then, &uri, &root), Still::Same);
        fs::write(root.join("a.bin"), b"back").unwrap();
        assert_eq!(still(&then, &uri, &root), Still::Other);
    }

    #[test]
    fn what_is_elsewhere_is_unknown() {
        let (_keep, root) = place();
        let uri = Uri::parse("s3://bucket/a.bin").unwrap();
        let then = print(&uri, &root);
        assert_eq!(then.sight, Sight::Unknown);
        assert_eq!(still(&then, &uri, &root), Still::Unknown);
    }
}
