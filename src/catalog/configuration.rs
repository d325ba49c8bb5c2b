//! The files in which MCP hosts keep their servers: `mcpServers` of Claude, Cursor and Windsurf, `servers` of VS Code,
//! `mcp` of `OpenCode`, `mcp_servers` of Codex. The form of a file is found by its content, not by its name.
//!
//! Every value is expanded here, and every value that looks like a secret is set apart: it is used for one start of the
//! server, and never written.

mod remote;
#[cfg(test)]
mod tests;
mod tree;
mod values;

use std::fmt;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value as Json, json};

use super::application::{key, toml};
use tree::{Node, Value};
use values::{Expanded, Reference, expand, looks_secret};

/// A file that cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Misread {
    pub(crate) line: usize,
    /// What is wrong, and what to do.
    pub(crate) problem: String,
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.problem)
    }
}

/// What the values of a file can refer to.
pub(crate) struct Surroundings<'a> {
    /// The root of the catalog.
    pub(crate) root: &'a Utf8Path,
    /// The project to which the file belongs: servers are started there. `None` if it is the file of a user.
    pub(crate) project: Option<&'a Utf8Path>,
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
}

/// A server of a file.
#[derive(Debug)]
pub(crate) struct Configured {
    /// As the file names it.
    pub(crate) name: String,
    pub(crate) line: usize,
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

/// How a server is started or reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Command {
    /// Where it is. Then the next three are empty.
    pub(super) at: Option<remote::At>,
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: Option<String>,
    pub(crate) env: Vec<(String, String)>,
    /// Variables that the server gets from oneact's environment, with the values for the first start. Those of a server
    /// over HTTP are the values of headers.
    pub(crate) secrets: Vec<(String, String)>,
}

/// The keys under which the hosts list their servers.
pub(crate) const KEYS: &str =
    "`mcpServers`, `servers` (VS Code), `mcp` (OpenCode) or `mcp_servers` (Codex)";

/// Reads a file. Of several servers with one name, the first one counts for the host, too: `~/.claude.json` lists those of
/// a project before those of the user. A file that configures other things has none.
pub(crate) fn read(
    path: &Utf8Path,
    text: &str,
    around: &Surroundings<'_>,
) -> Result<Vec<Configured>, Misread> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_toml = path.extension() == Some("toml");
    let whole = if is_toml {
        tree::toml(text)?
    } else {
        tree::json(text)?
    };
    let wrong = |line, problem: String| Misread { line, problem };
    if whole.table().is_none() {
        let problem = format!("this is no configuration of MCP servers; it must contain {KEYS}");
        return Err(wrong(1, problem));
    }
    let of_project = whole.get("projects").and_then(|projects| {
        let names = [
            around.root.as_str(),
            around.root.as_str().trim_end_matches('/'),
        ];
        names
            .iter()
            .find_map(|name| projects.get(name)?.get("mcpServers"))
    });
    let keys = ["mcpServers", "servers", "mcp", "mcp_servers"];
    let lists = of_project
        .into_iter()
        .chain(keys.iter().filter_map(|key| whole.get(key)));
    let mut servers: Vec<Configured> = Vec::new();
    for list in lists {
        let members = list.table().ok_or_else(|| {
            wrong(
                list.line,
                "the servers must be an object: a name and a configuration for each".to_owned(),
            )
        })?;
        for (name, server) in members {
            if servers.iter().all(|known| known.name != *name) {
                servers.push(Configured {
                    name: name.clone(),
                    line: server.line,
                    start: start(name, server, around)?,
                });
            }
        }
    }
    Ok(servers)
}

/// One server from the command line: `oneact add`. A variable without a value is passed on.
pub(crate) fn given(
    argv: Vec<String>,
    variables: &[String],
    around: &Surroundings<'_>,
) -> Result<Command, String> {
    let mut command = Command::default();
    for said in variables {
        let (name, value) = match said.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => (said.as_str(), format!("${{{said}}}")),
        };
        command.variable(name, &value, around)?;
    }
    command.argv = argv;
    command.checked(around)
}

/// How one server is started, or why it cannot be. The error says that the file has a wrong shape.
fn start(name: &str, server: &Node, around: &Surroundings<'_>) -> Result<Start, Misread> {
    let wrong = |node: &Node, problem: &str| Misread {
        line: node.line,
        problem: format!("server `{name}`: {problem}"),
    };
    if server.table().is_none() {
        return Err(wrong(
            server,
            "its configuration must be an object with `command` or `url`",
        ));
    }
    let flag = |key: &str| match server.get(key) {
        None => Ok(None),
        Some(node) => match node.value {
            Value::Flag(flag) => Ok(Some(flag)),
            _ => Err(wrong(node, &format!("`{key}` must be true or false"))),
        },
    };
    if flag("disabled")? == Some(true) || flag("enabled")? == Some(false) {
        return Ok(Start::Off);
    }
    let urls = ["url", "serverUrl", "httpUrl"];
    if let Some(url) = urls.iter().find_map(|key| server.get(key)) {
        let said = url
            .text()
            .ok_or_else(|| wrong(url, "the address must be a string"))?;
        let kind = server.get("type").or_else(|| server.get("transport"));
        if kind.and_then(Node::text) == Some("sse") {
            let why = "it speaks the older transport (`sse`), which oneact does not; use its address for streamable HTTP";
            return Ok(Start::Unfit(why.to_owned()));
        }
        let made = remote::at(name, said, &remote::headers_of(server), around);
        return Ok(made.map_or_else(Start::Unfit, Start::Command));
    }
    let command = server
        .get("command")
        .ok_or_else(|| wrong(server, "it has neither `command` nor `url`; add one"))?;
    let not_strings = |node| wrong(node, "`command` and `args` must be strings");
    let mut argv = match &command.value {
        Value::Text(program) => vec![program.as_str()],
        Value::List(words) => texts(words).ok_or_else(|| not_strings(command))?,
        _ => return Err(not_strings(command)),
    };
    if let Some(args) = server.get("args") {
        match &args.value {
            Value::List(words) => argv.extend(texts(words).ok_or_else(|| not_strings(args))?),
            Value::Null => {}
            _ => return Err(wrong(args, "`args` must be an array of strings")),
        }
    }
    if argv.first().is_none_or(|program| program.is_empty()) {
        return Err(wrong(command, "`command` names no program"));
    }
    let mut made = Command::default();
    let mut unfit = None;
    let tables = ["env", "environment"]
        .iter()
        .filter_map(|key| server.get(key));
    for table in tables {
        let members = match &table.value {
            Value::Table(members) => members.as_slice(),
            Value::Null => &[],
            _ => return Err(wrong(table, "`env` must be an object of strings")),
        };
        for (variable, value) in members {
            let said = match &value.value {
                Value::Text(text) | Value::Written(text) => text.clone(),
                Value::Flag(flag) => flag.to_string(),
                Value::Null => continue,
                Value::List(_) | Value::Table(_) => {
                    return Err(wrong(
                        value,
                        &format!("`{variable}` in `env` must be a string"),
                    ));
                }
            };
            if let Err(why) = made.variable(variable, &said, around) {
                unfit.get_or_insert(why);
            }
        }
    }
    // Codex names variables that are passed on, as texts or as tables with a name.
    if let Some(Value::List(names)) = server.get("env_vars").map(|node| &node.value) {
        for node in names {
            let name = node.text().or_else(|| node.get("name")?.text());
            let name = name.ok_or_else(|| wrong(node, "`env_vars` must list names"))?;
            if let Err(why) = made.variable(name, &format!("${{{name}}}"), around) {
                unfit.get_or_insert(why);
            }
        }
    }
    if let Some(why) = unfit {
        return Ok(Start::Unfit(why));
    }
    let cwd = server.get("cwd").and_then(Node::text);
    Ok(made
        .placed(&argv, cwd, around)
        .map_or_else(Start::Unfit, Start::Command))
}

fn texts(words: &[Node]) -> Option<Vec<&str>> {
    words.iter().map(Node::text).collect()
}

/// Pairs as an inline table.
fn object(pairs: &[(String, String)]) -> String {
    let pair = |(name, value): &(String, String)| (name.clone(), Json::from(value.as_str()));
    toml(&pairs.iter().map(pair).collect::<Map<_, _>>().into())
}

/// One server over HTTP from the command line. A header is `NAME: VALUE`.
pub(crate) fn given_url(
    name: &str,
    url: &str,
    headers: &[String],
    around: &Surroundings<'_>,
) -> Result<Command, String> {
    let pair = |said: &String| match said.split_once(':') {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        None => Err(format!(
            "a header is `NAME: VALUE`, and `{}` has no colon",
            said.split(' ').next().unwrap_or_default()
        )),
    };
    let headers: Result<Vec<_>, _> = headers.iter().map(pair).collect();
    remote::at(name, url, &headers?, around)
}

/// Why a server is left out whose command line contains a secret.
fn unwritable(what: &str) -> String {
    format!(
        "{what} looks like a secret, and oneact writes no secret into a catalog; give it in a variable, if the server \
         reads one, or start the server by a script that adds it"
    )
}

impl Command {
    /// Adds a variable: to be written, or to be passed on if it looks like a secret.
    fn variable(
        &mut self,
        name: &str,
        said: &str,
        around: &Surroundings<'_>,
    ) -> Result<(), String> {
        let own = match values::reference(said) {
            Some(Reference::Input(input)) => Some((around.variable)(name).ok_or_else(|| {
                format!("{name} comes from the input `{input}` of an editor; export {name}, and import again")
            })?),
            Some(Reference::Variable(from)) if from == name => {
                Some((around.variable)(name).ok_or_else(|| values::unset(name))?)
            }
            Some(Reference::Variable(_)) | None => None,
        };
        if let Some(value) = own {
            self.secrets.push((name.to_owned(), value));
            return Ok(());
        }
        let Expanded { text, secret } = expand(&format!("the variable {name}"), said, around)?;
        let value = text;
        // What a run passes on is the variable of that name, as it is.
        let other =
            |from: &String| from != name || (around.variable)(name).is_some_and(|own| own != value);
        if let Some(from) = secret.filter(other) {
            return Err(format!(
                "the variable {name} is made of the variable {from}, which looks like a secret, and oneact writes no \
                 secret into a catalog; export {name} with its whole value, and configure it as ${{{name}}}"
            ));
        }
        let kept = if looks_secret(name, &value, around) {
            &mut self.secrets
        } else {
            &mut self.env
        };
        kept.push((name.to_owned(), value));
        Ok(())
    }

    /// The same with the expanded argv and directory.
    fn placed(
        mut self,
        argv: &[&str],
        cwd: Option<&str>,
        around: &Surroundings<'_>,
    ) -> Result<Self, String> {
        let plain = |what: &str, said: &str| {
            let Expanded { text, secret } = expand(what, said, around)?;
            secret.map_or(Ok(text), |from| {
                Err(unwritable(&format!(
                    "{what} contains the variable {from}, which"
                )))
            })
        };
        let words = argv.iter().enumerate();
        let words = words.map(|(at, word)| plain(&format!("its argument {at}"), word));
        self.argv = words.collect::<Result<_, _>>()?;
        let elsewhere = around.project.filter(|project| *project != around.root);
        self.cwd = match (cwd, elsewhere) {
            (Some(cwd), project) => {
                let cwd = plain("its directory", cwd)?;
                Some(match project {
                    Some(project) => project.join(cwd).into_string(),
                    None => cwd,
                })
            }
            (None, project) => project.map(|project| project.as_str().to_owned()),
        };
        // What the key `cwd` cannot contain.
        self.cwd = self.cwd.map(|cwd| match cwd.strip_prefix("{root}") {
            Some(below) => below.trim_start_matches('/').to_owned(),
            None => cwd,
        });
        self.cwd = self.cwd.filter(|cwd| !cwd.is_empty());
        self.checked(around)
    }

    /// Refuses an argv with a secret, because the whole argv is written.
    fn checked(self, around: &Surroundings<'_>) -> Result<Self, String> {
        let mut before = "";
        for (at, word) in self.argv.iter().enumerate() {
            if looks_secret(before, word, around) {
                return Err(unwritable(&format!("its argument {at}")));
            }
            before = if word.starts_with('-') { word } else { "" };
        }
        Ok(self)
    }

    /// The variable that both servers get from oneact's environment, though each has another value for it.
    pub(crate) fn differs(&self, other: &Self) -> Option<&str> {
        let both = self.secrets.iter().filter(|(name, value)| {
            let mut secrets = other.secrets.iter();
            secrets.any(|(of, said)| of == name && said != value)
        });
        both.map(|(name, _)| name.as_str()).next()
    }

    /// The command line or the address, for a person.
    pub(crate) fn shown(&self) -> String {
        let url = self.at.as_ref().map(|at| at.url.clone());
        url.unwrap_or_else(|| self.argv.join(" "))
    }

    /// The table `[server.NAME]`.
    pub(crate) fn table(&self, name: &str) -> String {
        if let Some(at) = &self.at {
            return format!("[server.{}]\n{}", key(name), at.keys());
        }
        let mut text = format!(
            "[server.{}]\ncommand = {}\n",
            key(name),
            toml(&json!(self.argv))
        );
        if let Some(cwd) = &self.cwd {
            text.extend([format!("cwd = {}\n", toml(&json!(cwd)))]);
        }
        if !self.env.is_empty() {
            text.extend([format!("env = {}\n", object(&self.env))]);
        }
        if !self.secrets.is_empty() {
            let names: Vec<&String> = self.secrets.iter().map(|(name, _)| name).collect();
            text.extend([format!("env_pass = {}\n", toml(&json!(names)))]);
        }
        text
    }
}

/// The project of a configuration file, by the place that each host gives it. `None` if it is not the file of a project.
pub(crate) fn project_of(path: &Utf8Path) -> Option<Utf8PathBuf> {
    let dir = path.parent()?;
    let above = |name: &str| {
        (dir.file_name() == Some(name))
            .then(|| dir.parent())
            .flatten()
    };
    let project = match path.file_name()? {
        ".mcp.json" | "opencode.json" | "opencode.jsonc" => above(".opencode").or(Some(dir)),
        "mcp.json" => above(".cursor").or_else(|| above(".vscode")),
        "config.toml" => above(".codex"),
        _ => None,
    };
    project.map(Utf8Path::to_owned)
}
