//! What a file is that is not what it should be: the words after "found".

use std::io::{self, Read, Seek};

use super::source::Source;

/// As much as the detection by first bytes looks at.
const HEAD: u64 = 8192;

/// Names the content by its first bytes: an article and a media type where it has one.
pub(super) fn name(source: &mut Source) -> io::Result<String> {
    let reader = source.rest();
    reader.rewind()?;
    let mut head = Vec::new();
    reader.take(HEAD).read_to_end(&mut head)?;
    Ok(name_of(&head))
}

fn name_of(head: &[u8]) -> String {
    if head.is_empty() {
        return "an empty file".to_owned();
    }
    if let Some(kind) = infer::get(head) {
        let media_type = kind.mime_type();
        let article = if media_type.starts_with(['a', 'e', 'i', 'o']) {
            "an"
        } else {
            "a"
        };
        return format!("{article} {media_type}");
    }
    if head.iter().all(|byte| *byte == 0) {
        return "nothing but zero bytes".to_owned();
    }
    // The head may end inside a character.
    let text = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    if text && !head.contains(&0) {
        "plain text".to_owned()
    } else {
        "unknown binary data".to_owned()
    }
}
