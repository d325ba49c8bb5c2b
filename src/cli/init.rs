//! `oneact init`: writes a starter catalog.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    process::ExitCode,
};

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;

use crate::{host, task::visible};

use super::{Stop, owner, printed, settings, stop};

#[derive(Debug, Args)]
pub(super) struct InitArgs {
    /// The directory for the catalog; created if it does not exist [default: `$ONEACT_ROOT`, or the working
    /// directory]
    #[arg(long, value_name = "DIR")]
    root: Option<Utf8PathBuf>,
}

const STARTER: &str = include_str!("starter.toml");

/// Writes the starter catalog and prints the next steps; exit code 2 if a catalog exists already.
pub(super) fn run(args: &InitArgs) -> Result<ExitCode, Stop> {
    let places = host::working_directory().and_then(|here| {
        let root = settings::named_root(args.root.as_deref(), &here)?;
        if root.is_none() {
            owner::ours(
                &here,
                "the working directory",
                "--root DIR, or $ONEACT_ROOT",
            )?;
        }
        Ok((root.unwrap_or_else(|| here.clone()), here))
    });
    let (root, here) = places.map_err(stop(1))?;
    let path = write(&root)?;
    Ok(printed(next(&path, &root, &here), 0))
}

/// Writes the catalog, never over an existing file and never through a symbolic link.
fn write(root: &Utf8Path) -> Result<Utf8PathBuf, Stop> {
    let path = root.join("catalog.toml");
    let failed = |operation: &str, path: &Utf8Path, error: &io::Error| {
        stop(1)(format!("cannot {operation} {path}: {error}"))
    };
    fs::create_dir_all(root).map_err(|error| failed("make the directory", root, &error))?;
    let opened = OpenOptions::new().write(true).create_new(true).open(&path);
    let mut file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => stop(2)(format!(
            "{path} exists already and was not changed; edit it, or give another --root"
        )),
        _ => failed("create", &path, &error),
    })?;
    let written = file
        .write_all(STARTER.as_bytes())
        .and_then(|()| file.sync_all());
    if written.is_err() {
        // A partial catalog would prevent the next attempt.
        let _ = fs::remove_file(&path);
    }
    written.map_err(|error| failed("write", &path, &error))?;
    Ok(path)
}

fn next(path: &Utf8Path, root: &Utf8Path, here: &Utf8Path) -> String {
    let enter = if root == here {
        String::new()
    } else {
        let root = visible(root.as_str()).replace('\'', r"'\''");
        format!("  cd '{root}'\n")
    };
    let path = visible(path.as_str());
    format!(
        r#"Wrote {path} with two capabilities and built-in servers.

Check the setup, then perform a first task:
{enter}  oneact doctor
  echo '{{"task_id": "t1", "capability_ids": ["CAP-ACQ-001"],
         "input_refs_resolved": [{{"ref_id": "src_1", "status": "reference",
         "storage_uri": "https://example.com/video"}}]}}' | oneact

Comments in catalog.toml explain its keys. An example of your own server is at its end.
"#
    )
}
