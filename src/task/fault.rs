//! The one error table: every way a task can fail, and what each vocabulary calls it.

use serde::Serialize;

/// A class of failure. Closed: exit code and envelope are functions of it (invariant 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Not JSON, or JSON that says two things at once (duplicate keys, NaN, lone surrogates).
    InvalidJson,
    /// JSON, but no task: fields missing, of a wrong type, or no known dialect.
    InvalidShape,
    /// The command line, or what the process was started with, cannot be used.
    InvalidUsage,
    /// A task without capability ids (R-000-109).
    NoCapability,
    /// Several tasks, or a workflow of tasks (R-000-112).
    MultipleTasks,
    /// A capability id the catalog does not know (R-000-110).
    UnknownCapability,
    /// A `CAP-SYN-*` capability: the reasoning agent's work (R-000-111).
    MisroutedSynthesis,
    /// Parameters that do not fit the capability's or the tool's schema.
    ParamsInvalid,
    /// The tool is not as the catalog pinned it.
    ToolChanged,
    /// The catalog cannot be read, or the part of it this task needs is wrong.
    CatalogInvalid,
    /// An input reference without a URI, or in a state that cannot be used (R-000-113, C-13).
    InputUnresolved,
    /// An input that is gone or refused (C-14).
    InputInaccessible,
    /// The server is not configured, or its command does not exist (R-000-100, C-05).
    ServerNotFound,
    /// The server is configured but could not be reached or did not start (R-000-114, C-05).
    ServerUnreachable,
    /// The tool gave no answer in time (R-000-96).
    ToolTimeout,
    /// HTTP 429 or its like (R-000-97).
    RateLimited,
    /// Out of memory (R-000-98).
    OutOfMemory,
    /// The input is corrupt or incomplete (R-000-99).
    InputCorrupt,
    /// The tool succeeded, but an expected output is not there (R-000-81, C-15).
    OutputMissing,
    /// The tool succeeded, but its output is empty (R-000-82).
    OutputEmpty,
    /// The tool succeeded, but its output is not what it should be (R-000-83).
    OutputFormat,
    /// The tool succeeded, but expected fields of its result are missing (R-000-84).
    ResultIncomplete,
    /// The tool succeeded, but its result breaks the output schema that the tool itself publishes.
    ResultInvalid,
    /// The tool failed, and no rule says more.
    ToolError,
    /// The tool asks for input that nobody here can give.
    InputRequired,
    /// No space is left where outputs are stored.
    DiskFull,
    /// Outputs may not be written where they belong.
    PermissionDenied,
    /// A signal asked the run to stop.
    Cancelled,
    /// A defect of oneact itself.
    Internal,
}

/// The closed list of the ADL message schema (C-10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    OutOfScope,
    InvalidInput,
    ProcessingError,
    Timeout,
    DependencyError,
    ValidationError,
}

/// One row of the table.
struct Row {
    name: &'static str,
    code: ErrorCode,
    recoverable: Recoverable,
    /// Specification 001's numeric code.
    number: u16,
}

#[derive(Clone, Copy)]
enum Recoverable {
    Yes,
    No,
}

impl Fault {
    /// Every fault, in the order of the table.
    pub const ALL: [Self; 29] = [
        Self::InvalidJson,
        Self::InvalidShape,
        Self::InvalidUsage,
        Self::NoCapability,
        Self::MultipleTasks,
        Self::UnknownCapability,
        Self::MisroutedSynthesis,
        Self::ParamsInvalid,
        Self::ToolChanged,
        Self::CatalogInvalid,
        Self::InputUnresolved,
        Self::InputInaccessible,
        Self::ServerNotFound,
        Self::ServerUnreachable,
        Self::ToolTimeout,
        Self::RateLimited,
        Self::OutOfMemory,
        Self::InputCorrupt,
        Self::OutputMissing,
        Self::OutputEmpty,
        Self::OutputFormat,
        Self::ResultIncomplete,
        Self::ResultInvalid,
        Self::ToolError,
        Self::InputRequired,
        Self::DiskFull,
        Self::PermissionDenied,
        Self::Cancelled,
        Self::Internal,
    ];

    const fn row(self) -> Row {
        use ErrorCode::{DependencyError, InvalidInput, ProcessingError, Timeout, ValidationError};
        use Recoverable::{No, Yes};
        let (name, code, recoverable, number) = match self {
            Self::InvalidJson => ("invalid_json", InvalidInput, No, 1001),
            Self::InvalidShape => ("invalid_shape", InvalidInput, No, 1001),
            Self::InvalidUsage => ("invalid_usage", InvalidInput, No, 1001),
            Self::NoCapability => ("no_capability", InvalidInput, No, 1002),
            Self::MultipleTasks => ("multiple_tasks", ValidationError, No, 1003),
            Self::UnknownCapability => ("unknown_capability", ValidationError, No, 1004),
            Self::MisroutedSynthesis => ("misrouted_synthesis", ValidationError, No, 1005),
            Self::ParamsInvalid => ("params_invalid", ValidationError, No, 1006),
            Self::ToolChanged => ("tool_changed", ValidationError, No, 1012),
            Self::CatalogInvalid => ("catalog_invalid", ProcessingError, No, 1015),
            Self::InputUnresolved => ("input_unresolved", DependencyError, No, 4002),
            Self::InputInaccessible => ("input_inaccessible", DependencyError, No, 4003),
            Self::ServerNotFound => ("server_not_found", ProcessingError, No, 5001),
            Self::ServerUnreachable => ("server_unreachable", ProcessingError, Yes, 5002),
            Self::ToolTimeout => ("timeout", Timeout, Yes, 5003),
            Self::RateLimited => ("rate_limited", ProcessingError, Yes, 5004),
            Self::OutOfMemory => ("oom", ProcessingError, Yes, 5005),
            Self::InputCorrupt => ("input_corrupt", ProcessingError, No, 5006),
            Self::OutputMissing => ("output_missing", ProcessingError, Yes, 5007),
            Self::OutputEmpty => ("output_empty", ProcessingError, Yes, 5007),
            Self::OutputFormat => ("output_format", ProcessingError, Yes, 5007),
            Self::ResultIncomplete => ("result_incomplete", ProcessingError, Yes, 5007),
            Self::ResultInvalid => ("result_invalid", ProcessingError, Yes, 5007),
            Self::ToolError => ("tool_error", ProcessingError, No, 5008),
            Self::InputRequired => ("input_required", DependencyError, No, 5012),
            Self::DiskFull => ("disk_full", ProcessingError, No, 2002),
            Self::PermissionDenied => ("permission_denied", ProcessingError, No, 3001),
            Self::Cancelled => ("cancelled", ProcessingError, Yes, 5011),
            Self::Internal => ("internal", ProcessingError, No, 5999),
        };
        Row {
            name,
            code,
            recoverable,
            number,
        }
    }

    /// The class's name, as catalogs write it (`class = "oom"`).
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The class of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.name() == name)
    }

    /// The ADL error code (R-000-109 … R-000-114, C-10).
    pub const fn code(self) -> ErrorCode {
        self.row().code
    }

    /// Whether the same task may succeed when sent again (R-000-96 … R-000-102).
    pub const fn recoverable(self) -> bool {
        matches!(self.row().recoverable, Recoverable::Yes)
    }

    /// Specification 001's numeric code (R-001-140 … R-001-144).
    pub const fn number(self) -> u16 {
        self.row().number
    }
}

/// A fault that happened: its class, and words for whoever reads the envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub fault: Fault,
    /// What is wrong, where, and what to do.
    pub message: String,
    /// The class's answer, unless the catalog entry overrides it.
    pub recoverable: bool,
}

impl Failure {
    /// A failure of this class, recoverable as the table says.
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self {
            fault,
            message: message.into(),
            recoverable: fault.recoverable(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_its_own_name_and_is_found_by_it() {
        for fault in Fault::ALL {
            assert_eq!(Fault::named(fault.name()), Some(fault));
        }
    }

    #[test]
    fn codes_are_those_of_the_error_conditions_table_r_000_109_to_114() {
        assert_eq!(Fault::NoCapability.code(), ErrorCode::InvalidInput);
        assert_eq!(Fault::UnknownCapability.code(), ErrorCode::ValidationError);
        assert_eq!(Fault::MisroutedSynthesis.code(), ErrorCode::ValidationError);
        assert_eq!(Fault::MultipleTasks.code(), ErrorCode::ValidationError);
        assert_eq!(Fault::InputUnresolved.code(), ErrorCode::DependencyError);
        assert_eq!(Fault::ServerUnreachable.code(), ErrorCode::ProcessingError);
    }

    #[test]
    fn recoverability_is_that_of_the_table_r_000_96_to_102() {
        for (fault, recoverable) in [
            (Fault::ToolTimeout, true),
            (Fault::RateLimited, true),
            (Fault::OutOfMemory, true),
            (Fault::InputCorrupt, false),
            (Fault::ServerNotFound, false),
            (Fault::UnknownCapability, false),
            (Fault::OutputFormat, true),
        ] {
            assert_eq!(fault.recoverable(), recoverable, "{}", fault.name());
        }
    }
}
