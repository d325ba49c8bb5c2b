//! The types that every room uses: what was asked ([`Task`]), the result ([`Outcome`]), and why it failed
//! ([`Fault`], the one error table). Pure: nothing here does I/O.

mod activity;
mod approval;
mod bounds;
mod effects;
mod fault;
mod format;
mod found;
mod identity;
mod ids;
mod json;
mod keys;
mod named;
mod not_finite;
mod outcome;
mod pin;
mod print;
mod program;
mod proposal;
mod readable;
mod rel_path;
mod request;
mod review;
mod risk;
mod secret;
mod terms;
mod trace;
pub mod uri;
mod visible;

pub use activity::{Activity, ToolActivity};
pub use approval::{
    Answer, ApprovalRule, Approver, Elicitation, Need, Policy, RiskRule, SelfApproval, Statement,
    When,
};
pub(crate) use bounds::{LARGEST_RESULT, printed};
pub use effects::{Effects, Repeatable};
pub use fault::{Category, ErrorCode, Failure, Fault};
pub use format::Format;
pub(crate) use found::Found;
pub use identity::{SPECIFICATION, identity, identity_lines};
pub use ids::{OperationId, RefId, message_id, numbered};
pub use json::{
    BLOB, RESERVED, abridge, abridged, canonical, has_all_members, has_reserved_key, hexadecimal,
    values,
};
pub(crate) use json::{each_text, is_deeper};
pub(crate) use keys::{
    APPROVAL, DRY_RUN, alike, few, hint, listed, meant, named, nearest, printable, quoted,
    unknown_key,
};
pub(crate) use not_finite::Finite;
pub use outcome::{
    Admission, Ai, AiPrompt, AiResponse, Checks, Course, Effect, Invocation, InvocationStatus,
    LedgerRef, Outcome, Phase, Plan, PlannedOutput, PlannedStep, Preview, Produced, Reach, Record,
    ReportFiles, ReuseReport, ServerReport, State, StepReport, Timings, decided,
};
pub use pin::{Differs, Drift, OnDrift, Pin, Pinned};
pub use print::{Content, Links, ObjectPrint, Print, Sight, Stat, Still};
pub use program::{Argument, DuckDb, Network, Pipeline, PipelineApproval, SharedMemory};
pub use proposal::{
    Clarification, Declared, DeclaredStep, Grant, Granted, IMPROVISED, Improvised, ProposalKind,
    Suggestion,
};
pub(crate) use readable::{Author, Readable, readable};
pub use rel_path::{PathPattern, RelPath, folded};
pub use request::{
    Asker, CapabilityTask, Carried, CarriedIn, Elicited, Given, Identity, Input, InputRef,
    MAX_ACTIONS, MAX_STEPS, Nameable, NamedAs, NamedSession, OF_CALLS, PlanName, PlanOrder,
    Question, RefStatus, Resources, Response, ResponseKind, RollbackOrder, SessionFrom, Task,
    ToolQuestions, Validation, Waiting, WaitingApproval, too_many_actions,
};
pub use review::{
    Blocks, RELEASES, Release, Review, ReviewDecision, ReviewRule, ReviewState, ReviewTerms,
    release, review_timeout,
};
pub use risk::{Amplifiers, Assessment, Backup, Hazards, Risk, assess, worse};
pub(crate) use secret::{CUT, Hiding, Secrets, Unseen, hidden};
pub use secret::{
    cut_links, presentable, recorded_id, redact_presigned, redact_value, unsigned, was_redacted,
};
pub use terms::{
    ALLOW_PRIVATE, ASSETS, ActionType, Bounds, CallContext, ClassRule, Contexts, Executes, Ground,
    INCOMING, OnDuplicate, OutputSchema, PROTECTED, Protection, ProtectionRules, Protocol, Reuse,
    SCRATCH, STAGING, Sanction, Unless, ValidationRule, displaces, duration, duration_or_seconds,
};
pub use trace::{Spans, Trace};
pub use uri::{Location, Service, Uri, UriError};
pub use visible::{visible, visible_json, visible_json_line, visible_lines};
