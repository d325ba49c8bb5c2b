//! Reads from the ledger why a request was performed, or why an old answer was given.

use crate::{
    ledger::{Again, Miss, Row, RowState, SeenInput, StoreError, Tx, Which, Why, validity::list},
    task::Sight,
};

/// What was decided on the request of a row.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) reason: Reason,
    /// The earlier answer on which it is based: the one that was repeated, or the one that could not be.
    pub(crate) about: Option<Row>,
    /// What has changed since the earlier answer.
    pub(crate) differences: Vec<AnswerDifference>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Ran(Why),
    Answered(Again),
    /// The row is from before oneact: nothing was decided.
    History,
    /// It was performed for a reason that this program does not know.
    Other(String),
}

/// A difference between the old run and the new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnswerDifference {
    /// A URI, or the name of what differs.
    pub(crate) what: String,
    pub(crate) then: Fact,
    /// The fact in the new run; none if it is not recorded.
    pub(crate) now: Option<Fact>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fact {
    Seen(Sight),
    Said(String),
}

impl Decision {
    pub(super) fn of(tx: &mut Tx<'_>, row: &Row) -> Result<Self, StoreError> {
        let reason = Reason::of(row);
        let about = match &reason {
            Reason::Ran(why) => before(tx, row, *why)?,
            Reason::Answered(_) => tx.source(row)?,
            Reason::History | Reason::Other(_) => None,
        };
        let differences = match (&reason, &about) {
            (Reason::Ran(Why::Miss(miss)), Some(before)) => differences(*miss, before, row),
            _ => Vec::new(),
        };
        Ok(Self {
            reason,
            about,
            differences,
        })
    }
}

impl Reason {
    fn of(row: &Row) -> Self {
        let name = row.reason.as_deref().unwrap_or_default();
        match row.state {
            None => Self::History,
            Some(RowState::Reused) => Self::Answered(Again::Reused),
            Some(RowState::Suppressed) => Self::Answered(Again::Suppressed),
            Some(RowState::Replayed) => Self::Answered(Again::Replayed),
            Some(_) => Why::read(name).map_or_else(|| Self::Other(name.to_owned()), Self::Ran),
        }
    }

    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Ran(why) => Some(why.name()),
            Self::Answered(how) => Some(how.name()),
            Self::History => None,
            Self::Other(name) => Some(name),
        }
    }
}

/// The old answer that was not good enough.
fn before(tx: &mut Tx<'_>, row: &Row, why: Why) -> Result<Option<Row>, StoreError> {
    let (session, link) = (&row.session_id, row.seq.unwrap_or_default());
    let which = match (why, &row.task_id) {
        (Why::Miss(_) | Why::Repeat, _) => Which::success(session, &row.request_hash).before(link),
        (Why::Retry, Some(task_id)) => Which::failure(session, task_id, link),
        _ => return Ok(None),
    };
    tx.row(&which)
}

/// The recorded differences since the old answer.
fn differences(miss: Miss, before: &Row, row: &Row) -> Vec<AnswerDifference> {
    let said = |what: &str, then: &Option<String>, now: &Option<String>| {
        let fact = |text: &Option<String>| Fact::Said(text.clone().unwrap_or("none".to_owned()));
        vec![AnswerDifference {
            what: what.to_owned(),
            then: fact(then),
            now: Some(fact(now)),
        }]
    };
    match miss {
        Miss::CatalogChanged => said("the entry", &before.entry_digest, &row.entry_digest),
        Miss::ToolChanged => said("the pin", &before.tool_pin, &row.tool_pin),
        Miss::OneactChanged => {
            let [then, now] = [before, row].map(|row| Some(row.oneact_version.clone()));
            said("oneact", &then, &now)
        }
        Miss::Expired => {
            let now = Some(row.started_at.clone());
            said("answered", &Some(before.timestamp.clone()), &now)
        }
        Miss::InputChanged | Miss::InputUnknown => changed(inputs(before), &inputs(row)),
        Miss::OutputMissing | Miss::OutputChanged | Miss::OutputExpiring => {
            changed(outputs(before), &outputs(row))
        }
        Miss::InputChangedDuringRun => {
            let written = list::<SeenInput>(before.input_ids.as_deref()).unwrap_or_default();
            let written = written.into_iter().filter(|seen| seen.changed_meanwhile);
            written
                .map(|seen| AnswerDifference {
                    what: seen.print.uri,
                    then: Fact::Said("it was changed while the old run read it".to_owned()),
                    now: None,
                })
                .collect()
        }
        Miss::Degraded => said("changed parameters", &before.adjusted, &row.adjusted),
        Miss::Disabled
        | Miss::NotSuccessful
        | Miss::LedgerDamaged
        | Miss::Revoked
        | Miss::StateMayHaveChanged
        | Miss::Pruned => Vec::new(),
    }
}

fn inputs(row: &Row) -> Vec<(String, Sight)> {
    let seen = list::<SeenInput>(row.input_ids.as_deref()).unwrap_or_default();
    seen.into_iter()
        .map(|seen| (seen.print.uri, seen.print.sight))
        .collect()
}

fn outputs(row: &Row) -> Vec<(String, Sight)> {
    let made = row.made().into_iter();
    made.map(|made| (made.storage_uri, made.print.sight))
        .collect()
}

/// The URIs that differ; all of them if none is known to differ.
fn changed(then: Vec<(String, Sight)>, now: &[(String, Sight)]) -> Vec<AnswerDifference> {
    let all = then.into_iter().map(|(uri, sight)| {
        let now = now.iter().find(|(other, _)| *other == uri);
        AnswerDifference {
            now: now.map(|(_, sight)| Fact::Seen(sight.clone())),
            then: Fact::Seen(sight),
            what: uri,
        }
    });
    let all: Vec<AnswerDifference> = all.collect();
    let differ = |difference: &&AnswerDifference| match (&difference.then, &difference.now) {
        (Fact::Seen(Sight::Content(then)), Some(Fact::Seen(Sight::Content(now)))) => {
            then.blake3 != now.blake3
        }
        (then, now) => Some(then) != now.as_ref(),
    };
    let those: Vec<AnswerDifference> = all.iter().filter(differ).cloned().collect();
    if those.is_empty() { all } else { those }
}
