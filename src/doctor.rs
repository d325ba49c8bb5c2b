//! Checks that everything a run needs is there: the catalog, the places that runs write to, and every tool server,
//! which is started. No tool is called, and no process is left behind.
//!
//! `cli` prints the findings. `ask` and `listing` ask one server for its tools, for `oneact call` and `oneact import`.

mod ask;
mod duckdb;
mod finding;
mod listing;
mod pipeline;
mod server;
#[cfg(test)]
mod tests;
mod tool;

use serde_json::Value;

use crate::{
    assets::{Conditions, Probed, Staging, Store, StoreError, reach},
    catalog::{self, Catalog, Checked, Storage, check},
    executor::{can_change, can_report, lacks, warm_servers},
    host::{Host, Interrupt},
    record::Project,
    task::{OperationId, Pin, Secrets},
};

pub(crate) use ask::input_schema;
use finding::{About, FindingKind, Subject, count};
pub(crate) use finding::{Finding, Level};
pub(crate) use listing::{Listing, list_tools, unnamed};

/// The free bytes in the asset store below which the doctor warns: about two videos.
const NEARLY_FULL: u64 = 256 * 1024 * 1024;

/// The mode of the state directory: only its owner has access, because tools may write anything there.
const PRIVATE: u32 = 0o700;

#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) project: Project,
    /// The ids to examine; empty for all capabilities.
    pub(crate) capabilities: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Diagnosis {
    pub(crate) findings: Vec<Finding>,
    pub(crate) capabilities: Vec<Capability>,
    /// The servers that were started, described by `schemas/doctor.schema.json`.
    pub(crate) servers: Vec<Value>,
    pub(crate) pins: Vec<NewPin>,
    /// The signal that ended the examination early.
    pub(crate) interrupted: Option<Interrupt>,
}

/// The pin of a tool whose entry does not have it.
#[derive(Debug)]
pub(crate) struct NewPin {
    /// The id of the entry.
    pub(crate) id: String,
    pub(crate) pin: Pin,
    /// The pin that the entry has instead.
    pub(crate) replaces: Option<Pin>,
}

#[derive(Debug)]
pub(crate) struct Capability {
    id: String,
    /// None if the entry is unusable, or the capability needs no server.
    server: Option<String>,
}

/// Called with each finding as soon as it is made.
pub(crate) type Watch<'a> = &'a mut dyn FnMut(&Finding);

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
    doctor.sign_key();
    doctor.reviews(&checked);
    doctor.plans();
    checked
        .pipelines
        .iter()
        .for_each(|pipeline| doctor.pipeline(pipeline));
    doctor.engine(&checked.duckdb.clone().unwrap_or_default());
    doctor.store(checked.storage.as_ref());
    doctor.warm();
    if let Some(scratch) = doctor.scratch() {
        doctor.servers(&checked, &scratch);
    }
    doctor.diagnosis
}

struct Doctor<'a> {
    setup: &'a Setup,
    host: &'a Host,
    watch: Watch<'a>,
    /// The secrets that were passed to the server under examination.
    secrets: Secrets,
    diagnosis: Diagnosis,
}

impl Doctor<'_> {
    /// Reports a finding, without secrets.
    fn note(&mut self, finding: Finding) {
        let finding = finding.without(&self.secrets);
        (self.watch)(&finding);
        self.diagnosis.findings.push(finding);
    }

    /// Reads the whole catalog, and leaves out its unusable entries.
    fn catalog(&mut self) -> Checked {
        let path = &self.setup.project.catalog;
        let about = Subject::of(About::Catalog);
        let checked = Catalog::load(path)
            .and_then(|catalog| Ok(check(&catalog.tables()?, &self.setup.capabilities)));
        let checked = match checked {
            Ok(checked) => checked,
            Err(error) => {
                self.note(about.problem(
                    FindingKind::CatalogUnusable,
                    error.to_string(),
                    "`oneact init` writes a starter catalog if there is none; docs/catalog.md describes every key",
                ));
                return Checked::default();
            }
        };
        self.diagnosis.capabilities = named(&checked);
        if checked.problems.is_empty() {
            let capabilities = checked.capabilities.len() + checked.plans.len();
            let what = format!(
                "{path} is valid: {}, {}",
                count(capabilities, "capability", "capabilities"),
                count(checked.servers.len(), "server", "servers")
            );
            self.note(about.good(FindingKind::CatalogGood, what));
        }
        for problem in &checked.problems {
            let (unusable, unknown) = (FindingKind::EntryUnusable, FindingKind::CapabilityUnknown);
            let (subject, kind, remedy) = match &problem.about {
                catalog::About::File => (about.clone(), unusable, CORRECT),
                catalog::About::Server(name) => {
                    (Subject::named(About::Server, name), unusable, CORRECT)
                }
                catalog::About::Pipeline(name) => {
                    (Subject::named(About::Pipeline, name), unusable, OF_PLANS)
                }
                catalog::About::Capability(id) => {
                    (Subject::named(About::Capability, id), unusable, CORRECT)
                }
                catalog::About::Nothing(id) => {
                    (Subject::named(About::Capability, id), unknown, NO_SUCH_ID)
                }
            };
            self.note(subject.problem(kind, &problem.text, remedy));
        }
        checked
    }

    /// Checks the ledger. If it fails and the catalog is unusable, nothing is reported, because the catalog may
    /// name another ledger.
    fn ledger(&mut self) {
        let about = Subject::of(About::Ledger);
        let unknown = |finding: &Finding| finding.kind == FindingKind::CatalogUnusable;
        let finding = match self.setup.project.recordable(self.host) {
            Ok(None) => return,
            Err(_) if self.diagnosis.findings.iter().any(unknown) => return,
            Ok(Some(place)) => {
                let what =
                    format!("{place} can be read and written; `oneact verify` checks its records");
                about.good(FindingKind::LedgerGood, what)
            }
            Err(why) => about.problem(
                FindingKind::LedgerUnusable,
                why,
                "correct this problem, or name another ledger with `[ledger] uri` or $ONEACT_LEDGER; until then, requests with effects are refused",
            ),
        };
        self.note(finding);
    }

    /// Checks the key that signs the head of the ledger. Runs succeed without it.
    fn sign_key(&mut self) {
        if let Err(error) = self.setup.project.can_sign() {
            self.note(Subject::of(About::Ledger).warning(
                FindingKind::SignKeyUnusable,
                error.to_string(),
                "correct `[ledger] sign_key`; until then, no run updates the head of the ledger, and `oneact verify` does not find out whether its end was cut off",
            ));
        }
    }

    /// Checks the places in which every file plan writes.
    fn plans(&mut self) {
        let (about, root) = (Subject::of(About::Plans), &self.setup.project.root);
        if let Err(failure) = can_report(root) {
            self.note(about.problem(
                FindingKind::PlansUnusable,
                format!("{root}: {}", failure.message),
                "make it a directory that your user can write to; until then, file plans are refused",
            ));
        } else if let Err(failure) = can_change(root) {
            self.note(about.warning(
                FindingKind::RootUnwritable,
                format!("{root}: {}", failure.message),
                "make the root writable for your user; until then, file plans can change only files in subdirectories",
            ));
        } else if let Some(lacks) = lacks(root).ok().filter(|lacks| !lacks.is_empty()) {
            let limited = about.warning(
                FindingKind::PlansLimited,
                format!("{root}: its file system lacks something that file plans use"),
                "no action is needed if you accept this; otherwise, use a root on ext4, XFS, Btrfs or tmpfs",
            );
            self.note(limited.with(lacks.iter().map(ToString::to_string).collect()));
        }
    }

    /// Reports entries whose results a person must review, although no ledger records them.
    fn reviews(&mut self, checked: &Checked) {
        let tools = checked.capabilities.iter();
        let tools = tools.map(|entry| (&entry.id, entry.review));
        let plans = checked.plans.iter().map(|plan| (&plan.id, plan.review));
        let reviewed = tools.chain(plans).filter(|(_, review)| review.is_some());
        if !self.setup.project.records_nothing() {
            return;
        }
        for (id, _) in reviewed {
            self.note(Subject::named(About::Capability, id).problem(
                FindingKind::ReviewUnrecorded,
                "a person must review its results, but no ledger records them",
                "name a ledger with `[ledger] uri` or $ONEACT_LEDGER, or remove `requires_post_review`; until then, its tasks are refused",
            ));
        }
    }

    /// Checks the asset store: a directory, or a bucket, in which an object is made and removed. `storage` is none if the
    /// catalog could not be read.
    fn store(&mut self, storage: Option<&Storage>) {
        let Some(storage) = storage else {
            return;
        };
        let about = Subject::of(About::Storage);
        let project = &self.setup.project;
        let operation = OperationId::new(self.host.timestamp(), self.host.random_bytes());
        let go_on = || self.host.interrupts().caught().is_none();
        let store = Store::open(storage, &project.root, &project.state_dir);
        let probed = store.and_then(|store| Ok((store.probe(operation.as_str(), &go_on)?, store)));
        self.note(match probed {
            Err(error @ StoreError::Object(_)) => about.problem(
                FindingKind::StoreUnusable,
                error.to_string(),
                "check `[storage]`: the name of the bucket, its endpoint and region; and the credentials, which come from the \
                 environment or the profile that `[storage] profile` names",
            ),
            Err(error) => about.problem(
                FindingKind::StoreUnusable,
                error.to_string(),
                "make the directory writable for your user, or name another directory with `[storage] uri`",
            ),
            Ok((Probed::Bucket { uri, conditions }, _)) => match conditions {
                Conditions::Honoured => {
                    let what = format!("{uri} can be written to, and never overwrites an object of another program");
                    about.good(FindingKind::StoreGood, what)
                }
                Conditions::Ignored => about.warning(
                    FindingKind::StoreUnconditional,
                    format!("{uri} can be written to, but its server ignores the condition that no object is there"),
                    "let no other program write below this prefix; two programs that write the same object at the same time \
                     would not be noticed",
                ),
            },
            Ok((Probed::Directory(room), _)) if room.free_bytes < NEARLY_FULL => about.warning(
                FindingKind::StoreNearlyFull,
                format!("{} has only {} left", room.tried, mebibytes(room.free_bytes)),
                "free some space, or name another directory with `[storage] uri`",
            ),
            Ok((Probed::Directory(room), store)) => {
                let dir = store.dir().unwrap_or(&room.tried);
                let free = mebibytes(room.free_bytes);
                let what = format!("{dir} can be written to; {free} are free");
                about.good(FindingKind::StoreGood, what)
            }
        });
    }

    /// Checks the state directory: looks for directories of killed runs, then opens a scratch directory as a run
    /// does.
    fn scratch(&mut self) -> Option<Staging> {
        let dir = &self.setup.project.state_dir;
        let about = Subject::of(About::Scratch);
        let left_over = Staging::left_over(dir);
        let operation = OperationId::new(self.host.timestamp(), self.host.random_bytes());
        let opened = left_over.and_then(|dirs| {
            let scratch = Staging::open(dir, operation.as_str())?;
            Ok((dirs, scratch, reach::mode(dir)?))
        });
        let (dirs, scratch, mode) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.note(about.problem(
                    FindingKind::ScratchUnusable,
                    error.to_string(),
                    "make it a directory that your user owns, or name another directory with $ONEACT_STATE_DIR; without it, no server can be started",
                ));
                return None;
            }
        };
        self.note(if mode & !PRIVATE == 0 {
            let what = format!("{dir} can be written to by its owner only");
            about.good(FindingKind::ScratchGood, what)
        } else {
            let what = format!(
                "{dir} has mode {mode:04o}: other users may be able to read the files of a run"
            );
            about.warning(FindingKind::ScratchOpen, what, format!("chmod 700 '{dir}'"))
        });
        if !dirs.is_empty() {
            let what = format!(
                "{} left by killed runs",
                count(dirs.len(), "directory", "directories")
            );
            let remedy = "no action is needed: every run removes them, and so does this check";
            let finding = about.warning(FindingKind::ScratchLeftOver, what, remedy);
            self.note(finding.with(dirs.iter().map(ToString::to_string).collect()));
        }
        Some(scratch)
    }

    /// Reports the servers that are kept between runs. They are only listed: a server that is examined is started anew.
    fn warm(&mut self) {
        let servers = warm_servers(&self.setup.project.state_dir);
        for server in servers.unwrap_or_default() {
            let (pid, uses) = (server.pid, server.uses);
            let now = server.idle.map_or("in a call", |_| "idle");
            self.note(Subject::named(About::Server, &server.name).good(
                FindingKind::ServerWarm,
                format!(
                    "it is kept between runs: process {pid}, {}, {now}; `oneact warm stop` ends it",
                    count(usize::try_from(uses).unwrap_or(usize::MAX), "run", "runs")
                ),
            ));
        }
    }

    /// Starts every server: of the whole catalog, or those that the requested capabilities use.
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
}

/// All capabilities, those with a broken entry last.
fn named(checked: &Checked) -> Vec<Capability> {
    let capability = |id: &String, server: Option<&String>| Capability {
        id: id.clone(),
        server: server.cloned(),
    };
    let good = checked.capabilities.iter();
    let good = good.map(|entry| capability(&entry.id, Some(&entry.server)));
    let plans = checked.plans.iter().map(|plan| capability(&plan.id, None));
    let mut all: Vec<Capability> = good.chain(plans).collect();
    for problem in &checked.problems {
        if let catalog::About::Capability(id) | catalog::About::Nothing(id) = &problem.about
            && !all.iter().any(|known| known.id == *id)
        {
            all.push(capability(id, None));
        }
    }
    all
}

impl Diagnosis {
    /// The ids of the capabilities whose tasks cannot succeed.
    pub(crate) fn not_ready(&self) -> Vec<&str> {
        let problems = self.findings.iter();
        let problems = problems.filter(|finding| finding.level == Level::Problem);
        let problems: Vec<&Subject> = problems.map(|finding| &finding.subject).collect();
        let hit = |capability: &&Capability| {
            problems.iter().any(|subject| match subject.kind {
                About::Catalog | About::Ledger | About::Storage | About::Scratch => true,
                // Only plans need no server.
                About::Plans | About::Pipeline => capability.server.is_none(),
                // A plan without SQL does not need it.
                About::Duckdb => false,
                About::Server => capability.server == subject.name,
                About::Capability => Some(&capability.id) == subject.name.as_ref(),
            })
        };
        let hit = self.capabilities.iter().filter(hit);
        hit.map(|capability| capability.id.as_str()).collect()
    }

    pub(crate) fn count(&self, level: Level) -> usize {
        let same = self.findings.iter();
        same.filter(|finding| finding.level == level).count()
    }
}

/// The remedy for an unusable entry.
const CORRECT: &str = "correct the entry; tasks that do not use it can still be performed";
const OF_PLANS: &str = "correct the entry; until then, file plans are refused";
const NO_SUCH_ID: &str = "correct the id on the command line, or add the capability to the catalog";

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}
