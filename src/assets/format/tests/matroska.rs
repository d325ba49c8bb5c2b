//! Matroska and WebM of a few bytes, whole and damaged.

use super::*;

const EBML: &[u8] = b"\x1A\x45\xDF\xA3";
const SEGMENT: &[u8] = b"\x18\x53\x80\x67";
const TRACKS: &[u8] = b"\x16\x54\xAE\x6B";
const CLUSTER: &[u8] = b"\x1F\x43\xB6\x75";
const CUES: &[u8] = b"\x1C\x53\xBB\x6B";
const TIMESTAMP: &[u8] = b"\xE7";
const SIMPLE_BLOCK: &[u8] = b"\xA3";
const BLOCK_GROUP: &[u8] = b"\xA0";
const BLOCK: &[u8] = b"\xA1";
const VOID: &[u8] = b"\xEC";
const CRC_32: &[u8] = b"\xBF";

/// The length of the content of each block.
const PAYLOAD: usize = 20;

fn element(id: &[u8], content: &[u8]) -> Vec<u8> {
    let size = u16::try_from(content.len()).unwrap() | 0x4000;
    [id, &size.to_be_bytes(), content].concat()
}

/// An element of unknown size, as in a live recording.
fn open(id: &[u8], content: &[u8]) -> Vec<u8> {
    [id, b"\xFF", content].concat()
}

fn header() -> Vec<u8> {
    element(EBML, &element(b"\x42\x82", b"matroska"))
}

/// The tracks 1 and 300.
fn tracks() -> Vec<u8> {
    let track = |number: &[u8]| element(b"\xAE", &element(b"\xD7", number));
    element(TRACKS, &[track(b"\x01"), track(b"\x01\x2C")].concat())
}

fn time() -> Vec<u8> {
    element(TIMESTAMP, b"\0")
}

/// The content of a block of track 1.
fn block(flags: u8, content: &[u8]) -> Vec<u8> {
    [&[0x81, 0, 0, flags], content].concat()
}

fn blocks() -> Vec<u8> {
    let simple = element(SIMPLE_BLOCK, &block(0x80, &[0x55; PAYLOAD]));
    let long = [b"\x41\x2C\0\0\0".as_slice(), &[0x55; PAYLOAD]].concat();
    let group = [element(BLOCK, &long), element(b"\x9B", b"\x01")].concat();
    [simple, element(BLOCK_GROUP, &group)].concat().repeat(3)
}

fn cluster() -> Vec<u8> {
    [time(), blocks()].concat()
}

/// A file with these parts of its segment.
fn file(parts: &[Vec<u8>]) -> Vec<u8> {
    [header(), element(SEGMENT, &parts.concat())].concat()
}

/// A live recording with these parts of its segment.
fn live(parts: &[Vec<u8>]) -> Vec<u8> {
    [header(), open(SEGMENT, &parts.concat())].concat()
}

/// A file with one cluster, which holds these bytes.
fn holding(content: &[u8]) -> Vec<u8> {
    file(&[tracks(), element(CLUSTER, content)])
}

/// A file with one block that is laced.
fn laced(flags: u8, content: &[u8]) -> Vec<u8> {
    holding(&[time(), element(SIMPLE_BLOCK, &block(flags, content))].concat())
}

fn whole() -> Vec<(&'static str, Vec<u8>)> {
    let sized = element(CLUSTER, &cluster());
    let unsized_cluster = open(CLUSTER, &cluster());
    let cues = element(CUES, &element(b"\xBB", b""));
    let extras = [
        element(CRC_32, b"abcd"),
        time(),
        element(b"\xA7", &[0; 8]),
        element(b"\xAB", b"\x09"),
        element(VOID, &[0; 40]),
        blocks(),
    ];
    let clusters = vec![tracks(), unsized_cluster.clone(), unsized_cluster.clone()];
    vec![
        ("plain", file(&[tracks(), sized.clone(), cues.clone()])),
        ("tracks last", file(&[sized.clone(), tracks()])),
        (
            "void and checksums",
            [
                file(&[
                    element(VOID, &[0; 9]),
                    tracks(),
                    element(CLUSTER, &extras.concat()),
                ]),
                element(VOID, b""),
            ]
            .concat(),
        ),
        ("live", live(&clusters)),
        (
            "live with cues",
            live(&[tracks(), unsized_cluster.clone(), cues]),
        ),
        ("open clusters", file(&clusters)),
        ("two recordings", live(&clusters).repeat(2)),
        ("no lacing", laced(0, b"")),
        ("fixed lacing", laced(4, &[2, 7, 7, 7, 7, 7, 7])),
        ("Xiph lacing", laced(2, &[2, 1, 0, 7, 7, 7])),
        (
            "Xiph lacing of a large frame",
            laced(2, &[[1, 255, 1].as_slice(), &[7; 256]].concat()),
        ),
        // The sizes 3, 3 - 1 and the rest.
        ("EBML lacing", laced(6, &[2, 0x83, 0xBE, 7, 7, 7, 7, 7, 7])),
    ]
}

#[test]
fn whole_matroska_passes_with_all_that_the_format_allows() {
    let bench = Bench::new();
    for (name, bytes) in whole() {
        let checked = bench.check(&bytes, Format::Mkv);
        checked.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// The stretch is longer than what a block has after its track, so it covers a part of a header.
#[test]
fn a_zeroed_stretch_of_matroska_is_found_wherever_it_is() {
    let bench = Bench::new();
    let sized = element(CLUSTER, &cluster());
    for bytes in [
        file(&[tracks(), sized.clone(), sized.clone()]),
        live(&[tracks(), open(CLUSTER, &cluster())]),
        live(&[tracks(), sized.clone(), sized]),
    ] {
        let stretch = PAYLOAD + 4;
        for at in 0..bytes.len() - stretch {
            let mut zeroed = bytes.clone();
            zeroed[at..at + stretch].fill(0);
            assert!(bench.check(&zeroed, Format::Mkv).is_err(), "byte {at}");
        }
    }
}

#[test]
fn a_removed_stretch_of_matroska_is_found_wherever_it_is() {
    let bench = Bench::new();
    let sized = element(CLUSTER, &cluster());
    for bytes in [
        file(&[tracks(), sized.clone()]),
        live(&[tracks(), open(CLUSTER, &cluster())]),
        live(&[tracks(), sized.clone(), sized]),
    ] {
        let start = header().len();
        for at in start..bytes.len() - 7 {
            let removed = [&bytes[..at], &bytes[at + 7..]].concat();
            assert!(bench.check(&removed, Format::Mkv).is_err(), "byte {at}");
        }
    }
}

/// A live recording may end after any of its elements.
#[test]
fn matroska_that_is_cut_within_an_element_is_found() {
    let bench = Bench::new();
    let bytes = live(&[tracks(), open(CLUSTER, &cluster())]);
    let cuts = (0..bytes.len()).filter(|cut| bench.check(&bytes[..*cut], Format::Mkv).is_ok());
    // It is whole after each of the first five of its six blocks.
    assert_eq!(cuts.count(), 5);
    let bytes = file(&[tracks(), element(CLUSTER, &cluster())]);
    for cut in 0..bytes.len() {
        assert!(
            bench.check(&bytes[..cut], Format::Mkv).is_err(),
            "byte {cut}"
        );
    }
}

#[test]
fn each_flaw_of_matroska_is_named() {
    let bench = Bench::new();
    let simple = |content: &[u8]| [time(), element(SIMPLE_BLOCK, content)].concat();
    let group = |content: &[u8]| [time(), element(BLOCK_GROUP, content)].concat();
    let inner = element(BLOCK, &block(0, b"a"));
    let sized = element(CLUSTER, &cluster());
    let plain = file(&[tracks(), sized.clone()]);
    let does_not_fit = "the sizes of the frames in the block at byte 55 do not fit";
    for (bytes, says) in [
        (
            holding(&simple(b"\x82\0\0\0a")),
            "the block at byte 55 belongs to track 2, which does not exist",
        ),
        (
            file(&[
                element(CLUSTER, &simple(b"\x82\0\0\0a")),
                sized.clone(),
                tracks(),
            ]),
            "it has blocks of track 2, which does not exist",
        ),
        (
            holding(&[simple(b"\x81\0\0"), blocks()].concat()),
            "the block at byte 55 is too short",
        ),
        (laced(4, &[1, 7, 7, 7]), does_not_fit),
        (laced(2, &[1, 4, 7, 7, 7]), does_not_fit),
        (laced(2, &[1, 255]), does_not_fit),
        (laced(6, &[1, 0x84, 7, 7, 7]), does_not_fit),
        (laced(6, &[2, 0x81, 0xBD, 7, 7, 7]), does_not_fit),
        (
            laced(6, &[2, 1, 255, 255, 255, 255, 255, 255, 255, 7]),
            does_not_fit,
        ),
        (
            file(&[tracks(), sized.clone(), blocks()]),
            "the element A3 at byte 241 is out of place",
        ),
        (
            [plain.clone(), sized.clone()].concat(),
            "the element 1F43B675 at byte 241 is out of place",
        ),
        (
            [plain.clone(), vec![0; 9]].concat(),
            "at byte 241 there is no element",
        ),
        (
            holding(&[time(), element(b"\xA2", b"abcde"), blocks()].concat()),
            "the element A2 at byte 55 is out of place",
        ),
        (
            holding(&[time(), element(b"\xAB", &[1; 9]), blocks()].concat()),
            "the element AB at byte 55 is out of place",
        ),
        (
            holding(&blocks()),
            "the Cluster at byte 45 has no timestamp",
        ),
        (
            holding(&group(&element(b"\x9B", b"\x01"))),
            "the block group at byte 55 has 0 blocks instead of 1",
        ),
        (
            holding(&group(&inner.repeat(2))),
            "the block group at byte 55 has 2 blocks instead of 1",
        ),
        (
            holding(&group(&[inner, element(b"\xA3", b"")].concat())),
            "the element A3 at byte 66 is out of place",
        ),
        (
            holding(&[time(), open(SIMPLE_BLOCK, &block(0, b"a"))].concat()),
            "the element A3 at byte 55 has no size",
        ),
        (
            holding(
                &[
                    time(),
                    element(SIMPLE_BLOCK, &block(0, b"a")),
                    b"\xA3\x85".to_vec(),
                ]
                .concat(),
            ),
            "the element A3 at byte 63 needs 5 bytes, but only 0 are left",
        ),
        (
            holding(&time()),
            "its Segment has no Cluster with a block: it holds no media",
        ),
        (file(&[sized]), "its Segment has no Tracks"),
        (header(), "no Segment follows its EBML header"),
    ] {
        let problem = bench.problem(&bytes, Format::Mkv);
        assert!(problem.ends_with(says), "{problem}, not: {says}");
    }
}

/// Readers silently leave out a block whose id has one wrong bit.
#[test]
fn one_wrong_bit_in_the_id_of_a_block_is_found() {
    let bench = Bench::new();
    let bytes = holding(&cluster());
    let ids = (header().len()..bytes.len())
        .filter(|at| matches!(bytes[*at..], [0xA0 | 0xA1 | 0xA3, 0x40, ..]));
    let ids: Vec<usize> = ids.collect();
    assert_eq!(ids.len(), 9);
    for (at, bit) in ids.iter().flat_map(|at| (0..8).map(move |bit| (*at, bit))) {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << bit;
        assert!(
            bench.check(&changed, Format::Mkv).is_err(),
            "byte {at}, bit {bit}"
        );
    }
}
