//! Questions that a tool asks before it goes on, and the caller's answers (MCP 2026-07-28, Multi
//! Round-Trip Requests).
//!
//! A run that is asked ends; a later one is given the answers. Nothing of the first is kept: what
//! the second needs is in its task.

use serde::Serialize;
use serde_json::{Map, Value};

/// What a task says of questions.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Input {
    /// Nothing: nobody is there to answer.
    #[default]
    Refused,
    /// Whoever sent the task can answer.
    Accepted,
    /// These are the answers to what was asked before.
    Given(Given),
}

/// What takes a call up again.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// By the names of the questions; none where nothing was asked.
    pub responses: Option<Vec<(String, Response)>>,
    /// As it was received, to the byte; none where there was none.
    pub request_state: Option<String>,
    /// The questions as they were received, if the caller shows them again.
    pub requests: Option<Vec<(String, Question)>>,
}

/// An answer, and what kind of question it is one to.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    pub kind: ResponseKind,
    /// As received, for the server.
    pub value: Value,
}

/// The kinds of answers a server can get.
#[derive(Debug, Clone, PartialEq)]
pub enum ResponseKind {
    /// `ElicitResult`: a person's.
    Elicited(Elicited),
    /// `CreateMessageResult`: a model's.
    Sampled,
    /// `ListRootsResult`.
    Roots,
}

/// What a person did with a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Elicited {
    /// With what was filled in, if it was a form.
    Accepted(Option<Map<String, Value>>),
    Declined,
    Cancelled,
}

/// A question, as far as an answer can be checked against it.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// With the JSON Schema of the answer.
    Form(Option<Value>),
    /// To be answered elsewhere: only whether the person went there is told.
    Url,
    Sampling,
    Roots,
}

/// What a run waits for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Waiting {
    pub r#for: WaitingFor,
    pub capability_id: String,
    pub mcp_server: String,
    pub tool_name: String,
    /// As the server sent them, but for secrets.
    pub input_requests: Map<String, Value>,
    /// To be sent back as it is; null where there is none.
    pub request_state: Option<String>,
    /// What to do next.
    pub resume: &'static str,
}

/// Why a run cannot go on by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    /// The tool asks for input.
    Input,
}
