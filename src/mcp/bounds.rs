//! Limits of what a server may send. Bytes are counted before they are parsed, because a value takes many times the size
//! of its text.

/// An answer to `initialize` or `server/discover`.
pub(super) const GREETING_BYTES: usize = 256 << 10;
/// All pages of `tools/list` together.
pub(super) const LIST_BYTES: usize = 4 << 20;
/// One tool of a list, with its schemas. A compiled schema takes more than a hundred times its size.
pub(super) const TOOL_BYTES: usize = 512 << 10;
/// The content blocks of an answer.
pub(super) const BLOCKS: usize = 10_000;
/// Questions and the state that goes with them.
pub(super) const QUESTION_BYTES: usize = 512 << 10;
/// The levels of arrays and objects of a question. A task that returns it may have 64 levels.
pub(super) const QUESTION_LEVELS: usize = 32;
/// The `error` of an answer. Of a longer one, only the code and the beginning of the message are read.
pub(super) const ERROR_BYTES: usize = 64 << 10;
/// A request of the server's own, elicitation among them.
pub(super) const REQUEST_BYTES: usize = 256 << 10;
/// All requests of the server's own during one run.
pub(super) const REQUESTS_BYTES: usize = 8 << 20;
/// The parameters of a progress notification. Longer ones are ignored.
pub(super) const PROGRESS_BYTES: usize = 16 << 10;
/// The values of an answer that is parsed as a whole.
pub(super) const VALUES: usize = 2_000_000;

/// The characters of a message or a question that are shown.
const MESSAGE_CHARS: usize = 2_000;
/// The characters of a text in an error that are shown.
const EXCERPT_CHARS: usize = 300;
/// The characters of a name or a version that are shown.
const NAME_CHARS: usize = 200;

pub(super) fn too_long(what: &str, bytes: usize, most: usize) -> String {
    format!("{what} has {bytes} bytes, and no more than {most} are read")
}

pub(super) fn message(text: &str) -> String {
    beginning(text, MESSAGE_CHARS)
}

pub(super) fn excerpt(text: &str) -> String {
    beginning(text, EXCERPT_CHARS)
}

/// The beginning of a name.
pub(crate) fn name(text: &str) -> String {
    beginning(text, NAME_CHARS)
}

fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}
