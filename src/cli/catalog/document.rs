//! The application document: `oneact catalog import` makes a catalog of one.

use std::{io, process::ExitCode};

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;

use super::change::LARGEST;
use crate::{
    catalog::Application,
    cli::ended::{Stop, printed, stop},
    host, servers,
};

#[derive(Debug, Args)]
pub(super) struct DocumentArgs {
    /// The document: Markdown with the tables of capabilities and defaults
    #[arg(value_name = "FILE")]
    file: Utf8PathBuf,
}

/// Prints a catalog with the entries of an application document.
pub(super) fn import(args: &DocumentArgs) -> Result<ExitCode, Stop> {
    let text = read(&args.file)?.to_catalog(&command);
    Ok(printed(text.map_err(stop(2))?, 0))
}

pub(super) fn read(path: &Utf8Path) -> Result<Application, Stop> {
    let text = host::read_named(path, LARGEST)
        .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other))
        .map_err(|error| stop(2)(format!("cannot read {path}: {error}")))?;
    if text.trim_start().starts_with('{') {
        return Err(stop(2)(format!(
            "{path} is JSON, and an application document is Markdown; `oneact import {path}` reads the servers of an \
             MCP configuration"
        )));
    }
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
