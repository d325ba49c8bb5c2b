//! Checks the owner of a root, a catalog or a state directory that was found and not named (docs/trust.md).

use std::{fs, io, os::unix::fs::MetadataExt as _};

use camino::Utf8Path;
use rustix::{fs::getxattr_query, io::Errno};

use crate::host;

/// The access control list of a file. Its mask appears in the mode as the rights of the group.
const ACL: &str = "system.posix_acl_access";

/// Accepts a path that this user, root or the user behind sudo owns, and that nobody else may write to.
/// A path that does not exist is accepted. The error says how to name the path instead.
pub(super) fn ours(path: &Utf8Path, what: &str, name_it: &str) -> Result<(), String> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(format!("{what} {path} cannot be examined: {error}")),
    };
    let (us, owner, group) = (host::user_id(), found.uid(), found.gid());
    let trusted = [Some(us), Some(0), host::user_behind_sudo()];
    let why = if !trusted.contains(&Some(owner)) {
        format!("it belongs to user {owner}, not to you ({us})")
    } else if found.mode() & 0o002 != 0 {
        "every user may write to it".to_owned()
    } else if found.mode() & 0o020 == 0 {
        return Ok(());
    } else {
        match has_list(path) {
            Ok(false) if host::is_own_group(owner, group) => return Ok(()),
            Ok(false) => format!("others may write to it (group {group})"),
            Ok(true) => {
                "an access control list lets others write to it (`getfacl` shows it)".to_owned()
            }
            Err(error) => format!(
                "it cannot be checked whether an access control list lets others write to it ({error})"
            ),
        }
    };
    Err(format!(
        "{what} {path} was not named explicitly, and {why}. Anyone who can write to it decides which programs are run. If you trust it, name it with {name_it}"
    ))
}

/// Whether an access control list is set. A file system without such lists has none.
pub(super) fn has_list(path: &Utf8Path) -> io::Result<bool> {
    match getxattr_query(path.as_std_path(), ACL) {
        Ok(_) => Ok(true),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use rustix::fs::{XattrFlags, setxattr};

    use super::*;

    /// `user::rwx`, `user:1000:rwx`, `group::r-x`, `mask::rwx`, `other::r-x` as the kernel has it.
    const LIST: [u8; 44] = [
        2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 7, 0, 232, 3, 0, 0, 4, 0, 5, 0, 255, 255,
        255, 255, 16, 0, 7, 0, 255, 255, 255, 255, 32, 0, 5, 0, 255, 255, 255, 255,
    ];

    #[test]
    fn what_an_access_control_list_opens_to_others_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(dir.path()).unwrap();
        let catalog = root.join("catalog.toml");
        fs::write(&catalog, "").unwrap();
        for path in [root, &catalog] {
            ours(path, "the root", "`--root`").unwrap();
            match setxattr(path.as_std_path(), ACL, &LIST, XattrFlags::empty()) {
                Err(Errno::OPNOTSUPP) => {
                    let why = "skipped: this file system has no access control lists";
                    writeln!(io::stderr(), "{why}").unwrap();
                    return;
                }
                set => set.unwrap(),
            }
            let why = ours(path, "the root", "`--root`").unwrap_err();
            assert!(why.contains("access control list"), "{why}");
        }
    }
}
