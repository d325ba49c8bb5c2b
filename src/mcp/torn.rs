//! A line that begins like a message of ours and is no JSON: Python's `NaN`, or a line cut short.
//! Read just far enough to say whose answer it was meant to be.

/// The members of the outermost object, as far as they tell.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Torn<'a> {
    pub(super) version: Option<&'a str>,
    pub(super) id: Option<&'a str>,
    pub(super) method: Option<&'a str>,
    /// The first word that Python's `json` writes for a number and JSON does not know.
    pub(super) odd: Option<&'static str>,
}

const ODD: [&str; 2] = ["NaN", "Infinity"];

impl<'a> Torn<'a> {
    /// Skims a text that begins with `{`.
    pub(super) fn skim(text: &'a str) -> Self {
        let mut torn = Self::default();
        let mut depth = 0_usize;
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let width = match first {
                '"' => {
                    let width = string(rest);
                    if depth == 1 {
                        torn.member(rest, width);
                    }
                    width
                }
                '{' | '[' => {
                    depth += 1;
                    1
                }
                '}' | ']' => {
                    depth = depth.saturating_sub(1);
                    1
                }
                other => {
                    let odd = ODD.into_iter().find(|odd| rest.starts_with(odd));
                    torn.odd = torn.odd.or(odd);
                    odd.map_or(other.len_utf8(), str::len)
                }
            };
            rest = rest.get(width..).unwrap_or_default();
        }
        torn
    }

    /// Takes in the member whose name, of `width` bytes with its quotes, `rest` begins with. A
    /// string that is no name has no colon behind it.
    fn member(&mut self, rest: &'a str, width: usize) {
        let Some((name, value)) = rest.split_at_checked(width) else {
            return;
        };
        let Some(value) = value.trim_start().strip_prefix(':').map(str::trim_start) else {
            return;
        };
        let end = if value.starts_with('"') {
            string(value)
        } else {
            value
                .find(|next: char| matches!(next, ',' | '}') || next.is_whitespace())
                .unwrap_or(value.len())
        };
        let value = value.get(..end);
        match name {
            r#""jsonrpc""# => self.version = value,
            r#""id""# => self.id = value,
            r#""method""# => self.method = value,
            _ => {}
        }
    }
}

/// The bytes of the string `text` begins with, quotes included; all of it if the string has no end.
fn string(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|&(_, letter)| {
        let ends = letter == '"' && !escaped;
        escaped = letter == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_outermost_members_count() {
        let text = r#"{"jsonrpc" : "2.0", "result":{"id":9,"x":[NaN, "method"]},"id":"7\""#;
        assert_eq!(
            Torn::skim(text),
            Torn {
                version: Some(r#""2.0""#),
                id: Some(r#""7\""#),
                method: None,
                odd: Some("NaN"),
            }
        );
    }

    #[test]
    fn a_word_inside_a_string_is_not_odd_and_an_end_anywhere_is_an_end() {
        let text = r#"{"jsonrpc":"2.0","method":"NaN","id":1"#;
        for end in 0..=text.len() {
            assert_eq!(Torn::skim(&text[..end]).odd, None);
        }
        assert_eq!(Torn::skim(text).method, Some(r#""NaN""#));
        assert_eq!(Torn::skim(text).id, Some("1"));
    }
}
