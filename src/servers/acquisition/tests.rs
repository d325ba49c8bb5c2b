//! The tools against a real server on loopback and real files.

mod breaking;
mod downloads;
mod proxies;
mod refusals;
mod resuming;
mod server;
mod stored;
mod uploads;
mod validation;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::Duration,
};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use url::Url;

use super::{
    downloader::{Order, download},
    tools,
    web::{Patience, Web},
};
use crate::{
    assets::Policy,
    servers::tool::{Effect, Run, ToolError},
    web::Guard,
};

/// 700 kB that begin like an MP4 file.
fn film() -> Vec<u8> {
    let mut film = b"\0\0\0\x20ftypisom\0\0\x02\0isomiso2avc1mp41".to_vec();
    film.extend((0..700_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8));
    film
}

fn web() -> Web {
    web_under(Policy::PrivateToo)
}

fn web_with(policy: Policy, patience: Patience) -> Web {
    let guard = Guard::direct(policy);
    Web::new(guard.client(), guard, patience).unwrap()
}

/// Waits for a silent server longer than any test runs.
fn patient() -> Web {
    let patience = Patience {
        idle: Duration::from_hours(1),
        ..Patience::default()
    };
    web_with(Policy::PrivateToo, patience)
}

fn web_under(policy: Policy) -> Web {
    let patience = Patience {
        pause: Duration::from_millis(1),
        ..Patience::default()
    };
    web_with(policy, patience)
}

/// Gives up on a silent server at once.
fn hasty() -> Web {
    let patience = Patience {
        connect: Duration::from_millis(200),
        idle: Duration::from_millis(200),
        ..Patience::default()
    };
    web_with(Policy::PrivateToo, patience)
}

fn order(url: &str, target: Option<&Path>) -> Order {
    let mut arguments = json!({ "url": url });
    if let Some(target) = target {
        arguments["output_path"] = json!(target.to_str().unwrap());
    }
    Order::parse(&serde_json::from_value(arguments).unwrap()).unwrap()
}

fn ordered_as(url: &str, target: &Path, format: &str) -> Order {
    let arguments = json!({"url": url, "output_path": target.to_str().unwrap(), "format": format});
    Order::parse(&serde_json::from_value(arguments).unwrap()).unwrap()
}

fn run<T>(work: impl FnOnce(&Run<'_>) -> T) -> T {
    work(&Run {
        cancelled: &AtomicBool::new(false),
        report: &|_| {},
    })
}

fn fetch(url: &Url, target: &Path) -> Result<Value, ToolError> {
    run(|run| download(&order(url.as_str(), Some(target)), &web(), run))
}

fn refused(url: &Url, target: &Path) -> String {
    fetch(url, target).unwrap_err().to_string()
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a b.mp4");
    (folder, target)
}

fn names(folder: &TempDir) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A committed medium.
fn medium(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/media")
        .join(name)
}

/// Calls a tool by its name.
fn call(name: &str, arguments: &Value) -> Result<Value, ToolError> {
    let tools = tools();
    let tool = tools.iter().find(|tool| tool.name == name);
    let tool = tool.unwrap();
    assert!(jsonschema::is_valid(&tool.input, arguments));
    let answer = run(|run| (tool.call)(arguments.as_object().unwrap(), run))?;
    assert!(jsonschema::is_valid(&tool.output, &answer));
    Ok(answer)
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[test]
fn every_tool_of_the_catalog_is_there_and_answers_as_its_schema_says() {
    let (folder, _) = folder();
    let film = medium("fox.mp4");
    let mut seen = Vec::new();
    for tool in tools() {
        seen.push(tool.name);
        let from = match tool.name {
            "upload_registrar" => "file_path",
            "integrity_checker" | "metadata_extractor" => "file_uri",
            _ => "url",
        };
        let mut arguments = json!({from: film.to_str().unwrap()});
        if tool.effect != Effect::ReadOnly {
            arguments["output_path"] = json!(folder.path().join(tool.name).to_str().unwrap());
        }
        assert!(jsonschema::is_valid(&tool.input, &arguments));
        let answer = run(|run| (tool.call)(arguments.as_object().unwrap(), run)).unwrap();
        assert!(jsonschema::is_valid(&tool.output, &answer), "{answer}");
    }
    let catalog = [
        "url_validator",
        "platform_a_downloader",
        "platform_b_downloader",
        "platform_c_downloader",
        "video_downloader",
        "upload_registrar",
        "integrity_checker",
        "metadata_extractor",
    ];
    assert_eq!(seen, catalog);
}
