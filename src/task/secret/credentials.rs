//! Hides values that look like credentials in the lines of reports (R-001-161). In doubt, more is hidden. Reports
//! are kept and passed on; the diff of a dry run is shown in full.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

use super::redact_presigned;

const KEY_BEGINS: &str = "PRIVATE KEY";

/// A text can contain a credential only if it contains one of these, in either case. Most texts contain none, and this
/// saves compiling the expression, which takes as long as checking a hundred files.
const SIGNS: &str = "\
    authorization pass pwd secret token credential key bearer basic akia asia agpa aida aroa ghp_ gho_ ghu_ ghs_ \
    ghr_ _pat_ glpat- xox sk- k_live_ k_test_ aiza npm_ pypi- hf_ eyj";

/// What a credential looks like, in the order in which it is searched for. What a group contains stays.
const RULES: [&str; 5] = [
    // Names and their values: `db_password = x`, `"apiKey": "x"`, `export TOKEN=x`, `Authorization: Bearer x`.
    concat!(
        r#"((?i-u:authorization|pass(?:word|wd|phrase)?|pwd|secret|token|credentials?"#,
        r#"|(?:api|access|secret|private|account)[_-]?key)["']?[^\S\n]*(?:=>|:=|[:=])[^\S\n]*)"#,
        r#"(?:"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|(?:(?i-u:Bearer|Basic|Token)[^\S\n]+)?[^\s,;}\])]+)"#
    ),
    // An HTTP authentication scheme without a name before it.
    r"(?-u:\b)((?i-u:Bearer|Basic)[^\S\n]+)[A-Za-z0-9+/=._~-]{16,}",
    // AWS key ids.
    r"(?-u:\b)(?:AKIA|ASIA|AGPA|AIDA|AROA)[0-9A-Z]{12,}",
    // Tokens with the prefix of their issuer: GitHub, GitLab, Slack, OpenAI and Anthropic, Stripe, Google, npm,
    // PyPI, Hugging Face.
    concat!(
        r"(?-u:\b)(?:gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|sk-|[rs]k_(?:live|test)_|AIza|npm_|pypi-|hf_)",
        r"[0-9A-Za-z_-]{16,}"
    ),
    // JSON Web Tokens.
    r"(?-u:\b)eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]+(?:\.[0-9A-Za-z_-]*)?",
];

/// A line that can be part of a key: a run of base64, or a whole key in one line (`-----BEGIN …\n…`).
const KEY_LINE: &str = r"[^\r\n]*[A-Za-z0-9+/=]{16}[^\r\n]*";

/// The compiled rules, built when a text first needs them. A test checks that they compile.
static CREDENTIALS: LazyLock<Vec<Regex>> = LazyLock::new(|| compiled(&RULES));
static KEY_LINES: LazyLock<Vec<Regex>> = LazyLock::new(|| compiled(&[KEY_LINE]));

fn compiled(rules: &[&str]) -> Vec<Regex> {
    let rules = rules.iter().filter_map(|rule| Regex::new(rule).ok());
    rules.collect()
}

/// How strictly lines are checked.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Hiding {
    Usual,
    /// The file contains a private key, and a hunk may show lines of its middle only.
    Keys,
}

impl Hiding {
    pub(crate) fn of(before: &str, after: &str) -> Self {
        if before.contains(KEY_BEGINS) || after.contains(KEY_BEGINS) {
            Self::Keys
        } else {
            Self::Usual
        }
    }

    /// The lines with `***` for each credential; borrowed if there are none.
    pub(crate) fn hide(self, lines: &str) -> Cow<'_, str> {
        let mut shown = redact_presigned(lines);
        if matches!(self, Self::Keys) {
            replace(&mut shown, &KEY_LINES);
        }
        let lower = lines.to_ascii_lowercase();
        if SIGNS.split(' ').any(|sign| lower.contains(sign)) {
            replace(&mut shown, &CREDENTIALS);
        }
        shown
    }
}

fn replace(shown: &mut Cow<'_, str>, rules: &[Regex]) {
    for rule in rules {
        let replaced = rule.replace_all(shown, "$1***");
        if let Cow::Owned(replaced) = replaced {
            *shown = Cow::Owned(replaced);
        }
    }
}

/// A text of any length with its credentials hidden, for records; borrowed if there are none.
pub(crate) fn hidden(text: &str) -> Cow<'_, str> {
    Hiding::of(text, "").hide(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(line: &str) -> String {
        Hiding::of(line, "").hide(line).into_owned()
    }

    #[test]
    fn every_rule_is_a_regular_expression() {
        assert_eq!((CREDENTIALS.len(), KEY_LINES.len()), (RULES.len(), 1));
    }

    #[test]
    fn whatever_a_rule_finds_bears_a_sign() {
        let names = "password PassWd passphrase pass pwd secret token apikey API_KEY api-key accesskey access_key \
                     access-key secretkey secret_key secret-key privatekey private_key Private-Key accountkey \
                     account_key account-key credential credentials authorization";
        let ids = "AKIA ASIA AGPA AIDA AROA";
        let tokens = "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- sk- \
                      rk_live_ sk_live_ rk_test_ sk_test_ AIza npm_ pypi- hf_ eyJ";
        let each = |words: &'static str, rest: &'static str| {
            let words = words.split_whitespace();
            words.map(move |word| format!("{word}{rest}"))
        };
        let texts = each(names, ": x")
            .chain(each("bearer BASIC", " xxxxxxxxxxxxxxxx"))
            .chain(each(ids, "000000000000"))
            .chain(each(tokens, "0000000000000000.x"));
        for text in texts {
            let found = CREDENTIALS.iter().any(|rule| rule.is_match(&text));
            assert!(found, "no rule finds {text}");
            assert_ne!(hidden(&text), text, "{text} bears no sign");
        }
    }

    #[test]
    fn values_of_credentials_are_hidden_and_their_names_stay_r_001_161() {
        for (line, shown) in [
            ("password = hunter2", "password = ***"),
            (
                "  DB_PASSWORD: 'hunter 2' # old",
                "  DB_PASSWORD: *** # old",
            ),
            (
                r#"{"apiKey": "ab\"c", "n": 1}"#,
                r#"{"apiKey": ***, "n": 1}"#,
            ),
            (
                "export AWS_SECRET_ACCESS_KEY=wJalr/K7",
                "export AWS_SECRET_ACCESS_KEY=***",
            ),
            ("Authorization: Bearer abc.def", "Authorization: ***"),
            (
                "curl -H 'X: Bearer 0123456789abcdef'",
                "curl -H 'X: Bearer ***'",
            ),
            ("id AKIAIOSFODNN7EXAMPLE", "id ***"),
            ("t ghp_0123456789abcdefABCDEF0123456789abcd", "t ***"),
            ("j eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln.", "j ***."),
            (
                "get https://u:p@h/x?X-Amz-Signature=abc",
                "get https://***@h/x?X-Amz-Signature=***",
            ),
            ("unfinished secret: \"abc", "unfinished secret: ***"),
            // The name of a variable can look like a token itself.
            ("hf_inference_api_token = x", "*** = ***"),
        ] {
            assert_eq!(hidden(line), shown, "{line}");
        }
    }

    #[test]
    fn a_whole_text_is_hidden_line_by_line_however_long_they_are() {
        let long = format!("{}\r\nDB_PASSWORD=hunter2\nlast", "x".repeat(8192));
        let shown = super::hidden(&long);
        assert_eq!(shown, long.replace("hunter2", "***"));
        assert!(matches!(super::hidden("plain\ntext\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn lines_without_credentials_stay_as_they_are() {
        for line in [
            "let tokens = lexer.tokens();",
            "max_tokens = 4096",
            "the password is asked for at the terminal",
            "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "\"properties\": {\"new_field\": {\"type\": \"string\"}}",
            "",
        ] {
            assert_eq!(hidden(line), line);
        }
    }

    #[test]
    fn a_line_of_a_private_key_is_hidden_also_without_its_first_line() {
        let body = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgHcTz6sE2I2yPB";
        let file =
            format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\n");
        assert_eq!(Hiding::of("", &file).hide(body), "***");
        let one_line = format!("key: \"-----BEGIN PRIVATE KEY-----\\n{body}\\n\"");
        assert_eq!(hidden(&one_line), "***");
    }
}
