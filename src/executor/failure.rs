//! The border between the rooms' errors and the one error table.

use crate::{
    assets::StoreError,
    catalog::Entry,
    mcp::CallError,
    task::{Failure, Fault},
};

use super::judge;

/// Why a call gave no answer, as a fault (R-000-96, R-000-100, R-000-114, C-05). `detail` is the
/// error's own text.
pub(super) fn of_call(entry: &Entry, error: &CallError, detail: &str) -> Failure {
    let class = |fault: Fault| (fault, fault.recoverable());
    let (fault, recoverable) = match error {
        CallError::NotFound { .. } => class(Fault::ServerNotFound),
        CallError::SpawnFailed { .. } => class(Fault::ServerUnreachable),
        CallError::StartupTimeout { .. } | CallError::TimedOut { .. } => class(Fault::ToolTimeout),
        CallError::ExitedBeforeReady { .. } | CallError::Died { .. } => {
            match judge::class(entry, detail) {
                // Nothing more is known than that it is gone.
                (Fault::ToolError, _) => class(Fault::ServerUnreachable),
                known => known,
            }
        }
        CallError::ArgumentsInvalid { .. } => class(Fault::ParamsInvalid),
        CallError::Rpc { .. } => judge::class(entry, detail),
        CallError::ProtocolMismatch { .. }
        | CallError::UnknownTool { .. }
        | CallError::SchemaUnusable { .. }
        | CallError::Malformed { .. }
        | CallError::TooBig { .. } => class(Fault::ToolError),
        CallError::InputRequired { .. } => class(Fault::InputRequired),
        CallError::Cancelled { .. } => class(Fault::Cancelled),
    };
    let causes = match error {
        CallError::TimedOut { .. } => {
            " The server may be overloaded, its network slow or rate limited, or the input large."
        }
        _ => "",
    };
    Failure {
        fault,
        message: format!("{}: {detail}.{causes}", entry.tool),
        recoverable,
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let fault = match &error {
            StoreError::DiskFull { .. } => Fault::DiskFull,
            StoreError::PermissionDenied { .. } => Fault::PermissionDenied,
            StoreError::BadUri(_) | StoreError::Unsupported { .. } => Fault::CatalogInvalid,
            StoreError::NotBase64 { .. } => Fault::OutputFormat,
            StoreError::UnsafeName { .. } => Fault::InvalidShape,
            StoreError::Symlink { .. }
            | StoreError::NotAFile { .. }
            | StoreError::Busy { .. }
            | StoreError::Source { .. }
            | StoreError::Io { .. } => Fault::ToolError,
        };
        Self::new(fault, error.to_string())
    }
}
