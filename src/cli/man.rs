//! `oneact man`: the manual pages, made from the same words as `--help`.

use std::{io, process::ExitCode};

use clap::{Args, Command};
use clap_mangen::Man;

use super::print;

/// Which page.
#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// The verb whose page is wanted [default: the page of oneact itself]
    verb: Option<String>,
}

/// Prints a page as roff: `oneact man | man -l -`.
pub(super) fn run(args: &ManArgs, cli: Command) -> ExitCode {
    let page = match &args.verb {
        None => Some(cli),
        Some(name) => cli
            .get_subcommands()
            .find(|verb| verb.get_name() == name)
            .map(|verb| page_of(verb, name)),
    };
    let Some(page) = page else {
        tracing::error!(
            "there is no verb `{}`; `oneact --help` lists them",
            args.verb.as_deref().unwrap_or_default()
        );
        return ExitCode::from(2);
    };
    let printed = render(page).and_then(|roff| print(&roff));
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The page that the page of oneact itself refers to.
fn page_of(verb: &Command, name: &str) -> Command {
    verb.clone()
        .display_name(format!("oneact-{name}"))
        .bin_name(format!("oneact {name}"))
}

fn render(page: Command) -> io::Result<Vec<u8>> {
    let mut roff = Vec::new();
    Man::new(page).render(&mut roff)?;
    Ok(roff)
}
