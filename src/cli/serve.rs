//! `oneact serve NAME`: a built-in tool server on stdio. stdout belongs to the protocol.

use std::process::ExitCode;

use clap::Args;

use crate::servers;

/// Which server to be.
#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// The server's name, as catalogs use it
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(servers::names().map(|(name, _)| name)))]
    name: String,
}

/// Serves until stdin ends.
pub(super) fn run(args: &ServeArgs) -> ExitCode {
    match servers::serve(&args.name) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}
