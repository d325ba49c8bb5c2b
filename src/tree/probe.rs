//! What a file system lacks that file plans use.

use std::{fs, io};

use camino::Utf8Path;
use rustix::fs::{CWD, RenameFlags, renameat_with};

/// Something that a file system cannot do. Plans work without it, with the consequence that the sentence names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Lack {
    #[error(
        "it cannot exchange two names: if another program saves a file at the moment when a plan changes it, that save can be lost (`capture: weak`)"
    )]
    Exchange,
    #[error(
        "it cannot rename a file without replacing another one: if another program makes a file at the moment when a plan renames one to this path, that file can be lost (`capture: weak`)"
    )]
    NoReplace,
    #[error("it has no hard links: backups are copies, and an undo needs free space")]
    HardLinks,
    #[error(
        "it keeps no birth times: a person must confirm each rollback, and each recovery of an interrupted plan (`--yes`)"
    )]
    BirthTimes,
}

/// Tries it with two files in a new directory below the root, which is removed.
pub(crate) fn lacks(root: &Utf8Path) -> io::Result<Vec<Lack>> {
    let dir = tempfile::Builder::new()
        .prefix(".oneact-probe-")
        .tempdir_in(root)?;
    let at = |name| dir.path().join(name);
    let (one, two) = (at("one"), at("two"));
    fs::write(&one, "")?;
    fs::write(&two, "")?;
    let rename = |to, how| renameat_with(CWD, &one, CWD, to, how).is_ok();
    // The renaming without replacing comes last, because it takes the name away.
    let can = [
        (Lack::Exchange, rename(&two, RenameFlags::EXCHANGE)),
        (Lack::HardLinks, fs::hard_link(&one, at("link")).is_ok()),
        (Lack::BirthTimes, fs::metadata(&one)?.created().is_ok()),
        (
            Lack::NoReplace,
            rename(&at("three"), RenameFlags::NOREPLACE),
        ),
    ];
    Ok(can
        .into_iter()
        .filter_map(|(lack, can)| (!can).then_some(lack))
        .collect())
}
