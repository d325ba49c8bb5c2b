//! The names and the descriptions of imported entries. Both come from servers, which may send any text.

use std::collections::BTreeSet;

use crate::task::visible;

/// The longest id, in characters: model APIs accept no longer names of tools.
const ID: usize = 64;

/// The longest description, and its longest first sentence, in characters.
const DESCRIPTION: usize = 600;
const SENTENCE: usize = 160;

/// The name of a server in the catalog. Characters that a command line or TOML would have to quote are replaced by `-`.
/// `None` if nothing is left.
pub(crate) fn server_name(name: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let plain: String = name
        .chars()
        .map(|c| if is_plain(c) { c } else { '-' })
        .collect();
    let plain = plain.trim_matches('-').to_owned();
    (!plain.is_empty()).then_some(plain)
}

/// An id that is not taken: the names of the server and of the tool in lower case, joined by `_`. The name of the server
/// is not repeated if the name of the tool begins with it.
pub(super) fn id(server: &str, tool: &str, taken: &BTreeSet<String>) -> String {
    let (server, tool) = (snake(server), snake(tool));
    let tool = if tool.is_empty() {
        "tool".to_owned()
    } else {
        tool
    };
    let mut id = match tool.strip_prefix(&server) {
        Some(rest) if rest.starts_with('_') => tool,
        _ => format!("{server}_{tool}"),
    };
    if !id.starts_with(|c: char| c.is_ascii_lowercase()) {
        id.insert_str(0, "mcp_");
    }
    let cut = |most: usize| id.get(..most).unwrap_or(&id).trim_end_matches('_');
    let numbered = (2_u32..).map(|number| {
        let end = format!("_{number}");
        format!("{}{end}", cut(ID - end.len()))
    });
    let mut all = std::iter::once(cut(ID).to_owned()).chain(numbered);
    let free = all.find(|id| !taken.contains(id));
    free.unwrap_or_default()
}

/// `getUserName` and `get-user.name` as `get_user_name`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    let mut after_small = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() {
            if !snake.is_empty() && !snake.ends_with('_') {
                snake.push('_');
            }
            after_small = false;
            continue;
        }
        if c.is_ascii_uppercase() && after_small {
            snake.push('_');
        }
        after_small = !c.is_ascii_uppercase();
        snake.push(c.to_ascii_lowercase());
    }
    snake.trim_end_matches('_').to_owned()
}

/// A text of a server in one line, without control characters.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::new();
    for part in text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
    {
        if part.is_empty() {
            continue;
        }
        // A line that ends without a mark was a sentence or a heading.
        let ends = line.ends_with(['.', ':', ';', ',', '!', '?', '(', '-']);
        let goes_on = part.starts_with(|c: char| c.is_lowercase());
        if !line.is_empty() {
            line += if ends || goes_on { " " } else { ". " };
        }
        line += &part;
    }
    visible(&line).into_owned()
}

/// What the entry says of its tool: the beginning of what the server says.
pub(super) fn described_as(name: &str, description: &str) -> String {
    let said = one_line(description);
    let said = said.trim_start_matches(['#', '>', '-', '*', '+', '`', ' ']);
    if said.is_empty() {
        return format!("The tool {} of its server.", one_line(name));
    }
    let (first, rest) = said.split_once(". ").unwrap_or((said, ""));
    let mut text = shortened(first, SENTENCE);
    if !rest.is_empty() {
        text += ". ";
        text += rest;
    }
    shortened(&text, DESCRIPTION)
}

/// At most that many characters, cut behind a word.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text.to_owned();
    };
    let head = text.get(..end).unwrap_or(text);
    let head = head
        .char_indices()
        .nth_back(1)
        .map_or(head, |(at, _)| head.get(..at).unwrap_or(head));
    let word = head.rsplit_once(' ').map_or(head, |(words, _)| words);
    format!("{word} …")
}
