//! Whether what a run needs is there: the catalog, the places it writes to, and every tool server,
//! started for real. Never calls a tool, and leaves no process behind.
//!
//! Facts go in, findings come out; the words for them are in `words`, their look is `cli`'s matter.

mod command;
mod fact;
mod places;
mod server;
mod tool;
mod words;

use camino::Utf8PathBuf;

use crate::{
    assets::Staging,
    catalog::{About, Catalog, Checked, check},
    host::{Host, Interrupt},
    task::{OperationId, Secrets},
};

pub(crate) use self::{
    fact::{Fact, Finding, Level, Subject},
    server::{ServerFacts, ToolFacts},
};

/// What is to be examined.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) root: Utf8PathBuf,
    pub(crate) catalog: Utf8PathBuf,
    pub(crate) state_dir: Utf8PathBuf,
    /// What runs record in, or why they cannot; none where there is nothing yet.
    pub(crate) ledger: Result<Option<String>, String>,
    /// Only these; empty for all there are.
    pub(crate) capabilities: Vec<String>,
}

/// What has been found.
#[derive(Debug, Default)]
pub(crate) struct Diagnosis {
    pub(crate) findings: Vec<Finding>,
    /// What was asked about.
    capabilities: Vec<Capability>,
    /// The servers that were started.
    pub(crate) servers: Vec<ServerFacts>,
    /// The signal that ended the examination early.
    pub(crate) interrupted: Option<Interrupt>,
}

#[derive(Debug)]
struct Capability {
    id: String,
    /// None where its entry is of no use, or it needs none.
    server: Option<String>,
}

/// Takes each finding as soon as it is made.
pub(crate) type Watch<'a> = &'a mut dyn FnMut(&Finding);

/// Examines everything, one thing after the other.
pub(crate) fn examine(setup: &Setup, host: &Host, watch: Watch<'_>) -> Diagnosis {
    let mut doctor = Doctor {
        setup,
        host,
        watch,
        secrets: Secrets::default(),
        diagnosis: Diagnosis::default(),
    };
    let checked = doctor.catalog();
    doctor.ledger();
    doctor.store(checked.storage.as_deref());
    if let Some(scratch) = doctor.scratch() {
        doctor.servers(&checked, &scratch);
    }
    doctor.diagnosis
}

/// The examination under way.
struct Doctor<'a> {
    setup: &'a Setup,
    host: &'a Host,
    watch: Watch<'a>,
    /// What the server that is examined was given.
    secrets: Secrets,
    diagnosis: Diagnosis,
}

impl Doctor<'_> {
    /// Notes a finding.
    fn note(&mut self, subject: Subject, fact: Fact) {
        let secrets = self.secrets.clone();
        let finding = Finding {
            subject,
            fact,
            secrets,
        };
        (self.watch)(&finding);
        self.diagnosis.findings.push(finding);
    }

    /// Reads all of the catalog; what cannot be used of it is left out.
    fn catalog(&mut self) -> Checked {
        let path = &self.setup.catalog;
        let loaded = Catalog::load(path);
        let checked = match &loaded {
            Ok(catalog) => catalog
                .tables()
                .map(|tables| check(&tables, &self.setup.capabilities)),
            Err(_) => Ok(Checked::default()),
        };
        let broken = loaded.as_ref().err().or(checked.as_ref().err());
        if let Some(error) = broken {
            self.note(Subject::Catalog, Fact::CatalogUnusable(error.to_string()));
            return Checked::default();
        }
        let checked = checked.unwrap_or_default();
        self.diagnosis.capabilities = named(&checked);
        if checked.problems.is_empty() {
            let fact = Fact::CatalogGood {
                path: path.clone(),
                capabilities: checked.capabilities.len() + checked.plans.len(),
                servers: checked.servers.len(),
            };
            self.note(Subject::Catalog, fact);
        }
        for problem in &checked.problems {
            let text = problem.text.clone();
            let (subject, fact) = match &problem.about {
                About::File => (Subject::Catalog, Fact::EntryUnusable(text)),
                About::Server(name) => (Subject::Server(name.clone()), Fact::EntryUnusable(text)),
                About::Capability(id) => {
                    (Subject::Capability(id.clone()), Fact::EntryUnusable(text))
                }
                About::Nothing(id) => (
                    Subject::Capability(id.clone()),
                    Fact::CapabilityUnknown(text),
                ),
            };
            self.note(subject, fact);
        }
        checked
    }

    /// What was seen of the ledger. Where it is, the catalog says: beside a broken one nobody knows.
    fn ledger(&mut self) {
        let unknown = |finding: &Finding| matches!(finding.fact, Fact::CatalogUnusable(_));
        let fact = match &self.setup.ledger {
            Ok(None) => return,
            Err(_) if self.diagnosis.findings.iter().any(unknown) => return,
            Ok(Some(place)) => Fact::LedgerGood {
                place: place.clone(),
            },
            Err(why) => Fact::LedgerUnusable(why.clone()),
        };
        self.note(Subject::Ledger, fact);
    }

    /// Starts every server that a capability uses.
    fn servers(&mut self, checked: &Checked, scratch: &Staging) {
        for server in &checked.servers {
            let users: Vec<_> = checked
                .capabilities
                .iter()
                .filter(|entry| entry.server == server.name)
                .collect();
            self.server(server, &users, scratch.dir());
            self.diagnosis.interrupted = self.host.interrupts().caught();
            if self.diagnosis.interrupted.is_some() {
                return;
            }
        }
    }

    fn operation(&self) -> OperationId {
        OperationId::new(self.host.timestamp(), self.host.random_bytes())
    }
}

/// All capabilities, those with a broken entry last.
fn named(checked: &Checked) -> Vec<Capability> {
    let good = checked.capabilities.iter().map(|entry| Capability {
        id: entry.id.clone(),
        server: Some(entry.server.clone()),
    });
    let plans = checked.plans.iter().map(|plan| Capability {
        id: plan.id.clone(),
        server: None,
    });
    let mut all: Vec<Capability> = good.chain(plans).collect();
    for problem in &checked.problems {
        let (About::Capability(id) | About::Nothing(id)) = &problem.about else {
            continue;
        };
        if !all.iter().any(|known| known.id == *id) {
            all.push(Capability {
                id: id.clone(),
                server: None,
            });
        }
    }
    all
}

impl Diagnosis {
    /// How many capabilities were asked about.
    pub(crate) fn capabilities(&self) -> usize {
        self.capabilities.len()
    }

    /// The ids of those whose tasks are bound to fail.
    pub(crate) fn not_ready(&self) -> Vec<&str> {
        let problems = self.findings.iter();
        let problems = problems.filter(|finding| finding.fact.level() == Level::Problem);
        let problems: Vec<&Subject> = problems.map(|finding| &finding.subject).collect();
        let hit = |capability: &&Capability| {
            problems.iter().any(|subject| match subject {
                Subject::Catalog | Subject::Ledger | Subject::Store | Subject::Scratch => true,
                Subject::Server(name) => capability.server.as_ref() == Some(name),
                Subject::Capability(id) => capability.id == *id,
            })
        };
        let hit = self.capabilities.iter().filter(hit);
        hit.map(|capability| capability.id.as_str()).collect()
    }

    /// How many findings are of this level.
    pub(crate) fn count(&self, level: Level) -> usize {
        let same = self.findings.iter();
        same.filter(|finding| finding.fact.level() == level).count()
    }
}
