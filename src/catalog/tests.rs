//! What the catalog promises: of the one in this repository, of what is refused, of what a task
//! becomes.

mod application;
mod asked;
mod cutting;
mod offering;
mod pipelines;
mod plans;
mod promoting;
mod refusals;
mod remedies;
mod resolving;
mod shipped;
mod standard;

use camino::Utf8Path;
use serde_json::{Map, Value};

use crate::task::{
    CapabilityTask, Failure, Input, InputRef, Nameable, NamedAs, RefId, RefStatus, Risk,
};

use super::{Catalog, Job, Places, ToolJob, look_up_all, resolve};

/// Five lines with a server and the beginning of a capability `cut`: what a test adds begins on
/// line 6.
const BEGINNING: &str = r#"catalog = 1
[server.s]
command = ["s"]
[capability.cut]
mcp = { server = "s", tool = "cutter" }
"#;

fn cut(more: &str) -> String {
    format!("{BEGINNING}{more}")
}

/// A first try of those capabilities on one stored video.
fn task(ids: &[&str]) -> CapabilityTask {
    CapabilityTask {
        task_id: "task_5".to_owned(),
        action: String::new(),
        capability_ids: ids.iter().map(|id| (*id).to_owned()).collect(),
        named_as: NamedAs::Capability,
        inputs: vec![input("store_1", "media/fox.mp4", RefStatus::Stored)],
        expected: Vec::new(),
        parameters: vec![Map::new(); ids.len()],
        attempt: 1,
        input: Input::Refused,
        carried: None,
        salt: None,
        clarifies: None,
        under: None,
        context: None,
        stated: Risk::Low,
    }
}

fn input(id: &str, uri: &str, status: RefStatus) -> InputRef {
    InputRef {
        ref_id: ref_id(id),
        storage_uri: uri.to_owned(),
        status,
    }
}

fn ref_id(id: &str) -> RefId {
    RefId::parse(id).unwrap()
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn resolved(catalog: &str, task: &CapabilityTask) -> Result<ToolJob, Failure> {
    match job(catalog, task)? {
        Job::Tools(job) => Ok(job),
        Job::Plan(job) => panic!("no tools: {job:?}"),
    }
}

fn job(catalog: &str, task: &CapabilityTask) -> Result<Job, Failure> {
    let catalog = Catalog::from_text(catalog);
    let tables = catalog.tables()?;
    let places = Places {
        root: Utf8Path::new("/project"),
        staging: Utf8Path::new("/scratch"),
        session: "sess-1",
    };
    resolve(
        task,
        look_up_all(task, &tables, Nameable::Entries)?,
        &tables,
        places,
        None,
    )
}

/// The parameters of the only step.
fn parameters(catalog: &str, task: &CapabilityTask) -> Value {
    let job = resolved(catalog, task).unwrap();
    assert_eq!(job.steps.len(), 1);
    Value::Object(job.steps[0].parameters.clone())
}

/// Why the task cannot be done.
fn refused(catalog: &str, task: &CapabilityTask) -> Failure {
    resolved(catalog, task).unwrap_err()
}
