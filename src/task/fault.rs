//! The one error table: every way a task can fail, and what each vocabulary calls it.

use serde::Serialize;

/// A class of failure. Closed: exit code and envelope are functions of it (invariant 5).
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
    /// The plan comes without the protocol layer's approval (R-001-28, R-001-30, C-17).
    NotValidated,
    /// Actions of a plan wait for each other (R-001-94).
    PlanCycle,
    /// More or larger files than a plan may touch (R-001-174 … R-001-177).
    LimitExceeded,
    /// A plan, or its configuration, that breaks its schema (R-001-26, R-001-27).
    PlanInvalid,
    /// An action waits for one that the plan does not have.
    UnknownDependency,
    /// Actions of a plan that cannot both hold.
    PlanConflict,
    /// An operation, or a file, that the configuration forbids (R-001-23).
    OperationNotAllowed,
    /// An operation that this build does not have.
    OperationNotBuiltIn,
    /// The text to replace is not there.
    PatternNotFound,
    /// The text to replace is there more often than the edit says.
    PatternAmbiguous,
    /// A line that the file does not have.
    LineOutOfRange,
    /// A place in a document (RFC 9535) that is not there, or is not what the edit needs.
    PlaceNotFound,
    /// An edit that cannot be made without touching what it should not.
    EditRefused,
    /// JSON or YAML that is not, before or after the edit (R-001-162).
    ContentInvalid,
    /// A file that is no UTF-8 text, for an edit of text.
    NotText,
    /// A schema that would be none after its update.
    SchemaInvalid,
    /// A validation rule of the plan that does not hold (R-001-81).
    RuleFailed,
    /// The plan would not do what `--expect` says.
    PreviewChanged,
    /// A rollback manifest that is missing, foreign, expired or used up.
    ManifestUnusable,
    /// The journal of an interrupted plan that was not written here, or names what no plan may touch.
    JournalForeign,
    /// A file that is not there (R-001-147).
    FileNotFound,
    /// A file that is not what it was when it was checked (R-001-151).
    HashMismatch,
    /// Something stands where a file is to be made.
    FileExists,
    /// A directory, device, pipe, socket or link where a file must be.
    NotAFile,
    /// Anything else that the file system answered.
    FileSystem,
    /// A file with several names (hard links): changing one would part it from the others.
    SharedFile,
    /// A file that has changed since, so that undoing would destroy somebody's work.
    RollbackConflict,
    /// A path that leads out of the root (R-001-157).
    PathOutside,
    /// A protected file (R-001-25, C-16).
    ProtectedFile,
    /// An action that this one waits for has failed (R-001-152).
    DependencyFailed,
    /// Another plan is at work on the same root.
    InFlight,
    /// The same request is being done by another run.
    RequestInFlight,
    /// What is to be done cannot be recorded, so it is not done.
    LedgerUnavailable,
    /// It may or may not have happened, and must not happen twice: a person has to say.
    OutcomeUnknown,
    /// The same delivery came before with another content.
    IdempotencyConflict,
    /// A session that was opened in another context.
    ContextChanged,
    /// A change that could be neither finished nor undone: a person has to look.
    Stuck,
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

/// Specification 001's error categories (001 §8.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Category {
    ValidationError,
    FileSystemError,
    PermissionError,
    DependencyError,
    InternalError,
}

#[derive(Clone, Copy)]
enum Recoverable {
    Yes,
    No,
}

/// A class of failure, its name, its ADL error code, whether the same task may succeed when sent again, and specification
/// 001's numeric code.
type Row = (Fault, &'static str, ErrorCode, Recoverable, u16);

/// One row for each class, in their order.
const TABLE: [Row; Fault::Internal as usize + 1] = {
    use ErrorCode::{
        DependencyError, InvalidInput, OutOfScope, ProcessingError, Timeout, ValidationError,
    };
    use Recoverable::{No, Yes};
    [
        (Fault::InvalidJson, "invalid_json", InvalidInput, No, 1001),
        (Fault::InvalidShape, "invalid_shape", InvalidInput, No, 1001),
        (Fault::InvalidUsage, "invalid_usage", InvalidInput, No, 1001),
        (Fault::NoCapability, "no_capability", InvalidInput, No, 1002),
        (
            Fault::MultipleTasks,
            "multiple_tasks",
            ValidationError,
            No,
            1003,
        ),
        (
            Fault::UnknownCapability,
            "unknown_capability",
            ValidationError,
            No,
            1004,
        ),
        (
            Fault::MisroutedSynthesis,
            "misrouted_synthesis",
            ValidationError,
            No,
            1005,
        ),
        (
            Fault::ParamsInvalid,
            "params_invalid",
            ValidationError,
            No,
            1006,
        ),
        (
            Fault::ToolChanged,
            "tool_changed",
            ValidationError,
            No,
            1012,
        ),
        (
            Fault::CatalogInvalid,
            "catalog_invalid",
            ProcessingError,
            No,
            1015,
        ),
        (
            Fault::InputUnresolved,
            "input_unresolved",
            DependencyError,
            No,
            4002,
        ),
        (
            Fault::InputInaccessible,
            "input_inaccessible",
            DependencyError,
            No,
            4003,
        ),
        (
            Fault::ServerNotFound,
            "server_not_found",
            ProcessingError,
            No,
            5001,
        ),
        (
            Fault::ServerUnreachable,
            "server_unreachable",
            ProcessingError,
            Yes,
            5002,
        ),
        (Fault::ToolTimeout, "timeout", Timeout, Yes, 5003),
        (
            Fault::RateLimited,
            "rate_limited",
            ProcessingError,
            Yes,
            5004,
        ),
        (Fault::OutOfMemory, "oom", ProcessingError, Yes, 5005),
        (
            Fault::InputCorrupt,
            "input_corrupt",
            ProcessingError,
            No,
            5006,
        ),
        (
            Fault::OutputMissing,
            "output_missing",
            ProcessingError,
            Yes,
            5007,
        ),
        (
            Fault::OutputEmpty,
            "output_empty",
            ProcessingError,
            Yes,
            5007,
        ),
        (
            Fault::OutputFormat,
            "output_format",
            ProcessingError,
            Yes,
            5007,
        ),
        (
            Fault::ResultIncomplete,
            "result_incomplete",
            ProcessingError,
            Yes,
            5007,
        ),
        (
            Fault::ResultInvalid,
            "result_invalid",
            ProcessingError,
            Yes,
            5007,
        ),
        (Fault::ToolError, "tool_error", ProcessingError, No, 5008),
        (
            Fault::InputRequired,
            "input_required",
            DependencyError,
            No,
            5012,
        ),
        (Fault::DiskFull, "disk_full", ProcessingError, No, 2002),
        (
            Fault::PermissionDenied,
            "permission_denied",
            ProcessingError,
            No,
            3001,
        ),
        (
            Fault::NotValidated,
            "not_validated",
            ValidationError,
            No,
            1007,
        ),
        (
            Fault::PlanCycle,
            "cyclic_dependency",
            ValidationError,
            No,
            1008,
        ),
        (
            Fault::LimitExceeded,
            "limit_exceeded",
            ValidationError,
            No,
            1011,
        ),
        (
            Fault::PlanInvalid,
            "plan_invalid",
            ValidationError,
            No,
            1016,
        ),
        (
            Fault::UnknownDependency,
            "unknown_dependency",
            ValidationError,
            No,
            1017,
        ),
        (
            Fault::PlanConflict,
            "plan_conflict",
            ValidationError,
            No,
            1018,
        ),
        (
            Fault::OperationNotAllowed,
            "operation_not_allowed",
            ValidationError,
            No,
            1019,
        ),
        (
            Fault::OperationNotBuiltIn,
            "operation_not_built_in",
            ValidationError,
            No,
            1020,
        ),
        (
            Fault::PatternNotFound,
            "pattern_not_found",
            ValidationError,
            No,
            1021,
        ),
        (
            Fault::PatternAmbiguous,
            "pattern_ambiguous",
            ValidationError,
            No,
            1022,
        ),
        (
            Fault::LineOutOfRange,
            "line_out_of_range",
            ValidationError,
            No,
            1023,
        ),
        (
            Fault::PlaceNotFound,
            "place_not_found",
            ValidationError,
            No,
            1024,
        ),
        (
            Fault::EditRefused,
            "edit_refused",
            ValidationError,
            No,
            1025,
        ),
        (
            Fault::ContentInvalid,
            "content_invalid",
            ValidationError,
            No,
            1026,
        ),
        (Fault::NotText, "not_text", ValidationError, No, 1027),
        (
            Fault::SchemaInvalid,
            "schema_invalid",
            ValidationError,
            No,
            1028,
        ),
        (Fault::RuleFailed, "rule_failed", ValidationError, No, 1029),
        (
            Fault::PreviewChanged,
            "preview_changed",
            ValidationError,
            No,
            1030,
        ),
        (
            Fault::ManifestUnusable,
            "manifest_unusable",
            ValidationError,
            No,
            1031,
        ),
        (
            Fault::JournalForeign,
            "journal_foreign",
            ValidationError,
            No,
            1032,
        ),
        (
            Fault::FileNotFound,
            "file_not_found",
            ProcessingError,
            No,
            2001,
        ),
        (
            Fault::HashMismatch,
            "hash_mismatch",
            ProcessingError,
            No,
            2003,
        ),
        (Fault::FileExists, "file_exists", ProcessingError, No, 2004),
        (
            Fault::NotAFile,
            "not_a_regular_file",
            ProcessingError,
            No,
            2005,
        ),
        (
            Fault::FileSystem,
            "file_system_error",
            ProcessingError,
            No,
            2006,
        ),
        (Fault::SharedFile, "shared_file", ProcessingError, No, 2007),
        (
            Fault::RollbackConflict,
            "rollback_conflict",
            ProcessingError,
            No,
            2008,
        ),
        (
            Fault::PathOutside,
            "path_traversal",
            ValidationError,
            No,
            3002,
        ),
        (
            Fault::ProtectedFile,
            "protected_file",
            ValidationError,
            No,
            3100,
        ),
        (
            Fault::DependencyFailed,
            "dependency_failed",
            DependencyError,
            No,
            4001,
        ),
        (Fault::InFlight, "in_flight", DependencyError, Yes, 4004),
        (
            Fault::RequestInFlight,
            "request_in_flight",
            DependencyError,
            Yes,
            4004,
        ),
        (
            Fault::LedgerUnavailable,
            "ledger_unavailable",
            ProcessingError,
            Yes,
            5009,
        ),
        (
            Fault::OutcomeUnknown,
            "outcome_unknown",
            ProcessingError,
            No,
            5010,
        ),
        (
            Fault::IdempotencyConflict,
            "idempotency_conflict",
            ValidationError,
            No,
            1013,
        ),
        (
            Fault::ContextChanged,
            "context_changed",
            OutOfScope,
            No,
            1010,
        ),
        (Fault::Stuck, "stuck", ProcessingError, No, 5013),
        (Fault::Cancelled, "cancelled", ProcessingError, Yes, 5011),
        (Fault::Internal, "internal", ProcessingError, No, 5999),
    ]
};

impl Fault {
    /// Every fault, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.into_iter().map(|row| row.0)
    }

    fn row(self) -> &'static Row {
        let [.., last] = &TABLE;
        TABLE.iter().find(|row| row.0 == self).unwrap_or(last)
    }

    /// The class's name, as catalogs write it (`class = "oom"`).
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The class of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|fault| fault.name() == name)
    }

    /// The ADL error code (R-000-109 … R-000-114, C-10).
    pub fn code(self) -> ErrorCode {
        self.row().2
    }

    /// Whether the same task may succeed when sent again (R-000-96 … R-000-102).
    pub fn recoverable(self) -> bool {
        matches!(self.row().3, Recoverable::Yes)
    }

    /// Specification 001's numeric code (R-001-140 … R-001-144).
    pub fn number(self) -> u16 {
        self.row().4
    }

    /// Specification 001's category: a function of the number (R-001-140 … R-001-144).
    pub fn category(self) -> Category {
        match self.number() {
            0..=1999 => Category::ValidationError,
            2000..=2999 => Category::FileSystemError,
            3000..=3999 => Category::PermissionError,
            4000..=4999 => Category::DependencyError,
            _ => Category::InternalError,
        }
    }

    /// Specification 001's error type: the name in capitals (R-001-145).
    pub fn kind(self) -> String {
        self.name().to_ascii_uppercase()
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
mod tests;
