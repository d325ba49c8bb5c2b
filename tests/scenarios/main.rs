//! Every folder of `fixtures/scenarios/` is a test: what goes in, what comes out, what is left.
//!
//! | File | |
//! |---|---|
//! | `about` | one sentence: what is shown, with the ids of the requirements |
//! | `task.json` or `task.bin` | stdin |
//! | `args`, `env` | one argument, one `NAME=value` a line |
//! | `catalog.toml` | in place of `fixtures/scenarios/catalog.toml` |
//! | `before/` | the root at the start |
//! | `setup` | what else the root holds at the start: `mode 0755 a`, `link to a`, `hardlink of a`, `dir a`, `fifo a`, `socket a`, `size BYTES a` |
//! | `files` | `media/fox.mp4 store_1.mp4`: a file of `fixtures/`, put into the root under that name |
//! | `envelope.json` | stdout, set out for people |
//! | `exit` | the exit code |
//! | `after/` | the root at the end; without it, nothing may have changed |
//! | `made` | files of `fixtures/` that are in the root at the end, listed as in `files` |
//! | `sizes` | `92844 …/derived_1.wav`: a file whose samples may differ by a bit between processors |
//! | `facts` | `0755 kept tools/run.sh`: permissions at the end, and whether the time is as it was (`kept`, `new`) |
//! | `stderr` | a text a line that must be in it, or, after a `!`, must not |
//!
//! `[ROOT]` stands for the root, `[ONEACT]` for the binary, `[DUCKDB]` for DuckDB's library; `tests/servers` is `servers/` in the
//! root. The clock stands at 2026-02-24T10:00:00+08:00[Asia/Singapore], the seed is 1;
//! everything in the root is one hour older.
//!
//! What keeps its bytes stays the same file, with its permissions and its time, and no directory is left empty that was not.
//! `.oneact/` is not looked at, nor the journals of plans: these hold the numbers of inodes.
//!
//! `ONEACT_BLESS=1` writes `envelope.json`, `exit`, `after/`, `made` and what the lines of `sizes` and
//! `facts` tell of their paths anew.

mod expect;
mod folder;
mod probe;
mod run;
mod special;
mod tree;

use std::process::ExitCode;

use anyhow::Result;
use camino::Utf8Path;
use libtest_mimic::{Arguments, Trial};

use folder::{Folder, Mode};

fn main() -> Result<ExitCode> {
    // Permissions are compared.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let home = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/scenarios");
    let mut trials = Vec::new();
    for entry in home.read_dir_utf8()? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let dir = entry.path().to_owned();
            let name = format!("scenario::{}", entry.file_name());
            trials.push(Trial::test(name, move || {
                scenario(&dir).map_err(|error| format!("{error:#}").into())
            }));
        }
    }
    trials.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(libtest_mimic::run(&Arguments::from_args(), trials).exit_code())
}

fn scenario(dir: &Utf8Path) -> Result<()> {
    let mode = Mode::of_environment();
    let folder = Folder::read(dir, mode)?;
    let ran = run::run(&folder)?;
    expect::always(&folder, &ran)?;
    match mode {
        Mode::Compare => expect::as_written(&folder, &ran),
        Mode::Bless => expect::bless(&folder, &ran),
    }
}
