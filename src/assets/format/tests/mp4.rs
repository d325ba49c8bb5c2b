//! Movies in MP4: their boxes and fragments, whole and damaged.

use super::*;

#[test]
fn a_movie_without_its_index_or_its_media_is_broken() {
    let bench = Bench::new();
    let mp4 = &media::sample("mp4").content;
    let renamed = |name: &[u8; 4]| {
        let mut bytes = mp4.clone();
        let places: Vec<usize> = (0..bytes.len())
            .filter(|at| bytes[*at..].starts_with(name))
            .collect();
        assert!(!places.is_empty());
        for at in places {
            bytes[at..][..4].copy_from_slice(b"free");
        }
        bench.problem(&bytes, Format::Mp4)
    };
    assert!(renamed(b"moov").contains("no moov box"));
    assert!(renamed(b"mvhd").contains("no moov box with a movie header"));
    assert!(renamed(b"trak").contains("no track"));
    assert!(renamed(b"mdat").contains("no media data"));
    // Open to the end, and the end is gone: only the tables of the tracks can tell.
    let mut open = media::sample("mp4 faststart").content.clone();
    let mdat = open
        .windows(4)
        .position(|window| window == b"mdat")
        .unwrap();
    open[mdat - 4..mdat].fill(0);
    assert!(bench.check(&open, Format::Mp4).is_ok());
    let problem = bench.problem(&open[..mdat + 5], Format::Mp4);
    assert!(problem.contains("a track has samples at byte"), "{problem}");
}

/// The starts of the outermost boxes of a file, and of the boxes in its fragments.
fn parts_of_fragments(mp4: &[u8]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut at = 0;
    while at < mp4.len() {
        starts.push(at);
        let size = u32::from_be_bytes(mp4[at..at + 4].try_into().unwrap());
        at += match &mp4[at + 4..at + 8] {
            b"moof" | b"traf" => 8,
            _ => usize::try_from(size).unwrap(),
        };
    }
    starts
}

/// Readers silently leave out a box whose type has one wrong bit.
#[test]
fn one_wrong_bit_in_the_type_of_a_box_of_a_fragment_is_found() {
    let bench = Bench::new();
    for name in ["mp4 fragments", "mp4 dash"] {
        let bytes = &media::sample(name).content;
        let parts = parts_of_fragments(bytes);
        assert!(parts.len() > 8, "{name}");
        for (at, bit) in parts
            .iter()
            .flat_map(|at| (0..32).map(move |bit| (at + 4, bit)))
        {
            let mut changed = bytes.clone();
            changed[at + bit / 8] ^= 1 << (bit % 8);
            let found = bench.check(&changed, Format::Mp4);
            assert!(found.is_err(), "{name}: byte {at}, bit {bit}");
        }
    }
    // Outside fragments, a box of a maker is no damage.
    let maker = [
        media::sample("mp4").content.as_slice(),
        b"\0\0\0\x0Cmakr1234",
    ]
    .concat();
    assert!(bench.check(&maker, Format::Mp4).is_ok());
}

/// Programs that write tags, and recorders, append what is no box of the format.
#[test]
fn what_programs_append_to_mp4_is_no_damage() {
    let bench = Bench::new();
    let tag = [b"TAG".as_slice(), &[0; 125]].concat();
    for name in ["mp4", "mp4 fragments"] {
        let content = media::sample(name).content.as_slice();
        for end in [[0; 4].as_slice(), &tag, b"\0\0\0\x0Csefdmore"] {
            let whole = [content, end].concat();
            assert!(bench.check(&whole, Format::Mp4).is_ok(), "{name}: {end:?}");
        }
        let cut = [content, &[0, 0, 0, 9]].concat();
        assert!(bench.check(&cut, Format::Mp4).is_err(), "{name}");
    }
}

/// Readers use only the first movie.
#[test]
fn a_second_movie_in_mp4_is_refused() {
    let bench = Bench::new();
    for names in [["mp4", "mp4"], ["mp4 fragments", "mp4"]] {
        let both = names
            .map(|name| media::sample(name).content.as_slice())
            .concat();
        let problem = bench.problem(&both, Format::Mp4);
        let says = "is the second one; readers use only the first";
        assert!(problem.ends_with(says), "{problem}");
    }
}
