//! Compiles the whole catalog, and collects what can be used and all errors.
//!
//! A run compiles only what its task names, and stops at the first error. A person who repairs a catalog
//! needs all errors at once.

use std::collections::HashSet;

use crate::{
    catalog::{
        entry::{
            common::Defaults,
            compile::{Capability, compile},
            file_plan::FilePlan,
            pipeline::{self, PIPELINE},
            schema::Schema,
            server::{self, Server},
            tool::Entry,
        },
        file::{
            code::{Code, Wrong},
            document::Tables,
            settings::{Storage, approval_settings, duckdb, ledger_rule, profile, storage},
        },
        job::look_up,
    },
    task::{DuckDb, Failure, Fault, Pipeline},
};

#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) capabilities: Vec<Entry>,
    pub(crate) plans: Vec<FilePlan>,
    /// The servers that can be read, in the order of the file: all of them, or those that a requested capability uses.
    pub(crate) servers: Vec<Server>,
    /// The pipelines that can be read.
    pub(crate) pipelines: Vec<Pipeline>,
    /// `[storage]`, or its defaults; `None` if the value cannot be read.
    pub(crate) storage: Option<Storage>,
    /// `[duckdb]`, or its defaults; `None` if it cannot be read.
    pub(crate) duckdb: Option<DuckDb>,
    pub(crate) problems: Vec<Problem>,
    told: HashSet<(About, String)>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) about: About,
    /// The place in the file, and what is wrong there.
    pub(crate) text: String,
    pub(crate) wrong: Wrong,
}

impl From<Failure> for Wrong {
    fn from(failure: Failure) -> Self {
        let code = match failure.fault {
            Fault::MisroutedSynthesis => Code::CAT090,
            _ => Code::default(),
        };
        Self::nowhere(code, failure.message)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum About {
    File,
    Capability(String),
    Server(String),
    Pipeline(String),
    /// A requested capability that does not exist.
    Nothing(String),
}

/// Compiles these capabilities with their servers; without names, all capabilities.
pub(crate) fn check(tables: &Tables<'_>, names: &[String]) -> Checked {
    let mut checked = Checked::default();
    checked.storage = checked.keep(About::File, storage(tables));
    checked.duckdb = checked.keep(About::File, duckdb(tables));
    checked.keep(About::File, Defaults::of(tables));
    checked.keep(About::File, approval_settings(tables));
    checked.keep(About::File, ledger_rule(tables));
    for name in checked.names(tables, "profile") {
        checked.keep(About::File, profile(tables, &name));
    }
    for name in checked.names(tables, PIPELINE) {
        let read = pipeline::named(tables, &name).and_then(|found| match found {
            Some(found) => pipeline::check(tables, &found).map(|()| Some(found)),
            None => Ok(None),
        });
        let read = checked.keep(About::Pipeline(name), read);
        checked.pipelines.extend(read.flatten());
    }
    let mut all = checked.names(tables, "capability");
    all.extend(checked.names(tables, "workflow"));
    let wanted = if names.is_empty() { &all } else { names };
    let all: HashSet<&String> = all.iter().collect();
    for id in wanted {
        let about = if all.contains(id) {
            About::Capability(id.clone())
        } else {
            About::Nothing(id.clone())
        };
        checked.capability(tables, id, &about);
    }
    let servers = checked.names(tables, "server");
    let capabilities = checked.capabilities.iter();
    let named: HashSet<String> = capabilities.map(|entry| entry.server.clone()).collect();
    for name in &servers {
        let used = named.contains(name);
        if used || names.is_empty() {
            let server = server::named(tables, name);
            let server = checked.keep(About::Server(name.clone()), server);
            checked.servers.extend(server.flatten());
        }
    }
    checked.without_server(tables, &servers);
    checked
}

impl Checked {
    fn names(&mut self, tables: &Tables<'_>, group: &str) -> Vec<String> {
        let names = self.keep(About::File, tables.names(group));
        let names = names.unwrap_or_default();
        names.into_iter().map(str::to_owned).collect()
    }

    fn capability(&mut self, tables: &Tables<'_>, id: &str, about: &About) {
        let compiled = match compile(tables, id) {
            Err(error) => Err(Wrong::from(error)),
            Ok(Some(capability)) if !id.starts_with(look_up::SYNTHESIS) => Ok(capability),
            Ok(_) => look_up::look_up(tables, id).map_err(Wrong::from),
        };
        let entry = match self.keep(about.clone(), compiled) {
            None => return,
            Some(Capability::FilePlan(plan)) => return self.plans.push(*plan),
            Some(Capability::Tool(entry)) => *entry,
            // Its steps are capabilities, which are checked themselves.
            Some(Capability::Workflow(workflow)) => {
                self.schema(about, &workflow.schema, workflow.schema.compile());
                for step in &workflow.steps {
                    let id = &step.entry.id;
                    if !self.capabilities.iter().any(|entry| entry.id == *id) {
                        self.capability(tables, id, &About::Capability(id.clone()));
                    }
                }
                return;
            }
        };
        if let Some(schema) = &entry.schema {
            self.schema(about, schema, schema.readable());
        }
        if let Some(schema) = &entry.result.schema {
            self.schema(about, schema, schema.compile());
        }
        if !self.capabilities.iter().any(|known| known.id == entry.id) {
            self.capabilities.push(entry);
        }
    }

    fn schema<T>(&mut self, about: &About, schema: &Schema, compiled: Result<T, String>) {
        let compiled = compiled.map_err(|problem| Wrong {
            code: Code::CAT042,
            place: Some(schema.place.clone()),
            problem,
        });
        self.keep(about.clone(), compiled);
    }

    /// Reports capabilities whose server is not in the file.
    fn without_server(&mut self, tables: &Tables<'_>, servers: &[String]) {
        let servers: HashSet<&String> = servers.iter().collect();
        let lost: Vec<_> = self
            .capabilities
            .iter()
            .filter(|entry| !servers.contains(&entry.server))
            .map(|entry| (entry.id.clone(), server::of(tables, entry)))
            .collect();
        for (id, server) in lost {
            self.keep(About::Capability(id), server);
        }
    }

    /// Returns the value, or records the error as a problem.
    fn keep<T>(&mut self, about: About, result: Result<T, impl Into<Wrong>>) -> Option<T> {
        result.map_err(|error| self.add(about, error.into())).ok()
    }

    /// Adds a problem once: an error in `[defaults]` appears in every entry, and one of a pipeline in every entry that
    /// applies plans.
    fn add(&mut self, about: About, wrong: Wrong) {
        let text = wrong.to_string();
        let of_file = (About::File, text.clone());
        if !self.told.contains(&of_file) && self.told.insert((about.clone(), text.clone())) {
            if matches!(about, About::Pipeline(_)) {
                self.told.insert(of_file);
            }
            self.problems.push(Problem { about, text, wrong });
        }
    }
}
