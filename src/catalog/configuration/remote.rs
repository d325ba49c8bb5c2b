//! A server of a configuration that is reached over HTTP. Values that look like secrets come from variables.

use std::collections::BTreeMap;

use serde_json::json;

use super::{
    super::application::toml,
    Command, Surroundings, object,
    tree::{Node, Value},
    values::{self, Expanded, Reference, expand, looks_secret},
};

/// Where a server is, and the headers of every request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct At {
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    /// The names of headers, and of the variables with their values.
    pub(super) headers_env: Vec<(String, String)>,
    pub(super) bearer_env: Option<String>,
}

/// The headers that a host would send, by the keys of all hosts; the values of the last two name variables.
pub(super) fn headers_of(server: &Node) -> Vec<(String, String)> {
    let pairs = |key: &str, form: fn(&str) -> String| {
        let table = server.get(key).and_then(Node::table).unwrap_or_default();
        let pair = |(name, value): &(String, Node)| match &value.value {
            Value::Text(text) | Value::Written(text) => Some((name.clone(), form(text))),
            _ => None,
        };
        table.iter().filter_map(pair).collect::<Vec<_>>()
    };
    let plain = str::to_owned as fn(&str) -> String;
    let variable = |name: &str| format!("${{{name}}}");
    let bearer = server.get("bearer_token_env_var").and_then(Node::text);
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
pub(super) fn at(
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
    let mut at = At {
        url: text,
        ..At::default()
    };
    let mut values = BTreeMap::new();
    for (header, said) in headers {
        let is_authorization = header.eq_ignore_ascii_case("authorization");
        let bearer = said
            .get(..7)
            .filter(|scheme| scheme.eq_ignore_ascii_case("bearer "));
        let bearer = bearer
            .filter(|_| is_authorization)
            .and_then(|_| said.get(7..));
        let purpose = if bearer.is_some() { "TOKEN" } else { header };
        let own = variable_name(name, purpose);
        match value(header, bearer.unwrap_or(said).trim(), &own, around)? {
            Kept::Plain(text) => at.headers.push((header.clone(), text)),
            Kept::Variable { name, value } => {
                if bearer.is_some() {
                    at.bearer_env = Some(name.clone());
                } else {
                    at.headers_env.push((header.clone(), name.clone()));
                }
                values.insert(name, value);
            }
        }
    }
    made.secrets.extend(values);
    made.at = Some(at);
    Ok(made)
}

enum Kept {
    Plain(String),
    Variable { name: String, value: String },
}

/// What is written of a header: its value, or the variable with its value, which is `own` unless the value names one.
fn value(header: &str, said: &str, own: &str, around: &Surroundings<'_>) -> Result<Kept, String> {
    let of = |name: &str, missing: String| {
        let value = (around.variable)(name).ok_or(missing)?;
        let name = name.to_owned();
        Ok(Kept::Variable { name, value })
    };
    match values::reference(said) {
        Some(Reference::Input(input)) => of(
            own,
            format!(
                "its header {header} comes from the input `{input}` of an editor; export {own}, and import again"
            ),
        ),
        Some(Reference::Variable(from)) => of(from, values::unset(from)),
        None => {
            let Expanded { text, secret } = expand(&format!("its header {header}"), said, around)?;
            let grants = ["authorization", "proxy-authorization", "cookie"];
            let by_name = grants.contains(&header.to_ascii_lowercase().as_str());
            Ok(
                if secret.is_some() || by_name || looks_secret(header, &text, around) {
                    Kept::Variable {
                        name: own.to_owned(),
                        value: text,
                    }
                } else {
                    Kept::Plain(text)
                },
            )
        }
    }
}

/// A name for the variable of a server.
fn variable_name(server: &str, purpose: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    let name: String = format!("{server}_{purpose}").chars().map(plain).collect();
    let digit = name.starts_with(|first: char| first.is_ascii_digit());
    if digit { format!("_{name}") } else { name }
}

impl At {
    /// The keys of `[server.NAME]`.
    pub(super) fn keys(&self) -> String {
        let mut text = format!("url = {}\n", toml(&json!(self.url)));
        for (key, pairs) in [
            ("headers", &self.headers),
            ("headers_env", &self.headers_env),
        ] {
            if !pairs.is_empty() {
                text.extend([format!("{key} = {}\n", object(pairs))]);
            }
        }
        if let Some(name) = &self.bearer_env {
            text.extend([format!("bearer_env = {}\n", toml(&json!(name)))]);
        }
        text
    }
}
