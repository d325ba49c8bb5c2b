//! The binary encoding of OTLP, which every collector reads: each message as a table of the members that oneact sends, with
//! their numbers in `opentelemetry/proto` (1.x).

use serde_json::{Map, Value};

/// A member of a message: its name in JSON, its number, and what it is.
type Member = (&'static str, u32, Kind);

#[derive(Clone, Copy)]
enum Kind {
    Message(&'static [Member]),
    Text,
    /// Bytes, which JSON writes as hexadecimal digits.
    Bytes,
    Enum,
    Fixed64,
    Double,
    Fixed64s,
    Doubles,
}

use Kind::{Bytes, Double, Doubles, Enum, Fixed64, Fixed64s, Message, Text};

const ATTRIBUTE: &[Member] = &[
    ("key", 1, Text),
    ("value", 2, Message(&[("stringValue", 1, Text)])),
];
const RESOURCE: &[Member] = &[("attributes", 1, Message(ATTRIBUTE))];
const SCOPE: &[Member] = &[("name", 1, Text), ("version", 2, Text)];
const SPAN: &[Member] = &[
    ("traceId", 1, Bytes),
    ("spanId", 2, Bytes),
    ("traceState", 3, Text),
    ("parentSpanId", 4, Bytes),
    ("name", 5, Text),
    ("kind", 6, Enum),
    ("startTimeUnixNano", 7, Fixed64),
    ("endTimeUnixNano", 8, Fixed64),
    ("attributes", 9, Message(ATTRIBUTE)),
    ("status", 15, Message(&[("code", 3, Enum)])),
];
const POINT: &[Member] = &[
    ("startTimeUnixNano", 2, Fixed64),
    ("timeUnixNano", 3, Fixed64),
    ("count", 4, Fixed64),
    ("sum", 5, Double),
    ("bucketCounts", 6, Fixed64s),
    ("explicitBounds", 7, Doubles),
    ("attributes", 9, Message(ATTRIBUTE)),
    ("min", 11, Double),
    ("max", 12, Double),
];
const HISTOGRAM: &[Member] = &[
    ("dataPoints", 1, Message(POINT)),
    ("aggregationTemporality", 2, Enum),
];
const METRIC: &[Member] = &[
    ("name", 1, Text),
    ("unit", 3, Text),
    ("histogram", 9, Message(HISTOGRAM)),
];
const OF_SPANS: &[Member] = &[("scope", 1, Message(SCOPE)), ("spans", 2, Message(SPAN))];
const OF_METRICS: &[Member] = &[
    ("scope", 1, Message(SCOPE)),
    ("metrics", 2, Message(METRIC)),
];
/// Both requests: a document has only one of these members.
const REQUEST: &[Member] = &[
    (
        "resourceSpans",
        1,
        Message(&[
            ("resource", 1, Message(RESOURCE)),
            ("scopeSpans", 2, Message(OF_SPANS)),
        ]),
    ),
    (
        "resourceMetrics",
        1,
        Message(&[
            ("resource", 1, Message(RESOURCE)),
            ("scopeMetrics", 2, Message(OF_METRICS)),
        ]),
    ),
];

/// The types of the wire.
const VARINT: u64 = 0;
const EIGHT_BYTES: u64 = 1;
const LENGTH: u64 = 2;

/// Encodes a request that is written in JSON.
pub(super) fn encoded(document: &Value) -> Vec<u8> {
    document
        .as_object()
        .map_or_else(Vec::new, |document| message(document, REQUEST))
}

fn message(object: &Map<String, Value>, members: &[Member]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, number, kind) in members {
        let tag = |wire| u64::from(*number) << 3 | wire;
        match (kind, object.get(*name)) {
            (_, None) => {}
            (Fixed64s | Doubles, Some(value)) => {
                let all = value.as_array().into_iter().flatten();
                let bytes = all.flat_map(|value| eight(value, *kind));
                lengthy(&mut out, tag(LENGTH), &bytes.collect::<Vec<u8>>());
            }
            // A member that is repeated is written once for each value.
            (_, Some(Value::Array(all))) => {
                let each = |value: &Value| member(&mut out, *kind, &tag, value);
                all.iter().for_each(each);
            }
            (_, Some(value)) => member(&mut out, *kind, &tag, value),
        }
    }
    out
}

fn member(out: &mut Vec<u8>, kind: Kind, tag: &dyn Fn(u64) -> u64, value: &Value) {
    let text = value.as_str().unwrap_or_default();
    match kind {
        Message(members) => {
            let inner = value.as_object().map(|inner| message(inner, members));
            lengthy(out, tag(LENGTH), &inner.unwrap_or_default());
        }
        Text => lengthy(out, tag(LENGTH), text.as_bytes()),
        Bytes => {
            let byte = |at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
            let bytes: Option<Vec<u8>> = (0..text.len()).step_by(2).map(byte).collect();
            lengthy(out, tag(LENGTH), &bytes.unwrap_or_default());
        }
        Enum => {
            varint(out, tag(VARINT));
            varint(out, value.as_u64().unwrap_or_default());
        }
        Fixed64 | Double | Fixed64s | Doubles => {
            varint(out, tag(EIGHT_BYTES));
            out.extend(eight(value, kind));
        }
    }
}

/// The 8 bytes of a number.
fn eight(value: &Value, kind: Kind) -> [u8; 8] {
    match kind {
        Double | Doubles => value.as_f64().unwrap_or_default().to_le_bytes(),
        _ => {
            let number = value.as_str().and_then(|digits| digits.parse::<u64>().ok());
            number.unwrap_or_default().to_le_bytes()
        }
    }
}

fn lengthy(out: &mut Vec<u8>, tag: u64, bytes: &[u8]) {
    varint(out, tag);
    varint(out, bytes.len() as u64);
    out.extend(bytes);
}

/// Seven bits in each byte, the lowest first.
fn varint(out: &mut Vec<u8>, mut number: u64) {
    loop {
        let [lowest, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            return out.push(lowest);
        }
        out.push(lowest | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::task::hexadecimal;

    /// The bytes are those that `opentelemetry-proto` 1.45.2 (Python) makes of the same request.
    #[test]
    fn spans_are_encoded_as_others_encode_them() {
        let name = format!("execute_tool {}", "n".repeat(130));
        let span = json!({
            "traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "spanId": "00f067aa0ba902b7", "traceState": "a=b",
            "parentSpanId": "b7ad6b7169203331", "name": name, "kind": 3,
            "startTimeUnixNano": "1771898400000000000", "endTimeUnixNano": "1771898400500000000",
            "attributes": [{"key": "error.type", "value": {"stringValue": "tool_error"}}], "status": {"code": 2},
        });
        let document = json!({"resourceSpans": [{
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "oneact"}}]},
            "scopeSpans": [{"scope": {"name": "oneact", "version": "0.1.0"}, "spans": [span]}],
        }]});
        let known = "0aa4020a1a0a180a0c736572766963652e6e616d6512080a066f6e656163741285020a0f0a066f6e65616374\
         1205302e312e3012f1010a104bf92f3577b34da6a3ce929d0e0e4736120800f067aa0ba902b71a03613d6222\
         08b7ad6b71692033312a8f01657865637574655f746f6f6c20{N}300339004015f6340c97184100a5e213350\
         c97184a1a0a0a6572726f722e74797065120c0a0a746f6f6c5f6572726f727a021802";
        let known = known.replace("{N}", &"6e".repeat(130));
        assert_eq!(hexadecimal(&encoded(&document)), known);
    }

    #[test]
    fn metrics_are_encoded_as_others_encode_them() {
        let point = json!({
            "startTimeUnixNano": "1", "timeUnixNano": "2", "count": "1", "sum": 0.5, "min": 0.5, "max": 0.5,
            "bucketCounts": ["1", "0"], "explicitBounds": [1.0],
            "attributes": [{"key": "oneact.state", "value": {"stringValue": "done"}}],
        });
        let histogram = json!({"dataPoints": [point], "aggregationTemporality": 1});
        let metric = json!({"name": "oneact.run.duration", "unit": "s", "histogram": histogram});
        let document = json!({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]});
        let known = "0a8e01128b011288010a136f6e656163742e72756e2e6475726174696f6e1a01734a6e0a6a11010000000000\
         000019020000000000000021010000000000000029000000000000e03f321001000000000000000000000000\
         0000003a08000000000000f03f4a160a0c6f6e656163742e737461746512060a04646f6e6559000000000000\
         e03f61000000000000e03f1001";
        assert_eq!(hexadecimal(&encoded(&document)), known);
    }
}
