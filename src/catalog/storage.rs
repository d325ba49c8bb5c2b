//! `[storage]`: where assets are kept, and how object stores are reached.

use std::time::Duration;

use jiff::SignedDuration;
use serde::Deserialize;
use url::Url;

use crate::task::ASSETS;

use super::document::{CatalogError, Tables};

/// The settings of the table, or their defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Storage {
    /// A directory, or a prefix in a bucket.
    pub(crate) uri: String,
    /// The server of all buckets, if it is not the service's own.
    pub(crate) endpoint: Option<Url>,
    pub(crate) region: Option<String>,
    /// A profile of the AWS command line.
    pub(crate) profile: Option<String>,
    /// For how long a presigned URL of an input can be used.
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

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    uri: Option<String>,
    endpoint: Option<Endpoint>,
    region: Option<String>,
    profile: Option<String>,
    presigned_lifetime: Option<Lifetime>,
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Endpoint(Url);

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Lifetime(Duration);

impl TryFrom<String> for Endpoint {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let wrong = "`storage.endpoint` is the address of a server without credentials, query and fragment; write for example \
                     \"https://s3.example.com\"";
        let url = Url::parse(&text).map_err(|_| wrong)?;
        Storage::is_endpoint(&url).then_some(Self(url)).ok_or(wrong)
    }
}

impl TryFrom<String> for Lifetime {
    type Error = &'static str;

    /// Services accept a week at most.
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let parsed: Option<SignedDuration> = text.parse().ok();
        let lifetime = parsed.and_then(|parsed| Duration::try_from(parsed).ok());
        lifetime
            .filter(|lifetime| (1..=604_800).contains(&lifetime.as_secs()))
            .map(Self)
            .ok_or("`storage.presigned_lifetime` must be 1s to 168h (7 days); write for example \"1h\"")
    }
}

/// The settings, or their defaults.
pub(crate) fn storage(tables: &Tables<'_>) -> Result<Storage, CatalogError> {
    let raw = tables.get::<Raw>("storage")?.unwrap_or_default();
    let usual = Storage::default();
    Ok(Storage {
        uri: raw.uri.unwrap_or(usual.uri),
        endpoint: raw.endpoint.map(|endpoint| endpoint.0),
        region: raw.region,
        profile: raw.profile,
        presigned_lifetime: raw
            .presigned_lifetime
            .map_or(usual.presigned_lifetime, |time| time.0),
    })
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
}
