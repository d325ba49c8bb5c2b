//! The values of a configuration: references to variables, and what looks like a secret.

use camino::Utf8Path;

use crate::task::hidden;

/// What the values of a file can refer to.
pub(crate) struct Surroundings<'a> {
    /// The root of the catalog.
    pub(crate) root: &'a Utf8Path,
    /// The project to which the file belongs: servers are started there. `None` if it is the file of a user.
    pub(crate) project: Option<&'a Utf8Path>,
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
}

/// A text that is nothing but one reference.
pub(crate) enum Reference<'t> {
    Variable(&'t str),
    /// A value for which an editor asks (VS Code).
    Input(&'t str),
}

pub(crate) fn reference(text: &str) -> Option<Reference<'_>> {
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

pub(crate) fn unset(name: &str) -> String {
    format!("it needs the variable {name}, which is not set; export {name}, and import again")
}

/// A text in which references were replaced.
pub(crate) struct Expanded {
    pub(crate) text: String,
    /// A variable in it that looks like a secret.
    pub(crate) secret: Option<String>,
}

/// Replaces the references of all hosts: `${VAR}` and `${VAR:-default}` (Claude), `${env:VAR}` (VS Code, Cursor, Windsurf),
/// `{env:VAR}` (`OpenCode`), and the folders of an editor. The error says what is missing; `what` is the name of the text
/// there. A text such as `$VAR` or `${1}` stays, because no host replaces it. So does a `{` that begins no reference.
pub(crate) fn expand(
    what: &str,
    text: &str,
    around: &Surroundings<'_>,
) -> Result<Expanded, String> {
    not_own(what, text)?;
    let (mut expanded, mut secret, mut rest) = (String::new(), None, text);
    while let Some((before, from)) = rest.split_once('{') {
        let plain = before.strip_suffix('$');
        let found = match from.split_once('}') {
            Some((inside, after)) => {
                value(inside, plain.is_some(), around)?.map(|value| (value, after))
            }
            None => None,
        };
        if let Some(((value, of), after)) = found {
            if let Some(of) = of {
                not_own(what, &value)?;
                if looks_secret(of, &value, around) {
                    secret.get_or_insert_with(|| of.to_owned());
                }
            }
            expanded += plain.unwrap_or(before);
            expanded += &value;
            rest = after;
        } else {
            expanded += before;
            expanded.push('{');
            rest = from;
        }
    }
    Ok(Expanded {
        text: expanded + rest,
        secret,
    })
}

/// Refuses what a catalog would replace.
fn not_own(what: &str, text: &str) -> Result<(), String> {
    if ["{self}", "{root}"].iter().any(|own| text.contains(own)) {
        return Err(format!(
            "{what} contains {{self}} or {{root}}, which oneact would replace; write this server by hand"
        ));
    }
    Ok(())
}

/// What stands for one reference, `${inside}` with a dollar, or `{inside}` without, and the variable that it names if it
/// is no place; `None` if it is no reference.
fn value<'t>(
    inside: &'t str,
    dollar: bool,
    around: &Surroundings<'_>,
) -> Result<Option<(String, Option<&'t str>)>, String> {
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
    let place = match name {
        "workspaceFolder" | "workspaceRoot" => Some(project()),
        "workspaceFolderBasename" => {
            let folder = around.project.unwrap_or(around.root).file_name();
            Some(folder.unwrap_or_default().to_owned())
        }
        "userHome" => Some((around.variable)("HOME").ok_or_else(|| unset("HOME"))?),
        "pathSeparator" | "/" => Some("/".to_owned()),
        _ => None,
    };
    if let Some(place) = place {
        return Ok(Some((place, None)));
    }
    if let Some(input) = name.strip_prefix("input:") {
        return Err(format!(
            "it needs the input `{input}`, for which an editor asks; give its value in a variable"
        ));
    }
    if !is_name(name) {
        return Ok(None);
    }
    if default.is_some_and(|default| default.contains('{')) {
        return Err(format!(
            "the default value of the variable {name} contains `{{`, which hosts do not replace there; give a value \
             without it"
        ));
    }
    let said = (around.variable)(name).filter(|said| !said.is_empty() || default.is_none());
    let value = said.or_else(|| default.map(str::to_owned));
    let value = value.ok_or_else(|| unset(name))?;
    Ok(Some((value, Some(name))))
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Words of a name whose value grants access.
const WORDS: &str = "key keys apikey apikeys token tokens secret secrets password passwords passwd passphrase auth bearer \
                     credential credentials cookie pat pin webhook";

/// The shortest text without a meaning that counts as a secret.
const RANDOM: usize = 24;

/// Whether a value grants access, by its name (of a variable, or of the option before it) or by its shape. In doubt, it
/// does.
pub(crate) fn looks_secret(name: &str, value: &str, around: &Surroundings<'_>) -> bool {
    let words: Vec<_> = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .map(str::to_ascii_lowercase)
        .collect();
    let has = |wanted: &str| {
        wanted
            .split(' ')
            .any(|known| words.iter().any(|word| word == known))
    };
    let number = value.bytes().all(|byte| byte.is_ascii_digit());
    let short = value.len() <= 5 && !has("pin password passwd");
    // `MAX_TOKENS` is a count.
    let counts = number && (value.is_empty() || short || has("tokens"));
    if counts || matches!(value, "true" | "false" | "none") {
        return false;
    }
    let hides = |text: &str| hidden(text) != text;
    if hides(value) || has_password(value) {
        return true;
    }
    if value.contains("://") {
        return has("webhook") || value.split('/').any(is_random);
    }
    let named = has(WORDS) || hides(&format!("{}={value}", name.trim_start_matches('-')));
    // A path is a secret only by what stands in it. A secret can begin like a path.
    if named {
        let of_file = words
            .last()
            .is_some_and(|word| matches!(word.as_str(), "file" | "path" | "dir"));
        let is_path = value.starts_with(['/', '.', '~', '{']);
        let is_option = name.starts_with('-')
            && value.starts_with('-')
            && (value.len() == 2 || value.starts_with("--"));
        return !(is_option || is_path && (of_file || exists(value, around)));
    }
    !value.starts_with(['/', '.', '~', '-', '{']) && is_random(value)
}

/// Whether the path exists: from the root, from the directory of the project, or from that of the user.
fn exists(value: &str, around: &Surroundings<'_>) -> bool {
    if let Some(below) = value.strip_prefix("~/") {
        let home = (around.variable)("HOME");
        return home.is_some_and(|home| Utf8Path::new(&home).join(below).exists());
    }
    let within = value.strip_prefix("{root}");
    let within = within.map_or(value, |below| below.trim_start_matches('/'));
    let mut dirs = [Some(around.root), around.project].into_iter().flatten();
    dirs.any(|dir| dir.join(within).exists())
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

#[cfg(test)]
mod tests;
