//! The proposals that call nothing by themselves (003, "The four kinds"): an improvised action that asks for a grant
//! (R-003-06 … R-003-08), and those that are answered and never performed. No rule of the catalog applies to the latter.

use crate::{
    catalog::{Capability, Catalog, enough_for, look_up, must_not_be, server_of},
    envelope::Received,
    executor::{self, GrantWork, Rejection, Work},
    host::Host,
    record::{Project, RunLedger},
    task::{
        ApprovalRule, Clarification, Failure, Fault, Grant, Improvised, Outcome, Phase, Secrets,
        State, Suggestion, Waiting, When, assess, cut_links, decided,
    },
};

use super::{Passed, Settings, only_of_plans};

/// A request for a grant. Its policy is that of all its entries.
pub(super) fn prepare<'h>(
    proposal: &Improvised,
    received: &Received,
    settings: &'h Settings,
    host: &'h Host,
) -> Result<(Work, RunLedger<'h>), Rejection> {
    only_of_plans(settings)?;
    let granted = || {
        let catalog = Catalog::load(&settings.project.catalog)?;
        let tables = catalog.tables()?;
        must_not_be(&tables, proposal.name.as_deref())?;
        let grant = &proposal.grant;
        let entries = grant.entries.iter().map(|id| look_up(&tables, id));
        let entries: Vec<Capability> = entries.collect::<Result<_, _>>()?;
        let handed_on = entries.iter().filter_map(|entry| match entry {
            Capability::Tool(entry) => server_of(&tables, entry).ok(),
            Capability::FilePlan(_) | Capability::Workflow(_) => None,
        });
        let handed_on: Vec<Secrets> = handed_on
            .map(|server| executor::handed_on(&server))
            .collect();
        let named = entries.iter().zip(&grant.entries);
        let granted = named.map(|(entry, id)| entry.granted().ok_or_else(|| workflow(id)));
        let (gated, seals): (Vec<_>, Vec<_>) =
            granted.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        let rules = gated.iter().map(|gated| ApprovalRule {
            when: When::Always,
            ..gated.approval.clone()
        });
        let rules = rules.collect();
        let risks = gated
            .iter()
            .map(|gated| (gated.id.to_owned(), assess(&gated.hazards).risk));
        let apart = risks
            .filter(|(_, risk)| *risk >= Grant::NOT_COVERED)
            .collect();
        let entries = (gated.into_iter(), rules);
        let passed = Passed::admitted(settings, Some(&tables), entries, proposal.stated)?;
        let ledger = passed.ledger(settings, Some(&tables), received, host)?;
        let work = GrantWork {
            summary: proposal.summary.clone(),
            entries: grant.entries.iter().cloned().zip(seals).collect(),
            max_calls: grant.max_calls,
            lasts: grant.lasts,
            apart,
            salt: proposal.salt.clone(),
            secrets: Secrets::all(handed_on),
        };
        Ok::<_, Failure>((Work::Grant(Box::new(work)), ledger))
    };
    granted().map_err(Rejection::at(Phase::Catalog))
}

fn workflow(id: &str) -> Failure {
    let message = format!(
        "`grant.entries` names {id}, which is a workflow; name the capabilities that it runs"
    );
    Failure::new(Fault::KindRule, message)
}

/// The card of a suggestion (R-003-12, R-003-13).
pub(super) fn suggestion(card: &Suggestion) -> Outcome {
    let mut card = card.clone();
    let texts = [&mut card.title, &mut card.summary, &mut card.rationale];
    texts.into_iter().flatten().for_each(cut_links);
    Outcome {
        suggestion: Some(card),
        reasoning: vec![decided(
            "The suggestion is a card for the user; a suggestion is never performed.".to_owned(),
        )],
        ..Outcome::nothing_done(State::Advised, Phase::Complete, None)
    }
}

/// The answer to a clarification (R-003-18 … R-003-20). It needs no catalog: without one, only the hint is missing.
pub(super) fn clarification(question: &Clarification, project: &Project) -> Outcome {
    let mut blocked_on = question.blocked_on.clone();
    blocked_on.iter_mut().for_each(cut_links);
    let first: String = blocked_on
        .first()
        .map_or("", String::as_str)
        .chars()
        .take(LONGEST)
        .collect();
    let message = format!(
        "nothing was performed, because information is missing (`waiting.blocked_on`): {first}"
    );
    Outcome {
        waiting: Some(Waiting::Clarification {
            blocked_on,
            resume: "Find out what `blocked_on` names, then send a new task with it, in which `clarifies` is the \
                     `operation_id` of this answer.",
        }),
        notes: hint(question, project).into_iter().collect(),
        ..Outcome::nothing_done(
            State::Pending,
            Phase::Read,
            Some(Failure::new(Fault::ClarificationRequired, message)),
        )
    }
}

/// The longest text in a message, in characters.
const LONGEST: usize = 200;

/// Names the action for which the texts of the clarification are enough (R-003-21).
fn hint(question: &Clarification, project: &Project) -> Option<String> {
    let catalog = Catalog::load(&project.catalog).ok()?;
    let action = enough_for(&catalog.tables().ok()?, &question.texts).ok()??;
    Some(decided(format!(
        "The text of the clarification is enough for the standard action {action}; it could be sent as kind `standard`."
    )))
}
