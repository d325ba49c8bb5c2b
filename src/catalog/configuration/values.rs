//! The values of a configuration: references to variables, and what looks like a secret.

use crate::task::hidden;

use super::Surroundings;

/// A text that is nothing but one reference.
pub(super) enum Reference<'t> {
    Variable(&'t str),
    /// A value for which an editor asks (VS Code).
    Input(&'t str),
}

pub(super) fn reference(text: &str) -> Option<Reference<'_>> {
    let braced = text.strip_prefix("${").or_else(|| text.strip_prefix('{'))?;
    let inside = braced.strip_suffix('}')?;
    if let Some(input) = inside.strip_prefix("input:") {
        return Some(Reference::Input(input));
    }
    let name = match inside.strip_prefix("env:") {
        Some(name) => name,
        None if text.starts_with('$') => inside,
        None => return None,
    };
    is_name(name).then_some(Reference::Variable(name))
}

pub(super) fn unset(name: &str) -> String {
    format!("it needs the variable {name}, which is not set; export {name}, and import again")
}

/// Replaces the references of all hosts: `${VAR}` and `${VAR:-default}` (Claude), `${env:VAR}` (VS Code, Cursor, Windsurf),
/// `{env:VAR}` (`OpenCode`), and the folders of an editor. The error says what is missing. A text such as `$VAR` or `${1}`
/// stays, because no host replaces it.
pub(super) fn expand(text: &str, around: &Surroundings<'_>) -> Result<String, String> {
    if ["{self}", "{root}"].iter().any(|own| text.contains(own)) {
        return Err(format!(
            "it contains {text:?}, in which oneact would replace {{self}} or {{root}}; write this server by hand"
        ));
    }
    let (mut expanded, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        let end = from.find('}').map(|end| end + 1);
        let inside = end.and_then(|end| from.get(1..end - 1));
        let dollar = before.ends_with('$');
        let value = match inside {
            Some(inside) => value(inside, dollar, around)?,
            None => None,
        };
        if let Some(value) = value {
            expanded += before
                .strip_suffix('$')
                .filter(|_| dollar)
                .unwrap_or(before);
            expanded += &value;
        } else {
            expanded += before;
            expanded += from.get(..end.unwrap_or(from.len())).unwrap_or_default();
        }
        rest = from.get(end.unwrap_or(from.len())..).unwrap_or_default();
    }
    Ok(expanded + rest)
}

/// What stands for one reference; `None` if it is none.
fn value(inside: &str, dollar: bool, around: &Surroundings<'_>) -> Result<Option<String>, String> {
    if let Some(file) = inside.strip_prefix("file:") {
        return Err(format!(
            "it takes a value from the file {file}, which oneact does not read; give it in a variable"
        ));
    }
    let (name, default) = match inside.strip_prefix("env:") {
        Some(name) => (name, None),
        None if !dollar => return Ok(None),
        None => match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        },
    };
    let project = || match around.project {
        Some(project) if project != around.root => project.as_str().to_owned(),
        // Then the catalog can be moved with its project.
        _ => "{root}".to_owned(),
    };
    match name {
        "workspaceFolder" | "workspaceRoot" => return Ok(Some(project())),
        "workspaceFolderBasename" => {
            let folder = around.project.unwrap_or(around.root).file_name();
            return Ok(Some(folder.unwrap_or_default().to_owned()));
        }
        "userHome" => {
            return (around.variable)("HOME")
                .map(Some)
                .ok_or_else(|| unset("HOME"));
        }
        "pathSeparator" | "/" => return Ok(Some("/".to_owned())),
        _ => {}
    }
    if let Some(input) = name.strip_prefix("input:") {
        return Err(format!(
            "it needs the input `{input}`, for which an editor asks; give its value in a variable"
        ));
    }
    if !is_name(name) {
        return Ok(None);
    }
    let said = (around.variable)(name).filter(|said| !said.is_empty() || default.is_none());
    let value = said.or_else(|| default.map(str::to_owned));
    value.map(Some).ok_or_else(|| unset(name))
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Words of a name whose value grants access.
const WORDS: [&str; 9] = [
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "auth",
    "credentials",
    "cookie",
    "pat",
];

/// The shortest text without a meaning that counts as a secret.
const RANDOM: usize = 24;

/// Whether a value grants access, by its name (of a variable, or of the option before it) or by its shape. In doubt, it
/// does.
pub(super) fn looks_secret(name: &str, value: &str) -> bool {
    let few_digits = value.len() <= 5 && value.bytes().all(|byte| byte.is_ascii_digit());
    if few_digits || matches!(value, "true" | "false" | "none") {
        return false;
    }
    let hides = |text: &str| hidden(text) != text;
    if hides(value) || has_password(value) {
        return true;
    }
    // A path, an option or an address is a secret only by what stands in it.
    let place = value.starts_with(['/', '.', '~', '-', '{']) || value.contains("://");
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let named = words.any(|word| WORDS.iter().any(|secret| word.eq_ignore_ascii_case(secret)));
    !place
        && (named
            || is_random(value)
            || hides(&format!("{}={value}", name.trim_start_matches('-'))))
}

/// Whether an address contains a password.
fn has_password(value: &str) -> bool {
    let words = value.split(['=', ' ', ',']);
    words
        .filter(|word| word.contains("://"))
        .any(|word| url::Url::parse(word).is_ok_and(|url| url.password().is_some()))
}

/// A long word of letters in both cases and digits, or of hexadecimal digits.
fn is_random(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte);
    let hexadecimal = value.bytes().all(|byte| byte.is_ascii_hexdigit());
    value.len() >= RANDOM
        && value.bytes().all(plain)
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && (hexadecimal || has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase))
}
