//! Which plain words some reader of YAML takes for more than text.

/// Whether plain text may be null, a truth value, a number, a date, a time, a merge key or the like to
/// a reader of YAML 1.1 or 1.2. Rather too often than too seldom.
pub(super) fn may_be_other(text: &str) -> bool {
    const WORDS: [&str; 16] = [
        "", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", "=", "<<", ".inf",
        ".nan", "-.inf",
    ];
    let lower = text.to_ascii_lowercase();
    WORDS.contains(&lower.as_str()) || lower == "+.inf" || may_be_number(&lower)
}

/// Starts like a number and has nothing that no number, date or time has.
fn may_be_number(lower: &str) -> bool {
    let digits = lower.trim_start_matches(['-', '+', '.']);
    let number = |c: char| c.is_ascii_hexdigit() || "_:.+-xotz, ".contains(c);
    digits.starts_with(|c: char| c.is_ascii_digit()) && lower.chars().all(number)
}

/// Whether a text can be written without quotes, also inside of `[]` and `{}`, and will be read as text
/// by everybody.
pub(super) fn may_be_plain(text: &str) -> bool {
    let first = |c: char| {
        c.is_alphabetic() || matches!(c, '_' | '/' | '.' | '(' | '$') || c.is_ascii_digit()
    };
    let inner = |c: char| {
        c.is_alphanumeric()
            || matches!(
                c,
                ' ' | '_'
                    | '-'
                    | '.'
                    | '/'
                    | '('
                    | ')'
                    | '+'
                    | '$'
                    | '='
                    | '~'
                    | '@'
                    | ';'
                    | '^'
                    | '<'
                    | '>'
                    | '\''
                    | '*'
                    | '&'
                    | '!'
                    | '%'
            )
    };
    text.starts_with(first)
        && text.chars().all(inner)
        && !text.ends_with(' ')
        && !text.starts_with("..")
        && !may_be_other(text)
}
