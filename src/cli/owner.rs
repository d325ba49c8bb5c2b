//! Whose a root, a catalog or a state directory is that nobody named (docs/trust.md).

use std::{
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
};

use camino::Utf8Path;

use crate::host;

/// Access control lists show as rights of the group.
const ACL: &str = "system.posix_acl_access";

/// Whether what was found belongs to us, to root or to the user behind sudo, and nobody else may write to
/// it. What is not there belongs to nobody, and is no danger. The sentence says how to name it instead.
pub(super) fn ours(path: &Utf8Path, what: &str, name_it: &str) -> Result<(), String> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(format!("{what} {path} cannot be looked at: {error}")),
    };
    let refused = |why: String| {
        format!(
            "{what} {path} was found, not named, and {why}: whoever can write there decides what is run. If you trust it, name it: {name_it}"
        )
    };
    let us = host::user_id();
    let trusted = [Some(us), Some(0), host::user_behind_sudo()];
    if !trusted.contains(&Some(found.uid())) {
        let owner = found.uid();
        return Err(refused(format!(
            "it belongs to user {owner}, not to you ({us})"
        )));
    }
    if found.mode() & 0o002 != 0 {
        return Err(refused("every user may write to it".to_owned()));
    }
    if found.mode() & 0o020 != 0 && !is_group_of_one(path, &found) {
        let group = found.gid();
        return Err(refused(format!("others may write to it (group {group})")));
    }
    Ok(())
}

/// Whether the rights of the group are rights of the owner alone: as far as the machine's own files tell, it
/// is the owner's group and nobody else is in it, and no list gives others rights.
fn is_group_of_one(path: &Utf8Path, found: &Metadata) -> bool {
    let mut none: [u8; 0] = [];
    let listed =
        rustix::fs::getxattr(path.as_std_path(), ACL, &mut none).is_ok_and(|bytes| bytes > 0);
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    !listed
        && is_alone(
            found.uid(),
            found.gid(),
            &read("/etc/passwd"),
            &read("/etc/group"),
        )
}

/// The same by the text of passwd(5) and group(5).
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
    use super::*;

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
