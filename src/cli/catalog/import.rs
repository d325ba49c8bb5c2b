//! `oneact catalog import`: a catalog with the entries of an application document.

use std::{io, process::ExitCode};

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;

use super::{LARGEST, Stop, printed, stop};
use crate::{catalog::Application, host, servers};

#[derive(Debug, Args)]
pub(in crate::cli) struct ImportArgs {
    /// The document: Markdown with the tables of capabilities and defaults
    #[arg(value_name = "FILE")]
    file: Utf8PathBuf,
}

pub(super) fn run(args: &ImportArgs) -> Result<ExitCode, Stop> {
    let text = read(&args.file)?.to_catalog(&command);
    Ok(printed(text, 0))
}

pub(super) fn read(path: &Utf8Path) -> Result<Application, Stop> {
    let text = host::read_named(path, LARGEST)
        .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other))
        .map_err(|error| stop(2)(format!("cannot read {path}: {error}")))?;
    Application::read(path, &text).map_err(stop(2))
}

/// The command of a built-in server; for another one, a name to be replaced.
fn command(server: &str) -> Vec<String> {
    if servers::names().any(|(name, _)| name == server) {
        ["{self}", "serve", server].map(str::to_owned).to_vec()
    } else {
        vec![format!("your-{server}-server")]
    }
}
