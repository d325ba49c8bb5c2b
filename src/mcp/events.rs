//! A stream of server-sent events, as the HTML standard reads it (WHATWG, 9.2.6): no line of it is an error.

use std::{mem::take, str, time::Duration};

/// The bytes until now that belong to no event yet.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    /// The last line ended with a carriage return, which a newline may follow.
    returned: bool,
    begun: bool,
    data: Vec<u8>,
    kind: Vec<u8>,
    id: Vec<u8>,
    /// The id of the last event; empty if it has none.
    pub(super) last: Vec<u8>,
    /// When the server wants to be asked again.
    pub(super) retry: Option<Duration>,
}

impl Events {
    /// How many bytes are kept.
    pub(super) fn held(&self) -> usize {
        self.line.len() + self.data.len()
    }

    /// The next message that ends within the chunk, with a newline at its end. What was read is taken from the chunk.
    pub(super) fn next(&mut self, chunk: &mut &[u8]) -> Option<Vec<u8>> {
        while !chunk.is_empty() {
            if take(&mut self.returned)
                && let Some(rest) = chunk.strip_prefix(b"\n")
            {
                *chunk = rest;
                continue;
            }
            let end = chunk.iter().position(|byte| b"\r\n".contains(byte));
            let (text, rest) = chunk.split_at(end.unwrap_or(chunk.len()));
            self.line.extend_from_slice(text);
            *chunk = rest.get(1..).unwrap_or_default();
            if end.is_some() {
                self.returned = rest.starts_with(b"\r");
                let line = take(&mut self.line);
                if let Some(message) = self.read(&line) {
                    return Some(message);
                }
            }
        }
        None
    }

    /// Takes a line, which may be the end of an event with a message.
    fn read(&mut self, mut line: &[u8]) -> Option<Vec<u8>> {
        if !self.begun {
            self.begun = true;
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            self.last.clone_from(&self.id);
            let (kind, data) = (take(&mut self.kind), take(&mut self.data));
            let is_message = kind.is_empty() || kind == b"message";
            return Some(data).filter(|data| is_message && data.len() > 1);
        }
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let name = parts.next().unwrap_or_default();
        let value = parts.next().unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => value.clone_into(&mut self.kind),
            b"id" if !value.contains(&0) => value.clone_into(&mut self.id),
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                let number = str::from_utf8(value)
                    .ok()
                    .and_then(|text| text.parse().ok());
                self.retry = number.map(Duration::from_millis).or(self.retry);
            }
            // A comment has an empty name.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages of a stream, the last id and the time.
    fn read(stream: &str, most: usize) -> (Vec<String>, String, Option<u64>) {
        let mut events = Events::default();
        let mut messages = Vec::new();
        for mut chunk in stream.as_bytes().chunks(most) {
            while let Some(message) = events.next(&mut chunk) {
                messages.push(String::from_utf8(message).unwrap());
            }
        }
        let last = String::from_utf8(events.last).unwrap();
        let retry = events
            .retry
            .map(|retry| retry.as_secs() * 1000 + u64::from(retry.subsec_millis()));
        (messages, last, retry)
    }

    #[test]
    fn a_stream_is_read_as_the_standard_says() {
        for (stream, messages) in [
            (
                "data: a\n\ndata:b\r\rdata: c\r\n\r\n",
                vec!["a\n", "b\n", "c\n"],
            ),
            ("\u{feff}data: a\n\n\u{feff}data: b\n\n", vec!["a\n"]),
            ("data: a\ndata\ndata:  b\n\n", vec!["a\n\n b\n"]),
            (": ping\n\nunknown: x\nno colon\ndata: a\n\n", vec!["a\n"]),
            ("event: message\nevent:\ndata: a\n\n", vec!["a\n"]),
            ("event: other\ndata: a\n\ndata: b\n\n", vec!["b\n"]),
            ("event: message\nevent: other\ndata: a\n\n", vec![]),
            ("data\n\ndata:\n\ndata: a\n", vec![]),
        ] {
            for most in [1, 2, 3, 1000] {
                assert_eq!(read(stream, most).0, messages, "{stream:?}");
            }
        }
    }

    #[test]
    fn an_id_and_a_time_that_no_client_can_use_are_ignored() {
        let of = |stream: &str| {
            let (_, last, retry) = read(stream, 1000);
            (last, retry)
        };
        let none = String::new;
        assert_eq!(of("id: a\nid: b\nretry: 5\n\n"), ("b".to_owned(), Some(5)));
        assert_eq!(of("id: a\n\nid: b\0\n\n"), ("a".to_owned(), None));
        assert_eq!(of("id: a\n\nid\n\n"), (none(), None));
        // The event with the id has not ended.
        assert_eq!(of("id: a\n"), (none(), None));
        for retry in ["", " soon", " -1", " 1.5", " 99999999999999999999"] {
            assert_eq!(of(&format!("retry:{retry}\n\n")), (none(), None));
        }
        assert_eq!(of("retry: 7\nretry: x\n\n"), (none(), Some(7)));
    }

    #[test]
    fn what_is_kept_is_the_event_that_has_not_ended() {
        let mut events = Events::default();
        let mut chunk = b": a long comment\n\ndata: abc\nda".as_slice();
        assert_eq!(events.next(&mut chunk), None);
        assert_eq!(events.held(), 6);
    }
}
