//! Failures of the error table, made from the errors of other rooms.

use std::{borrow::Cow, io};

use crate::{
    assets::{ObjectError, StoreError, Why},
    catalog::Entry,
    host,
    mcp::{CallError, Trouble},
    task::{Failure, Fault},
};

use super::judge::{self, Class, Judged};

/// The failure of a call that gave no answer (R-000-96, R-000-100, R-000-114, C-05). `detail` is the text of the error.
///
/// `stderr` is what the server wrote to it during the call.
pub(super) fn of_call(entry: &Entry, error: &CallError, detail: String, stderr: &str) -> Judged {
    if let CallError::Rpc { code, words, .. } = error
        && !judge::TIME_OUT_CODES.contains(code)
        && let Some(words) = words
            .as_ref()
            .filter(|words| !judge::is_a_reason(*code, words))
        && let Some(detail) = judge::unexplained(entry, words, &detail, stderr)
    {
        let message = format!("{}: {}", entry.tool, sentence(&detail));
        let class = judge::class(entry, &detail);
        return class.judged(message, detail).of_no_reason();
    }
    let ruled = |fault| by_words(entry, Some(&detail), fault);
    let class: Class = match error {
        CallError::Rpc { code, .. } if judge::TIME_OUT_CODES.contains(code) => {
            ruled(Fault::ToolTimeout)
        }
        CallError::NotFound { .. } => Fault::ServerNotFound.into(),
        CallError::SpawnFailed { .. } => Fault::ServerUnreachable.into(),
        CallError::StartupTimeout { .. } | CallError::TimedOut { .. } => Fault::ToolTimeout.into(),
        error if error.is_a_wrong_start() => ruled(Fault::ServerNotFound),
        CallError::ExitedBeforeReady { .. } | CallError::Died { .. } => {
            let class = judge::class(entry, &detail);
            match class.fault {
                // The text does not say why the server ended.
                Fault::ToolError => Fault::ServerUnreachable.into(),
                _ => class,
            }
        }
        CallError::Http { trouble, .. } => ruled(of_http(*trouble)),
        CallError::ToolChanged { .. } | CallError::Riskier { .. } => Fault::ToolChanged.into(),
        CallError::ArgumentsInvalid { .. } | CallError::NotResumable { .. } => {
            Fault::ParamsInvalid.into()
        }
        CallError::Rpc { .. } => judge::class(entry, &detail),
        CallError::CapabilityMissing { words, .. } => {
            by_words(entry, words.as_ref(), Fault::InputRequired)
        }
        CallError::ProtocolMismatch { words, .. } => {
            by_words(entry, words.as_ref(), Fault::ToolError)
        }
        CallError::UnknownTool { .. }
        | CallError::SchemaUnusable { .. }
        | CallError::OutputSchemaUnusable { .. }
        | CallError::Malformed { .. }
        | CallError::TooBig { .. } => Fault::ToolError.into(),
        CallError::InputRequired { .. } => Fault::InputRequired.into(),
        CallError::Cancelled { .. } => Fault::Cancelled.into(),
    };
    let causes = match error {
        CallError::TimedOut { .. } => {
            " The server may be overloaded, its network slow or rate limited, or the input large."
        }
        _ => "",
    };
    let message = format!("{}: {}{causes}", entry.tool, sentence(&detail));
    class.judged(message, detail)
}

/// The fault of a failure over HTTP.
pub(crate) fn of_http(trouble: Trouble) -> Fault {
    match trouble {
        Trouble::Unreachable | Trouble::Lost | Trouble::Gone => Fault::ServerUnreachable,
        Trouble::Absent | Trouble::Moved => Fault::ServerNotFound,
        Trouble::Denied => Fault::PermissionDenied,
        Trouble::TooLarge => Fault::LimitExceeded,
        Trouble::Limited => Fault::RateLimited,
        Trouble::Refused | Trouble::Strange => Fault::ToolError,
    }
}

/// Everything that the error of an answer says, for a search. None if it was too long to be read
/// whole.
pub(super) fn all_words(error: &CallError) -> Option<String> {
    match error {
        CallError::Rpc { words, .. }
        | CallError::CapabilityMissing { words, .. }
        | CallError::ProtocolMismatch { words, .. } => words.clone(),
        _ => Some(String::new()),
    }
}

/// The class that a rule of the entry gives for these words, else that of the fault.
fn by_words(entry: &Entry, words: Option<&String>, fault: Fault) -> Class {
    let class = words.and_then(|words| judge::by_rule(entry, words));
    class.unwrap_or_else(|| fault.into())
}

/// The text with a full stop, if it has no end.
pub(super) fn sentence(text: &str) -> Cow<'_, str> {
    if text.ends_with(['.', '?', '!']) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("{text}."))
    }
}

/// The failure of a tool that asked for input during the call, was refused, and failed. If no other cause is known, the
/// refusal is the cause, and another attempt would fail in the same way.
pub(super) fn after_a_question(failure: Failure, asked: &str) -> Failure {
    let unexplained = matches!(
        failure.fault,
        Fault::ToolError | Fault::ToolTimeout | Fault::ServerUnreachable
    );
    let message = if failure.message.contains(asked) {
        failure.message
    } else {
        let said = sentence(&failure.message);
        format!("{said} It had asked for input, and was refused: {asked}")
    };
    if unexplained {
        return Failure::new(Fault::InputRequired, message);
    }
    Failure { message, ..failure }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let fault = match &error {
            StoreError::BadUri(_) | StoreError::Unsupported { .. } => Fault::CatalogInvalid,
            StoreError::NotBase64 { .. } | StoreError::Changed { .. } => Fault::OutputFormat,
            StoreError::UnsafeName { .. } => Fault::InvalidShape,
            StoreError::Io { error, .. } => match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Fault::DiskFull,
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    Fault::PermissionDenied
                }
                // The fault is the same if the server itself cannot be started for this reason.
                _ if host::is_out_of_files(error) => Fault::ServerUnreachable,
                _ => Fault::ToolError,
            },
            StoreError::Object(ObjectError { why, .. }) => of_object(why),
            StoreError::Busy { .. } => Fault::RequestInFlight,
            StoreError::Symlink { .. }
            | StoreError::NotAFile { .. }
            | StoreError::Source { .. } => Fault::ToolError,
        };
        Self::new(fault, error.to_string())
    }
}

fn of_object(why: &Why) -> Fault {
    match why {
        Why::Gone => Fault::FileNotFound,
        Why::NoBucket | Why::Refused(_) => Fault::CatalogInvalid,
        Why::Forbidden(_) => Fault::PermissionDenied,
        Why::Unreachable(_) | Why::Altered(_) => Fault::ServerUnreachable,
        Why::Changed | Why::Damaged(_) => Fault::HashMismatch,
        Why::Occupied => Fault::FileExists,
        Why::Stopped => Fault::Cancelled,
        Why::Unsure(why) => of_object(why),
    }
}

/// The failure of a once-only call with an unknown effect. It is not recoverable.
pub(super) fn unknown(entry: &Entry, why: &str, failure: &Failure) -> Failure {
    tracing::info!(
        "{} is not declared `idempotent` or `read_only`: a call of unknown outcome is not repeated.",
        entry.id
    );
    let said = sentence(&failure.message);
    Failure {
        message: format!(
            "{said}{why} It is unknown whether it took effect, and it must not happen twice: a person has to check."
        ),
        recoverable: false,
        fault: failure.fault,
    }
}

/// The failure of a job after a step that must not happen twice. It names the step and is not recoverable.
pub(super) fn not_again(step: &str, why: &str, failure: &Failure) -> Failure {
    let message = failure.message.trim_end_matches('.');
    Failure {
        message: format!("{message}. {step} {why}"),
        recoverable: false,
        fault: failure.fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_another_run_is_about_to_leave_is_worth_another_try() {
        let busy = |path: &str| StoreError::Busy(path.into());
        assert_eq!(Failure::from(busy("/x")).fault, Fault::RequestInFlight);
    }

    #[test]
    fn a_place_that_cannot_be_opened_for_want_of_descriptors_is_worth_another_try() {
        let failed = |errno: i32| {
            Failure::from(StoreError::Io {
                operation: "open",
                path: "/x".into(),
                error: io::Error::from_raw_os_error(errno),
            })
        };
        let [too_many, broken] = [rustix::io::Errno::MFILE, rustix::io::Errno::IO]
            .map(|errno| failed(errno.raw_os_error()));
        assert_eq!(too_many.fault, Fault::ServerUnreachable);
        assert!(too_many.recoverable);
        assert_eq!(broken.fault, Fault::ToolError);
    }
}
