//! The tools on real files, against what ffmpeg makes of them.

mod agreement;
mod limits;
mod refusals;
mod results;
mod videos;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::AtomicBool,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::servers::tool::{Run, ToolError};

/// A committed medium.
fn medium(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/media")
        .join(name)
}

fn call(arguments: &Value) -> Result<Value, ToolError> {
    call_as(
        arguments,
        &Run {
            cancelled: &AtomicBool::new(false),
            report: &|_| {},
        },
    )
}

fn call_as(arguments: &Value, run: &Run<'_>) -> Result<Value, ToolError> {
    call_tool_as("audio_extractor", arguments, run)
}

fn call_tool(name: &str, arguments: &Value) -> Result<Value, ToolError> {
    let run = Run {
        cancelled: &AtomicBool::new(false),
        report: &|_| {},
    };
    call_tool_as(name, arguments, &run)
}

/// The tool's answer, which fits its output schema.
fn call_tool_as(name: &str, arguments: &Value, run: &Run<'_>) -> Result<Value, ToolError> {
    let tools = super::tools();
    let tool = tools.iter().find(|tool| tool.name == name);
    let tool = tool.expect("a tool of the server");
    let answer = (tool.call)(arguments.as_object().expect("an object"), run)?;
    let schema = jsonschema::validator_for(&tool.output).expect("a schema");
    assert!(schema.is_valid(&answer), "{answer}");
    Ok(answer)
}

/// The samples the tool writes for `input`; `rate` `None` keeps the source's.
fn extracted(input: &Path, rate: Option<u32>, channels: u8) -> Vec<i16> {
    let scratch = TempDir::new().expect("a directory");
    let output = scratch.path().join("out.wav");
    let mut arguments = json!({"input_uri": input, "channels": channels, "output_path": output});
    if let Some(rate) = rate {
        arguments["sample_rate"] = rate.into();
    }
    let answer = call(&arguments).unwrap_or_else(|error| panic!("{}: {error}", input.display()));
    let wav = fs::read(&output).expect("the output");
    assert_eq!(answer["bytes"], wav.len());
    let samples = samples(&wav[44..]);
    assert_eq!(answer["samples"], samples.len() / usize::from(channels));
    samples
}

/// Runs ffmpeg and gives its stdout.
fn ffmpeg(arguments: &[&str]) -> Vec<u8> {
    let run = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-y"])
        .args(arguments)
        .output();
    let run =
        run.expect("ffmpeg is needed to compare with; install it (Debian: apt-get install ffmpeg)");
    assert!(
        run.status.success(),
        "ffmpeg {arguments:?}: {}",
        String::from_utf8_lossy(&run.stderr)
    );
    run.stdout
}

/// A medium ffmpeg makes of a committed one, in `directory`.
fn made(directory: &TempDir, name: &str, from: &str, how: &[&str]) -> PathBuf {
    let path = directory.path().join(name);
    let from = medium(from);
    let (from, to) = (
        from.to_str().expect("Unicode"),
        path.to_str().expect("Unicode"),
    );
    ffmpeg(&[&["-i", from], how, &[to]].concat());
    path
}

fn samples(bytes: &[u8]) -> Vec<i16> {
    bytes
        .chunks_exact(2)
        .map(|pair| i16::from_le_bytes([pair[0], pair[1]]))
        .collect()
}
