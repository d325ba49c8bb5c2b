//! `oneact init`: a catalog to begin with.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    process::ExitCode,
};

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;

use crate::host;

use super::{owner, print, settings};

/// Where to begin.
#[derive(Debug, Args)]
pub(super) struct InitArgs {
    /// The directory to begin in; made if it is not there [default: `$ONEACT_ROOT`, else the
    /// current one]
    #[arg(long, value_name = "DIR")]
    root: Option<Utf8PathBuf>,
}

const STARTER: &str = include_str!("starter.toml");

/// Why there is no new catalog.
#[derive(Debug, thiserror::Error)]
enum InitError {
    #[error("{path} is there already and stays as it is; edit it, or give another --root")]
    Exists { path: Utf8PathBuf },
    #[error("cannot {operation} {path}: {source}")]
    Io {
        operation: &'static str,
        path: Utf8PathBuf,
        source: io::Error,
    },
}

/// Writes the starter catalog and says what to do next; exit code 2 if there is a catalog already.
pub(super) fn run(args: &InitArgs) -> ExitCode {
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
    let (root, here) = match places {
        Ok(places) => places,
        Err(problem) => {
            tracing::error!("{problem}");
            return ExitCode::FAILURE;
        }
    };
    match write(&root) {
        Ok(path) => match print(next(&path, &root, &here).as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(error) => {
            tracing::error!("{error}");
            match error {
                InitError::Exists { .. } => ExitCode::from(2),
                InitError::Io { .. } => ExitCode::FAILURE,
            }
        }
    }
}

/// Never over a file that is there, nor through a link.
fn write(root: &Utf8Path) -> Result<Utf8PathBuf, InitError> {
    let path = root.join("catalog.toml");
    let failed = |operation, path: &Utf8Path| {
        let path = path.to_owned();
        move |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => InitError::Exists { path },
            _ => InitError::Io {
                operation,
                path,
                source,
            },
        }
    };
    fs::create_dir_all(root).map_err(|source| InitError::Io {
        operation: "make the directory",
        path: root.to_owned(),
        source,
    })?;
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .map_err(failed("create", &path))?;
    let written = file
        .write_all(STARTER.as_bytes())
        .and_then(|()| file.sync_all());
    if written.is_err() {
        // Half a catalog would stand in the way of the next attempt.
        let _ = fs::remove_file(&path);
    }
    written.map_err(failed("write", &path))?;
    Ok(path)
}

/// What to do next.
fn next(path: &Utf8Path, root: &Utf8Path, here: &Utf8Path) -> String {
    let enter = if root == here {
        String::new()
    } else {
        format!("  cd '{root}'\n")
    };
    format!(
        r#"Wrote {path}: two capabilities, and servers that are built in.

Check that everything works, then perform a first action:
{enter}  oneact doctor
  echo '{{"task_id": "t1", "capability_ids": ["CAP-ACQ-001"],
         "input_refs_resolved": [{{"ref_id": "src_1", "status": "reference",
         "storage_uri": "https://example.com/video"}}]}}' | oneact

catalog.toml explains itself; at its end is a server of your own, to be completed.
"#
    )
}
