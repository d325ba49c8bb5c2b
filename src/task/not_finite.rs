//! JSON with `NaN` and `Infinity`, which JSON does not have, but which Python's `json` module writes.

use super::json::next_string;

/// A JSON text in which these values were replaced by `null`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finite {
    pub(crate) json: String,
    /// The JSON Pointers of the first replaced values.
    pub(crate) places: Vec<String>,
}

const TOKENS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// At most so many places are named.
const PLACES: usize = 5;

/// The reader of JSON accepts no more levels.
const LEVELS: usize = 128;

enum Level {
    Item(usize),
    /// The name of the member, as it is quoted.
    Member(String),
}

impl Finite {
    /// None if the text has no such value, or too many levels. The rest of the text may still be no JSON.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let (mut json, mut places) = (String::new(), Vec::new());
        let (mut levels, mut last_string) = (Vec::new(), "");
        let mut rest = text;
        while let Some(at) = rest.find(|c| "\"[]{},:NI-".contains(c)) {
            let (before, found) = rest.split_at_checked(at)?;
            json.push_str(before);
            if let Some(after) = TOKENS.iter().find_map(|token| found.strip_prefix(token)) {
                if places.len() < PLACES {
                    places.push(pointer(&levels));
                }
                json.push_str("null");
                rest = after;
                continue;
            }
            let (token, after) = if found.starts_with('"') {
                next_string(found)?
            } else {
                found.split_at_checked(1)?
            };
            match token {
                "[" => levels.push(Level::Item(0)),
                "{" => levels.push(Level::Member(String::new())),
                "]" | "}" => drop(levels.pop()),
                "," | ":" | "-" | "N" | "I" => match levels.last_mut() {
                    Some(Level::Item(number)) if token == "," => *number += 1,
                    Some(Level::Member(name)) if token == ":" => last_string.clone_into(name),
                    _ => {}
                },
                string => last_string = string,
            }
            if levels.len() > LEVELS {
                return None;
            }
            json.push_str(token);
            rest = after;
        }
        json.push_str(rest);
        (!places.is_empty()).then_some(Self { json, places })
    }

    /// A note that names the places. `pointer` leads to the text.
    pub(crate) fn note(&self, pointer: &str) -> String {
        let places = self
            .places
            .iter()
            .map(|place| format!("`{pointer}{place}`"));
        format!(
            "The answer has `NaN` or `Infinity`, which JSON does not have; they are kept as null, at {}.",
            places.collect::<Vec<_>>().join(", ")
        )
    }
}

fn pointer(levels: &[Level]) -> String {
    let token = |level: &Level| match level {
        Level::Item(number) => format!("/{number}"),
        Level::Member(quoted) => {
            let name: String = serde_json::from_str(quoted).unwrap_or_default();
            format!("/{}", name.replace('~', "~0").replace('/', "~1"))
        }
    };
    levels.iter().map(token).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_python_writes_for_floats_without_a_value_becomes_null_and_its_place_is_told() {
        let text = r#"{"a": NaN, "b/c": [1, -Infinity, {"~": Infinity}], "s": "NaN, \"Infinity", "n": -1}"#;
        let finite = Finite::of(text).unwrap();
        assert_eq!(
            finite.json,
            r#"{"a": null, "b/c": [1, null, {"~": null}], "s": "NaN, \"Infinity", "n": -1}"#
        );
        assert_eq!(finite.places, ["/a", "/b~1c/1", "/b~1c/2/~0"]);
        assert_eq!(Finite::of("NaN").unwrap().places, [""]);
        for text in [r#"{"a": "NaN"}"#, "[1, -2]", "No Information", "\"torn"] {
            assert_eq!(Finite::of(text), None, "{text}");
        }
        assert_eq!(Finite::of(&format!("{}NaN", "[".repeat(129))), None);
    }
}
