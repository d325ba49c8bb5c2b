//! The tables that set up oneact itself: `[storage]`, `[ledger]`, `[profile.NAME]`, `[approval]` and `[duckdb]`.

use std::time::Duration;

use camino::Utf8PathBuf;
use jiff::SignedDuration;
use serde::{Deserialize, Deserializer, de::Error as _};
use url::Url;

use super::document::{CatalogError, Tables};
use crate::task::{ASSETS, CallContext, DuckDb, Failure, Fault, Reuse};

/// `[storage]`: where assets are kept, and how object stores are reached.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Storage {
    /// A directory, or a prefix in a bucket.
    pub(crate) uri: String,
    /// The server of all buckets, if it is not the service's own.
    #[serde(deserialize_with = "endpoint")]
    pub(crate) endpoint: Option<Url>,
    pub(crate) region: Option<String>,
    /// A profile of the AWS command line.
    pub(crate) profile: Option<String>,
    /// For how long a presigned URL of an input can be used.
    #[serde(deserialize_with = "presigned_lifetime")]
    pub(crate) presigned_lifetime: Duration,
}

impl Storage {
    /// Whether it is the address of a server, and nothing else.
    pub(crate) fn is_endpoint(url: &Url) -> bool {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
    }

    /// Whether it says how S3 is reached.
    pub(crate) fn has_keys_of_s3(&self) -> bool {
        self.endpoint.is_some() || self.region.is_some() || self.profile.is_some()
    }
}

impl Default for Storage {
    fn default() -> Self {
        Self {
            uri: ASSETS.to_owned(),
            endpoint: None,
            region: None,
            profile: None,
            presigned_lifetime: Duration::from_hours(1),
        }
    }
}

fn endpoint<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Url>, D::Error> {
    let url = Url::parse(&String::deserialize(from)?).ok();
    let endpoint = url.filter(Storage::is_endpoint).map(Some);
    endpoint.ok_or_else(|| {
        D::Error::custom(
            "`storage.endpoint` is the address of a server without credentials, query and fragment; write for example \
             \"https://s3.example.com\"",
        )
    })
}

/// Services accept a week at most.
fn presigned_lifetime<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let parsed: Option<SignedDuration> = String::deserialize(from)?.parse().ok();
    let lifetime = parsed.and_then(|parsed| Duration::try_from(parsed).ok());
    let lifetime = lifetime.filter(|lifetime| (1..=604_800).contains(&lifetime.as_secs()));
    lifetime.ok_or_else(|| {
        D::Error::custom(
            "`storage.presigned_lifetime` must be 1s to 168h (7 days); write for example \"1h\"",
        )
    })
}

/// The settings, or their defaults.
pub(crate) fn storage(tables: &Tables<'_>) -> Result<Storage, CatalogError> {
    Ok(tables.get("storage")?.unwrap_or_default())
}

/// `[profile.NAME]`: a calling context.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    pub(crate) context: CallContext,
    /// The only user who may choose the profile.
    pub(crate) uid: Option<u32>,
}

pub(crate) fn profile(tables: &Tables<'_>, name: &str) -> Result<Profile, Failure> {
    let Some(named) = tables.named("profile", name)? else {
        let names = tables.names("profile")?.join(", ");
        let known = if names.is_empty() {
            "the catalog has no profiles".to_owned()
        } else {
            format!("the catalog has only {names}")
        };
        let message = format!("--profile names `{name}`, but {known}");
        return Err(Failure::new(Fault::InvalidUsage, message));
    };
    let profile: Profile = named.read()?;
    if profile.context == CallContext::FsmInternal && profile.uid.is_none() {
        let problem = "has the context FSM_INTERNAL, so it must name the only user who may choose it; add e.g. uid = 1000";
        return Err(named.wrong(problem).into());
    }
    Ok(profile)
}

/// The profile that counts if the operator names none: the only one.
pub(crate) fn only_profile<'t>(tables: &'t Tables<'_>) -> Result<Option<&'t str>, CatalogError> {
    Ok(match tables.names("profile")?.as_slice() {
        [name] => Some(name),
        _ => None,
    })
}

/// `[ledger]`: the place of the ledger, and how it is used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LedgerRule {
    /// `sqlite:PATH` or `postgres://…`; `None` means a file in the state directory.
    pub(crate) uri: Option<String>,
    pub(crate) reuse: Reuse,
    #[serde(rename = "required")]
    pub(crate) need: Need,
    /// An OpenSSH private key that signs the ledger's head; a relative path starts at the root.
    pub(crate) sign_key: Option<String>,
}

/// Whether a task is performed if it cannot be recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "bool")]
pub(crate) enum Need {
    #[default]
    Required,
    /// Read-only calls are performed without a record (`[ledger] required = false`).
    NotForReading,
}

impl From<bool> for Need {
    fn from(required: bool) -> Self {
        if required {
            Self::Required
        } else {
            Self::NotForReading
        }
    }
}

pub(crate) fn ledger_rule(tables: &Tables<'_>) -> Result<LedgerRule, CatalogError> {
    Ok(tables.get("ledger")?.unwrap_or_default())
}

/// `[approval]`: who is told of a request for an approval, and whose signatures count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ApprovalSettings {
    /// The argv of a program that gets each new request, and each plan that is escalated, as JSON on its standard input.
    /// Empty: none.
    pub(crate) notify: Vec<String>,
    /// A file of allowed signers (`man ssh-keygen`); a relative path starts at the root.
    pub(crate) allowed_signers: Option<String>,
}

pub(crate) fn approval_settings(tables: &Tables<'_>) -> Result<ApprovalSettings, CatalogError> {
    Ok(tables.get("approval")?.unwrap_or_default())
}

/// `[duckdb]`: the database engine that performs the queries of plans (C-22).
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct DuckDbKeys {
    #[serde(deserialize_with = "library")]
    library: Option<Utf8PathBuf>,
    #[serde(deserialize_with = "memory")]
    memory: Option<u64>,
    #[serde(deserialize_with = "threads")]
    threads: Option<u32>,
}

fn library<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Utf8PathBuf>, D::Error> {
    let path = Utf8PathBuf::deserialize(from)?;
    let wrong =
        "`duckdb.library` is the absolute path of libduckdb.so, outside the root; write it whole";
    let path = path.is_absolute().then_some(Some(path));
    path.ok_or_else(|| D::Error::custom(wrong))
}

fn memory<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let size = bytes(&String::deserialize(from)?);
    let size = size.filter(|size| (64 << 20..=1 << 40).contains(size));
    let wrong =
        "`duckdb.memory` is the memory of a query, 64 MB to 1 TB; write for example \"512 MB\"";
    size.map(Some).ok_or_else(|| D::Error::custom(wrong))
}

fn threads<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let threads = u32::deserialize(from)?;
    let threads = (1..=256).contains(&threads).then_some(Some(threads));
    threads.ok_or_else(|| D::Error::custom("`duckdb.threads` must be 1 to 256"))
}

/// The settings, or their defaults.
pub(crate) fn duckdb(tables: &Tables<'_>) -> Result<DuckDb, CatalogError> {
    let keys = tables.get::<DuckDbKeys>("duckdb")?.unwrap_or_default();
    let usual = DuckDb::default();
    Ok(DuckDb {
        library: keys.library,
        memory: keys.memory.unwrap_or(usual.memory),
        threads: keys.threads.unwrap_or(usual.threads),
    })
}

/// Reads `1 GB`, `50 MB`, `512 KB` or `100 B`; the units are powers of 1024.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(end)?;
    let factor = match unit.trim_start_matches(' ') {
        "B" => 1,
        "KB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use crate::catalog::{Catalog, check};

    fn read(keys: &str) -> Result<String, String> {
        let text = format!("catalog = 1\n[storage]\n{keys}\n");
        let catalog = Catalog::from_text(&text);
        let checked = check(&catalog.tables().unwrap(), &[]);
        match checked.problems.first() {
            Some(problem) => Err(problem.text.clone()),
            None => Ok(format!("{:?}", checked.storage.unwrap())),
        }
    }

    #[test]
    fn every_key_is_read_or_refused_with_its_reason() {
        let told = read("uri = \"s3://b/p\"\nendpoint = \"http://127.0.0.1:9000\"\npresigned_lifetime = \"168h\"").unwrap();
        assert!(
            told.contains("604800s") && told.contains("127.0.0.1"),
            "{told}"
        );
        assert!(
            read("region = \"eu-west-1\"\nprofile = \"dev\"")
                .unwrap()
                .contains("agent_outputs/assets")
        );
        for (keys, problem) in [
            (
                "endpoint = \"s3.example.com\"",
                "`storage.endpoint` is the address",
            ),
            (
                "endpoint = \"https://key:secret@s3.example.com\"",
                "`storage.endpoint` is the address",
            ),
            (
                "presigned_lifetime = \"169h\"",
                "`storage.presigned_lifetime` must be",
            ),
            (
                "presigned_lifetime = \"soon\"",
                "`storage.presigned_lifetime` must be",
            ),
            ("secret = \"x\"", "secret"),
        ] {
            let error = read(keys).unwrap_err();
            assert!(error.contains(problem), "{keys}: {error}");
            assert!(!error.contains("key:secret"), "{error}");
        }
    }

    /// The settings of a catalog with these keys, or the first problem.
    fn read_duckdb(keys: &str) -> Result<String, String> {
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
        let settings =
            read_duckdb("library = \"/opt/libduckdb.so\"\nmemory = \"512 MB\"\nthreads = 1");
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
            let problem = read_duckdb(keys).unwrap_err();
            assert!(
                problem.contains(told) && problem.contains(":3"),
                "{problem}"
            );
        }
    }
}
