//! How a store is reached: endpoint, region, credentials, time-outs. What the settings do not say comes from the
//! environment, as `object_store` reads it: keys, web identity, the metadata service of the machine.

use std::{sync::Arc, time::Duration};

use object_store::{
    ClientOptions, Error, HeaderMap, HeaderValue, ObjectStore, Result, RetryConfig,
    StaticCredentialProvider,
    aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, AwsCredential},
    azure::{MicrosoftAzure, MicrosoftAzureBuilder},
    client::{HttpClient, HttpConnector},
    gcp::{GoogleCloudStorage, GoogleCloudStorageBuilder},
    multipart::MultipartStore,
    signer::Signer,
};
use reqwest::redirect::Policy;
use url::Url;

use super::profile::profile;
use crate::{catalog::Storage, host, task::Service, web};

const CONNECT: Duration = Duration::from_secs(3);
/// The longest time for a request that moves few bytes.
const SMALL: Duration = Duration::from_secs(10);
/// The longest silence of the server in a request that moves many, which includes the time to send one part.
const SILENCE: Duration = Duration::from_mins(1);
const MAX_RETRIES: usize = 3;
const RETRY_TIMEOUT: Duration = Duration::from_secs(20);

/// What a client is for.
#[derive(Debug, Clone)]
pub(super) enum Purpose {
    Small,
    Large,
    /// To complete an upload if this condition holds: a header and its value.
    Complete(&'static str, String),
}

#[derive(Debug, Clone, Default)]
pub(super) struct Access {
    pub(super) endpoint: Option<Url>,
    pub(super) region: Option<String>,
    /// Fixed keys for S3; none for those of the environment.
    pub(super) keys: Option<Arc<StaticCredentialProvider<AwsCredential>>>,
}

/// The clients of `object_store`.
#[derive(Debug, Clone)]
pub(super) enum Client {
    S3(AmazonS3),
    Gcs(GoogleCloudStorage),
    Azure(MicrosoftAzure),
    #[cfg(test)]
    Memory(Arc<object_store::memory::InMemory>),
}

impl Client {
    pub(super) fn store(&self) -> &dyn ObjectStore {
        match self {
            Self::S3(client) => client,
            Self::Gcs(client) => client,
            Self::Azure(client) => client,
            #[cfg(test)]
            Self::Memory(client) => client,
        }
    }

    /// None if the service has no uploads with an id.
    pub(super) fn parts(&self) -> Option<&dyn MultipartStore> {
        match self {
            Self::S3(client) => Some(client),
            Self::Gcs(client) => Some(client),
            Self::Azure(_) => None,
            #[cfg(test)]
            Self::Memory(_) => None,
        }
    }

    #[cfg_attr(
        not(test),
        expect(clippy::unnecessary_wraps, reason = "the store of tests has none")
    )]
    pub(super) fn signer(&self) -> Option<&dyn Signer> {
        match self {
            Self::S3(client) => Some(client),
            Self::Gcs(client) => Some(client),
            Self::Azure(client) => Some(client),
            #[cfg(test)]
            Self::Memory(_) => None,
        }
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
        let set = |name: &&str| host::variable(name).is_some_and(|value| !value.is_empty());
        // The endpoint is that of the store, or, if the store is a directory, of S3.
        let own = is_in(service)
            || service == Service::S3 && !is_in(Service::Gcs) && !is_in(Service::Azure);
        let mut access = Self {
            endpoint: storage.endpoint.clone().filter(|_| own),
            region: storage.region.clone().filter(|_| own),
            keys: None,
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
            .any(set),
            Service::Azure => ["AZURE_STORAGE_ACCOUNT_NAME"].iter().any(set),
        };
        Ok((named || is_in(service)).then_some(access))
    }

    /// Finds the keys in the order of AWS: a profile of the settings, the environment, a profile that the environment
    /// names, the usual profile. Whether there are any.
    fn keys_of_s3(&mut self, storage: &Storage) -> Result<bool, String> {
        let set = |name: &str| host::variable(name).filter(|value| !value.is_empty());
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
        let endpoint = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];
        let endpoint = endpoint.into_iter().find_map(set);
        let endpoint = endpoint.map(|text| Url::parse(&text)).transpose();
        let endpoint = endpoint
            .map_err(|error| format!("the endpoint of the environment is no URL: {error}"))?;
        let found_endpoint = found.as_ref().and_then(|found| found.endpoint.clone());
        self.endpoint = self.endpoint.take().or(endpoint).or(found_endpoint);
        let Some(found) = found else {
            return Ok(elsewhere);
        };
        self.region = self.region.take().or(found.region);
        self.keys = match (found.key_id, found.secret_key) {
            (Some(key_id), Some(secret_key)) => {
                let keys = AwsCredential {
                    key_id,
                    secret_key,
                    token: found.token,
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
        let headers = purpose.headers()?;
        let options = ClientOptions::new().with_default_headers(headers.clone());
        let retry = RetryConfig {
            max_retries: MAX_RETRIES,
            retry_timeout: RETRY_TIMEOUT,
            ..RetryConfig::default()
        };
        let connector = Connector {
            purpose: purpose.clone(),
            headers,
        };
        let endpoint = self
            .endpoint
            .as_ref()
            .map(|url| url.as_str().trim_end_matches('/'));
        Ok(match service {
            Service::S3 => {
                let mut builder = AmazonS3Builder::from_env();
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
                    .with_client_options(options)
                    .with_disable_bulk_delete(true);
                Client::S3(
                    builder
                        .with_retry(retry)
                        .with_http_connector(connector)
                        .build()?,
                )
            }
            Service::Gcs => {
                let mut builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket);
                if let Some(endpoint) = endpoint {
                    builder = builder.with_base_url(endpoint);
                }
                let builder = builder.with_client_options(options).with_retry(retry);
                Client::Gcs(builder.with_http_connector(connector).build()?)
            }
            Service::Azure => {
                let mut builder = MicrosoftAzureBuilder::from_env().with_container_name(bucket);
                if let Some(endpoint) = endpoint {
                    builder = builder.with_endpoint(endpoint.to_owned());
                }
                let builder = builder.with_client_options(options).with_retry(retry);
                Client::Azure(builder.with_http_connector(connector).build()?)
            }
        })
    }
}

impl Purpose {
    fn headers(&self) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        if let Self::Complete(name, value) = self {
            let value = HeaderValue::from_str(value).map_err(generic)?;
            headers.insert(*name, value);
        }
        Ok(headers)
    }
}

/// Makes the HTTP client. It follows no redirect: the signature would be wrong there, and another host would get the
/// request.
#[derive(Debug)]
struct Connector {
    purpose: Purpose,
    headers: HeaderMap,
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> Result<HttpClient> {
        web::use_ring();
        let builder = reqwest::Client::builder()
            .user_agent(concat!("oneact/", env!("CARGO_PKG_VERSION")))
            .default_headers(self.headers.clone())
            .redirect(Policy::none())
            .connect_timeout(CONNECT)
            .http1_only();
        let builder = match self.purpose {
            Purpose::Small => builder.timeout(SMALL),
            Purpose::Large | Purpose::Complete(..) => builder.read_timeout(SILENCE),
        };
        Ok(HttpClient::new(builder.build().map_err(generic)?))
    }
}

fn generic(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Generic {
        store: "client",
        source: Box::new(error),
    }
}
