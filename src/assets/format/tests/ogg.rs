//! The pages and streams of Ogg.

use super::*;

/// The starts of the pages.
fn pages(ogg: &[u8]) -> Vec<usize> {
    let found = ogg.windows(5).enumerate();
    found
        .filter_map(|(at, start)| (start == b"OggS\0").then_some(at))
        .collect()
}

#[test]
fn a_damaged_or_missing_page_of_ogg_is_found_wherever_it_is() {
    let bench = Bench::new();
    for name in ["ogg of many pages", "ogg theora"] {
        let bytes = &media::sample(name).content;
        let pages = pages(bytes);
        assert!(pages.len() > 4, "{name}");
        for (number, &start) in pages.iter().enumerate() {
            let end = pages.get(number + 1).copied().unwrap_or(bytes.len());
            let mut changed = bytes.clone();
            changed[end - 1] ^= 1;
            let problem = bench.problem(&changed, Format::Ogg);
            assert!(problem.contains("wrong checksum"), "{name}: {problem}");
            let without = [&bytes[..start], &bytes[end..]].concat();
            let found = bench.check(&without, Format::Ogg);
            assert!(found.is_err(), "{name} without its page {number}");
        }
    }
}

#[test]
fn recordings_may_follow_each_other_in_ogg() {
    let bench = Bench::new();
    let of = |name| media::sample(name).content.as_slice();
    for names in [
        ["ogg", "ogg opus"],
        ["ogg flac", "ogg theora"],
        ["ogg", "ogg"],
    ] {
        let chained = names.map(of).concat();
        let checked = bench.check(&chained, Format::Ogg);
        checked.unwrap_or_else(|error| panic!("{names:?}: {error}"));
    }
}
