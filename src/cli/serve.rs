//! `oneact serve NAME`: a built-in tool server on stdio. stdout belongs to the protocol.

use std::process::ExitCode;

use clap::Args;
use jiff::Zoned;

use super::{Stop, settings::moment};
use crate::{host::Clock, servers};

#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// The name of the server
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(servers::names().map(|(name, _)| name)))]
    name: String,
    /// Use this time as the server's clock, as `--clock` of a run does
    #[arg(long, value_name = "RFC9557", value_parser = moment)]
    clock: Option<Zoned>,
}

/// Serves until stdin ends.
pub(super) fn run(args: &ServeArgs) -> Result<ExitCode, Stop> {
    servers::serve(&args.name, Clock::new(args.clock.clone()))?;
    Ok(ExitCode::SUCCESS)
}
