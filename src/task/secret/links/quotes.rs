//! Which quotation marks end a link. Passwords and tokens may hold such marks: one ends a link only if one
//! like it stands before the link. When in doubt more is cut.

/// More are not counted: each level of JSON in JSON doubles them.
pub(super) const MOST_BACKSLASHES: usize = 64;

/// The marks that are open at a place of a text.
pub(super) struct Quotes<'t> {
    text: &'t [u8],
    /// How far the text was read, and the backslashes right before that place.
    read: usize,
    backslashes: usize,
    /// The last mark in this word.
    in_word: Option<Mark>,
    /// The last `"` in this line: prose has apostrophes, but hardly a single `"`.
    in_line: Option<Mark>,
}

/// The byte that closes it, and how many backslashes stand before it: JSON in JSON has `\"`.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark {
    close: u8,
    backslashes: usize,
}

impl<'t> Quotes<'t> {
    pub(super) fn of(text: &'t [u8]) -> Self {
        Self {
            text,
            // No mark ends a link that is all of the text.
            read: if is_link(text) { text.len() } else { 0 },
            backslashes: 0,
            in_word: None,
            in_line: None,
        }
    }

    /// Reads on, to right before that place.
    pub(super) fn read_to(&mut self, place: usize) {
        let unread = self.text.get(self.read..place).unwrap_or_default();
        for byte in unread {
            let mark = |close| {
                Some(Mark {
                    close,
                    backslashes: self.backslashes,
                })
            };
            match byte {
                b'\n' | b'\r' => (self.in_word, self.in_line) = (None, None),
                ..=b' ' => self.in_word = None,
                b'"' => (self.in_word, self.in_line) = (mark(b'"'), mark(b'"')),
                b'\'' | b'`' => self.in_word = mark(*byte),
                b'<' => self.in_word = mark(b'>'),
                b'>' => self.in_word = mark(b'<'),
                _ => {}
            }
            self.backslashes = match byte {
                b'\\' => MOST_BACKSLASHES.min(self.backslashes + 1),
                _ => 0,
            };
        }
        self.read = self.read.max(place);
    }

    /// Whether the byte at that place, further on, closes an open mark.
    pub(super) fn close_at(&self, place: usize, byte: u8) -> bool {
        if !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>') {
            return false;
        }
        let before = self.text.get(..place).unwrap_or_default().iter().rev();
        let closing = Mark {
            close: byte,
            backslashes: before
                .take(MOST_BACKSLASHES)
                .take_while(|byte| **byte == b'\\')
                .count(),
        };
        let open = [self.in_word, self.in_line];
        open.into_iter().flatten().any(|mark| mark == closing)
    }
}

/// Whether it is one link and nothing else.
fn is_link(text: &[u8]) -> bool {
    let of_scheme = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let scheme = text.iter().take_while(of_scheme).count();
    let rest = text.get(scheme..).unwrap_or_default();
    scheme > 0 && rest.starts_with(b"://") && !rest.iter().any(|byte| *byte <= b' ')
}
