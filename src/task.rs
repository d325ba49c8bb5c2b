//! The words every room speaks: what was asked ([`Task`]), what came of it ([`Outcome`]), and why
//! it failed ([`Fault`], the one error table). Pure: nothing here does I/O.

mod abridged;
mod bounds;
mod canonical;
mod course;
mod duration;
mod fault;
mod format;
mod hex;
mod ids;
mod input;
mod numbered;
mod order;
mod outcome;
mod pin;
mod print;
mod rel_path;
mod request;
mod reserved;
mod secret;
mod terms;
pub mod uri;
mod visible;

pub use abridged::{BLOB, abridge, abridged};
pub use bounds::{ActionType, Bounds, Protection, ProtectionRules, Risk, ValidationRule};
pub use canonical::canonical;
pub use course::{Course, Reach};
pub use duration::{duration, duration_or_seconds};
pub use fault::{Category, ErrorCode, Failure, Fault};
pub use format::Format;
pub use hex::hexadecimal;
pub use ids::{MessageId, OperationId, RefId};
pub use input::{Elicited, Given, Input, Question, Response, ResponseKind, Waiting, WaitingFor};
pub use numbered::numbered;
pub use order::{
    Belief, Carried, CarriedIn, MAX_ACTIONS, PlanName, PlanOrder, RollbackOrder, Validation,
    too_many_actions,
};
pub use outcome::{
    Ai, AiPrompt, AiResponse, Checks, Effect, Invocation, InvocationStatus, LedgerRef, Outcome,
    Phase, Plan, PlannedOutput, PlannedStep, Preview, Produced, Record, ReportFiles, ReuseReport,
    ServerReport, State, Timings, decided,
};
pub use pin::{Differs, Drift, OnDrift, Pin, Pinned};
pub use print::{Content, Links, Print, Sight, Stat, Still};
pub use rel_path::RelPath;
pub use request::{
    CapabilityTask, Counted, Identity, InputRef, MAX_STEPS, RefStatus, Resources, Task,
};
pub use reserved::{RESERVED, has_reserved_key};
pub(crate) use secret::{CUT, Hiding, Secrets, hidden};
pub use secret::{cut_links, presentable, redact_presigned, redact_value, unsigned, was_redacted};
pub use terms::{
    CallContext, Effects, Ground, OnDuplicate, OutputSchema, Protocol, Repeatable, Reuse, Unless,
};
pub use uri::{Location, Uri, UriError};
pub use visible::{visible, visible_json, visible_lines};
