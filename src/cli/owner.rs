//! Checks the owner of a root, a catalog or a state directory that was found and not named (docs/trust.md).

use std::{
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
};

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
            Ok(false) if is_group_of_one(&found) => return Ok(()),
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

/// Whether only the owner has the rights of the group: it is the owner's group and, by the machine's own files,
/// has no other member.
fn is_group_of_one(found: &Metadata) -> bool {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    is_alone(
        found.uid(),
        found.gid(),
        &read("/etc/passwd"),
        &read("/etc/group"),
    )
}

/// Whether an access control list is set. A file system without such lists has none.
pub(super) fn has_list(path: &Utf8Path) -> io::Result<bool> {
    match getxattr_query(path.as_std_path(), ACL) {
        Ok(_) => Ok(true),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Decides this from the text of passwd(5) and group(5).
fn is_alone(user: u32, group: u32, passwd: &str, groups: &str) -> bool {
    let field = |line: &str, at: usize| line.split(':').nth(at).map(str::to_owned);
    let number = |line: &str, at| field(line, at)?.parse::<u32>().ok();
    let users: Vec<(Option<String>, u32)> = passwd
        .lines()
        .filter(|line| number(line, 3) == Some(group))
        .filter_map(|line| Some((field(line, 0), number(line, 2)?)))
        .collect();
    let names: Vec<&String> = users.iter().filter_map(|(name, _)| name.as_ref()).collect();
    let others = groups
        .lines()
        .filter(|line| number(line, 2) == Some(group))
        .filter_map(|line| field(line, 3))
        .any(|members| {
            members
                .split(',')
                .map(str::trim)
                .any(|member| !member.is_empty() && !names.iter().any(|name| *name == member))
        });
    !users.is_empty() && users.iter().all(|(_, id)| *id == user) && !others
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

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\n\
        bob:x:1001:100::/home/bob:/bin/sh\ncarol:x:1002:100::/home/carol:/bin/sh\n";
    const GROUPS: &str = "root:x:0:\nusers:x:100:\nalice:x:1000:\nteam:x:2000:alice,bob\n";

    #[test]
    fn a_group_is_the_owners_own_if_nobody_else_is_in_it() {
        assert!(is_alone(1000, 1000, PASSWD, GROUPS));
        assert!(is_alone(0, 0, PASSWD, GROUPS));
        for (user, group) in [(1001, 100), (1000, 2000), (1001, 1000), (1000, 3000)] {
            assert!(!is_alone(user, group, PASSWD, GROUPS), "{user} {group}");
        }
        let joined = GROUPS.replace("alice:x:1000:", "alice:x:1000:alice,bob");
        assert!(!is_alone(1000, 1000, PASSWD, &joined));
        let alone = GROUPS.replace("alice:x:1000:", "alice:x:1000:alice");
        assert!(is_alone(1000, 1000, PASSWD, &alone));
    }
}
