//! `oneact catalog`: lists, shows, finds, renders, checks and adds entries of the catalog. Only `check --live` starts
//! servers.

pub(super) mod change;
mod check;
mod document;
mod entries;
mod promote;

use std::process::ExitCode;

use camino::Utf8PathBuf;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::{
    ended::{Stop, printed, stop},
    help,
    printing::{Table, columns},
    settings::{FormArgs, PlaceArgs, number},
};
use crate::{
    catalog::{
        Application, Catalog, Hit, Listed, Matched, ToolForm, find, has_standard, list, pipelines,
        prompt, search, tools,
    },
    host::{self, Interrupts},
    task::{CallContext, visible, visible_lines},
};

use change::LARGEST;
use check::CheckArgs;
use document::DocumentArgs;
use entries::{json_of, one, table};
use promote::PromoteArgs;

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
    List(FormArgs),
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
    Import(DocumentArgs),
    /// Add a workflow that repeats the calls of an improvised action
    #[command(after_help = help::of("catalog promote"))]
    Promote(PromoteArgs),
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
        CatalogVerb::List(form) => {
            let listed = load(&form.places, CatalogExtent::WithPipelines)?;
            let document: Value = listed.iter().map(json_of).collect();
            Ok(form.printed(&document, || table(&listed), 0))
        }
        CatalogVerb::Show(args) => {
            let listed = load(&args.form.places, CatalogExtent::WithPipelines)?;
            let entry = find(&listed, &args.id).map_err(|failure| stop(1)(failure.message))?;
            let document = json!([json_of(entry)]);
            Ok(args.form.printed(&document, || one(entry), 0))
        }
        CatalogVerb::Search(args) => {
            let listed = load(&args.form.places, CatalogExtent::Entries)?;
            let found: Vec<&Listed> = found_in(&listed, args.context);
            let hits = search(&found, &args.words.join(" "));
            let code = u8::from(hits.is_empty());
            let document: Value = hits.iter().map(json_hit).collect();
            Ok(args.form.printed(&document, || hit_lines(&hits), code))
        }
        CatalogVerb::Render(args) => render(args),
        CatalogVerb::Check(args) => check::run(args, &interrupts),
        CatalogVerb::Import(args) => document::import(args),
        CatalogVerb::Promote(args) => promote::run(args, interrupts),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CatalogExtent {
    Entries,
    WithPipelines,
}

/// All entries, by their ids; then all pipelines, if they are wanted.
fn load(places: &PlaceArgs, extent: CatalogExtent) -> Result<Vec<Listed>, Stop> {
    let project = places.project()?;
    let listed = Catalog::load(&project.catalog).and_then(|catalog| {
        let tables = catalog.tables()?;
        let mut listed = list(&tables)?;
        if extent == CatalogExtent::WithPipelines {
            listed.extend(pipelines(&tables)?);
        }
        Ok(listed)
    });
    listed.map_err(stop(2))
}

fn found_in(listed: &[Listed], context: CallContext) -> Vec<&Listed> {
    let found = listed.iter().filter(|entry| entry.is_found_in(context));
    found.collect()
}

fn hit_lines(hits: &[Hit<'_>]) -> String {
    if hits.is_empty() {
        return "Nothing found. `oneact catalog list` prints all entries.\n".to_owned();
    }
    let row = |hit: &Hit<'_>| {
        let (how, words) = matched(hit);
        let why = format!("{how}: {}", words.join(", "));
        [hit.id, &why].map(|cell| visible(cell).into_owned())
    };
    let table = Table {
        rows: hits.iter().map(row).collect(),
        ..Table::default()
    };
    table.text(columns())
}

fn json_hit(hit: &Hit<'_>) -> Value {
    let (how, words) = matched(hit);
    json!({"id": hit.id, "matched": how, "words": words})
}

/// How an entry was found, and by which words.
fn matched(hit: &Hit<'_>) -> (&'static str, Vec<String>) {
    match &hit.matched {
        Matched::Id => ("id", vec![hit.id.to_owned()]),
        Matched::Alias(alias) => ("alias", vec![(*alias).to_owned()]),
        Matched::AliasBeginning(alias) => ("alias_beginning", vec![(*alias).to_owned()]),
        Matched::Words(words) => ("words", words.clone()),
    }
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
    let listed = load(&args.places, CatalogExtent::Entries)?;
    let mut entries = found_in(&listed, args.context);
    entries.retain(|entry| entry.common.is_action);
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
