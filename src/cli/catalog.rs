//! `oneact catalog`: lists, shows, finds, renders, checks and adds entries of the catalog. Only `check --live` starts
//! servers.

pub(super) mod change;
mod check;
mod entries;
mod promote;

use std::{io, process::ExitCode};

use camino::{Utf8Path, Utf8PathBuf};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::{
    catalog::{
        Application, Audience, Catalog, Hit, Listed, Matched, ToolForm, find, has_standard, list,
        pipelines, prompt, search, tools,
    },
    host::{self, Interrupts},
    servers,
    task::{CallContext, visible, visible_lines},
};

use check::CheckArgs;
use entries::{json_of, one, table};
use promote::PromoteArgs;

use super::{
    Stop, help, printed,
    settings::{PlaceArgs, number},
    stop,
    terminal::{padded, width},
};

/// The largest file that is read, in bytes: a catalog, a document or a schema.
pub(super) const LARGEST: u64 = 8 << 20;

#[derive(Debug, Args)]
pub(super) struct CatalogArgs {
    #[command(subcommand)]
    verb: CatalogVerb,
}

impl CatalogArgs {
    pub(super) fn starts_servers(&self) -> bool {
        matches!(&self.verb, CatalogVerb::Check(args) if args.live)
    }
}

#[derive(Debug, Subcommand)]
enum CatalogVerb {
    /// List all entries: what each one does, who may use it, and at what risk
    #[command(after_help = help::of("catalog list"))]
    List(ListArgs),
    /// Print one entry with its parameters
    #[command(after_help = help::of("catalog show"))]
    Show(ShowArgs),
    /// Find entries by words
    #[command(after_help = help::of("catalog search"))]
    Search(SearchArgs),
    /// Print the actions for a model: as a block of a prompt, or as tool schemas
    #[command(after_help = help::of("catalog render"))]
    Render(RenderArgs),
    /// Check the whole catalog
    #[command(after_help = help::of("catalog check"))]
    Check(CheckArgs),
    /// Print a catalog with the entries of an application document
    #[command(after_help = help::of("catalog import"))]
    Import(ImportArgs),
    /// Add a workflow that repeats the calls of an improvised action
    #[command(after_help = help::of("catalog promote"))]
    Promote(PromoteArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    #[command(flatten)]
    form: FormArgs,
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// The id of the entry
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    form: FormArgs,
}

#[derive(Debug, Args)]
struct SearchArgs {
    /// What the entry is to do
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,
    /// Only entries that this context may use
    #[arg(long, value_name = "CONTEXT", default_value = "USER_INVOCATION", value_parser = context)]
    context: CallContext,
    #[command(flatten)]
    form: FormArgs,
}

#[derive(Debug, Args)]
struct RenderArgs {
    /// Only actions that this context may use
    #[arg(long, value_name = "CONTEXT", default_value = "ACTION_PROPOSAL", value_parser = context)]
    context: CallContext,
    /// The form of the result
    #[arg(long = "as", value_enum, value_name = "FORM", default_value_t = RenderForm::Prompt)]
    form: RenderForm,
    /// The most characters of a prompt; entries that do not fit are counted
    #[arg(long, value_name = "N", value_parser = number::<usize>)]
    max_chars: Option<usize>,
    /// The JSON Schema of the model's answer: print nothing if it does not allow the kind `standard`
    #[arg(long, value_name = "FILE")]
    schema: Option<Utf8PathBuf>,
    #[command(flatten)]
    places: PlaceArgs,
}

#[derive(Debug, Args)]
struct FormArgs {
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    places: PlaceArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RenderForm {
    /// A block of a prompt
    Prompt,
    /// The tables of an application document, with all tools
    Application,
    /// The tools of MCP
    Mcp,
    #[value(help = "The tools of OpenAI's chat completions")]
    Openai,
    /// The tools of Anthropic's messages
    Anthropic,
    /// The tools of Gemini's generateContent
    Gemini,
}

fn context(text: &str) -> Result<CallContext, String> {
    let all = CallContext::ALL;
    let found = all
        .iter()
        .find(|context| context.name().eq_ignore_ascii_case(text));
    found.copied().ok_or_else(|| {
        let names = all.map(CallContext::name).join(", ");
        format!("the contexts are {names}")
    })
}

pub(super) fn run(args: &CatalogArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    match &args.verb {
        CatalogVerb::List(args) => {
            let listed = whole(&args.form.places)?;
            let entries: Vec<&Listed> = listed.iter().collect();
            Ok(printed(
                shown(&args.form, &entries, table, |entry| json_of(entry)),
                0,
            ))
        }
        CatalogVerb::Show(args) => {
            let listed = whole(&args.form.places)?;
            let entry = find(&listed, &args.id).map_err(|failure| stop(1)(failure.message))?;
            Ok(printed(
                shown(&args.form, &[entry], one, |entry| json_of(entry)),
                0,
            ))
        }
        CatalogVerb::Search(args) => {
            let listed = load(&args.form.places)?;
            let found: Vec<&Listed> = found_in(&listed, args.context);
            let hits = search(&found, &args.words.join(" "));
            let code = u8::from(hits.is_empty());
            Ok(printed(shown(&args.form, &hits, hit_lines, json_hit), code))
        }
        CatalogVerb::Render(args) => render(args),
        CatalogVerb::Check(args) => check::run(args, &interrupts),
        CatalogVerb::Import(args) => import(args),
        CatalogVerb::Promote(args) => promote::run(args, interrupts),
    }
}

/// All entries and all pipelines.
fn whole(places: &PlaceArgs) -> Result<Vec<Listed>, Stop> {
    let project = places.project()?;
    let listed = Catalog::load(&project.catalog).and_then(|catalog| {
        let tables = catalog.tables()?;
        Ok(list(&tables)?
            .into_iter()
            .chain(pipelines(&tables)?)
            .collect())
    });
    listed.map_err(stop(2))
}

/// All entries, by their ids.
fn load(places: &PlaceArgs) -> Result<Vec<Listed>, Stop> {
    let project = places.project()?;
    let listed = Catalog::load(&project.catalog).and_then(|catalog| list(&catalog.tables()?));
    listed.map_err(stop(2))
}

fn found_in(listed: &[Listed], context: CallContext) -> Vec<&Listed> {
    let found = listed.iter().filter(|entry| entry.is_found_in(context));
    found.collect()
}

fn shown<T>(
    form: &FormArgs,
    items: &[T],
    text: impl Fn(&[T]) -> String,
    json: impl Fn(&T) -> Value,
) -> String {
    if form.json {
        format!("{}\n", items.iter().map(json).collect::<Value>())
    } else {
        text(items)
    }
}

fn hit_lines(hits: &[Hit<'_>]) -> String {
    if hits.is_empty() {
        return "Nothing found. `oneact catalog list` prints all entries.\n".to_owned();
    }
    let ids = hits.iter().map(|hit| width(&visible(hit.id)));
    let widest = ids.max().unwrap_or_default();
    let line = |hit: &Hit<'_>| {
        let why = match &hit.matched {
            Matched::Id => "id".to_owned(),
            Matched::Alias(alias) => format!("alias {alias:?}"),
            Matched::AliasBeginning(alias) => format!("begins the alias {alias:?}"),
            Matched::Words(words) => format!("words: {}", words.join(", ")),
        };
        let id = padded(&visible(hit.id), widest);
        format!("{id}  {}\n", visible(&why))
    };
    hits.iter().map(line).collect()
}

fn json_hit(hit: &Hit<'_>) -> Value {
    let (how, words) = match &hit.matched {
        Matched::Id => ("id", vec![hit.id.to_owned()]),
        Matched::Alias(alias) => ("alias", vec![(*alias).to_owned()]),
        Matched::AliasBeginning(alias) => ("alias_beginning", vec![(*alias).to_owned()]),
        Matched::Words(words) => ("words", words.clone()),
    };
    json!({"id": hit.id, "matched": how, "words": words})
}

fn render(args: &RenderArgs) -> Result<ExitCode, Stop> {
    if args.form == RenderForm::Application {
        let catalog = Catalog::load(&args.places.project()?.catalog);
        let application = catalog.and_then(|catalog| Application::of(&catalog.tables()?));
        let text = application.map_err(stop(2))?.to_markdown();
        return Ok(printed(visible_lines(&text).into_owned(), 0));
    }
    if let Some(path) = &args.schema {
        let text = host::read_named(path, LARGEST)
            .map_err(|error| stop(2)(format!("cannot read {path}: {error}")))?;
        let schema = serde_json::from_slice(&text)
            .map_err(|error| stop(2)(format!("{path} is no JSON Schema: {error}")))?;
        if !has_standard(&schema) {
            return Ok(ExitCode::SUCCESS);
        }
    }
    let listed = load(&args.places)?;
    let mut entries = found_in(&listed, args.context);
    entries.retain(|entry| entry.audience == Audience::Models);
    let form = match args.form {
        RenderForm::Prompt | RenderForm::Application => {
            return Ok(printed(prompt(&entries, args.max_chars), 0));
        }
        RenderForm::Mcp => ToolForm::Mcp,
        RenderForm::Openai => ToolForm::OpenAi,
        RenderForm::Anthropic => ToolForm::Anthropic,
        RenderForm::Gemini => ToolForm::Gemini,
    };
    Ok(printed(format!("{}\n", tools(&entries, form)), 0))
}

#[derive(Debug, Args)]
struct ImportArgs {
    /// The document: Markdown with the tables of capabilities and defaults
    #[arg(value_name = "FILE")]
    file: Utf8PathBuf,
}

/// Prints a catalog with the entries of an application document.
fn import(args: &ImportArgs) -> Result<ExitCode, Stop> {
    let text = read_document(&args.file)?.to_catalog(&command);
    Ok(printed(text.map_err(stop(2))?, 0))
}

fn read_document(path: &Utf8Path) -> Result<Application, Stop> {
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
