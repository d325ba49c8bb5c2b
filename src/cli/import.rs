//! `oneact import` and `oneact add`: writes the servers of MCP configurations into the catalog, and an entry for each of
//! their tools. Each server is started once. Nothing that the catalog contains is changed.

mod find;
mod told;

use std::{
    io::{self, IsTerminal as _},
    process::ExitCode,
};

use camino::Utf8PathBuf;
use clap::Args;

use super::{
    catalog::change::CatalogFile,
    ended::{Stop, code_or_signal, printed, stop},
    settings::PlaceArgs,
    streams::tell,
    terminal::agreed,
};
use crate::{
    catalog::{
        BEGINNING, Catalog, Command, Known, Start, Surroundings, Tool, Trust, appended,
        first_start, given, given_url, server_name,
    },
    doctor::{list_tools, unnamed},
    host::{self, Host, Interrupts},
    record::Project,
    task::visible,
};
use find::ConfigurationFile;
use told::{ImportReport, NewServer};

#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    /// The configuration [default: those of known MCP hosts that are found in the root and in the home directory]
    #[arg(value_name = "FILE")]
    file: Option<Utf8PathBuf>,
    /// Do not ask: start the servers of all files that are found
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    how: HowArgs,
}

#[derive(Debug, Args)]
pub(super) struct AddArgs {
    /// The name of the server in the catalog
    #[arg(value_name = "NAME")]
    name: String,
    /// A variable for the server; one that looks like a secret, or that has no value here, is passed on from the
    /// environment of each run
    #[arg(long, value_name = "KEY[=VALUE]")]
    env: Vec<String>,
    /// The address of a server over HTTP, in place of a command
    #[arg(long, value_name = "URL", conflicts_with_all = ["command", "env"])]
    url: Option<String>,
    /// A header of every request to the URL; a value that looks like a secret is taken from a variable in each run
    #[arg(long, value_name = "NAME: VALUE", requires = "url")]
    header: Vec<String>,
    /// The command that starts the server, and its arguments
    #[arg(value_name = "COMMAND", required_unless_present = "url", last = true)]
    command: Vec<String>,
    #[command(flatten)]
    how: HowArgs,
}

#[derive(Debug, Args)]
struct HowArgs {
    /// Use what servers say about the effects of their tools; without it, the worst is assumed
    #[arg(long)]
    trust_hints: bool,
    /// Print the change of the catalog as a diff, and write nothing (the servers are started all the same)
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    places: PlaceArgs,
}

/// Reads configurations, and adds what the catalog does not have.
pub(super) fn import(args: &ImportArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let project = args.how.places.project()?;
    let mut work = CatalogImport::begin(&args.how, &project, interrupts)?;
    let sources = if let Some(file) = &args.file {
        vec![find::named(file, &project.root)?]
    } else {
        let (sources, unusable) = find::all(&project.root);
        for why in &unusable {
            work.told.missing("", why);
        }
        sources
    };
    let found = sources.len();
    let mut new = Vec::new();
    for ConfigurationFile { path, servers } in sources {
        for server in servers {
            let place = path.to_string();
            new.extend(work.sorted(&server.name, server.start, &place, &new));
        }
    }
    if found == 0 && args.file.is_none() {
        let why = "no configuration of MCP servers was found; name one with `oneact import FILE`, or add one server with \
                   `oneact add NAME -- COMMAND`";
        return Err(stop(2)(why));
    }
    if args.file.is_none() && !new.is_empty() && !args.yes {
        let listed = told::listed(&new);
        if !host::input_is_a_terminal() {
            let why = "these configurations were found, not named, and their servers are programs; there is no terminal \
                       to ask at, so name a configuration (`oneact import FILE`), or give --yes";
            tell(&listed);
            return Err(stop(2)(why));
        }
        let place = visible(project.catalog.as_str());
        let question = format!("{listed}Start each of them once, and add it to {place}? [y/N] ");
        let interrupts = work.host.interrupts();
        if !agreed(&question, interrupts) {
            let code = code_or_signal(1, interrupts);
            return Ok(printed("Nothing was written.\n", code));
        }
    }
    let asks = !args.yes && host::input_is_a_terminal();
    work.finish(new, asks)
}

/// Adds one server.
pub(super) fn add(args: &AddArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let project = args.how.places.project()?;
    let mut work = CatalogImport::begin(&args.how, &project, interrupts)?;
    if server_name(&args.name).as_ref() != Some(&args.name) {
        let why =
            "the name of a server consists of letters, digits, `_` and `-`; give it another one";
        return Err(stop(2)(why));
    }
    if work.known.servers.contains(&args.name) {
        let name = &args.name;
        return Err(stop(2)(format!(
            "the catalog has [server.{name}] already, which was not changed; choose another name, or remove the old \
             server and its entries first"
        )));
    }
    let around = Surroundings {
        root: &project.root,
        project: None,
        variable: &host::variable,
    };
    let command = match &args.url {
        Some(url) => given_url(&args.name, url, &args.header, &around),
        None => given(args.command.clone(), &args.env, &around),
    };
    let command = command.map_err(stop(2))?;
    let new = work.sorted(&args.name, Start::Command(command), "the command line", &[]);
    work.finish(new.into_iter().collect(), host::input_is_a_terminal())
}

/// One change of the catalog.
struct CatalogImport<'p> {
    args: &'p HowArgs,
    project: &'p Project,
    host: Host,
    before: CatalogFile<'p>,
    known: Known,
    /// What is appended to the catalog.
    text: String,
    told: ImportReport,
}

impl<'p> CatalogImport<'p> {
    fn begin(
        args: &'p HowArgs,
        project: &'p Project,
        interrupts: Interrupts,
    ) -> Result<Self, Stop> {
        let mut before = CatalogFile::read_or_none(&project.catalog)?;
        if before.is_new() {
            before.text = BEGINNING.into();
        }
        let catalog = Catalog::from_bytes(&project.catalog, before.text.clone());
        let known = catalog.and_then(|catalog| Known::of(&catalog.tables()?));
        Ok(Self {
            args,
            project,
            host: Host::new(None, None, interrupts),
            before,
            known: known.map_err(stop(2))?,
            text: String::new(),
            told: ImportReport::default(),
        })
    }

    /// The server, if it is to be added. Otherwise the reason is told.
    fn sorted(
        &mut self,
        said: &str,
        start: Start,
        place: &str,
        before: &[NewServer],
    ) -> Option<NewServer> {
        let Some(name) = server_name(said) else {
            self.told
                .missing(said, "its name has no letters or digits; rename it");
            return None;
        };
        if self.known.servers.contains(&name) {
            self.told.kept(&name);
            return None;
        }
        match start {
            Start::Off => self
                .told
                .note(&name, "is switched off in its configuration; left out"),
            Start::Unfit(why) => self.told.missing(&name, &format!("{why} ({place})")),
            Start::Command(command) => match before.iter().find(|other| other.name == name) {
                None => {
                    if name != said {
                        self.told
                            .note(&name, &format!("is the name of {said:?} in the catalog"));
                    }
                    return Some(NewServer {
                        name,
                        place: place.to_owned(),
                        command,
                    });
                }
                Some(other) if other.command == command => {}
                Some(other) => {
                    let first = &other.place;
                    let why =
                        format!("is configured twice; {first} is used, and {place} is left out");
                    self.told.note(&name, &why);
                }
            },
        }
        None
    }

    /// Starts the servers, and writes what is new.
    fn finish(mut self, new: Vec<NewServer>, asks: bool) -> Result<ExitCode, Stop> {
        let mut listed: Vec<(String, Command, Vec<Tool>)> = Vec::new();
        for NewServer { name, command, .. } in new {
            let mut others = listed.iter().map(|(other, of, _)| (other, of));
            let other = others.find_map(|(other, of)| Some((other, command.differs(of)?)));
            if let Some((other, variable)) = other {
                let why = format!(
                    "not added, because its {variable} has another value than that of {other}, and a run would give both \
                     the same; start it by a script that sets its own"
                );
                self.told.missing(&name, &why);
                continue;
            }
            if io::stderr().is_terminal() {
                tell(&format!("Starting {name} …\n"));
            }
            let secrets = command.secrets.iter().map(|(_, value)| value.clone());
            let server = match first_start(&name, &command) {
                Ok(server) => server,
                Err(why) => {
                    self.told.missing(&name, &why);
                    continue;
                }
            };
            match list_tools(&server, secrets, &self.project.root, &self.host) {
                Ok(listing) => {
                    for number in listing.unnamed {
                        self.told.missing(&name, &unnamed(number));
                    }
                    listed.push((name, command, listing.tools));
                }
                Err(unlisted) => {
                    if let Some(signal) = unlisted.interrupted {
                        tracing::error!("interrupted by {}; nothing was written", signal.name());
                        return Ok(ExitCode::from(128 + signal.number()));
                    }
                    let why = unlisted.why;
                    self.told.missing(
                        &name,
                        &format!("not added, because it did not start: {why}"),
                    );
                }
            }
        }
        // The servers have ended, and a signal may end a question.
        self.host.interrupts().stand_down();
        for (name, command, tools) in listed {
            let trust = self.trust(&name, &tools, asks);
            let (text, entries) = self.known.add((&name, &command), &tools, trust);
            self.text += &text;
            self.told.added(&name, &command, &tools, &entries, trust);
        }
        self.write()
    }

    /// Whether the hints of a server are believed: as a flag says, or a person.
    fn trust(&self, name: &str, tools: &[Tool], asks: bool) -> Trust {
        let lower: Vec<&Tool> = tools.iter().filter(|tool| tool.hints_lower()).collect();
        if self.args.trust_hints {
            return Trust::Hints;
        }
        let question = format!(
            "{}Use these hints of {name}? Without them, the worst is assumed. [y/N] ",
            told::hinted(name, &lower)
        );
        if !lower.is_empty() && asks && agreed(&question, self.host.interrupts()) {
            Trust::Hints
        } else {
            Trust::Worst
        }
    }

    fn write(self) -> Result<ExitCode, Stop> {
        let path = &self.project.catalog;
        let code = u8::from(self.told.is_missing());
        if self.text.is_empty() {
            return Ok(printed(self.told.nothing(path), code));
        }
        let catalog = appended((path, &self.before.text), &self.text);
        let catalog = catalog.map_err(|why| stop(1)(format!("nothing was written: {why}")))?;
        if self.args.dry_run {
            let old = if self.before.is_new() {
                &[]
            } else {
                self.before.text.as_slice()
            };
            return Ok(printed(told::diff(path, old, &catalog), code));
        }
        self.before.replace(&catalog)?;
        Ok(printed(self.told.done(path), code))
    }
}
