//! Matroska: its outer elements.

use super::*;

const CLUSTER: &[u8] = b"\x1F\x43\xB6\x75";

#[test]
fn matroska_without_a_cluster_or_with_a_second_recording_is_broken() {
    let bench = Bench::new();
    let mkv = media::sample("mkv").content.as_slice();
    let cluster = mkv.windows(4).position(|part| part == CLUSTER).unwrap();
    let mut empty = mkv.to_vec();
    // The beginning of an attachment.
    empty[cluster..cluster + 4].copy_from_slice(b"\x19\x41\xA4\x69");
    let problem = bench.problem(&empty, Format::Mkv);
    assert!(problem.contains("it has no cluster"), "{problem}");
    let problem = bench.problem(&mkv.repeat(2), Format::Mkv);
    assert!(problem.contains("a second recording begins"), "{problem}");
    let mut zeroed = mkv.to_vec();
    zeroed[cluster..cluster + 4].fill(0);
    let problem = bench.problem(&zeroed, Format::Mkv);
    assert!(problem.contains("there is no element"), "{problem}");
}

/// A live recording states neither its own size nor, in browsers, that of its clusters.
#[test]
fn a_live_recording_that_is_cut_within_a_part_with_a_size_is_found() {
    let bench = Bench::new();
    let live = media::sample("webm live, piped").content.as_slice();
    let cluster = live.windows(4).position(|part| part == CLUSTER).unwrap();
    for cut in [cluster - 1, cluster + 2, live.len() - 1] {
        let problem = bench.problem(&live[..cut], Format::WebM);
        assert!(
            problem.contains("corrupt or incomplete"),
            "{cut}: {problem}"
        );
    }
    let mut open = live.to_vec();
    let width = open[cluster + 4].leading_zeros() as usize;
    open[cluster + 4] = 0xFF >> width;
    open[cluster + 5..=cluster + 4 + width].fill(0xFF);
    assert!(bench.check(&open, Format::WebM).is_ok());
}
