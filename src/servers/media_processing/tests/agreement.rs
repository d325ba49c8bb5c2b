//! Length, start and samples are ffmpeg's. At the source's rate they agree to the bit where the source is integers,
//! and within one unit where it is floats, whose sums nobody adds up in the same order. At another rate they agree
//! within a millisecond and 60 dB.

use super::*;

/// The most a sample may differ.
const EXACT: u16 = 0;
const ROUNDING: u16 = 1;
/// Compares at 16 kHz mono and stereo, and at the source's rate.
fn agrees(input: &Path, tolerance: u16) {
    for (rate, channels) in [(Some(16_000), 1), (None, 1), (None, 2), (Some(44_100), 2)] {
        let ours = extracted(input, rate, channels);
        let theirs = reference(input, rate, channels);
        let case = format!(
            "{} at {rate:?} Hz with {channels} channels",
            input.display()
        );
        assert!(
            theirs.iter().any(|sample| sample.unsigned_abs() > 1000),
            "there is something to hear in {case}"
        );
        if let Some(rate) = rate {
            let aside = ours.len().abs_diff(theirs.len()) / usize::from(channels);
            assert!(
                aside as u64 <= u64::from(rate / 1000),
                "{case} is {aside} samples longer or shorter"
            );
            let agreement = decibels(&ours, &theirs);
            assert!(agreement > 60.0, "{case} agrees within {agreement} dB");
            continue;
        }
        assert_eq!(ours.len(), theirs.len(), "samples of {case}");
        let worst = ours
            .iter()
            .zip(&theirs)
            .map(|(ours, theirs)| ours.abs_diff(*theirs))
            .max();
        assert!(
            worst <= Some(tolerance),
            "a sample of {case} is off by {worst:?}"
        );
    }
}

/// How far the difference is below the signal.
fn decibels(ours: &[i16], theirs: &[i16]) -> f64 {
    let energy = |sample: f64| sample * sample;
    let signal: f64 = theirs.iter().map(|sample| energy((*sample).into())).sum();
    let both = ours.iter().zip(theirs);
    let noise: f64 = both
        .map(|(ours, theirs)| energy(f64::from(*ours) - f64::from(*theirs)))
        .sum();
    10.0 * (signal / noise).log10()
}

fn reference(input: &Path, rate: Option<u32>, channels: u8) -> Vec<i16> {
    let (input, channels) = (input.to_str().expect("Unicode"), channels.to_string());
    let rate = rate.map(|rate| rate.to_string());
    let rate = rate.as_ref().map_or(vec![], |rate| vec!["-ar", rate]);
    let output = [
        "-vn",
        "-ac",
        &channels,
        "-c:a",
        "pcm_s16le",
        "-f",
        "s16le",
        "-",
    ];
    samples(&ffmpeg(&[&["-i", input], &rate[..], &output].concat()))
}

#[test]
fn mp4_with_aac_and_an_edit_list() {
    agrees(&medium("fox.mp4"), ROUNDING);
}

#[test]
fn mov_with_aac_at_44100_hertz() {
    agrees(&medium("fox-44100.mov"), ROUNDING);
}

#[test]
fn mkv_with_aac() {
    agrees(&medium("fox.mkv"), ROUNDING);
}

#[test]
fn mkv_with_vorbis() {
    agrees(&medium("fox-vorbis.mkv"), ROUNDING);
}

#[test]
fn mp4_that_begins_with_silence_in_its_edit_list() {
    let scratch = TempDir::new().expect("a directory");
    let how = ["-vn", "-c", "copy", "-output_ts_offset", "0.5"];
    let late = made(&scratch, "late.mp4", "fox.mp4", &how);
    let bytes = fs::read(&late).expect("readable");
    let list = bytes.windows(4).position(|at| at == b"elst");
    let list = list.expect("an edit list");
    assert_eq!(bytes[list + 11], 2, "there are two edits");
    agrees(&late, ROUNDING);
}

#[test]
fn ogg_with_vorbis() {
    agrees(&medium("fox.ogg"), ROUNDING);
}

#[test]
fn ogg_whose_time_does_not_begin_at_0() {
    let scratch = TempDir::new().expect("a directory");
    for (name, codec, tolerance) in [
        ("vorbis.ogg", "libvorbis", ROUNDING),
        ("flac.ogg", "flac", EXACT),
    ] {
        let how = ["-c:a", codec, "-ar", "48000", "-output_ts_offset", "0.7"];
        let late = made(&scratch, name, "fox.wav", &how);
        agrees(&late, tolerance);
    }
}

#[test]
fn mp3_with_a_lame_tag() {
    agrees(&medium("fox.mp3"), ROUNDING);
}

#[test]
fn flac() {
    // Mono becomes stereo by gains that FFmpeg rounds.
    agrees(&medium("fox.flac"), ROUNDING);
}

#[test]
fn wav() {
    agrees(&medium("fox.wav"), EXACT);
}

#[test]
fn wav_of_more_than_16_bits() {
    let scratch = TempDir::new().expect("a directory");
    agrees(
        &made(&scratch, "24.wav", "fox.mp4", &["-vn", "-c:a", "pcm_s24le"]),
        ROUNDING,
    );
}

#[test]
fn wav_from_a_pipe() {
    let scratch = TempDir::new().expect("a directory");
    let piped = scratch.path().join("piped.wav");
    let from = medium("fox.wav");
    let bytes = ffmpeg(&["-i", from.to_str().expect("Unicode"), "-f", "wav", "-"]);
    assert!(
        bytes.windows(8).any(|at| at == b"data\xff\xff\xff\xff"),
        "ffmpeg does not know the length"
    );
    fs::write(&piped, bytes).expect("written");
    agrees(&piped, EXACT);
}

#[test]
fn mp4_cut_without_decoding() {
    let scratch = TempDir::new().expect("a directory");
    // Without noise substitution, whose noise depends on where decoding began.
    let whole = made(
        &scratch,
        "whole.mp4",
        "fox.wav",
        &["-c:a", "aac", "-aac_pns", "0"],
    );
    let cut = scratch.path().join("cut.mp4");
    let (whole, to) = (
        whole.to_str().expect("Unicode"),
        cut.to_str().expect("Unicode"),
    );
    ffmpeg(&["-ss", "0.7", "-i", whole, "-c", "copy", to]);
    agrees(&cut, ROUNDING);
}

#[test]
fn mp4_in_fragments() {
    let scratch = TempDir::new().expect("a directory");
    let how = [
        "-vn",
        "-c",
        "copy",
        "-movflags",
        "+empty_moov+default_base_moof",
        "-frag_duration",
        "500000",
    ];
    agrees(&made(&scratch, "fragments.mp4", "fox.mp4", &how), ROUNDING);
}

/// Opus, a codec that only FFmpeg knows, and more than two channels.
#[test]
fn what_ffmpeg_decodes() {
    let scratch = TempDir::new().expect("a directory");
    let pan = "pan=5.1|FL=FL|FR=FR|FC=.5*FL|LFE=.3*FR|BL=.2*FL|BR=.7*FR";
    for input in [
        medium("fox.webm"),
        medium("fox-opus.ogg"),
        made(&scratch, "ac3.mp4", "fox.mp4", &["-vn", "-c:a", "ac3"]),
        made(&scratch, "surround.wav", "fox.wav", &["-af", pan]),
    ] {
        agrees(&input, EXACT);
    }
}
