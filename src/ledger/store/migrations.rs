//! The schema of both databases, and whether a database has it.

use super::{
    access::Wish,
    error::{StoreError, Trouble},
};

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
    checksum: "cb54e473ff86120f86a5d1fee50f6b7007433628cb88db289b0b825cd8470d03",
};

pub(super) const POSTGRES: Schema = Schema {
    version: 1,
    name: "the ledger",
    text: include_str!("../schema/postgres.sql"),
    checksum: "067a8b9da9723cb1e69d0058433aff9d84788add13cbe650b26b1bac1fe22dd7",
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
