//! `oneact resolve`, `revoke`, `review` and `prune`: decisions of a person about the ledger. Nothing is performed.

use std::{process::ExitCode, time::Duration};

use clap::Args;
use jiff::{Span, SpanRelativeTo};
use serde_json::{Value, json};

use crate::{
    host::{Host, Interrupts},
    people::{
        Alone, Claimed, Dependants, Happened, Head, Ledger, Name, PruneWish, Review, Row, RowState,
        Wish, unless_contradicted, vouched,
    },
    record::Project,
};

use super::{
    ended::Stop,
    printing::{grouped, words},
    settings::FormArgs,
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
    #[command(flatten)]
    form: FormArgs,
}

// Which operation, and what was found out.
#[derive(Debug, Args)]
pub(super) struct ResolveArgs {
    /// The id of the operation, or its first characters
    #[arg(value_name = "OPERATION")]
    operation: String,
    #[command(flatten)]
    choice: ResolveChoice,
    #[command(flatten)]
    decision: DecisionArgs,
}

// One of the two has to be said.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct ResolveChoice {
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
    verdict: ReviewChoice,
    #[command(flatten)]
    decision: DecisionArgs,
}

// One of the two has to be said.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct ReviewChoice {
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
    #[command(flatten)]
    form: FormArgs,
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

/// Opens the ledger, applies a decision, and prints the result: `decide` returns it as JSON and as text.
fn decided(
    form: &FormArgs,
    wish: Wish,
    interrupts: Interrupts,
    decide: impl FnOnce(&mut Ledger<'_>, (&Project, &Host)) -> Result<(Value, String), Stop>,
) -> Result<ExitCode, Stop> {
    let host = Host::new(None, None, interrupts);
    let done = form.places.project().and_then(|project| {
        let (mut ledger, _) = project.open(wish, &host)?;
        decide(&mut ledger, (&project, &host))
    });
    let (document, text) = done.map_err(Stop::refused)?;
    Ok(form.printed(&document, || text, 0))
}

impl DecisionArgs {
    /// Applies a decision whose link records its reason. `decide` returns the link, too.
    fn decided(
        &self,
        interrupts: Interrupts,
        decide: impl FnOnce(
            &mut Ledger<'_>,
            (&Project, &Host),
            Option<&str>,
        ) -> Result<(Value, Head, String), Stop>,
    ) -> Result<ExitCode, Stop> {
        decided(&self.form, Wish::Decide, interrupts, |ledger, around| {
            let why = self.message.as_deref();
            let (mut document, link, text) = decide(ledger, around, why)?;
            let linked = json!({"why": why, "link": link.seq, "entry_hash": link.entry_hash});
            if let (Value::Object(document), Value::Object(linked)) = (&mut document, linked) {
                document.extend(linked);
            }
            Ok((document, text))
        })
    }
}

/// Records whether an operation with an unknown outcome happened.
pub(super) fn resolve(args: &ResolveArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let decide = |ledger: &mut Ledger<'_>,
                  (project, host): (&Project, &Host),
                  why: Option<&str>| {
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
        let document = json!({
            "operation_id": case.operation_id, "session_id": case.session_id,
            "task_id": case.task_id, "action": case.action, "happened": args.choice.happened,
            "claimed_at": case.claimed_at, "step_index": resolved.step_index, "by": case.by,
        });
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
        let text = format!("{what}\ndecided by {by}, link {link}\n");
        Ok((document, resolved.link, text))
    };
    args.decision.decided(interrupts, decide)
}

/// Revokes an answer: it is never returned again.
pub(super) fn revoke(args: &RevokeArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let dependants = if args.dependants {
        Dependants::Revoked
    } else {
        Dependants::Listed
    };
    args.decision.decided(interrupts, |ledger, _, why| {
        let revoked = ledger.revoke(args.answer.name(), dependants, why)?;
        let all = |rows: &[Row]| rows.iter().map(document).collect::<Vec<_>>();
        let document = json!({
            "revoked": document(&revoked.row), "along": all(&revoked.along), "left": all(&revoked.left),
            "source": revoked.row.reused_from,
        });
        let mut lines = vec![format!(
            "{} was revoked, link {}. It is never returned again.",
            named(&revoked.row),
            revoked.link.seq
        )];
        lines.extend(revoked.row.reused_from.iter().map(|source| {
            let source = words::line(source);
            format!("It repeated the answer {source}, which is not revoked.")
        }));
        let along = revoked.along.iter();
        lines.extend(along.map(|row| format!("  also revoked: {}", named(row))));
        let left = "Answers that repeated it and are not revoked (--dependants revokes such answers):";
        lines.extend((!revoked.left.is_empty()).then(|| left.to_owned()));
        let left = revoked.left.iter();
        lines.extend(left.map(|row| format!("  {}", named(row))));
        Ok((document, revoked.link, lines.join("\n") + "\n"))
    })
}

/// Closes a grant: no further call is made under it.
pub(super) fn close(args: &CloseArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    args.decision.decided(interrupts, |ledger, _, why| {
        let (grant, link) = ledger.close(&args.operation, why)?;
        let (made, most) = (grant.calls.len(), grant.granted.max_calls);
        let document = json!({"closed": document(&grant.row), "calls": made, "max_calls": most});
        let (what, seq) = (named(&grant.row), link.seq);
        let text =
            format!("The grant of {what} was closed after {made} of {most} calls, link {seq}.\n");
        Ok((document, link, text))
    })
}

pub(super) fn review(args: &ReviewArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let (review, verdict) = if args.verdict.accept {
        (Review::Accept, "accepted")
    } else {
        (Review::Reject, "rejected")
    };
    args.decision.decided(interrupts, |ledger, _, why| {
        let reviewed = ledger.review(args.answer.name(), review, why)?;
        let document = json!({
            "reviewed": document(&reviewed.row), "verdict": verdict, "revoked_by": reviewed.revoked,
        });
        let then = match (review, reviewed.revoked) {
            (_, Some(by)) => format!(" It stays revoked, link {by}."),
            (Review::Accept, None) => String::new(),
            (Review::Reject, None) => {
                " It is not returned again, unless a later review accepts it.".to_owned()
            }
        };
        let (named, seq) = (named(&reviewed.row), reviewed.link.seq);
        let text = format!("{named} was {verdict}, link {seq}.{then}\n");
        Ok((document, reviewed.link, text))
    })
}

pub(super) fn prune(args: &PruneArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let (mode, open, were) = if args.dry_run {
        (PruneWish::DryRun, Wish::Read, "would be pruned")
    } else {
        (PruneWish::Prune, Wish::Decide, "pruned")
    };
    decided(&args.form, open, interrupts, |ledger, _| {
        let pruned = ledger.prune(args.older, mode)?;
        let document = json!({
            "dry_run": args.dry_run, "rows": pruned.rows, "bytes": pruned.bytes,
            "kept": pruned.kept, "changed": pruned.changed, "links": pruned.links,
        });
        let but = |count: u64, why: &str| match count {
            0 => String::new(),
            count => format!("; {} kept {why}", grouped(count)),
        };
        let text = format!(
            "{} answers {were}, {} bytes{}{}\n",
            grouped(pruned.rows),
            grouped(pruned.bytes),
            but(
                pruned.kept,
                "(open, awaiting review, or recorded in the last day)"
            ),
            but(
                pruned.changed,
                "as evidence, because they differ from their links (see `oneact verify`)"
            ),
        );
        Ok((document, text))
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
    let span: Option<Span> = text.parse().ok();
    let age = span.and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()).ok());
    let age = age.and_then(|age| Duration::try_from(age).ok());
    age.filter(|age| !age.is_zero())
        .ok_or_else(|| "give a number with a unit (s, m, h, d or w), e.g. 90d".to_owned())
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
            "1y",
            "99999999999999999999d",
            "18446744073709551615w",
        ] {
            assert!(age(text).is_err(), "{text}");
        }
    }
}
