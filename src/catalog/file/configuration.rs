//! The files in which MCP hosts keep their servers: `mcpServers` of Claude, Cursor and Windsurf, `servers` of VS Code,
//! `mcp` of `OpenCode`, `mcp_servers` of Codex. The form of a file is found by its content, not by its name.
//!
//! Every value is expanded here, and every value that looks like a secret is set apart: it is used for one start of the
//! server, and never written.

use camino::{Utf8Path, Utf8PathBuf};
use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::{
    host_command::{Command, at, headers_of},
    host_values::Surroundings,
};

/// A server of a file.
#[derive(Debug)]
pub(crate) struct Configured {
    /// As the file names it.
    pub(crate) name: String,
    pub(crate) start: Start,
}

/// How the server is reached.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Command(Command),
    /// The file says that it is not to be used.
    Off,
    /// Why it cannot be used, and what to do.
    Unfit(String),
}

/// The keys under which the hosts list their servers.
pub(crate) const KEYS: &str =
    "`mcpServers`, `servers` (VS Code), `mcp` (OpenCode) or `mcp_servers` (Codex)";

/// Reads a file. Of several servers with one name, the first one counts for the host, too: `~/.claude.json` lists those of
/// a project before those of the user. A file that configures other things has none. The error says what is wrong, and
/// what to do.
pub(crate) fn read(
    path: &Utf8Path,
    text: &str,
    around: &Surroundings<'_>,
) -> Result<Vec<Configured>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let whole = if path.extension() == Some("toml") {
        toml::from_str(text).map_err(|error| format!("this is no TOML: {error}"))?
    } else {
        json(text)?
    };
    if !whole.is_object() {
        return Err(format!(
            "this is no configuration of MCP servers; it must contain {KEYS}"
        ));
    }
    let root = around.root.as_str();
    let of_project = whole.get("projects").and_then(|projects| {
        let mut names = [root, root.trim_end_matches('/')].into_iter();
        names.find_map(|name| projects.get(name)?.get("mcpServers"))
    });
    let keys = ["mcpServers", "servers", "mcp", "mcp_servers"];
    let lists = keys.iter().filter_map(|key| whole.get(key));
    let mut servers: Vec<Configured> = Vec::new();
    for list in of_project.into_iter().chain(lists) {
        let members = list
            .as_object()
            .ok_or("the servers must be an object: a name and a configuration for each")?;
        for (name, server) in members {
            if servers.iter().all(|known| known.name != *name) {
                servers.push(Configured {
                    name: name.clone(),
                    start: start(name, server, around).unwrap_or_else(Start::Unfit),
                });
            }
        }
    }
    Ok(servers)
}

/// Reads JSON, which may have comments and trailing commas.
fn json(text: &str) -> Result<Value, String> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
    let parsed = parsed.map_err(|error| format!("this is no JSON: {error}"))?;
    plain(&parsed.value.ok_or("the file is empty")?)
}

/// A name that occurs twice is an error: readers of JSON do not agree on which of the two counts.
fn plain(value: &ast::Value<'_>) -> Result<Value, String> {
    Ok(match value {
        ast::Value::StringLit(text) => text.value.as_ref().into(),
        ast::Value::NumberLit(number) => {
            let number = serde_json::from_str(number.value);
            number.map_err(|error| format!("this is no JSON: {error}"))?
        }
        ast::Value::BooleanLit(flag) => flag.value.into(),
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::Array(array) => {
            let items = array.elements.iter().map(plain);
            items.collect::<Result<_, _>>()?
        }
        ast::Value::Object(object) => {
            let mut members = Map::new();
            for property in &object.properties {
                let name = property.name.as_str();
                let member = plain(&property.value)?;
                if members.insert(name.to_owned(), member).is_some() {
                    return Err(format!(
                        "`{name}` is there for the second time in one object; remove or rename one of the two"
                    ));
                }
            }
            members.into()
        }
    })
}

/// How one server is started, or why it cannot be.
fn start(name: &str, server: &Value, around: &Surroundings<'_>) -> Result<Start, String> {
    if !server.is_object() {
        return Err("its configuration must be an object with `command` or `url`".to_owned());
    }
    let flag = |key: &str| match server.get(key) {
        None => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(format!("`{key}` must be true or false")),
    };
    if flag("disabled")? == Some(true) || flag("enabled")? == Some(false) {
        return Ok(Start::Off);
    }
    let text = |key: &str| server.get(key).and_then(Value::as_str);
    let urls = ["url", "serverUrl", "httpUrl"];
    if let Some(url) = urls.into_iter().find_map(|key| server.get(key)) {
        let url = url.as_str().ok_or("the address must be a string")?;
        if text("type").or_else(|| text("transport")) == Some("sse") {
            let why = "it speaks the older transport (`sse`), which oneact does not; use its address for streamable HTTP";
            return Err(why.to_owned());
        }
        return at(name, url, &headers_of(server), around).map(Start::Command);
    }
    let mut argv = match server.get("command") {
        None => return Err("it has neither `command` nor `url`; add one".to_owned()),
        Some(Value::String(program)) => vec![program.clone()],
        Some(argv) => Vec::<String>::deserialize(argv)
            .map_err(|_| "`command` must be a string or an array of strings")?,
    };
    if let Some(args) = server.get("args").filter(|args| !args.is_null()) {
        let args = Vec::<String>::deserialize(args);
        argv.extend(args.map_err(|_| "`args` must be an array of strings")?);
    }
    if argv.first().is_none_or(String::is_empty) {
        return Err("`command` names no program".to_owned());
    }
    let mut made = Command::default();
    for key in ["env", "environment"] {
        let table = server.get(key).filter(|table| !table.is_null());
        let table = table.map(|table| {
            table
                .as_object()
                .ok_or("`env` must be an object of strings")
        });
        for (variable, value) in table.transpose()?.into_iter().flatten() {
            let said = match value {
                Value::String(text) => text.clone(),
                Value::Null => continue,
                Value::Bool(_) | Value::Number(_) => value.to_string(),
                Value::Array(_) | Value::Object(_) => {
                    return Err(format!("`{variable}` in `env` must be a string"));
                }
            };
            made.variable(variable, &said, around)?;
        }
    }
    // Codex names variables that are passed on, as texts or as tables with a name.
    let passed = server.get("env_vars").and_then(Value::as_array);
    for named in passed.into_iter().flatten() {
        let name = named.as_str().or_else(|| named.get("name")?.as_str());
        let name = name.ok_or("`env_vars` must list names")?;
        made.variable(name, &format!("${{{name}}}"), around)?;
    }
    made.placed(&argv, text("cwd"), around).map(Start::Command)
}

/// The project of a configuration file, by the place that each host gives it. `None` if it is not the file of a project.
pub(crate) fn project_of(path: &Utf8Path) -> Option<Utf8PathBuf> {
    let dir = path.parent()?;
    let above = |name: &str| {
        let is_below = dir.file_name() == Some(name);
        dir.parent().filter(|_| is_below)
    };
    let project = match path.file_name()? {
        ".mcp.json" | "opencode.json" | "opencode.jsonc" => above(".opencode").or(Some(dir)),
        "mcp.json" => above(".cursor").or_else(|| above(".vscode")),
        "config.toml" => above(".codex"),
        _ => None,
    };
    project.map(Utf8Path::to_owned)
}

#[cfg(test)]
mod tests;
