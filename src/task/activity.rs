//! What a run is doing: for the signs of life of `--progress`, and for its spans.

/// What a run is doing, or waits for. Each one ends when the next one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity<'a> {
    /// Reading the task.
    Reading,
    /// Settling interrupted plans, and checking the task, the catalog and the inputs.
    Preparing,
    /// Asking the ledger, and claiming the request.
    Ledger,
    /// Waiting for the decision of a person.
    Approval,
    /// Starting a server or contacting it, and agreeing with it on a protocol.
    Starting {
        server: &'a str,
    },
    Tool(ToolActivity<'a>),
    /// Taking, checking and storing what the tool made.
    Storing,
    /// Checking, performing or undoing a file plan.
    Plan {
        capability: &'a str,
    },
    /// Recording how the request ended.
    Recording,
}

/// A call of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolActivity<'a> {
    pub tool: &'a str,
    pub server: &'a str,
    pub capability: &'a str,
    pub operation: &'a str,
    /// The span of the call, if the run makes spans.
    pub span: Option<&'a str>,
}

impl Activity<'_> {
    /// The name in a sign of life.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reading => "reading",
            Self::Preparing => "preparing",
            Self::Ledger => "ledger",
            Self::Approval => "approval",
            Self::Starting { .. } => "starting",
            Self::Tool(_) => "tool",
            Self::Storing => "storing",
            Self::Plan { .. } => "plan",
            Self::Recording => "recording",
        }
    }

    /// What the run waits for; none if it works by itself.
    pub fn waits_for(self) -> Option<String> {
        match self {
            Self::Reading => Some("the task".to_owned()),
            Self::Preparing | Self::Storing | Self::Plan { .. } => None,
            Self::Ledger | Self::Recording => Some("the ledger".to_owned()),
            Self::Approval => Some("the decision of a person".to_owned()),
            Self::Starting { server } => Some(format!("the tool server `{server}`")),
            Self::Tool(ToolActivity { tool, server, .. }) => {
                Some(format!("the tool `{tool}` of the tool server `{server}`"))
            }
        }
    }
}
