//! `[duckdb]`: the database engine that performs the queries of plans (C-22).

use camino::Utf8PathBuf;
use serde::Deserialize;

use crate::task::DuckDb;

use super::document::{CatalogError, Tables, bytes};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    library: Option<Library>,
    memory: Option<Memory>,
    threads: Option<Threads>,
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Library(Utf8PathBuf);

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Memory(u64);

#[derive(Deserialize)]
#[serde(try_from = "u32")]
struct Threads(u32);

impl TryFrom<String> for Library {
    type Error = &'static str;

    fn try_from(path: String) -> Result<Self, Self::Error> {
        let path = Utf8PathBuf::from(path);
        let wrong = "`duckdb.library` is the absolute path of libduckdb.so, outside the root; write it whole";
        path.is_absolute().then_some(Self(path)).ok_or(wrong)
    }
}

impl TryFrom<String> for Memory {
    type Error = &'static str;

    fn try_from(size: String) -> Result<Self, Self::Error> {
        let size = bytes(&size).filter(|size| (64 << 20..=1 << 40).contains(size));
        size.map(Self).ok_or(
            "`duckdb.memory` is the memory of a query, 64 MB to 1 TB; write for example \"512 MB\"",
        )
    }
}

impl TryFrom<u32> for Threads {
    type Error = &'static str;

    fn try_from(threads: u32) -> Result<Self, Self::Error> {
        let is_fitting = (1..=256).contains(&threads);
        let wrong = "`duckdb.threads` must be 1 to 256";
        is_fitting.then_some(Self(threads)).ok_or(wrong)
    }
}

/// The settings, or their defaults.
pub(crate) fn settings(tables: &Tables<'_>) -> Result<DuckDb, CatalogError> {
    let raw = tables.get::<Raw>("duckdb")?.unwrap_or_default();
    let usual = DuckDb::default();
    Ok(DuckDb {
        library: raw.library.map(|library| library.0),
        memory: raw.memory.map_or(usual.memory, |memory| memory.0),
        threads: raw.threads.map_or(usual.threads, |threads| threads.0),
    })
}

#[cfg(test)]
mod tests {
    use crate::catalog::{Catalog, check};

    /// The settings of a catalog with these keys, or the first problem.
    fn read(keys: &str) -> Result<String, String> {
        let text = format!("catalog = 1\n[duckdb]\n{keys}\n");
        let catalog = Catalog::from_text(&text);
        let checked = check(&catalog.tables().unwrap(), &[]);
        match checked.problems.first() {
            Some(problem) => Err(problem.text.clone()),
            None => Ok(format!("{:?}", checked.duckdb.unwrap())),
        }
    }

    #[test]
    fn the_engine_is_set_up_by_the_catalog_alone() {
        let settings = read("library = \"/opt/libduckdb.so\"\nmemory = \"512 MB\"\nthreads = 1");
        let told = "DuckDb { library: Some(\"/opt/libduckdb.so\"), memory: 536870912, threads: 1 }";
        assert_eq!(settings.unwrap(), told);
        for (keys, told) in [
            (
                "library = \"lib/libduckdb.so\"",
                "`duckdb.library` is the absolute path",
            ),
            (
                "memory = \"512\"",
                "`duckdb.memory` is the memory of a query",
            ),
            (
                "memory = \"1 MB\"",
                "`duckdb.memory` is the memory of a query",
            ),
            ("threads = 0", "`duckdb.threads` must be 1 to 256"),
            ("thread = 1", "threads"),
        ] {
            let problem = read(keys).unwrap_err();
            assert!(
                problem.contains(told) && problem.contains(":3"),
                "{problem}"
            );
        }
    }
}
