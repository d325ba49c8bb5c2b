//! Opening a file that somebody else names, if it lies in a directory where that one may name files.

use std::fs::File;

use camino::Utf8Path;
use rustix::{
    fs::{Mode, OFlags, ResolveFlags, openat2},
    io::Errno,
};

use super::{error::StoreError, store::regular};

/// Opens the file if, with all links on the way resolved, it lies below `place`; none if it lies
/// elsewhere. So an error tells of files below `place` alone. The last name may be no link.
pub(crate) fn open_within(place: &Utf8Path, path: &Utf8Path) -> Result<Option<File>, StoreError> {
    let Ok(place) = place.canonicalize_utf8() else {
        return Ok(None);
    };
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(None);
    };
    let real = parent.canonicalize_utf8();
    let real = real.as_deref().unwrap_or(parent).join(name);
    let Ok(below) = real.strip_prefix(&place) else {
        return Ok(None);
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(place.as_std_path(), flags, Mode::empty())
        .map_err(StoreError::os("open", &place))?;
    // What was resolved may have been exchanged since.
    let opened = openat2(
        &directory,
        below.as_std_path(),
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
    );
    match opened {
        Err(Errno::XDEV) => Ok(None),
        opened => regular(opened, path).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn only_what_lies_below_the_place_is_opened_whatever_leads_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap();
        let place = root.join("place");
        fs::create_dir_all(place.join("deep")).unwrap();
        for file in ["secret", "place/a", "place/deep/b", "placebo"] {
            fs::write(root.join(file), file).unwrap();
        }
        symlink("place", root.join("linked")).unwrap();
        symlink("..", place.join("up")).unwrap();
        symlink("../secret", place.join("leak")).unwrap();
        let open = |path: &str| open_within(&place, &root.join(path));
        for inside in [
            "place/a",
            "linked/a",
            "place/deep/b",
            "place/deep/../a",
            "place/up/place/a",
        ] {
            assert!(matches!(open(inside), Ok(Some(_))), "{inside}");
        }
        for outside in [
            "secret",
            "placebo",
            "place/../secret",
            "place/up/secret",
            "missing",
            "place/..",
            "/etc/passwd",
            "/proc/self/environ",
        ] {
            assert!(matches!(open(outside), Ok(None)), "{outside}");
        }
        for unusable in [
            "place/leak",
            "place/missing",
            "place/missing/../../secret",
            "place/deep",
        ] {
            assert!(open(unusable).is_err(), "{unusable}");
        }
        assert!(matches!(
            open_within(&root.join("none"), &root.join("none/a")),
            Ok(None)
        ));
    }
}
