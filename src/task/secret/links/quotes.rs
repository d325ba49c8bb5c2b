//! The quotation marks around a link.

/// The most backslashes that are counted. Each level of JSON in JSON doubles them.
pub(super) const MOST_BACKSLASHES: usize = 64;

/// The quotation marks that are open at a place of a text. Passwords and tokens may contain such marks, so a mark
/// ends a link only if its opening mark is before the link. In doubt, more is cut.
pub(super) struct Quotes<'t> {
    text: &'t [u8],
    /// How far the text was read, and the number of backslashes directly before that place.
    read: usize,
    backslashes: usize,
    in_word: Option<Mark>,
    /// The last `"` in this line. Prose has apostrophes, but hardly ever a single `"`.
    in_line: Option<Mark>,
}

/// The byte that closes the mark, and the number of backslashes before it: JSON in JSON has `\"`.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark {
    close: u8,
    backslashes: usize,
}

impl<'t> Quotes<'t> {
    pub(super) fn of(text: &'t [u8]) -> Self {
        Self {
            text,
            // If the whole text is a link, no mark ends it.
            read: if is_all_link(text) { text.len() } else { 0 },
            backslashes: 0,
            in_word: None,
            in_line: None,
        }
    }

    /// Continues reading up to that place.
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

    /// Whether the byte at a later place closes an open mark.
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

fn is_all_link(text: &[u8]) -> bool {
    let of_scheme = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let scheme = text.iter().take_while(of_scheme).count();
    let rest = text.get(scheme..).unwrap_or_default();
    scheme > 0 && rest.starts_with(b"://") && !rest.iter().any(|byte| *byte <= b' ')
}
