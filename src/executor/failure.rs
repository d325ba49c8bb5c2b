//! The border between the rooms' errors and the one error table.

use crate::{
    assets::StoreError,
    catalog::Entry,
    mcp::CallError,
    task::{Failure, Fault},
};

use super::judge::{self, Class};

/// Why a call gave no answer, as a fault (R-000-96, R-000-100, R-000-114, C-05). `detail` is the
/// error's own text.
pub(super) fn of_call(entry: &Entry, error: &CallError, detail: &str) -> Failure {
    let class: Class = match error {
        CallError::NotFound { .. } => Fault::ServerNotFound.into(),
        CallError::SpawnFailed { .. } => Fault::ServerUnreachable.into(),
        CallError::StartupTimeout { .. } | CallError::TimedOut { .. } => Fault::ToolTimeout.into(),
        CallError::ExitedBeforeReady { .. } | CallError::Died { .. } => {
            let class = judge::class(entry, detail);
            match class.fault {
                // Nothing more is known than that it is gone.
                Fault::ToolError => Fault::ServerUnreachable.into(),
                _ => class,
            }
        }
        CallError::ArgumentsInvalid { .. } => Fault::ParamsInvalid.into(),
        CallError::ToolChanged { .. } => Fault::ToolChanged.into(),
        CallError::Rpc { .. } => judge::class(entry, detail),
        CallError::ProtocolMismatch { .. }
        | CallError::UnknownTool { .. }
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
    Failure {
        fault: class.fault,
        message: format!("{}: {detail}.{causes}", entry.tool),
        recoverable: class.recoverable,
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let fault = match &error {
            StoreError::DiskFull { .. } => Fault::DiskFull,
            StoreError::PermissionDenied { .. } => Fault::PermissionDenied,
            StoreError::BadUri(_) | StoreError::Unsupported { .. } => Fault::CatalogInvalid,
            StoreError::NotBase64 { .. } | StoreError::Changed { .. } => Fault::OutputFormat,
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
