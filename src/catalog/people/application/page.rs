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
    let (mut table, mut fenced) = (None, false);
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        fenced ^= line.starts_with("```");
        let Some(row) = line.strip_prefix('|').filter(|_| !fenced) else {
            table = None;
            continue;
        };
        let cells = cells(row);
        let row = match &table {
            None => {
                table = Some(Columns::of(&cells));
                continue;
            }
            Some(Columns::Others) => continue,
            Some(_) if is_rule(&cells) => continue,
            Some(Columns::Mapping(at)) => Row::Mapping(pick(at, &cells)),
            Some(Columns::Defaults(at)) => Row::Defaults(pick(at, &cells)),
        };
        rows.push((at + 1, row));
    }
    rows
}

/// The tables of a document, by the places of the columns that are read.
enum Columns {
    Mapping([usize; 4]),
    Defaults([usize; 2]),
    Others,
}

impl Columns {
    fn of(header: &[String]) -> Self {
        if let Some(at) = places(MAPPING, header) {
            return Self::Mapping(at);
        }
        places(DEFAULTS, header).map_or(Self::Others, Self::Defaults)
    }
}

fn places<const N: usize>(columns: [&str; N], header: &[String]) -> Option<[usize; N]> {
    let place = |column: &str| header.iter().position(|cell| cell.to_lowercase() == column);
    let places: Vec<usize> = columns.into_iter().map_while(place).collect();
    places.try_into().ok()
}

/// Those cells of a row; a missing one is empty.
fn pick<const N: usize>(at: &[usize; N], cells: &[String]) -> [String; N] {
    at.map(|at| cells.get(at).cloned().unwrap_or_default())
}

/// The cells of a row behind its first `|`.
fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut chars = row.strip_suffix('|').unwrap_or(row).chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.next_if_eq(&'|').is_some() => push(&mut cells, '|'),
            '|' => cells.push(String::new()),
            c => push(&mut cells, c),
        }
    }
    let plain = |cell: String| cell.trim().trim_matches(['`', '*']).to_owned();
    cells.into_iter().map(plain).collect()
}

fn push(cells: &mut [String], c: char) {
    if let Some(last) = cells.last_mut() {
        last.push(c);
    }
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
