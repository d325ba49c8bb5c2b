//! Reads and compiles one entry. Every error of an entry is found here, with its line.

use super::{
    common::{Access, Common},
    file_plan::{self, FilePlan, ROLLBACK},
    tool::{self, Entry},
    workflow::{self, Workflow},
};
use crate::{
    catalog::file::{
        code::Code,
        cut::CAPABILITY,
        document::{CatalogError, Named, Tables},
    },
    task::{
        ApprovalRule, Backup, Contexts, Effects, Hazards, ProposalKind, ReviewRule, assess, nearest,
    },
};

/// A capability that can be performed, by the kind of its executor.
#[derive(Debug)]
pub(crate) enum Capability {
    Tool(Box<Entry>),
    FilePlan(Box<FilePlan>),
    Workflow(Box<Workflow>),
}

/// An entry as the gate sees it.
#[derive(Debug)]
pub(crate) struct Gated<'a> {
    pub(crate) id: &'a str,
    pub(crate) available_in: &'a Contexts,
    pub(crate) hazards: Hazards,
    pub(crate) approval: &'a ApprovalRule,
}

impl Gated<'_> {
    /// Whether a call waits for an approval at the risk of the entry.
    pub(crate) fn waits(&self) -> bool {
        self.approval.when.holds(assess(&self.hazards).risk)
    }
}

impl Capability {
    /// The keys that entries of every kind can have.
    pub(crate) fn common(&self) -> &Common {
        match self {
            Self::Tool(entry) => &entry.common,
            Self::FilePlan(entry) => &entry.common,
            Self::Workflow(workflow) => &workflow.common,
        }
    }

    /// What the gate asks about: the entry; of a workflow, each of its steps and what it declares itself.
    pub(crate) fn gated(&self) -> Vec<Gated<'_>> {
        match self {
            Self::Tool(entry) => vec![entry.gated()],
            Self::FilePlan(entry) => vec![entry.gated()],
            Self::Workflow(workflow) => {
                let steps = workflow.steps.iter();
                let mut steps: Vec<_> = steps.map(|step| step.entry.gated()).collect();
                let effects = Effects::worst(steps.iter().map(|step| step.hazards.effects));
                let own = steps.first().map(|first| Gated {
                    id: &workflow.id,
                    available_in: workflow
                        .common
                        .available_in
                        .as_ref()
                        .unwrap_or(first.available_in),
                    hazards: workflow.hazards(effects),
                    approval: first.approval,
                });
                steps.extend(own);
                steps
            }
        }
    }

    /// The approval rule of the entry; of a workflow, the first of its steps that waits at its risk.
    pub(crate) fn approval(&self) -> ApprovalRule {
        let gated = self.gated();
        let rule = gated.iter().find(|gated| gated.waits()).or(gated.first());
        rule.map(|gated| gated.approval.clone()).unwrap_or_default()
    }

    /// How a result of each of its calls is reviewed.
    pub(crate) fn reviews(&self) -> Vec<ReviewRule> {
        match self {
            Self::Tool(entry) => entry.review.into_iter().collect(),
            Self::FilePlan(entry) => entry.review.into_iter().collect(),
            Self::Workflow(workflow) => {
                let steps = workflow.steps.iter();
                steps.filter_map(|step| step.entry.review).collect()
            }
        }
    }

    /// The entry as a grant contains it, and its seal. A grant contains no workflow.
    pub(crate) fn granted(&self) -> Option<(Gated<'_>, String)> {
        match self {
            Self::Tool(entry) => Some((entry.gated(), entry.access.seal())),
            Self::FilePlan(entry) => Some((entry.gated(), entry.access.seal())),
            Self::Workflow(_) => None,
        }
    }
}

impl Access {
    fn gated<'a>(&'a self, id: &'a str, hazards: Hazards) -> Gated<'a> {
        Gated {
            id,
            available_in: &self.available_in,
            hazards,
            approval: &self.approval,
        }
    }
}

impl Entry {
    pub(crate) fn gated(&self) -> Gated<'_> {
        self.access.gated(&self.id, self.risk_rule().hazards)
    }
}

impl FilePlan {
    pub(crate) fn gated(&self) -> Gated<'_> {
        let hazards = Hazards {
            effects: Self::EFFECTS,
            amplifiers: self.access.amplifiers.clone(),
            backup: Backup::Kept,
        };
        self.access.gated(&self.id, hazards)
    }
}

/// The ids by which the ledger names what is no entry.
pub(crate) const TAKEN: [&str; 4] = [
    ProposalKind::Improvised.name(),
    ProposalKind::Suggestion.name(),
    ProposalKind::Clarification.name(),
    ROLLBACK,
];

/// Fails if the ledger would name something else by the id of the entry. It writes a `+` between the ids of several
/// entries.
fn is_free(named: &Named<'_>) -> Result<(), CatalogError> {
    if TAKEN.contains(&named.name) || named.name.contains('+') {
        let problem =
            "has an id by which the ledger names something else; choose another one without `+`";
        return Err(named.wrong(problem).coded(Code::CAT002));
    }
    Ok(())
}

/// Reads and compiles one entry; `None` if the catalog has no such id.
pub(crate) fn compile(tables: &Tables<'_>, id: &str) -> Result<Option<Capability>, CatalogError> {
    let Some(named) = tables.named("workflow", id)? else {
        return capability(tables, id);
    };
    is_free(&named)?;
    if tables.names(CAPABILITY)?.contains(&id) {
        return Err(named
            .wrong("has the id of a capability; rename one")
            .coded(Code::CAT003));
    }
    let runs = |id: &str| {
        Ok(match capability(tables, id)? {
            Some(Capability::Tool(entry)) => Ok(*entry),
            Some(_) => Err("which applies file plans; a step calls a tool".to_owned()),
            None if tables.names("workflow")?.contains(&id) => {
                Err("which is a workflow; a step cannot be one, so list its steps".to_owned())
            }
            None => Err(match nearest(id, tables.names(CAPABILITY)?) {
                Some(near) => format!("which is no capability; did you mean {near}?"),
                None => "which is no capability of the catalog".to_owned(),
            }),
        })
    };
    let workflow = workflow::read(&named, &runs)?;
    Ok(Some(Capability::Workflow(Box::new(workflow))))
}

fn capability(tables: &Tables<'_>, id: &str) -> Result<Option<Capability>, CatalogError> {
    let Some(named) = tables.named(CAPABILITY, id)? else {
        return Ok(None);
    };
    is_free(&named)?;
    Ok(Some(if named.has("file_plan") {
        Capability::FilePlan(Box::new(file_plan::read(&named)?))
    } else {
        Capability::Tool(Box::new(tool::read(&named)?))
    }))
}
