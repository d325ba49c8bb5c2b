//! The users and groups of this machine, as `/etc/passwd` and `/etc/group` list them.

use std::fs;

/// The lines of a file of records, split at the colons.
fn records(path: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.split(':').map(ToOwned::to_owned).collect())
        .collect()
}

fn field(record: &[String], at: usize) -> &str {
    record.get(at).map_or("", String::as_str)
}

/// Whether that user has that name.
pub fn is_named(uid: u32, name: &str) -> bool {
    let uid = uid.to_string();
    let users = records("/etc/passwd");
    users
        .iter()
        .any(|user| field(user, 0) == name && field(user, 2) == uid)
}

/// The name of a user, for people.
pub fn name_of(uid: u32) -> Option<String> {
    let uid = uid.to_string();
    let users = records("/etc/passwd").into_iter();
    let mut users = users.filter(|user| field(user, 2) == uid);
    users.next().map(|user| field(&user, 0).to_owned())
}

/// Whether that user is a member of that group.
pub fn is_in_group(uid: u32, name: &str) -> bool {
    let groups = records("/etc/group");
    let Some(group) = groups.iter().find(|group| field(group, 0) == name) else {
        return false;
    };
    let uid = uid.to_string();
    let users = records("/etc/passwd");
    let mut of_uid = users.iter().filter(|user| field(user, 2) == uid);
    let member = |user: &str| {
        field(group, 3)
            .split(',')
            .any(|member| member.trim() == user)
    };
    of_uid.any(|user| member(field(user, 0)) || field(user, 3) == field(group, 2))
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
    }
}
