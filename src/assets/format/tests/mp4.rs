//! Movies in MP4: their outermost boxes.

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
    assert!(renamed(b"moov").contains("no movie header"));
    assert!(renamed(b"mdat").contains("no media data"));
    // The last box may extend to the end of the file.
    let mut open = media::sample("mp4 faststart").content.clone();
    let mdat = open
        .windows(4)
        .position(|window| window == b"mdat")
        .unwrap();
    open[mdat - 4..mdat].fill(0);
    assert!(bench.check(&open, Format::Mp4).is_ok());
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
