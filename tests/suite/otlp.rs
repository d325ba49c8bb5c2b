//! What a collector gets (OTLP in the encoding of Protocol Buffers), read as the JSON of OTLP.

use serde_json::{Map, Value, json};

/// A member of a message: its number in `opentelemetry/proto` (1.x), its name in JSON, and what it is.
type Member = (u64, &'static str, Kind);

#[derive(Clone, Copy)]
enum Kind {
    One(&'static [Member]),
    Many(&'static [Member]),
    Text,
    Hex,
    Number,
    Fixed,
    Double,
    Fixeds,
    Doubles,
}

use Kind::{Double, Doubles, Fixed, Fixeds, Hex, Many, Number, One, Text};

const ATTRIBUTE: &[Member] = &[
    (1, "key", Text),
    (2, "value", One(&[(1, "stringValue", Text)])),
];
const RESOURCE: &[Member] = &[(1, "attributes", Many(ATTRIBUTE))];
const SCOPE: &[Member] = &[(1, "name", Text), (2, "version", Text)];
const SPAN: &[Member] = &[
    (1, "traceId", Hex),
    (2, "spanId", Hex),
    (3, "traceState", Text),
    (4, "parentSpanId", Hex),
    (5, "name", Text),
    (6, "kind", Number),
    (7, "startTimeUnixNano", Fixed),
    (8, "endTimeUnixNano", Fixed),
    (9, "attributes", Many(ATTRIBUTE)),
    (15, "status", One(&[(3, "code", Number)])),
];
const POINT: &[Member] = &[
    (2, "startTimeUnixNano", Fixed),
    (3, "timeUnixNano", Fixed),
    (4, "count", Fixed),
    (5, "sum", Double),
    (6, "bucketCounts", Fixeds),
    (7, "explicitBounds", Doubles),
    (9, "attributes", Many(ATTRIBUTE)),
    (11, "min", Double),
    (12, "max", Double),
];
const HISTOGRAM: &[Member] = &[
    (1, "dataPoints", Many(POINT)),
    (2, "aggregationTemporality", Number),
];
const METRIC: &[Member] = &[
    (1, "name", Text),
    (3, "unit", Text),
    (9, "histogram", One(HISTOGRAM)),
];
const TRACES: &[Member] = &[(
    1,
    "resourceSpans",
    Many(&[
        (1, "resource", One(RESOURCE)),
        (
            2,
            "scopeSpans",
            Many(&[(1, "scope", One(SCOPE)), (2, "spans", Many(SPAN))]),
        ),
    ]),
)];
const METRICS: &[Member] = &[(
    1,
    "resourceMetrics",
    Many(&[
        (1, "resource", One(RESOURCE)),
        (
            2,
            "scopeMetrics",
            Many(&[(1, "scope", One(SCOPE)), (2, "metrics", Many(METRIC))]),
        ),
    ]),
)];

/// The request to `/v1/traces` or `/v1/metrics`.
pub(crate) fn request(path: &str, body: &[u8]) -> Value {
    match path {
        "/v1/traces" => message(body, TRACES),
        "/v1/metrics" => message(body, METRICS),
        other => panic!("nothing is sent to {other}"),
    }
}

fn message(mut bytes: &[u8], members: &[Member]) -> Value {
    let mut object = Map::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let (_, name, kind) = members
            .iter()
            .find(|(number, ..)| *number == tag >> 3)
            .unwrap();
        let value = match tag & 7 {
            0 => {
                assert!(matches!(kind, Number));
                json!(varint(&mut bytes))
            }
            1 => {
                let (eight, rest) = bytes.split_first_chunk::<8>().unwrap();
                bytes = rest;
                number(*eight, *kind)
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                let (inner, rest) = bytes.split_at(length);
                bytes = rest;
                value(inner, *kind)
            }
            other => panic!("the type {other}"),
        };
        if matches!(kind, Many(_)) {
            let all = object.entry(*name).or_insert(json!([]));
            all.as_array_mut().unwrap().push(value);
        } else {
            assert_eq!(object.insert((*name).to_owned(), value), None);
        }
    }
    Value::Object(object)
}

/// A value that has a length.
fn value(bytes: &[u8], kind: Kind) -> Value {
    match kind {
        One(members) | Many(members) => message(bytes, members),
        Text => json!(str::from_utf8(bytes).unwrap()),
        Hex => bytes
            .iter()
            .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
            .into(),
        Fixeds | Doubles => {
            let (all, rest) = bytes.as_chunks::<8>();
            assert!(rest.is_empty());
            all.iter().map(|eight| number(*eight, kind)).collect()
        }
        Number | Fixed | Double => panic!("{bytes:?} has a length"),
    }
}

/// 64 bits; JSON writes a whole number of so many as a text.
fn number(bytes: [u8; 8], kind: Kind) -> Value {
    match kind {
        Double | Doubles => json!(f64::from_le_bytes(bytes)),
        _ => json!(u64::from_le_bytes(bytes).to_string()),
    }
}

/// Seven bits in each byte, the lowest first.
fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..).step_by(7) {
        let (byte, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    number
}
