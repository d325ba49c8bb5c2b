//! Why an object could not be reached. The texts of stores are not passed on: they contain signatures and names of
//! keys.

use std::iter;

use object_store::Error;

use crate::task::redact_presigned;

/// The failure of an operation on an object.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} `{uri}`: {why}")]
pub(crate) struct ObjectError {
    /// A verb: "read", "store".
    pub(crate) doing: &'static str,
    pub(crate) uri: String,
    pub(crate) why: Why,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Why {
    #[error("there is no such object")]
    Gone,
    #[error("the bucket does not exist there; check its name, the endpoint and the region")]
    NoBucket,
    /// The keys are wrong, or do not suffice.
    #[error("the store denies access{0}")]
    Forbidden(String),
    /// Another attempt may help.
    #[error("the store cannot be reached: {0}")]
    Unreachable(String),
    /// It cannot be reached in this way.
    #[error("{0}")]
    Refused(String),
    /// The object is not the one that was seen before, a condition of a write does not hold, or another request is
    /// changing the object.
    #[error("the object was changed after it was checked")]
    Changed,
    /// Another program put something there.
    #[error(
        "an object that this root did not store under this name is there, and is not overwritten; remove it or use another session"
    )]
    Occupied,
    /// What arrived is not what was sent.
    #[error("{0}; it is not used")]
    Damaged(String),
    #[error("the run was stopped")]
    Stopped,
    /// The store refused content that was altered on its way. Another attempt may help.
    #[error("the content did not arrive as it was sent ({0})")]
    Altered(String),
    /// A write was under way, and its end is not known.
    #[error("{0}; the object may be stored there all the same")]
    Unsure(Box<Self>),
}

impl Why {
    pub(super) fn of(error: &Error) -> Self {
        let chain = chain(error);
        let code = between(&chain, "<Code>", "</Code>");
        let code =
            code.filter(|code| code.len() <= 64 && code.bytes().all(|c| c.is_ascii_alphanumeric()));
        if let Some(why) = code.and_then(by_code) {
            return why;
        }
        let told = || code.map_or_else(String::new, |code| format!(" ({code})"));
        match error {
            Error::Precondition { .. } | Error::AlreadyExists { .. } | Error::NotModified { .. } => {
                Self::Changed
            }
            Error::NotFound { .. } => Self::Gone,
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => Self::Forbidden(told()),
            // The request for credentials failed.
            _ if METADATA.iter().any(|host| chain.contains(host)) => Self::Forbidden(
                ": no credentials are named, and the metadata service of this machine gives none; set them in the \
                 environment, or name a profile in [storage]"
                    .to_owned(),
            ),
            _ => match status(&chain) {
                Some(401 | 403) => Self::Forbidden(told()),
                Some(301 | 302 | 307 | 308) => Self::Refused(REGION.to_owned()),
                Some(status @ 400..=499) if status != 408 && status != 429 => {
                    Self::Refused(format!("the store refuses the request: {status}{}", told()))
                }
                Some(status) => Self::Unreachable(format!("it answers {status}{}", told())),
                None => Self::Unreachable(root(error)),
            },
        }
    }

    /// A write finds no bucket where a read finds no object.
    pub(super) fn of_write(self) -> Self {
        match self {
            Self::Gone => Self::NoBucket,
            why => why,
        }
    }
}

/// Whether the library has sent the request again.
pub(super) fn is_repeated(error: &Error) -> bool {
    chain(error).contains(" retries, max_retries")
}

/// Whether the store answered without saying why, as it does to HEAD.
pub(super) fn is_bare(error: &Error) -> bool {
    let chain = chain(error);
    status(&chain).is_some_and(|status| status < 500) && !chain.contains("<Code>")
}

/// The hosts that give credentials to the programs of a virtual machine.
const METADATA: [&str; 3] = [
    "169.254.169.254",
    "metadata.google.internal",
    "169.254.170.2",
];

const REGION: &str =
    "the store says that the bucket is elsewhere; name its region or its endpoint in [storage]";

/// The codes of services that say more than the status.
fn by_code(code: &str) -> Option<Why> {
    let forbidden = |hint: &str| Some(Why::Forbidden(format!(" ({code}): {hint}")));
    match code {
        "NoSuchBucket" | "ContainerNotFound" => Some(Why::NoBucket),
        "NoSuchKey" | "BlobNotFound" => Some(Why::Gone),
        "BadDigest"
        | "InvalidDigest"
        | "IncompleteBody"
        | "XAmzContentSHA256Mismatch"
        | "XAmzContentChecksumMismatch" => Some(Why::Altered(code.to_owned())),
        "ExpiredToken" | "TokenRefreshRequired" => {
            forbidden("the credentials have expired; get new ones")
        }
        "RequestTimeTooSkewed" => forbidden("the clock of this machine is off; set it"),
        "InvalidAccessKeyId" | "InvalidToken" => {
            forbidden("the store does not know these credentials")
        }
        "SignatureDoesNotMatch" => forbidden("the secret key is wrong"),
        "PermanentRedirect" | "AuthorizationHeaderMalformed" | "TemporaryRedirect" => {
            Some(Why::Refused(format!("{REGION} ({code})")))
        }
        _ => None,
    }
}

/// The texts of an error, the outermost first.
fn texts(error: &Error) -> impl Iterator<Item = String> {
    let causes = iter::successors(Some(error as &dyn std::error::Error), |error| {
        error.source()
    });
    causes.map(ToString::to_string)
}

/// Every text of an error. It is only searched, never shown.
fn chain(error: &Error) -> String {
    texts(error).collect::<Vec<_>>().join("\n")
}

fn status(chain: &str) -> Option<u16> {
    let (_, rest) = chain.split_once("status code: ")?;
    rest.get(..3)?.parse().ok()
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(after)?.0)
}

/// The innermost text, which names no URL: "Connection refused".
fn root(error: &Error) -> String {
    let text = texts(error).last().unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    let first: String = first.chars().take(200).collect();
    redact_presigned(&first).into_owned()
}
