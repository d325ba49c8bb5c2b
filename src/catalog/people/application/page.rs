//! The two tables of an application document, as rows of texts.

use serde_json::{Map, Value};

/// The columns of the two tables, in lower case.
const MAPPING: [&str; 4] = ["capability id", "mcp server", "tool", "parameters"];
const DEFAULTS: [&str; 2] = ["tool", "default parameters"];

/// What a cell says if there is nothing.
const NOTHING: [&str; 5] = ["", "-", "–", "—", "none"];

/// A row of one of the tables.
pub(super) enum Row {
    Mapping([String; 4]),
    Defaults([String; 2]),
}

/// The rows of a Markdown document with their lines. What stands between lines of three backticks is an example.
pub(super) fn rows(text: &str) -> Vec<(usize, Row)> {
    let mut rows = Vec::new();
    let (mut header, mut fenced): (Option<Header>, _) = (None, false);
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        fenced ^= line.starts_with("```");
        let Some(row) = line.strip_prefix('|').filter(|_| !fenced) else {
            header = None;
            continue;
        };
        let cells = cells(row);
        let Some(header) = &header else {
            header = Some(Header::of(&cells));
            continue;
        };
        if !is_rule(&cells) {
            let cell = |at: usize| cells.get(at).cloned().unwrap_or_default();
            rows.extend(match header {
                Header::Mapping(columns) => Some((at + 1, Row::Mapping(columns.map(cell)))),
                Header::Defaults(columns) => Some((at + 1, Row::Defaults(columns.map(cell)))),
                Header::Other => None,
            });
        }
    }
    rows
}

/// Where the columns of a table are.
#[derive(Clone, Copy)]
enum Header {
    Mapping([usize; 4]),
    Defaults([usize; 2]),
    Other,
}

impl Header {
    fn of(cells: &[String]) -> Self {
        let names: Vec<String> = cells.iter().map(|cell| cell.to_lowercase()).collect();
        let mapping = places(MAPPING, &names).map(Self::Mapping);
        let known = mapping.or_else(|| places(DEFAULTS, &names).map(Self::Defaults));
        known.unwrap_or(Self::Other)
    }
}

/// The places of these columns; `None` if the table lacks one.
fn places<const N: usize>(columns: [&str; N], names: &[String]) -> Option<[usize; N]> {
    let at = |column| names.iter().position(|name| name == column);
    let places: Vec<usize> = columns.into_iter().map_while(at).collect();
    places.try_into().ok()
}

/// The cells of a row behind its first `|`. In a cell, a vertical bar is `\|`.
fn cells(row: &str) -> Vec<String> {
    const BAR: &str = "\0";
    let row = row.replace("\\|", BAR);
    let cells = row.strip_suffix('|').unwrap_or(&row).split('|');
    let plain = |cell: &str| {
        let cell = cell.replace(BAR, "|");
        cell.trim().trim_matches(['`', '*']).to_owned()
    };
    cells.map(plain).collect()
}

fn is_rule(cells: &[String]) -> bool {
    cells
        .iter()
        .all(|cell| cell.starts_with([':', '-']) && cell.chars().all(|c| matches!(c, ':' | '-')))
}

pub(super) fn names(cell: &str) -> Vec<String> {
    if NOTHING.contains(&cell) {
        return Vec::new();
    }
    let names = cell
        .split(',')
        .map(|name| name.trim().trim_matches('`').to_owned());
    names.collect()
}

/// The values of a cell such as `output_format: "wav", sample_rate: 16000`. Backticks around names and values count as
/// blanks.
pub(super) fn values(cell: &str) -> Result<Map<String, Value>, String> {
    const BLANK: [char; 2] = [' ', '`'];
    let mut values = Map::new();
    let mut rest = cell.trim_matches(BLANK);
    while !NOTHING.contains(&rest) {
        let (name, said) = rest
            .split_once([':', '=', ' '])
            .ok_or_else(|| format!("{rest:?} is no default; write e.g. sample_rate: 16000"))?;
        let name = name.trim_end_matches(BLANK);
        let said = said.trim_start_matches([':', '=', ' ', '`']);
        let mut json = serde_json::Deserializer::from_str(said).into_iter::<Value>();
        let value = json
            .next()
            .and_then(Result::ok)
            .filter(|value| !has_null(value));
        let value = value.ok_or_else(|| {
            format!(
                "the default of `{name}` must be a number, true, false, a text in quotes, a list or an object, without null; write a vertical bar as `\\|`"
            )
        })?;
        let after = said
            .get(json.byte_offset()..)
            .unwrap_or_default()
            .trim_start_matches(BLANK);
        values.insert(name.to_owned(), value);
        rest = after.strip_prefix(',').unwrap_or(after);
        rest = rest.trim_start_matches(BLANK);
    }
    Ok(values)
}

/// TOML has no null.
fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(members) => members.values().any(has_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
