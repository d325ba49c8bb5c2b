//! What a record must be: each rule says what is wrong. PostgreSQL holds the same by constraints, for others may
//! write to it.

use serde::de::IgnoredAny;

use crate::{
    ledger::record::{Event, Head, Link, MOST_BODY, NOTHING, Row, Session, word},
    task::CallContext,
};

pub(super) type Rule = Result<(), &'static str>;

fn must(holds: bool, why: &'static str) -> Rule {
    if holds { Ok(()) } else { Err(why) }
}

pub(super) fn session(session: &Session) -> Rule {
    let context: Option<CallContext> = word(&session.context);
    must(context.is_some(), "a session has no such context")
}

/// A link that may come after the last one.
pub(super) fn next(link: &Link, last: Option<&Head>) -> Rule {
    let next = match last {
        Some(last) => link.seq == last.seq + 1 && link.prev_hash == last.entry_hash,
        None => link.seq == 0 && link.prev_hash == NOTHING,
    };
    must(next, "it is not the next link")
}

/// A link by itself.
pub(super) fn link(link: &Link) -> Rule {
    let known = Event::read(&link.event);
    must(known.is_some(), "there is no such event")?;
    must(link.entry_hash.len() == 64, "a link has no such hash")?;
    must(link.body.len() <= MOST_BODY, "what a link says is too long")?;
    must(is_json(Some(&link.body)), "what a link says is no JSON")
}

/// A row by itself: rows of before oneact may hold what was written in those days.
pub(super) fn row(row: &Row) -> Rule {
    let linked = row.state.is_some() == row.seq.is_some();
    must(linked, "a row has a state and a link, or neither")?;
    let lists = [&row.input_ids, &row.output_ids, &row.adjusted];
    let lists = lists.into_iter().all(|list| is_json(list.as_deref()));
    must(lists, "what went in or came out is no JSON")?;
    if row.state.is_none() {
        return Ok(());
    }
    let payloads = is_json(row.request.as_deref()) && is_json(row.response.as_deref());
    must(payloads, "a request or a response is no JSON")?;
    must(row.request_hash.len() == 71, "a request has no such hash")?;
    let confidence = row
        .confidence_score
        .is_none_or(|score| (0.0..=1.0).contains(&score));
    must(confidence, "a confidence lies between 0 and 1")
}

fn is_json(text: Option<&str>) -> bool {
    text.is_none_or(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}
