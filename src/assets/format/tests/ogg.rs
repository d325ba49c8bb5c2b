//! The last page of Ogg.

use super::*;

#[test]
fn ogg_without_its_last_page_is_incomplete() {
    let bench = Bench::new();
    let bytes = &media::sample("ogg of many pages").content;
    let last = bytes.windows(5).rposition(|start| start == b"OggS\0");
    let problem = bench.problem(&bytes[..last.unwrap()], Format::Ogg);
    assert!(
        problem.contains("no page ends its last stream"),
        "{problem}"
    );
}

#[test]
fn recordings_may_follow_each_other_in_ogg() {
    let bench = Bench::new();
    let of = |name| media::sample(name).content.as_slice();
    for names in [["ogg", "ogg opus"], ["ogg flac", "ogg theora"]] {
        let chained = names.map(of).concat();
        let checked = bench.check(&chained, Format::Ogg);
        checked.unwrap_or_else(|error| panic!("{names:?}: {error}"));
    }
}
