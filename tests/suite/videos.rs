//! FFmpeg: programs that a tool starts end with the run that asked for them, however it ends, and audio needs none where
//! symphonia decodes it.

use std::{fs, os::unix::fs::PermissionsExt, process::Child};

use camino::Utf8Path;
use rustix::process::Signal;
use serde_json::json;

use crate::program::{Root, feed, signal_child, until};

/// A root whose `ffmpeg` never ends, and has started another that does not either.
fn root() -> Root {
    let root = Root::with_catalog(
        "catalog = 1\n\
         [server.s]\ncommand = [\"{self}\", \"serve\", \"media-processing\"]\n\
         env = { PATH = \"bin:/usr/bin:/bin\" }\n\
         [capability.CAP-PRE-003]\neffects = { idempotent = true }\n\
         mcp = { server = \"s\", tool = \"frame_extractor\" }\nbind = { input_uri = \"input.uri\" }\n\
         result = { kind = \"asset\", asset_type = \"frame_set\", format = \"zip\" }\n",
    );
    let program = root.path.join("bin/ffmpeg");
    fs::create_dir(root.path.join("bin")).unwrap();
    fs::write(&program, "#!/bin/sh\nsleep 1000 &\ntouch called\nwait\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let film = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/media/fox.mp4");
    fs::copy(film, root.path.join("fox.mp4")).unwrap();
    root
}

/// A run whose ffmpeg has been started.
fn running(root: &Root, more: &[&str]) -> Child {
    let mut child = root.command().args(more).spawn().unwrap();
    let task = json!({"dispatch": {
        "task_id": "t1", "action": "", "capability_ids": ["CAP-PRE-003"],
        "input_refs_resolved": [{"ref_id": "store_1", "storage_uri": "fox.mp4", "status": "stored"}],
    }});
    feed(&mut child, &task);
    until("ffmpeg is started", || {
        root.path.join("called").exists().then_some(())
    });
    child
}

#[test]
fn a_cancelled_run_ends_ffmpeg_and_what_it_started() {
    let root = root();
    let run = running(&root, &[]);
    signal_child(&run, Signal::TERM);
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143));
    root.assert_untouched();
}

#[test]
fn a_run_that_times_out_ends_ffmpeg_and_what_it_started() {
    let root = root();
    let run = running(&root, &["--timeout", "6"]);
    let output = run.wait_with_output().unwrap();
    let envelope: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(envelope["error"]["error_code"], "TIMEOUT", "{envelope}");
    root.assert_untouched();
}

#[test]
fn ffmpeg_dies_with_a_run_that_is_killed() {
    let root = root();
    let mut run = running(&root, &[]);
    signal_child(&run, Signal::KILL);
    run.wait().unwrap();
    // What ffmpeg itself has started is nobody's; ffmpeg is gone, and the server too.
    until("ffmpeg has ended", || {
        let mut left = root.processes().into_iter();
        let is = |pid: i32, word: &str| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(word)
        };
        (!left.any(|pid| is(pid, "ffmpeg") || is(pid, "serve"))).then_some(())
    });
    for pid in root.processes() {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

#[test]
fn only_audio_that_needs_ffmpeg_asks_for_it() {
    let root = Root::with_catalog(
        "catalog = 1\n\
         [server.s]\ncommand = [\"{self}\", \"serve\", \"media-processing\"]\nenv = { PATH = \"/nowhere\" }\n\
         [capability.AUDIO]\neffects = { idempotent = true }\n\
         mcp = { server = \"s\", tool = \"audio_extractor\" }\nbind = { input_uri = \"input.uri\" }\n\
         result = { kind = \"asset\", asset_type = \"audio_track\", format = \"wav\" }\n",
    );
    let extract = |name: &str| {
        let medium = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/media");
        fs::copy(medium.join(name), root.path.join(name)).unwrap();
        root.run(&json!({"dispatch": {
            "task_id": "t1", "action": "", "capability_ids": ["AUDIO"],
            "input_refs_resolved": [{"ref_id": "store_1", "storage_uri": name, "status": "stored"}],
        }}))
    };
    let made = extract("fox.mp4");
    assert_eq!(made.exit, 0, "{}", made.envelope);
    let refused = extract("fox.webm");
    let told = refused.at("/error/error_message").as_str().unwrap();
    assert!(
        told.contains("codec opus") && told.contains("install FFmpeg"),
        "{told}"
    );
}
