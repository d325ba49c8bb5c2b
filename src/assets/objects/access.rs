//! How a store is reached: endpoint, region, credentials. What the settings do not say comes from the
//! environment: for S3 from the variables that are documented, for other services as `object_store` reads it.

use std::{fmt, sync::Arc};

use object_store::{
    ClientOptions, ObjectStore, Result, StaticCredentialProvider,
    aws::{AmazonS3Builder, AmazonS3ConfigKey, AwsCredential, Checksum},
    azure::MicrosoftAzureBuilder,
    gcp::GoogleCloudStorageBuilder,
    multipart::MultipartStore,
    signer::Signer,
};
use url::Url;

use super::{
    client::{Connector, Purpose},
    profile::{Profile, profile},
};
use crate::{catalog::Storage, host, task::Service};

/// The variables that are read for S3, besides those of the endpoint and of the profile.
const VARIABLES: [&str; 13] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ENDPOINT_URL_STS",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_SKIP_SIGNATURE",
];

#[derive(Debug, Clone, Default)]
pub(super) struct Access {
    pub(super) endpoint: Option<Url>,
    pub(super) region: Option<String>,
    /// Fixed keys for S3; none for those of the environment.
    pub(super) keys: Option<Arc<StaticCredentialProvider<AwsCredential>>>,
    #[cfg(test)]
    pub(super) memory: Option<Client>,
}

/// A client of `object_store`.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) store: Arc<dyn ObjectStore>,
    /// None if the service has no uploads with an id.
    pub(super) parts: Option<Arc<dyn MultipartStore>>,
    /// None if the service has no presigned URLs.
    pub(super) signer: Option<Arc<dyn Signer>>,
}

impl Client {
    fn of<C: ObjectStore + MultipartStore + Signer>(client: C) -> Self {
        let client = Arc::new(client);
        Self {
            store: client.clone(),
            parts: Some(client.clone()),
            signer: Some(client),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

impl Access {
    /// The access to a service. None if nothing names credentials or a store of that service, so that an unused service
    /// is not contacted.
    pub(super) fn of(service: Service, storage: &Storage) -> Result<Option<Self>, String> {
        let is_in = |service: Service| {
            storage
                .uri
                .strip_prefix(service.scheme())
                .is_some_and(|rest| rest.starts_with("://"))
        };
        // The endpoint is that of the store, or, if the store is a directory, of S3.
        let own = is_in(service)
            || service == Service::S3 && !is_in(Service::Gcs) && !is_in(Service::Azure);
        let mut access = Self {
            endpoint: storage.endpoint.clone().filter(|_| own),
            region: storage.region.clone().filter(|_| own),
            ..Self::default()
        };
        let named = match service {
            Service::S3 => access.keys_of_s3(storage)? || own && storage.has_keys_of_s3(),
            Service::Gcs => [
                "GOOGLE_APPLICATION_CREDENTIALS",
                "GOOGLE_SERVICE_ACCOUNT",
                "GOOGLE_SERVICE_ACCOUNT_PATH",
                "GOOGLE_SERVICE_ACCOUNT_KEY",
                "GOOGLE_BEARER_TOKEN",
                "GOOGLE_SKIP_SIGNATURE",
            ]
            .iter()
            .any(|name| set(name).is_some()),
            Service::Azure => set("AZURE_STORAGE_ACCOUNT_NAME").is_some(),
        };
        Ok((named || is_in(service)).then_some(access))
    }

    /// Finds the keys in the order of AWS: a profile of the settings, the environment, a profile that the environment
    /// names, the usual profile. Whether there are any.
    fn keys_of_s3(&mut self, storage: &Storage) -> Result<bool, String> {
        for name in VARIABLES.iter().filter(|name| !name.ends_with("_FILE")) {
            printable(&format!("${name}"), set(name).as_deref())?;
        }
        printable("`storage.region`", storage.region.as_deref())?;
        let elsewhere = [
            "AWS_ACCESS_KEY_ID",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "AWS_SKIP_SIGNATURE",
        ];
        let elsewhere = elsewhere.iter().any(|name| set(name).is_some());
        let by_name = set("AWS_PROFILE").filter(|_| set("AWS_ACCESS_KEY_ID").is_none());
        let found = match storage.profile.clone().or(by_name) {
            Some(name) => {
                let missing =
                    || format!("there is no profile `{name}` in the files of the AWS command line");
                Some(profile(&name)?.ok_or_else(missing)?)
            }
            None if elsewhere => None,
            // Nobody named it, so it need not be usable.
            None => profile("default").unwrap_or_default(),
        };
        let said = |key: &str| found.as_ref()?.get(key).cloned();
        let endpoint = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];
        let endpoint = endpoint.into_iter().find_map(set);
        let endpoint = endpoint.or_else(|| said("endpoint_url"));
        let endpoint = endpoint.map(|text| Url::parse(&text)).transpose();
        let endpoint = endpoint
            .ok()
            .filter(|url| url.as_ref().is_none_or(Storage::is_endpoint));
        let endpoint = endpoint.ok_or(
            "the endpoint of the environment or of the profile must be the address of a server without credentials, query \
             and fragment",
        )?;
        self.endpoint = self.endpoint.take().or(endpoint);
        for key in found.iter().flat_map(Profile::keys) {
            printable(&format!("`{key}` of the profile"), said(key).as_deref())?;
        }
        self.region = self.region.take().or_else(|| said("region"));
        self.keys = match (said("aws_access_key_id"), said("aws_secret_access_key")) {
            (Some(key_id), Some(secret_key)) => {
                let keys = AwsCredential {
                    key_id,
                    secret_key,
                    token: said("aws_session_token"),
                };
                Some(Arc::new(StaticCredentialProvider::new(keys)))
            }
            (None, None) => None,
            _ => {
                return Err(
                    "the profile has only one of aws_access_key_id and aws_secret_access_key"
                        .to_owned(),
                );
            }
        };
        Ok(elsewhere || self.keys.is_some())
    }

    pub(super) fn client(
        &self,
        service: Service,
        bucket: &str,
        purpose: &Purpose,
    ) -> Result<Client> {
        #[cfg(test)]
        if let Some(client) = &self.memory {
            return Ok(client.clone());
        }
        let headers = purpose.headers()?;
        let options = ClientOptions::new().with_default_headers(headers.clone());
        let (retry, connector) = (purpose.retry(), Connector(headers));
        let endpoint = self
            .endpoint
            .as_ref()
            .map(|url| url.as_str().trim_end_matches('/'));
        Ok(match service {
            Service::S3 => {
                let mut builder = AmazonS3Builder::new();
                for name in VARIABLES {
                    if let Some(value) = set(name) {
                        builder = builder.with_config(name.to_ascii_lowercase().parse()?, value);
                    }
                }
                if let Some(endpoint) = endpoint {
                    builder = builder.with_config(AmazonS3ConfigKey::S3Endpoint, endpoint);
                }
                if let Some(region) = &self.region {
                    builder = builder.with_region(region);
                }
                if let Some(keys) = self.keys.clone() {
                    builder = builder.with_credentials(keys);
                }
                let builder = builder
                    .with_bucket_name(bucket)
                    // A server that checks it refuses content that was altered on the way.
                    .with_checksum_algorithm(Checksum::SHA256)
                    .with_client_options(options)
                    .with_disable_bulk_delete(true)
                    .with_retry(retry);
                Client::of(builder.with_http_connector(connector).build()?)
            }
            Service::Gcs => {
                let mut builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket);
                if let Some(endpoint) = endpoint {
                    builder = builder.with_base_url(endpoint);
                }
                let builder = builder.with_client_options(options).with_retry(retry);
                Client::of(builder.with_http_connector(connector).build()?)
            }
            Service::Azure => {
                let mut builder = MicrosoftAzureBuilder::from_env().with_container_name(bucket);
                if let Some(endpoint) = endpoint {
                    builder = builder.with_endpoint(endpoint.to_owned());
                }
                let builder = builder.with_client_options(options).with_retry(retry);
                Client {
                    parts: None,
                    ..Client::of(builder.with_http_connector(connector).build()?)
                }
            }
        })
    }
}

/// A variable of the environment that says something.
fn set(name: &str) -> Option<String> {
    host::variable(name).filter(|value| !value.is_empty())
}

/// Refuses what cannot be part of a header or of an address. The value is not told: it may be a secret.
fn printable(what: &str, value: Option<&str>) -> Result<(), String> {
    let is_printable = |value: &str| value.bytes().all(|byte| byte.is_ascii_graphic());
    if value.is_none_or(is_printable) {
        return Ok(());
    }
    Err(format!(
        "{what} contains white space or a character that is not printable ASCII"
    ))
}
