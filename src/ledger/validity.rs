//! Is an old answer still good? The first condition that does not hold is the reason why not (R-004-37, C-35).
//!
//! The answer is the `response` of a row: of the newest row of the delivery, else of the newest success of the request;
//! `record/wording.rs` words it. `questions.rs` asks for each way to give it again that
//! it was not withdrawn, that its link seals it, and that no review withholds it. Beside this:
//!
//! - a delivery that is replayed must have the same request. For a step, [`judge`] is asked as well;
//! - a duplicate that is suppressed must be the [`same`], and its files untouched where the entry says so;
//! - a reused answer must be [`good`], and nothing in the session may have changed the state since (`questions.rs`).

use std::time::Duration;

use jiff::Timestamp;

use serde_json::Value;

use super::{
    canonical::sha256,
    record::{Link, Made, Row, RowOutcome, RowState, SeenInput},
    review::Usable,
    store::{StoreError, Tx},
    words::{Ask, Miss},
};
use crate::task::{Ground, Links, OnDuplicate, Print, Reuse, Sight, Still, Unless, was_redacted};

/// The version of the rules for results. An answer that was judged by other rules is not good any more. Raise it if
/// `executor` judges or checks the same answer of a tool in another way than before, but not for a new [`Miss`].
pub(super) const RESULT_RULES: &str = "rules.3";

pub(crate) trait World {
    /// Whether the object at a URI is still as it was seen.
    fn still(&self, uri: &str, seen: &Print, links: Links) -> Still;
    /// When a URI expires, if it says so.
    fn expires(&self, uri: &str) -> Option<Timestamp>;
    fn now(&self) -> Timestamp;
}

/// The least time for which links must be usable.
const USABLE: Duration = Duration::from_mins(5);

/// Whether the answer of `row` is good for `ask`. Whether its link seals the row is checked when the answer is given.
pub(super) fn judge(
    row: &Row,
    usable: &Usable,
    ask: &Ask<'_>,
    world: &dyn World,
) -> Result<(), Miss> {
    // The answer of a step to an earlier run of its task has no age.
    let of_task =
        ask.who.part.is_some() && row.idempotency_key.as_deref() == ask.who.idempotency_key;
    match ask.on_duplicate {
        OnDuplicate::Suppress(Unless::InputsChanged) => same(row, world),
        OnDuplicate::Suppress(Unless::FilesChanged) => {
            same(row, world)?;
            // A file whose content was not recorded is no reason to perform the request again.
            let mut files = row.made();
            files.retain(|made| made.print.sight != Sight::Unknown);
            files.iter().try_for_each(|made| untouched(made, world))
        }
        _ if of_task => {
            same(row, world)?;
            let made = row.made();
            made.iter().try_for_each(|made| untouched(made, world))
        }
        OnDuplicate::Reuse { ttl, ground } => good((row, usable), ask, (ttl, ground), world),
        // The answer of a step of another task, which shares its answers with this one.
        OnDuplicate::Repeat => same(row, world),
    }
}

/// Whether the request would only repeat what was performed: its inputs are the same (C-36).
fn same(row: &Row, world: &dyn World) -> Result<(), Miss> {
    holds(row.revoked_by.is_none(), Miss::Revoked)?;
    // An input that cannot be examined is no reason to perform the request again.
    let inputs: Vec<SeenInput> = list(row.input_ids.as_deref()).unwrap_or_default();
    for SeenInput { print, .. } in inputs {
        match world.still(&print.uri, &print, Links::Followed) {
            Still::Same | Still::Unknown => {}
            Still::Other | Still::Gone => return Err(Miss::InputChanged),
        }
    }
    Ok(())
}

/// Fails if an output is known to have changed.
fn untouched(made: &Made, world: &dyn World) -> Result<(), Miss> {
    match world.still(&made.storage_uri, &made.print, Links::Refused) {
        Still::Same | Still::Unknown => Ok(()),
        Still::Other => Err(Miss::OutputChanged),
        Still::Gone => Err(Miss::OutputMissing),
    }
}

fn good(
    (row, usable): (&Row, &Usable),
    ask: &Ask<'_>,
    (ttl, ground): (Option<Duration>, Ground),
    world: &dyn World,
) -> Result<(), Miss> {
    holds(ask.reuse == Reuse::Allowed, Miss::Disabled)?;
    holds(
        (row.outcome, row.state) == (RowOutcome::Success, Some(RowState::Done)),
        Miss::NotSuccessful,
    )?;
    holds(row.response.is_some(), Miss::Pruned)?;
    holds(row.revoked_by.is_none(), Miss::Revoked)?;
    let digest = row.entry_digest.as_deref();
    holds(digest == Some(&ask.entry_digest), Miss::CatalogChanged)?;
    holds(row.tool_pin == ask.tool_pin, Miss::ToolChanged)?;
    holds(
        row.oneact_version.ends_with(RESULT_RULES),
        Miss::OneactChanged,
    )?;
    holds(
        ttl.is_none_or(|ttl| young(usable, ttl, world)),
        Miss::Expired,
    )?;
    // If the catalog declares the answer good for a `ttl`, inputs that cannot be examined count as unchanged.
    let unknown = match (ground, ttl) {
        (Ground::Declared, Some(_)) => Ok(()),
        _ => Err(Miss::InputUnknown),
    };
    inputs(row, unknown, world)?;
    outputs(row, ask, world)?;
    holds(!has_cut_links(row), Miss::OutputExpiring)?;
    let attempt = ask.who.attempt.unwrap_or(1);
    holds(
        row.adjusted.is_none() || attempt >= row.attempt,
        Miss::Degraded,
    )
}

fn holds(condition: bool, miss: Miss) -> Result<(), Miss> {
    if condition { Ok(()) } else { Err(miss) }
}

/// Whether a row matches its link, and its answer, unless pruned, is the one that was given. A repetition of an answer that
/// was pruned before never had the answer.
pub(crate) fn sealed(row: &Row, link: &Link) -> bool {
    let has_answer = match &row.response {
        Some(answer) => sha256(answer) == row.response_sha256,
        None => row.pruned.is_some() || row.reused_from.is_some(),
    };
    let seal = link.sound().and_then(|body| body.row);
    has_answer && seal == Some(row.seal())
}

/// The link of a row, if the row matches it and has the request that was recorded, unless pruned.
pub(crate) fn sealing(tx: &mut Tx<'_>, row: &Row) -> Result<Option<Link>, StoreError> {
    let link = tx.link_of(row)?;
    Ok(link.filter(|link| sealed(row, link) && has_own_request(row)))
}

/// Whether the request of a row, unless pruned, is the one that was recorded.
fn has_own_request(row: &Row) -> bool {
    match &row.request {
        Some(request) => sha256(request) == row.request_sha256,
        None => row.pruned.is_some(),
    }
}

fn young(usable: &Usable, ttl: Duration, world: &dyn World) -> bool {
    let Usable::Since(since) = usable else {
        return true;
    };
    let Ok(answered) = since.parse::<Timestamp>() else {
        return false;
    };
    let age = world.now().duration_since(answered);
    // If the clock was set back, the answer does not count as young.
    Duration::try_from(age).is_ok_and(|age| age < ttl)
}

fn inputs(row: &Row, unknown: Result<(), Miss>, world: &dyn World) -> Result<(), Miss> {
    for SeenInput {
        print,
        changed_meanwhile,
    } in list(row.input_ids.as_deref()).ok_or(Miss::LedgerDamaged)?
    {
        match world.still(&print.uri, &print, Links::Followed) {
            Still::Same => {}
            Still::Other | Still::Gone => return Err(Miss::InputChanged),
            Still::Unknown => unknown?,
        }
        holds(!changed_meanwhile, Miss::InputChangedDuringRun)?;
    }
    Ok(())
}

fn outputs(row: &Row, ask: &Ask<'_>, world: &dyn World) -> Result<(), Miss> {
    let made: Vec<Made> = list(row.output_ids.as_deref()).ok_or(Miss::LedgerDamaged)?;
    for made in made {
        untouched(&made, world)?;
        let long = USABLE.max(ask.timeout.saturating_mul(2));
        let usable = world.expires(&made.storage_uri).is_none_or(|end| {
            let left = end.duration_since(world.now());
            Duration::try_from(left).is_ok_and(|left| left >= long)
        });
        holds(usable, Miss::OutputExpiring)?;
    }
    Ok(())
}

/// Whether the result had links that cannot be used any more, because their signatures are not kept.
fn has_cut_links(row: &Row) -> bool {
    let text = row.response.as_deref().unwrap_or_default();
    if !was_redacted(text) {
        return false;
    }
    let response: Value = serde_json::from_str(text).unwrap_or_default();
    let data = response.pointer("/data/task_result/result_data");
    data.is_some_and(holds_cut_link)
}

/// Whether a text or a member name in it was redacted before it was recorded.
pub(crate) fn holds_cut_link(value: &Value) -> bool {
    match value {
        Value::String(text) => was_redacted(text),
        Value::Array(items) => items.iter().any(holds_cut_link),
        Value::Object(object) => object
            .iter()
            .any(|(name, item)| was_redacted(name) || holds_cut_link(item)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A list that a row holds; empty without a text, none if the text cannot be read.
pub(crate) fn list<T: serde::de::DeserializeOwned>(text: Option<&str>) -> Option<Vec<T>> {
    match text {
        None => Some(Vec::new()),
        Some(text) => serde_json::from_str(text).ok(),
    }
}
