//! The schema of both databases, and whether a database has it.

use super::{StoreError, Trouble, Wish};

/// A version of a database's schema.
pub(super) struct Schema {
    pub(super) version: i64,
    pub(super) name: &'static str,
    pub(super) text: &'static str,
    /// SHA-256 of the text. It is a constant, because every opening compares it.
    pub(super) checksum: &'static str,
}

pub(super) const SQLITE: Schema = Schema {
    version: 1,
    name: "the ledger",
    text: include_str!("../schema/sqlite.sql"),
    checksum: "406a3e09dad1e69278d250f0fb7a192bf871c196510d92f3c8ed8e21e8a84fe7",
};

pub(super) const POSTGRES: Schema = Schema {
    version: 1,
    name: "the ledger",
    text: include_str!("../schema/postgres.sql"),
    checksum: "c9c4f85043cd1c886ae2ef87ee50100bcb5181cbe86fb2d363f79e0791148031",
};

/// Refuses a database to which another schema was applied: a later one, except to read it, or that of a build that was
/// never released. `applied` has the versions and the checksums, in ascending order.
pub(super) fn check(
    place: &str,
    applied: &[(i64, String)],
    schema: &Schema,
    wish: Wish,
) -> Result<(), StoreError> {
    let version = schema.version;
    if !applied
        .iter()
        .any(|(of, sum)| *of == version && sum == schema.checksum)
    {
        let why = format!("another build of oneact made version {version} of its schema");
        return Err(Trouble::HalfMigrated.with(place, why));
    }
    match applied.last() {
        Some((last, _)) if *last > version && wish != Wish::Read => {
            let why =
                format!("schema version {last}, but this program knows only version {version}");
            Err(Trouble::Newer.with(place, why))
        }
        _ => Ok(()),
    }
}
