//! The users and groups of this machine. The C library finds them, so those of LDAP or SSSD are among them.

use std::{ffi::CString, fs};

use nix::unistd::{Gid, Group, Uid, User, getgrouplist};

/// Whether that user has that name.
pub fn is_named(uid: u32, name: &str) -> bool {
    let user = User::from_name(name).ok().flatten();
    user.is_some_and(|user| user.uid == Uid::from_raw(uid))
}

/// The name of a user, for people.
pub fn name_of(uid: u32) -> Option<String> {
    user(uid).map(|user| user.name)
}

/// Whether that user is a member of that group.
pub fn is_in_group(uid: u32, name: &str) -> bool {
    let groups = || {
        let user = user(uid)?;
        getgrouplist(&CString::new(user.name).ok()?, user.gid).ok()
    };
    let group = Group::from_name(name).ok().flatten();
    group.is_some_and(|group| groups().is_some_and(|groups| groups.contains(&group.gid)))
}

/// Whether a group is the user's own: no other user is in it.
///
/// No directory lists all users whose first group it is, but `/etc/passwd` does so for its own users. The first group of
/// another user has to have the user's name.
pub fn is_own_group(uid: u32, gid: u32) -> bool {
    let group = Group::from_gid(Gid::from_raw(gid)).ok().flatten();
    let (Some(user), Some(group)) = (user(uid), group) else {
        return false;
    };
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let in_group = |line: &str| {
        let mut numbers = line.split(':').skip(2).map(str::parse::<u32>);
        let (user, first) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        (first == gid).then_some(user)
    };
    let listed: Vec<u32> = users.lines().filter_map(in_group).collect();
    let is_first = user.gid == group.gid && (listed.contains(&uid) || user.name == group.name);
    let others = listed.iter().any(|other| *other != uid);
    is_first && !others && group.mem.iter().all(|member| *member == user.name)
}

fn user(uid: u32) -> Option<User> {
    User::from_uid(Uid::from_raw(uid)).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_a_user_and_a_group() {
        assert!(is_named(0, "root") && !is_named(1, "root"));
        assert_eq!(name_of(0).as_deref(), Some("root"));
        assert!(is_in_group(0, "root") && !is_in_group(1, "root"));
        assert!(!is_in_group(0, "no such group") && name_of(4_000_000_000).is_none());
        assert!(!is_named(0, "ro\0ot") && !is_in_group(0, "ro\0ot"));
        assert!(is_own_group(0, 0) && !is_own_group(1, 0) && !is_own_group(0, 1));
    }
}
