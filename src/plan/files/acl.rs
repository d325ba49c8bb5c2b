//! Access control lists (acl(5)), as the kernel keeps them in an extended attribute: four bytes, then eight of each
//! entry, of which the first is its kind and the third its permission bits.

use std::ffi::CString;

/// The ACL of a file or directory.
pub(super) const ACL: &str = "system.posix_acl_access";
/// The ACL that what is made in a directory begins with.
pub(super) const DEFAULT_ACL: &str = "system.posix_acl_default";

const HEAD: usize = 4;
const LENGTH: usize = 8;

const OWNER: u8 = 0x01;
const GROUP: u8 = 0x04;
const MASK: u8 = 0x10;
const OTHERS: u8 = 0x20;

fn entries(acl: &[u8]) -> impl Iterator<Item = (u8, u8)> {
    let entries = acl.get(HEAD..).unwrap_or_default().chunks_exact(LENGTH);
    entries.filter_map(|entry| Some((*entry.first()?, *entry.get(2)?)))
}

fn entries_mut(acl: &mut [u8]) -> impl Iterator<Item = (u8, &mut u8)> {
    let entries = acl.get_mut(HEAD..).unwrap_or_default();
    let entries = entries.chunks_exact_mut(LENGTH);
    entries.filter_map(|entry| match entry {
        [kind, _, bits, ..] => Some((*kind, bits)),
        _ => None,
    })
}

/// The ACL among these extended attributes.
pub(super) fn among(extended: &mut [(CString, Vec<u8>)]) -> Option<&mut Vec<u8>> {
    let mut extended = extended.iter_mut();
    let found = extended.find(|(name, _)| name.as_bytes() == ACL.as_bytes());
    found.map(|(_, acl)| acl)
}

/// The ACL among these extended attributes, to be read.
pub(super) fn of(extended: &[(CString, Vec<u8>)]) -> Option<&[u8]> {
    let mut extended = extended.iter();
    let found = extended.find(|(name, _)| name.as_bytes() == ACL.as_bytes());
    found.map(|(_, acl)| acl.as_slice())
}

/// The ACL with the bits that both have; none if they name other users or groups.
pub(super) fn common(one: &[u8], other: &[u8]) -> Option<Vec<u8>> {
    let named = |acl: &[u8]| {
        let mut acl = acl.to_vec();
        entries_mut(&mut acl).for_each(|(_, bits)| *bits = 0);
        acl
    };
    if named(one) != named(other) {
        return None;
    }
    let mut acl = one.to_vec();
    for ((_, bits), (_, too)) in entries_mut(&mut acl).zip(entries(other)) {
        *bits &= too;
    }
    Some(acl)
}

/// The ACL with no more than these permission bits for owner, group and others, as the kernel does it when something is
/// made: named users and groups are bounded by the mask.
pub(super) fn bounded(acl: &[u8], mode: u32) -> Vec<u8> {
    let mut acl = acl.to_vec();
    let has_mask = entries(&acl).any(|(kind, _)| kind == MASK);
    for (kind, bits) in entries_mut(&mut acl) {
        let most = match kind {
            OWNER => mode >> 6,
            GROUP if !has_mask => mode >> 3,
            MASK => mode >> 3,
            OTHERS => mode,
            _ => 0o7,
        };
        *bits &= u8::try_from(most & 0o7).unwrap_or_default();
    }
    acl
}

/// Leaves the file's group and others only the bits that both had, and returns these.
pub(super) fn limit_group(acl: &mut [u8]) -> u32 {
    let both = |kind| [GROUP, OTHERS].contains(&kind);
    let shared = entries(acl).filter(|(kind, _)| both(*kind));
    let shared = shared.fold(0o7, |shared, (_, bits)| shared & bits);
    for (_, bits) in entries_mut(acl).filter(|(kind, _)| both(*kind)) {
        *bits &= shared;
    }
    shared.into()
}

/// The permission bits that everybody but the owner has.
pub(super) fn least(acl: &[u8]) -> u32 {
    let all = entries(acl).filter(|(kind, _)| *kind != OWNER);
    all.fold(0o7, |least, (_, bits)| least & u32::from(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `user::rw- user:1:r-- group::rw- mask::rw- other::r--`
    fn acl() -> Vec<u8> {
        let entries = [(OWNER, 6), (0x02, 4), (GROUP, 6), (MASK, 6), (OTHERS, 4)];
        let entries = entries.map(|(kind, bits)| [kind, 0, bits, 0, 1, 0, 0, 0]);
        [[2, 0, 0, 0].as_slice(), entries.as_flattened()].concat()
    }

    fn bits(acl: &[u8]) -> Vec<u8> {
        entries(acl).map(|(_, bits)| bits).collect()
    }

    #[test]
    fn a_mode_bounds_the_owner_the_mask_and_others() {
        assert_eq!(bits(&bounded(&acl(), 0o640)), [6, 4, 6, 4, 0]);
    }

    #[test]
    fn where_a_group_was_not_kept_the_group_and_others_get_what_both_had() {
        for (group, others, left) in [(6, 4, 4), (0, 4, 0), (6, 0, 0)] {
            let mut acl = acl();
            *entries_mut(&mut acl).nth(2).unwrap().1 = group;
            *entries_mut(&mut acl).nth(4).unwrap().1 = others;
            assert_eq!(limit_group(&mut acl), u32::from(left));
            assert_eq!(bits(&acl), [6, 4, left, 6, left]);
        }
    }

    #[test]
    fn two_acls_that_name_the_same_have_their_bits_in_common() {
        let mut other = acl();
        *entries_mut(&mut other).nth(1).unwrap().1 = 2;
        *entries_mut(&mut other).nth(2).unwrap().1 = 4;
        assert_eq!(
            common(&acl(), &other).map(|acl| bits(&acl)),
            Some(vec![6, 0, 4, 6, 4])
        );
        other[HEAD + LENGTH + 4] = 7;
        assert_eq!(common(&acl(), &other), None);
        assert_eq!(common(&acl(), &acl()[..HEAD + LENGTH]), None);
    }

    #[test]
    fn the_least_of_an_acl_is_what_the_mask_and_every_entry_but_the_owners_give() {
        assert_eq!(least(&acl()), 4);
        let mut masked = acl();
        *entries_mut(&mut masked).nth(3).unwrap().1 = 2;
        assert_eq!(least(&masked), 0);
        let mut refused = acl();
        *entries_mut(&mut refused).nth(1).unwrap().1 = 0;
        assert_eq!(least(&refused), 0);
    }
}
