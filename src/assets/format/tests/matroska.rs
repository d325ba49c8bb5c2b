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

/// A track of audio.
fn track(number: &[u8]) -> Vec<u8> {
    let fields = [
        element(b"\xD7", number),
        element(b"\x83", b"\x02"),
        element(b"\x86", b"A_OPUS"),
    ];
    element(b"\xAE", &fields.concat())
}

/// The tracks 1 and 300.
fn tracks() -> Vec<u8> {
    element(TRACKS, &[track(b"\x01"), track(b"\x01\x2C")].concat())
}

/// The same with a checksum before them.
fn summed_tracks() -> Vec<u8> {
    let entries = [track(b"\x01"), track(b"\x01\x2C")].concat();
    let sum = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&entries);
    let sum = element(CRC_32, &sum.to_le_bytes());
    element(TRACKS, &[sum, entries].concat())
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
        (
            "tracks with a checksum",
            file(&[summed_tracks(), sized.clone()]),
        ),
        (
            "void between the tracks",
            file(&[
                element(
                    TRACKS,
                    &[track(b"\x01"), element(VOID, b"abc"), track(b"\x01\x2C")].concat(),
                ),
                sized.clone(),
            ]),
        ),
        ("live", live(&clusters)),
        (
            "live with cues",
            live(&[tracks(), unsized_cluster.clone(), cues]),
        ),
        ("open clusters", file(&clusters)),
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
    let does_not_fit = "the sizes of the frames in the block at byte 81 do not fit";
    for (bytes, says) in [
        (
            holding(&simple(b"\x82\0\0\0a")),
            "the block at byte 81 belongs to track 2, which does not exist",
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
            "the block at byte 81 is too short",
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
            "the element A3 at byte 267 is out of place",
        ),
        (
            [plain.clone(), sized.clone()].concat(),
            "the element 1F43B675 at byte 267 is out of place",
        ),
        (
            [plain.clone(), vec![0; 9]].concat(),
            "at byte 267 there is no element",
        ),
        (
            holding(&[time(), element(b"\xA2", b"abcde"), blocks()].concat()),
            "the element A2 at byte 81 is out of place",
        ),
        (
            holding(&[time(), element(b"\xAB", &[1; 9]), blocks()].concat()),
            "the element AB at byte 81 is out of place",
        ),
        (
            holding(&blocks()),
            "the Cluster at byte 71 has no timestamp",
        ),
        (
            holding(&group(&element(b"\x9B", b"\x01"))),
            "the block group at byte 81 has 0 blocks instead of 1",
        ),
        (
            holding(&group(&inner.repeat(2))),
            "the block group at byte 81 has 2 blocks instead of 1",
        ),
        (
            holding(&group(&[inner, element(b"\xA3", b"")].concat())),
            "the element A3 at byte 92 is out of place",
        ),
        (
            holding(&[time(), open(SIMPLE_BLOCK, &block(0, b"a"))].concat()),
            "the element A3 at byte 81 has no size",
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
            "the element A3 at byte 89 needs 5 bytes, but only 0 are left",
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

#[test]
fn each_flaw_of_a_track_is_named() {
    let bench = Bench::new();
    let number = element(b"\xD7", b"\x01");
    let audio = element(b"\x83", b"\x02");
    let codec = element(b"\x86", b"A_OPUS");
    let entry = |fields: &[&Vec<u8>]| {
        let fields: Vec<u8> = fields.iter().copied().flatten().copied().collect();
        element(TRACKS, &element(b"\xAE", &fields))
    };
    let mut wrong_sum = summed_tracks();
    *wrong_sum.last_mut().unwrap() ^= 1;
    let short_sum = element(TRACKS, &[element(CRC_32, b"abc"), track(b"\x01")].concat());
    let foreign = [track(b"\x01"), element(b"\xAF", b"a")].concat();
    for (tracks, says) in [
        (
            entry(&[&audio, &codec]),
            "the track at byte 30 has no number",
        ),
        (
            entry(&[&number, &codec]),
            "the track at byte 30 has no known type",
        ),
        (
            entry(&[&number, &element(b"\x83", b"\x06"), &codec]),
            "the track at byte 30 has no known type",
        ),
        (
            entry(&[&number, &audio]),
            "the track at byte 30 has no codec id",
        ),
        (wrong_sum, "the Tracks at byte 24 have a wrong checksum"),
        (short_sum, "the element BF at byte 30 is out of place"),
        (
            element(TRACKS, &foreign),
            "the element AF at byte 50 is out of place",
        ),
    ] {
        let problem = bench.problem(&file(&[tracks, element(CLUSTER, &cluster())]), Format::Mkv);
        assert!(problem.ends_with(says), "{problem}, not: {says}");
    }
}

/// Readers use only the first recording.
#[test]
fn a_second_recording_in_matroska_is_refused() {
    let bench = Bench::new();
    let sized = element(CLUSTER, &cluster());
    let usual = file(&[tracks(), sized.clone()]);
    let open = live(&[tracks(), open(CLUSTER, &cluster())]);
    let segment = usual[header().len()..].to_vec();
    for first in [&usual, &open] {
        for second in [&usual, &open] {
            let problem = bench.problem(&[first.clone(), second.clone()].concat(), Format::Mkv);
            let says = format!(
                "a second recording begins at byte {}; readers use only the first",
                first.len()
            );
            assert!(problem.ends_with(&says), "{problem}, not: {says}");
        }
    }
    let problem = bench.problem(&[usual, segment].concat(), Format::Mkv);
    assert!(problem.contains("a second recording begins"), "{problem}");
}

#[test]
fn one_wrong_bit_in_tracks_with_a_checksum_is_found() {
    let bench = Bench::new();
    let bytes = file(&[summed_tracks(), element(CLUSTER, &cluster())]);
    let start = header().len() + 6;
    for at in start..start + summed_tracks().len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            let found = bench.check(&changed, Format::Mkv);
            assert!(found.is_err(), "byte {at}, bit {bit}");
        }
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
