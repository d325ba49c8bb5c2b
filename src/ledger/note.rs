//! What an answer says about an approval, or about the grant that it opens. Its link says the same.

use serde::{Deserialize, Serialize};

use crate::task::Granted;

use super::{
    chain::{AskedApproval, Body},
    record::Row,
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Note {
    Requests {
        id: String,
        asked: AskedApproval,
    },
    /// The run found the approval unusable: the next run asks again.
    Ends {
        id: String,
    },
    /// A step of the improvised action waits: the approval is used again when the action goes on.
    Keeps {
        id: String,
    },
    /// The answer opens a grant, which a person has approved, in the root of that name.
    Opens {
        granted: Granted,
        home: String,
    },
}

impl Note {
    /// The body of the link of that answer.
    pub(super) fn told(&self, body: Body, row: &Row) -> Body {
        match self {
            Self::Requests { id, asked } => Body {
                approval: Some(id.clone()),
                asked: Some(asked.clone()),
                task: row.task_id.clone(),
                ..body
            },
            Self::Ends { id } | Self::Keeps { id } => Body {
                approval: Some(id.clone()),
                ..body
            },
            Self::Opens { granted, home } => Body {
                grant: Some(granted.clone()),
                home: Some(home.clone()),
                ..body
            },
        }
    }
}
