//! `oneact resolve`, `revoke`, `review` and `prune`: decisions of a person about the ledger. Nothing is performed.

use std::{process::ExitCode, time::Duration};

use clap::Args;
use serde_json::{Value, json};

use crate::{
    host::{Host, Interrupts},
    people::{
        Alone, Claimed, Dependants, Happened, Ledger, Name, PruneWish, Review, Row, RowState, Wish,
        unless_contradicted, vouched,
    },
    record::Project,
};

use super::{
    Stop, printed,
    printing::{grouped, json::line, words},
    settings::PlaceArgs,
};

// The answer that is meant.
#[derive(Debug, Args)]
struct NameArgs {
    /// The first characters of the id of an operation or a row, or the number of a step together with --session
    #[arg(value_name = "STEP|ID")]
    name: String,
    /// The session of the answer
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

// What every decision is given with.
#[derive(Debug, Args)]
struct DecisionArgs {
    /// The reason for the decision, in at most 500 characters
    #[arg(short, long, value_name = "WHY", value_parser = note)]
    message: Option<String>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    places: PlaceArgs,
}

// Which operation, and what was found out.
#[derive(Debug, Args)]
pub(super) struct ResolveArgs {
    /// The id of the operation, or its first characters
    #[arg(value_name = "OPERATION")]
    operation: String,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    decision: DecisionArgs,
}

// One of the two has to be said.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Choice {
    /// The call happened: record it as successful; the same delivery is not performed again
    #[arg(long)]
    happened: bool,
    /// The call did not happen: the next run of the same request performs it
    #[arg(long)]
    did_not: bool,
}

// Which answer, and why.
#[derive(Debug, Args)]
pub(super) struct RevokeArgs {
    #[command(flatten)]
    answer: NameArgs,
    /// Also revoke the answers that were returned from it
    #[arg(long)]
    dependants: bool,
    #[command(flatten)]
    decision: DecisionArgs,
}

// Which grant.
#[derive(Debug, Args)]
pub(super) struct CloseArgs {
    /// The id of the operation that opened the grant, or its first characters
    #[arg(value_name = "OPERATION")]
    operation: String,
    #[command(flatten)]
    decision: DecisionArgs,
}

// Which answer, and what was found.
#[derive(Debug, Args)]
pub(super) struct ReviewArgs {
    #[command(flatten)]
    answer: NameArgs,
    #[command(flatten)]
    verdict: Verdict,
    #[command(flatten)]
    decision: DecisionArgs,
}

// One of the two has to be said.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Verdict {
    /// The answer is good
    #[arg(long)]
    accept: bool,
    /// The answer is not good: it is not returned again, unless a later review accepts it
    #[arg(long)]
    reject: bool,
}

// What is old.
#[derive(Debug, Args)]
pub(super) struct PruneArgs {
    /// Prune answers older than this, e.g. 90d, 12w, 36h. Answers of the last day are kept. Answers that could
    /// still be reused are pruned, too: the next such request is performed again
    #[arg(long, value_name = "AGE", value_parser = age)]
    older: Duration,
    /// Report what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    places: PlaceArgs,
}

impl NameArgs {
    fn name(&self) -> Name<'_> {
        Name {
            text: &self.name,
            session: self.session.as_deref(),
            alone: Alone::Refused,
        }
    }
}

/// Opens the ledger, applies a decision, and prints the result.
fn decided(
    places: &PlaceArgs,
    wish: Wish,
    interrupts: Interrupts,
    decide: impl FnOnce(&mut Ledger<'_>, (&Project, &Host)) -> Result<String, Stop>,
) -> Result<ExitCode, Stop> {
    let host = Host::new(None, None, interrupts);
    let text = places.project().and_then(|project| {
        let (mut ledger, _) = project.open(wish, &host)?;
        decide(&mut ledger, (&project, &host))
    });
    Ok(printed(text.map_err(Stop::refused)?, 0))
}

/// Records whether an operation with an unknown outcome happened.
pub(super) fn resolve(args: &ResolveArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let why = args.decision.message.as_deref();
    let places = &args.decision.places;
    decided(
        places,
        Wish::Decide,
        interrupts,
        |ledger, (project, host)| {
            let at = host.timestamp().to_string();
            let answer = |case: &_| vouched(case, &at, why);
            let (happened, claimed) = if args.choice.happened {
                (Happened::Yes(&answer), Claimed::Happened)
            } else {
                (Happened::No, Claimed::DidNot)
            };
            let case = ledger.unsettled(&args.operation)?;
            unless_contradicted(&case, claimed, project, host)?;
            let resolved = ledger.resolve(&case.operation_id, happened, why)?;
            let case = &resolved.case;
            if args.decision.json {
                return Ok(line(&json!({
                    "operation_id": case.operation_id, "session_id": case.session_id,
                    "task_id": case.task_id, "action": case.action, "happened": args.choice.happened,
                    "claimed_at": case.claimed_at, "step_index": resolved.step_index, "by": case.by, "why": why,
                    "link": resolved.link.seq, "entry_hash": resolved.link.entry_hash,
                })));
            }
            let action = case.action.as_deref().unwrap_or("The call");
            let operation = &case.operation_id;
            let what = match resolved.step_index {
                Some(step) => format!(
                    "{action} ({operation}) happened and is recorded as step {step} of {}. The same delivery is not performed again.",
                    case.session_id
                ),
                None => format!(
                    "{action} ({operation}) did not happen. The next run of the same request performs it."
                ),
            };
            let (what, by, link) = (words::line(&what), &case.by, resolved.link.seq);
            Ok(format!("{what}\ndecided by {by}, link {link}\n"))
        },
    )
}

/// Revokes an answer: it is never returned again.
pub(super) fn revoke(args: &RevokeArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let why = args.decision.message.as_deref();
    let dependants = if args.dependants {
        Dependants::Revoked
    } else {
        Dependants::Listed
    };
    let places = &args.decision.places;
    decided(places, Wish::Decide, interrupts, |ledger, _| {
        let revoked = ledger.revoke(args.answer.name(), dependants, why)?;
        if args.decision.json {
            let all = |rows: &[Row]| rows.iter().map(document).collect::<Vec<_>>();
            return Ok(line(&json!({
                "revoked": document(&revoked.row), "along": all(&revoked.along), "left": all(&revoked.left),
                "source": revoked.row.reused_from, "why": why, "link": revoked.link.seq,
                "entry_hash": revoked.link.entry_hash,
            })));
        }
        let mut lines = vec![format!(
            "{} was revoked, link {}. It is never returned again.",
            named(&revoked.row),
            revoked.link.seq
        )];
        if let Some(source) = &revoked.row.reused_from {
            let source = words::line(source);
            lines.push(format!(
                "It repeated the answer {source}, which is not revoked."
            ));
        }
        let along = revoked.along.iter();
        lines.extend(along.map(|row| format!("  also revoked: {}", named(row))));
        let left = match revoked.left.len() {
            0 => None,
            1 => Some("One answer that repeated it is not revoked".to_owned()),
            more => Some(format!("{more} answers that repeated it are not revoked")),
        };
        lines.extend(left.map(|left| format!("{left} (--dependants revokes such answers):")));
        let left = revoked.left.iter();
        lines.extend(left.map(|row| format!("  {}", named(row))));
        Ok(lines.join("\n") + "\n")
    })
}

/// Closes a grant: no further call is made under it.
pub(super) fn close(args: &CloseArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let why = args.decision.message.as_deref();
    let places = &args.decision.places;
    decided(places, Wish::Decide, interrupts, |ledger, _| {
        let (grant, link) = ledger.close(&args.operation, why)?;
        let (made, most) = (grant.calls.len(), grant.granted.max_calls);
        if args.decision.json {
            return Ok(line(&json!({
                "closed": document(&grant.row), "calls": made, "max_calls": most, "why": why,
                "link": link.seq, "entry_hash": link.entry_hash,
            })));
        }
        let what = named(&grant.row);
        Ok(format!(
            "The grant of {what} was closed after {made} of {most} calls, link {}.\n",
            link.seq
        ))
    })
}

pub(super) fn review(args: &ReviewArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let why = args.decision.message.as_deref();
    let (review, verdict) = if args.verdict.accept {
        (Review::Accept, "accepted")
    } else {
        (Review::Reject, "rejected")
    };
    let places = &args.decision.places;
    decided(places, Wish::Decide, interrupts, |ledger, _| {
        let reviewed = ledger.review(args.answer.name(), review, why)?;
        let link = &reviewed.link;
        if args.decision.json {
            return Ok(line(&json!({
                "reviewed": document(&reviewed.row), "verdict": verdict, "why": why,
                "revoked_by": reviewed.revoked, "link": link.seq, "entry_hash": link.entry_hash,
            })));
        }
        let then = match (review, reviewed.revoked) {
            (_, Some(by)) => format!(" It stays revoked, link {by}."),
            (Review::Accept, None) => String::new(),
            (Review::Reject, None) => {
                " It is not returned again, unless a later review accepts it.".to_owned()
            }
        };
        let named = named(&reviewed.row);
        Ok(format!("{named} was {verdict}, link {}.{then}\n", link.seq))
    })
}

pub(super) fn prune(args: &PruneArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let (wish, open, were) = if args.dry_run {
        (PruneWish::DryRun, Wish::Read, "would be pruned")
    } else {
        (PruneWish::Prune, Wish::Decide, "pruned")
    };
    decided(&args.places, open, interrupts, |ledger, _| {
        let pruned = ledger.prune(args.older, wish)?;
        if args.json {
            return Ok(line(&json!({
                "dry_run": args.dry_run, "rows": pruned.rows, "bytes": pruned.bytes,
                "kept": pruned.kept, "changed": pruned.changed, "links": pruned.links,
            })));
        }
        let (rows, bytes) = (grouped(pruned.rows), grouped(pruned.bytes));
        let kept = match pruned.kept {
            0 => String::new(),
            kept => format!(
                "; {} kept (open, awaiting review, or recorded in the last day)",
                grouped(kept)
            ),
        };
        let changed = match pruned.changed {
            0 => String::new(),
            changed => format!(
                "; {} kept as evidence, because they differ from their links (see `oneact verify`)",
                grouped(changed)
            ),
        };
        Ok(format!(
            "{rows} answers {were}, {bytes} bytes{kept}{changed}\n"
        ))
    })
}

pub(super) fn note(text: &str) -> Result<String, String> {
    match text.chars().count() {
        0..=500 => Ok(text.to_owned()),
        count => Err(format!(
            "a reason has at most 500 characters, and this one has {count}"
        )),
    }
}

/// Reads a number with its unit, e.g. `90d`.
fn age(text: &str) -> Result<Duration, String> {
    let wrong = || "give a number with a unit (s, m, h, d or w), e.g. 90d".to_owned();
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match text.strip_prefix(number) {
        Some("s") => 1,
        Some("m") => 60,
        Some("h") => 60 * 60,
        Some("d") => 24 * 60 * 60,
        Some("w") => 7 * 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let seconds = number.checked_mul(unit).filter(|seconds| *seconds > 0);
    seconds.map(Duration::from_secs).ok_or_else(wrong)
}

/// For people: `CAP-PRE-002, step 3 of sess-1 (op_…)`.
fn named(row: &Row) -> String {
    words::line(&format!(
        "{}, step {} of {} ({})",
        row.action_type.as_deref().unwrap_or("an answer"),
        row.step_index,
        row.session_id,
        row.operation_id
    ))
}

fn document(row: &Row) -> Value {
    json!({
        "row": row.id, "operation_id": row.operation_id, "session_id": row.session_id,
        "step_index": row.step_index, "action": row.action_type.as_deref().unwrap_or_default(),
        "state": row.state.map_or("history".to_owned(), RowState::name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_steers_no_terminal() {
        let row = Row {
            operation_id: "op_\x1b[2J".to_owned(),
            session_id: "s\u{202e}".to_owned(),
            step_index: 3,
            action_type: Some("CAP\n".to_owned()),
            ..Row::default()
        };
        assert_eq!(named(&row), "CAP^J, step 3 of s<U+202E> (op_^[[2J)");
    }

    #[test]
    fn an_age_is_a_number_and_a_unit() {
        for (text, seconds) in [
            ("90d", 7_776_000),
            ("12w", 7_257_600),
            ("36h", 129_600),
            ("1s", 1),
        ] {
            assert_eq!(age(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in [
            "",
            "90",
            "d",
            "0d",
            "-1d",
            "1.5d",
            "90 d",
            "1y",
            "99999999999999999999d",
            "18446744073709551615w",
        ] {
            assert!(age(text).is_err(), "{text}");
        }
    }
}
