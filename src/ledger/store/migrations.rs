//! The versions of the schema in both databases, and how far a database is migrated. This program writes the last
//! version.

use super::{StoreError, Trouble, Wish};

/// All versions for SQLite, in their order.
pub(super) const SQLITE: &[Migration] = &[
    Migration {
        version: 1,
        name: "the ledger",
        text: include_str!("../schema/sqlite_1.sql"),
        checksum: "4b97072c4c7c23af9abee5417bdfbc0d0f668ffb4082c74de698f6310842f34c",
    },
    Migration {
        version: 2,
        name: "links are found by their request",
        text: include_str!("../schema/sqlite_2.sql"),
        checksum: "4f138e7d9adff81c93dda4f01eaa04e48d1de8411348bb7882ea2a62c472c9d3",
    },
    Migration {
        version: 3,
        name: "requests for approval are listed, and steps have rows",
        text: include_str!("../schema/sqlite_3.sql"),
        checksum: "c051eff337d1d8f744e4a7f0206a838a91fd0ecbfee71bf004bbae59020af900",
    },
    Migration {
        version: 4,
        name: "the runs of a delivery are found by their links",
        text: include_str!("../schema/sqlite_4.sql"),
        checksum: "dc52a46f2c8370525f5d106413f38aac34c2c10128fd14792a9268794d5a15d8",
    },
];

/// The last version for SQLite.
pub(super) const SQLITE_VERSION: i64 = match SQLITE.last() {
    Some(last) => last.version,
    None => 0,
};

/// All versions for PostgreSQL, in their order.
pub(super) const POSTGRES: &[Migration] = &[
    Migration {
        version: 1,
        name: "the ledger",
        text: include_str!("../schema/postgres_1.sql"),
        checksum: "5f5053dbdbfaa5bb1cd7b861c76f323a2e8efde6a5827874d3a21633c4f87d4f",
    },
    Migration {
        version: 2,
        name: "links are found by their request, and decide",
        text: include_str!("../schema/postgres_2.sql"),
        checksum: "e877407a4402b55085a75319b0c9b0bd0ff9bee87a6f8a3bc09132002e1e5438",
    },
    Migration {
        version: 3,
        name: "triggers find nothing in a search path of the caller's",
        text: include_str!("../schema/postgres_3.sql"),
        checksum: "e43e8258dd0681aa14f8fb027ba257e2812f7d8d167f85e0a91ff54a05822012",
    },
    Migration {
        version: 4,
        name: "requests wait for an approval, and steps have rows",
        text: include_str!("../schema/postgres_4.sql"),
        checksum: "ac0cf6da2d1b5b6d0b9a1acf2a6ca0c2da286aa72a3a614e1f58d29461cfd5d9",
    },
    Migration {
        version: 5,
        name: "the runs of a delivery are found by their links",
        text: include_str!("../schema/postgres_5.sql"),
        checksum: "809e4a2cf5e97d8ce6410cf39dd9551ffdf53823b35f935c11951b19b2d35727",
    },
    Migration {
        version: 6,
        name: "the newest reuse of an answer is found",
        text: include_str!("../schema/postgres_6.sql"),
        checksum: "fcc37242b5991633ed394b8500da94dc292b7e9b47be26a9128c7f56e3d7dfce",
    },
];

/// A version of a database's schema. Once released, it never changes.
pub(super) struct Migration {
    pub(super) version: i64,
    pub(super) name: &'static str,
    pub(super) text: &'static str,
    /// SHA-256 of the text. It is a constant, because every opening compares it.
    pub(super) checksum: &'static str,
}

/// How far a database is migrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Older(i64),
    /// This program's version, or a later one that is only read.
    Current,
}

/// Compares the versions and checksums that were applied to a database with the known ones.
pub(super) fn standing(
    place: &str,
    applied: &[(i64, String)],
    known: &[Migration],
    wish: Wish,
) -> Result<Standing, StoreError> {
    let half = |why: String| Err(Trouble::HalfMigrated.with(place, why));
    let (Some((found, _)), Some(newest)) = (applied.last(), known.last()) else {
        return half("it does not state which migrations were applied".to_owned());
    };
    let (found, newest) = (*found, newest.version);
    for Migration {
        version, checksum, ..
    } in known
    {
        let same = |(other, sum): &(i64, String)| other == version && sum == checksum;
        if *version <= found && !applied.iter().any(same) {
            return half(format!(
                "another build of oneact made version {version} of its schema"
            ));
        }
    }
    if found > newest && wish != Wish::Read {
        let why = format!("schema version {found}, but this program knows only version {newest}");
        return Err(Trouble::Newer.with(place, why));
    }
    Ok(if found < newest {
        Standing::Older(found)
    } else {
        Standing::Current
    })
}
