//! The words every room speaks: what was asked ([`Task`]), what came of it ([`Outcome`]), and why
//! it failed ([`Fault`], the one error table). Pure: nothing here does I/O.

mod fault;
mod format;
mod hex;
mod ids;
mod input;
mod outcome;
mod pin;
mod request;
pub mod uri;

pub use fault::{ErrorCode, Failure, Fault};
pub use format::Format;
pub use hex::hexadecimal;
pub use ids::{MessageId, OperationId, RefId};
pub use input::{Elicited, Given, Input, Question, Response, ResponseKind, Waiting, WaitingFor};
pub use outcome::{
    Checks, Effect, Invocation, InvocationStatus, Outcome, Phase, Plan, PlannedOutput, PlannedStep,
    Produced, ServerReport, State, Timings,
};
pub use pin::{Differs, Drift, OnDrift, Pin, Pinned};
pub use request::{Identity, InputRef, RefStatus, Resources, Task};
pub use uri::{Location, Uri, UriError, is_presign_parameter, redact_presigned};
