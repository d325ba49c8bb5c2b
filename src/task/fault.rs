//! The one error table: every way a task can fail, and what each vocabulary calls it.

use serde::{Deserialize, Serialize};

enum Recoverable {
    Yes,
    No,
}

/// Makes a class of each row: `CLASS = NAME, CODE, RECOVERABLE, NUMBER;`.
macro_rules! table {
    ($($(#[$doc:meta])* $class:ident = $name:literal, $code:ident, $recoverable:ident, $number:literal;)*) => {
        /// A class of failure. Closed: exit code and envelope are functions of it (invariant 5).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(into = "&'static str", try_from = "String")]
        pub enum Fault {
            $($(#[$doc])* $class,)*
        }

        impl Fault {
            /// Every fault, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$class,)*];

            /// The name of the class, as catalogs write it (`class = "oom"`).
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$class => $name,)*
                }
            }

            /// The ADL error code (R-000-109 … R-000-114, C-10).
            pub const fn code(self) -> ErrorCode {
                match self {
                    $(Self::$class => ErrorCode::$code,)*
                }
            }

            /// Whether the same task may succeed if it is sent again (R-000-96 … R-000-102).
            pub const fn recoverable(self) -> bool {
                let recoverable = match self {
                    $(Self::$class => Recoverable::$recoverable,)*
                };
                matches!(recoverable, Recoverable::Yes)
            }

            /// Specification 001's numeric code (R-001-140 … R-001-144).
            pub const fn number(self) -> u16 {
                match self {
                    $(Self::$class => $number,)*
                }
            }
        }
    };
}

table! {
    /// Not JSON, or JSON that says two things at once (duplicate keys, NaN, lone surrogates).
    InvalidJson = "invalid_json", InvalidInput, No, 1001;
    /// JSON, but no task: fields missing, of a wrong type, or no known dialect.
    InvalidShape = "invalid_shape", InvalidInput, No, 1001;
    /// The command line, or the environment that the process was started in, cannot be used.
    InvalidUsage = "invalid_usage", InvalidInput, No, 1001;
    /// A task without capability ids (R-000-109).
    NoCapability = "no_capability", InvalidInput, No, 1002;
    /// A clarification: the agent must learn more before it can propose an action (R-003-16).
    ClarificationRequired = "clarification_required", InvalidInput, No, 1033;
    /// Several tasks, or a workflow of tasks (R-000-112).
    MultipleTasks = "multiple_tasks", ValidationError, No, 1003;
    /// A capability id that is not in the catalog (R-000-110).
    UnknownCapability = "unknown_capability", ValidationError, No, 1004;
    /// A `CAP-SYN-*` capability, which is work of the reasoning agent (R-000-111).
    MisroutedSynthesis = "misrouted_synthesis", ValidationError, No, 1005;
    /// Parameters that do not fit the capability's or the tool's schema.
    ParamsInvalid = "params_invalid", ValidationError, No, 1006;
    /// A proposal that breaks a rule of its kind (003, "The four kinds").
    KindRule = "kind_rule", ValidationError, No, 1009;
    /// The tool differs from the pin in the catalog, or is riskier than the catalog says.
    ToolChanged = "tool_changed", ValidationError, No, 1012;
    /// The catalog cannot be read, or the part of it that this task needs is wrong.
    CatalogInvalid = "catalog_invalid", ProcessingError, No, 1015;
    /// An input reference without a URI, or in a state that cannot be used (R-000-113, C-13).
    InputUnresolved = "input_unresolved", DependencyError, No, 4002;
    /// An input that is gone or refused (C-14).
    InputInaccessible = "input_inaccessible", DependencyError, No, 4003;
    /// The server is not configured, its command does not exist, or nothing is at its address (R-000-100, C-05).
    ServerNotFound = "server_not_found", ProcessingError, No, 5001;
    /// The server is configured but could not be reached or did not start (R-000-114, C-05).
    ServerUnreachable = "server_unreachable", ProcessingError, Yes, 5002;
    /// The tool did not answer in time (R-000-96).
    ToolTimeout = "timeout", Timeout, Yes, 5003;
    /// HTTP 429 or an equivalent answer (R-000-97).
    RateLimited = "rate_limited", ProcessingError, Yes, 5004;
    /// Out of memory (R-000-98).
    OutOfMemory = "oom", ProcessingError, Yes, 5005;
    /// The input is corrupt or incomplete (R-000-99).
    InputCorrupt = "input_corrupt", ProcessingError, No, 5006;
    /// The tool succeeded, but an expected output is not there (R-000-81, C-15).
    OutputMissing = "output_missing", ProcessingError, Yes, 5007;
    /// The tool succeeded, but its output is empty (R-000-82).
    OutputEmpty = "output_empty", ProcessingError, Yes, 5007;
    /// The tool succeeded, but its output does not have the expected format (R-000-83).
    OutputFormat = "output_format", ProcessingError, Yes, 5007;
    /// The tool succeeded, but expected fields of its result are missing (R-000-84).
    ResultIncomplete = "result_incomplete", ProcessingError, Yes, 5007;
    /// The tool succeeded, but its result does not fit the output schema that the tool publishes.
    ResultInvalid = "result_invalid", ProcessingError, Yes, 5007;
    /// The tool failed, and no rule recognises a more specific failure.
    ToolError = "tool_error", ProcessingError, No, 5008;
    /// The tool asks for input that nobody can give.
    InputRequired = "input_required", DependencyError, No, 5012;
    /// The file system that stores the outputs is full.
    DiskFull = "disk_full", ProcessingError, No, 2002;
    /// The outputs may not be written to their place, or a server refuses the credentials of its entry.
    PermissionDenied = "permission_denied", ProcessingError, No, 3001;
    /// The plan comes without the protocol layer's approval (R-001-28, R-001-30, C-17).
    NotValidated = "not_validated", ValidationError, No, 1007;
    /// Actions of a plan depend on each other in a circle (R-001-94).
    PlanCycle = "cyclic_dependency", ValidationError, No, 1008;
    /// More or larger files than a plan may touch (R-001-174 … R-001-177), or a larger message than a server takes.
    LimitExceeded = "limit_exceeded", ValidationError, No, 1011;
    /// A plan, or its configuration, that breaks its schema (R-001-26, R-001-27).
    PlanInvalid = "plan_invalid", ValidationError, No, 1016;
    /// An action depends on one that is not in the plan.
    UnknownDependency = "unknown_dependency", ValidationError, No, 1017;
    /// Two actions of a plan contradict each other.
    PlanConflict = "plan_conflict", ValidationError, No, 1018;
    /// An operation, or a file, that the configuration forbids (R-001-23).
    OperationNotAllowed = "operation_not_allowed", ValidationError, No, 1019;
    /// The text to replace is not there.
    PatternNotFound = "pattern_not_found", ValidationError, No, 1021;
    /// The text to replace occurs more often than the edit states.
    PatternAmbiguous = "pattern_ambiguous", ValidationError, No, 1022;
    /// A line that the file does not have.
    LineOutOfRange = "line_out_of_range", ValidationError, No, 1023;
    /// A place in a document (RFC 9535) that does not exist, or does not have the type that the edit needs.
    PlaceNotFound = "place_not_found", ValidationError, No, 1024;
    /// An edit that could also change something else.
    EditRefused = "edit_refused", ValidationError, No, 1025;
    /// A file that is not valid JSON or YAML, before or after the edit (R-001-162).
    ContentInvalid = "content_invalid", ValidationError, No, 1026;
    /// An edit of text in a file that is not UTF-8.
    NotText = "not_text", ValidationError, No, 1027;
    /// The content would not be a valid schema after the update.
    SchemaInvalid = "schema_invalid", ValidationError, No, 1028;
    /// A validation rule of the plan that does not hold (R-001-81).
    RuleFailed = "rule_failed", ValidationError, No, 1029;
    /// A query with an error, or one that does not fit its parameters, files or results.
    SqlFailed = "sql_failed", ValidationError, No, 1035;
    /// The plan would not make the changes that `--expect` names.
    PreviewChanged = "preview_changed", ValidationError, No, 1030;
    /// A rollback manifest that is missing, belongs to another plan, has expired or was used already.
    ManifestUnusable = "manifest_unusable", ValidationError, No, 1031;
    /// The journal of an interrupted plan was not written here, or names a file that no plan may touch.
    JournalForeign = "journal_foreign", ValidationError, No, 1032;
    /// A file that does not exist (R-001-147).
    FileNotFound = "file_not_found", ProcessingError, No, 2001;
    /// A file that has changed since it was checked (R-001-151).
    HashMismatch = "hash_mismatch", ProcessingError, No, 2003;
    /// Something exists already at the place of a new file.
    FileExists = "file_exists", ProcessingError, No, 2004;
    /// A directory, device, pipe, socket or link where a file must be.
    NotAFile = "not_a_regular_file", ProcessingError, No, 2005;
    /// Any other error of the file system.
    FileSystem = "file_system_error", ProcessingError, No, 2006;
    /// A file with several names (hard links): a change would separate one name from the others.
    SharedFile = "shared_file", ProcessingError, No, 2007;
    /// A file that has changed since the plan: undoing the plan would destroy that later change.
    RollbackConflict = "rollback_conflict", ProcessingError, No, 2008;
    /// A path that leads out of the root (R-001-157).
    PathOutside = "path_traversal", ValidationError, No, 3002;
    /// A protected file (R-001-25, C-16).
    ProtectedFile = "protected_file", ValidationError, No, 3100;
    /// A query that reaches for what it may not use: another file, the network, the engine's settings (C-22).
    SqlRefused = "sql_refused", ValidationError, No, 3101;
    /// An action that this one depends on has failed (R-001-152).
    DependencyFailed = "dependency_failed", DependencyError, No, 4001;
    /// Another plan is running on the same root.
    InFlight = "in_flight", DependencyError, Yes, 4004;
    /// Another run is performing the same request.
    RequestInFlight = "request_in_flight", DependencyError, Yes, 4004;
    /// The result is withheld until a person has reviewed it.
    ReviewOpen = "review_open", DependencyError, Yes, 4004;
    /// The ledger cannot record the task, so it is not performed.
    LedgerUnavailable = "ledger_unavailable", ProcessingError, Yes, 5009;
    /// A once-only call may or may not have happened: a person must decide.
    OutcomeUnknown = "outcome_unknown", ProcessingError, No, 5010;
    /// The same delivery was received before with different content.
    IdempotencyConflict = "idempotency_conflict", ValidationError, No, 1013;
    /// An entry that may not be performed in the context of the caller (R-003-29, R-003-36).
    ContextDenied = "context_denied", OutOfScope, No, 1010;
    /// A session that was opened in another context.
    ContextChanged = "context_changed", OutOfScope, No, 1010;
    /// A person has to approve the request first.
    ApprovalRequired = "approval_required", DependencyError, Yes, 4004;
    /// A person has denied the request.
    ApprovalDenied = "approval_denied", ValidationError, No, 1014;
    /// Nobody approved the request in time, or the approval was not used in time.
    ApprovalExpired = "approval_expired", ValidationError, No, 1014;
    /// The approval is for another request than the one that would be performed.
    ApprovalMismatch = "approval_mismatch", ValidationError, No, 1014;
    /// A grant that does not exist, or that another session opened.
    GrantNotFound = "grant_not_found", ValidationError, No, 1034;
    /// A grant that was closed, or whose approval was withdrawn.
    GrantClosed = "grant_closed", ValidationError, No, 1034;
    /// A grant whose time has ended.
    GrantExpired = "grant_expired", ValidationError, No, 1034;
    /// A call of an entry that the grant does not contain, or that has changed since.
    GrantMismatch = "grant_mismatch", ValidationError, No, 1034;
    /// A grant under which the last call was made.
    GrantUsedUp = "grant_used_up", ValidationError, No, 1034;
    /// A change that could be neither finished nor undone: a person must settle it.
    Stuck = "stuck", ProcessingError, No, 5013;
    /// The database engine is not installed, or cannot be used.
    EngineMissing = "engine_missing", ProcessingError, No, 5014;
    /// The database engine ended before it answered.
    EngineFailed = "engine_failed", ProcessingError, No, 5015;
    /// The kernel cannot restrict what a plan would start.
    JailUnavailable = "jail_unavailable", ProcessingError, No, 5016;
    /// The program of a pipeline could not be started, so it has done nothing.
    PipelineNotStarted = "pipeline_not_started", ProcessingError, No, 5017;
    /// The program of a pipeline failed. What it did before stays.
    PipelineFailed = "pipeline_failed", ProcessingError, No, 5018;
    /// A signal asked the run to stop.
    Cancelled = "cancelled", ProcessingError, Yes, 5011;
    /// A defect of oneact itself.
    Internal = "internal", ProcessingError, No, 5999;
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

impl From<Fault> for &'static str {
    fn from(fault: Fault) -> Self {
        fault.name()
    }
}

impl TryFrom<String> for Fault {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::named(&name).ok_or_else(|| format!("`{name}` is no class of failures"))
    }
}

impl Fault {
    /// Classes that only oneact can know, because they do not depend on what a tool says. No failure rule of a catalog
    /// can give them.
    pub const OWN: &[Self] = &[
        Self::ApprovalRequired,
        Self::ApprovalDenied,
        Self::ApprovalExpired,
        Self::ApprovalMismatch,
        Self::GrantNotFound,
        Self::GrantClosed,
        Self::GrantExpired,
        Self::GrantMismatch,
        Self::GrantUsedUp,
        Self::Cancelled,
        Self::RequestInFlight,
        Self::InFlight,
        Self::ReviewOpen,
        Self::LedgerUnavailable,
        Self::IdempotencyConflict,
        Self::ContextDenied,
        Self::ContextChanged,
        Self::Stuck,
        Self::JournalForeign,
        Self::KindRule,
        Self::ClarificationRequired,
        Self::Internal,
    ];

    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|fault| fault.name() == name)
    }

    /// Specification 001's category, which follows from the number (R-001-140 … R-001-144).
    pub const fn category(self) -> Category {
        match self.number() {
            0..=1999 => Category::ValidationError,
            2000..=2999 => Category::FileSystemError,
            3000..=3999 => Category::PermissionError,
            4000..=4999 => Category::DependencyError,
            _ => Category::InternalError,
        }
    }

    /// Whether a plan that ended in this way needs a person (R-001-144, R-001-153): after every internal error, which
    /// includes unknown errors and a rollback that is stuck, but not after a signal, which somebody sent.
    pub const fn escalates(self) -> bool {
        matches!(self.category(), Category::InternalError) && !matches!(self, Self::Cancelled)
    }

    /// Specification 001's error type: the name in capitals (R-001-145).
    pub fn kind(self) -> String {
        self.name().to_ascii_uppercase()
    }
}

/// One failure: its class, and a message for the reader of the envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub fault: Fault,
    /// What is wrong, where, and what to do.
    pub message: String,
    /// The default of the class, unless the catalog entry overrides it.
    pub recoverable: bool,
}

impl Failure {
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
