//! How a server of a configuration is started or reached, as it is written into a catalog. Values that look like secrets come
//! from variables.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    host_values::{Expanded, Reference, Surroundings, expand, looks_secret, reference, unset},
    toml_text::{key, toml},
};

/// How a server is started or reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Command {
    /// Where it is. Then the next three are empty.
    pub(crate) at: Option<Address>,
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: Option<String>,
    pub(crate) env: Vec<(String, String)>,
    /// Variables that the server gets from oneact's environment, with the values for the first start. Those of a server
    /// over HTTP are the values of headers.
    pub(crate) secrets: Vec<(String, String)>,
}

/// Where a server is, and the headers of every request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Address {
    url: String,
    headers: Vec<(String, String)>,
    /// The names of headers, and of the variables with their values.
    headers_env: Vec<(String, String)>,
    bearer_env: Option<String>,
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
    at(name, url, &headers?, around)
}

/// The headers that a host would send, by the keys of all hosts; the values of the last two name variables.
pub(crate) fn headers_of(server: &Value) -> Vec<(String, String)> {
    let pairs = |key: &str, form: fn(&str) -> String| {
        let table = server.get(key).and_then(Value::as_object);
        let pair = |(name, value): (&String, &Value)| match value {
            Value::String(text) => Some((name.clone(), form(text))),
            Value::Number(number) => Some((name.clone(), form(&number.to_string()))),
            _ => None,
        };
        let pairs = table.into_iter().flatten().filter_map(pair);
        pairs.collect::<Vec<_>>()
    };
    let plain = str::to_owned as fn(&str) -> String;
    let variable = |name: &str| format!("${{{name}}}");
    let bearer = server.get("bearer_token_env_var").and_then(Value::as_str);
    let bearer = bearer.map(|name| ("Authorization".to_owned(), format!("Bearer ${{{name}}}")));
    let all = [
        pairs("headers", plain),
        pairs("http_headers", plain),
        pairs("env_http_headers", variable),
        bearer.into_iter().collect(),
    ];
    all.concat()
}

/// The server `name` at this address. The error says why it cannot be written.
pub(crate) fn at(
    name: &str,
    url: &str,
    headers: &[(String, String)],
    around: &Surroundings<'_>,
) -> Result<Command, String> {
    let Expanded { text, secret } = expand("its address", url, around)?;
    let parsed =
        url::Url::parse(&text).map_err(|error| format!("its address is no URL: {error}"))?;
    let grants = parsed
        .query_pairs()
        .any(|(key, value)| looks_secret(&key, &value, around));
    if secret.is_some()
        || grants
        || looks_secret("url", &text, around)
        || !parsed.username().is_empty()
    {
        let why = "its address contains what looks like a secret, and oneact writes no secret into a catalog; write \
                   this server by hand, with the secret in a header (`headers_env`), if the server reads one";
        return Err(why.to_owned());
    }
    let mut made = Command::default();
    let mut at = Address {
        url: text,
        ..Address::default()
    };
    let mut values = BTreeMap::new();
    for (header, said) in headers {
        let bearer = said.split_once(' ').filter(|(scheme, _)| {
            header.eq_ignore_ascii_case("authorization") && scheme.eq_ignore_ascii_case("bearer")
        });
        let token = bearer.map(|(_, token)| token);
        let purpose = if token.is_some() { "TOKEN" } else { header };
        let own = variable_name(name, purpose);
        let (variable, value) = value(header, token.unwrap_or(said).trim(), &own, around)?;
        let Some(variable) = variable else {
            at.headers.push((header.clone(), value));
            continue;
        };
        if token.is_some() {
            at.bearer_env = Some(variable.clone());
        } else {
            at.headers_env.push((header.clone(), variable.clone()));
        }
        values.insert(variable, value);
    }
    made.secrets.extend(values);
    made.at = Some(at);
    Ok(made)
}

/// The value of a header, and the variable that is written in its place: `own`, or the one that the value names.
fn value(
    header: &str,
    said: &str,
    own: &str,
    around: &Surroundings<'_>,
) -> Result<(Option<String>, String), String> {
    let of = |name: &str, missing: String| {
        let value = (around.variable)(name).ok_or(missing)?;
        Ok((Some(name.to_owned()), value))
    };
    match reference(said) {
        Some(Reference::Input(input)) => of(
            own,
            format!(
                "its header {header} comes from the input `{input}` of an editor; export {own}, and import again"
            ),
        ),
        Some(Reference::Variable(from)) => of(from, unset(from)),
        None => {
            let Expanded { text, secret } = expand(&format!("its header {header}"), said, around)?;
            let grants = ["authorization", "proxy-authorization", "cookie"];
            let is_secret = secret.is_some()
                || grants.contains(&header.to_ascii_lowercase().as_str())
                || looks_secret(header, &text, around);
            Ok((is_secret.then(|| own.to_owned()), text))
        }
    }
}

/// A name for the variable of a server.
fn variable_name(server: &str, purpose: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name = format!("{server}_{purpose}").to_ascii_uppercase();
    let name: String = name.chars().map(plain).collect();
    let digit = name.starts_with(|first: char| first.is_ascii_digit());
    if digit { format!("_{name}") } else { name }
}

/// Pairs as a table.
fn object(pairs: &[(String, String)]) -> Value {
    let pair = |(name, value): &(String, String)| (name.clone(), Value::from(value.as_str()));
    pairs.iter().map(pair).collect::<Map<_, _>>().into()
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
    pub(crate) fn variable(
        &mut self,
        name: &str,
        said: &str,
        around: &Surroundings<'_>,
    ) -> Result<(), String> {
        let missing = match reference(said) {
            Some(Reference::Input(input)) => Some(format!(
                "{name} comes from the input `{input}` of an editor; export {name}, and import again"
            )),
            Some(Reference::Variable(from)) if from == name => Some(unset(name)),
            Some(Reference::Variable(_)) | None => None,
        };
        if let Some(missing) = missing {
            let value = (around.variable)(name).ok_or(missing)?;
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
    pub(crate) fn placed(
        mut self,
        argv: &[String],
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
        let cwd = cwd.map(|cwd| plain("its directory", cwd)).transpose()?;
        let elsewhere = around.project.filter(|project| *project != around.root);
        self.cwd = match (elsewhere, cwd) {
            (Some(project), Some(cwd)) => Some(project.join(cwd).into_string()),
            (Some(project), None) => Some(project.to_string()),
            (None, cwd) => cwd,
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
        let names: Vec<&String> = self.secrets.iter().map(|(name, _)| name).collect();
        let pairs = match &self.at {
            Some(at) => [
                ("url", json!(at.url)),
                ("headers", object(&at.headers)),
                ("headers_env", object(&at.headers_env)),
                ("bearer_env", json!(at.bearer_env)),
            ],
            None => [
                ("command", json!(self.argv)),
                ("cwd", json!(self.cwd)),
                ("env", object(&self.env)),
                ("env_pass", json!(names)),
            ],
        };
        let said = pairs
            .into_iter()
            .filter(|(_, value)| !value.is_null() && *value != json!({}) && *value != json!([]));
        let lines = said.map(|(key, value)| format!("{key} = {}\n", toml(&value)));
        format!("[server.{}]\n{}", key(name), lines.collect::<String>())
    }
}
