//! The trace of a caller (W3C Trace Context), which a run hands on to the tools that it calls.

use super::hexadecimal;

/// A trace, and the span in it to which the next ones belong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// 32 hexadecimal digits.
    pub id: String,
    /// The span: 16 hexadecimal digits.
    pub span: String,
    pub spans: Spans,
    flags: u8,
    /// `tracestate`, as it was received.
    pub state: Option<String>,
}

/// Who makes the spans of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spans {
    /// Only the caller: tools get the trace as it was received.
    Caller,
    /// The run, too: each call gets a span of its own.
    Run,
}

const SAMPLED: u8 = 1;
/// The flags that are defined: sampled and random. The others have to be 0 in what is sent.
const KNOWN_FLAGS: u8 = 3;

/// The longest `tracestate` that everyone has to hand on, in characters.
const LONGEST_STATE: usize = 512;
const MOST_STATES: usize = 32;

impl Trace {
    /// Reads `traceparent` and `tracestate`. Without a valid `traceparent`, there is no trace, and what is invalid is left out.
    /// The notes say so.
    pub fn read(parent: &str, state: Option<&str>, notes: &mut Vec<String>) -> Option<Self> {
        let Some((id, span, flags)) = parts(parent) else {
            notes.push(
                "`traceparent` is ignored: it is not a valid one of W3C Trace Context.".to_owned(),
            );
            return None;
        };
        let state = state.filter(|state| !state.trim().is_empty());
        if state.is_some_and(|state| !is_state(state)) {
            notes.push(
                "`tracestate` is ignored: it is not a valid one of W3C Trace Context.".to_owned(),
            );
        }
        Some(Self {
            id: id.to_owned(),
            span: span.to_owned(),
            spans: Spans::Caller,
            flags: flags & KNOWN_FLAGS,
            state: state.filter(|state| is_state(state)).map(str::to_owned),
        })
    }

    /// A new trace, whose id these bytes are.
    pub fn new(id: [u8; 16]) -> Self {
        Self {
            id: hexadecimal(&id),
            span: String::new(),
            spans: Spans::Run,
            flags: SAMPLED,
            state: None,
        }
    }

    /// The same trace in a span of the run, whose id the first 8 of these bytes are.
    #[must_use]
    pub fn within(&self, id: [u8; 16]) -> Self {
        let id = hexadecimal(&id);
        Self {
            span: id.get(..16).unwrap_or_default().to_owned(),
            spans: Spans::Run,
            ..self.clone()
        }
    }

    /// `traceparent`
    pub fn parent(&self) -> String {
        format!("00-{}-{}-{:02x}", self.id, self.span, self.flags)
    }

    /// Whether the spans of this trace are kept.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }
}

/// The trace, the span and the flags. A later version may have more parts.
fn parts(text: &str) -> Option<(&str, &str, u8)> {
    let mut parts = text.split('-');
    let mut next = |digits: usize| parts.next().filter(|part| is_hexadecimal(part, digits));
    let (version, id, span, flags) = (next(2)?, next(32)?, next(16)?, next(2)?);
    let ends = version != "00" || parts.next().is_none();
    let named = |id: &str| id.bytes().any(|digit| digit != b'0');
    let flags = u8::from_str_radix(flags, 16).ok()?;
    (ends && version != "ff" && named(id) && named(span)).then_some((id, span, flags))
}

fn is_hexadecimal(text: &str, digits: usize) -> bool {
    let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == digits && text.bytes().all(digit)
}

/// Whether a text is a list of `key=value` that can be handed on.
fn is_state(text: &str) -> bool {
    let is_member = |member: &str| {
        let (key, value) = member.trim().split_once('=').unwrap_or_default();
        !key.is_empty() && !value.is_empty()
    };
    let mut members = text.split(',').filter(|member| !member.trim().is_empty());
    text.len() <= LONGEST_STATE
        && text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'))
        && members.clone().count() <= MOST_STATES
        && members.all(is_member)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    fn read(parent: &str, state: Option<&str>) -> (Option<Trace>, usize) {
        let mut notes = Vec::new();
        let trace = Trace::read(parent, state, &mut notes);
        (trace, notes.len())
    }

    #[test]
    fn a_trace_is_handed_on_as_it_was_received() {
        let parent = format!("00-{ID}-{SPAN}-01");
        let (trace, notes) = read(&parent, Some("congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"));
        let trace = trace.unwrap();
        assert_eq!((trace.parent(), notes), (parent, 0));
        assert!(trace.is_sampled());
        let state = trace.state.as_deref().unwrap();
        assert_eq!(state, "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7");
        let inner = trace.within([0xab; 16]);
        assert_eq!(inner.parent(), format!("00-{ID}-abababababababab-01"));
        assert_eq!((inner.spans, inner.state), (Spans::Run, trace.state));
    }

    #[test]
    fn a_later_version_is_read_as_far_as_it_is_known() {
        let (trace, _) = read(&format!("cc-{ID}-{SPAN}-fe-what-comes"), None);
        let trace = trace.unwrap();
        assert_eq!(trace.parent(), format!("00-{ID}-{SPAN}-02"));
        assert!(!trace.is_sampled());
    }

    #[test]
    fn an_invalid_parent_is_no_trace_and_a_note_says_so() {
        let zeros = "0".repeat(32);
        for parent in [
            String::new(),
            format!("ff-{ID}-{SPAN}-01"),
            format!("00-{ID}-{SPAN}-01-more"),
            format!("00-{zeros}-{SPAN}-01"),
            format!("00-{ID}-{}-01", "0".repeat(16)),
            format!("00-{}-{SPAN}-01", ID.to_uppercase()),
            format!("00-{ID}-{SPAN}-1"),
            format!("00-{ID}-{SPAN}"),
            format!("00-{ID}x-{SPAN}-01"),
        ] {
            assert_eq!(read(&parent, Some("a=b")), (None, 1), "{parent}");
        }
    }

    #[test]
    fn an_invalid_state_is_left_out_and_the_trace_stays() {
        let many = vec!["a=b"; 33].join(",");
        for state in [
            "no member",
            "=b",
            "a=",
            "a=\u{e9}",
            "a=\n",
            &many,
            &"a=b,".repeat(200),
        ] {
            let (trace, notes) = read(&format!("00-{ID}-{SPAN}-00"), Some(state));
            assert_eq!((trace.unwrap().state, notes), (None, 1), "{state}");
        }
        let (trace, notes) = read(&format!("00-{ID}-{SPAN}-00"), Some(" "));
        assert_eq!((trace.unwrap().state, notes), (None, 0));
    }
}
