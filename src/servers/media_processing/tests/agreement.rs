//! Length, start and samples are ffmpeg's. At the source's rate they agree to the bit where the source is integers,
//! and within one unit where it is floats, whose sums nobody adds up in the same order. At another rate they agree
//! within a millisecond and 60 dB.

use super::*;

/// The most a sample may differ.
const EXACT: u16 = 0;
const ROUNDING: u16 = 1;
/// How far a decoder of Opus in fixed point is from one with floats.
const OPUS: u16 = 16;

/// The reference decoder of Opus, in ffmpeg.
const LIBOPUS: &[&str] = &["-c:a", "libopus", "-request_sample_fmt", "flt"];

/// Compares at 16 kHz mono and stereo, and at the source's rate.
fn agrees(input: &Path, tolerance: u16) {
    agrees_with(&[], input, tolerance);
}

/// `decoding` are options of ffmpeg for its input.
fn agrees_with(decoding: &[&str], input: &Path, tolerance: u16) {
    for (rate, channels) in [(Some(16_000), 1), (None, 1), (None, 2), (Some(44_100), 2)] {
        let ours = extracted(input, rate, channels);
        let theirs = reference(decoding, input, rate, channels);
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

fn reference(decoding: &[&str], input: &Path, rate: Option<u32>, channels: u8) -> Vec<i16> {
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
    samples(&ffmpeg(
        &[decoding, &["-i", input], &rate, &output].concat(),
    ))
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
fn webm_with_opus_and_discard_padding() {
    agrees_with(LIBOPUS, &medium("fox.webm"), OPUS);
    agrees(&medium("fox.webm"), OPUS);
}

#[test]
fn webm_of_a_live_recording_with_discard_padding() {
    const CLUSTER: &[u8] = b"\x1f\x43\xb6\x75";
    let scratch = TempDir::new().expect("a directory");
    let how = [
        "-c:a",
        "libopus",
        "-live",
        "1",
        "-cluster_time_limit",
        "500",
    ];
    let live = made(&scratch, "live.webm", "fox.wav", &how);
    let mut bytes = fs::read(&live).expect("readable");
    let has = |part: &[u8]| bytes.windows(part.len()).any(|at| at == part);
    assert!(
        has(b"\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff"),
        "the segment is open"
    );
    assert!(has(b"\x75\xa2\x84"), "there is padding");
    agrees_with(LIBOPUS, &live, OPUS);
    // Browsers leave the clusters open too.
    let clusters: Vec<usize> = (0..bytes.len())
        .filter(|at| bytes[*at..].starts_with(CLUSTER))
        .collect();
    assert!(clusters.len() > 2);
    for at in clusters {
        let size = at + CLUSTER.len();
        let more = bytes[size].leading_zeros() as usize;
        bytes[size] = 0xff >> more;
        bytes[size + 1..=size + more].fill(0xff);
    }
    let open = scratch.path().join("open.webm");
    fs::write(&open, bytes).expect("written");
    agrees_with(LIBOPUS, &open, OPUS);
}

#[test]
fn matroska_with_discard_padding_in_the_middle() {
    let scratch = TempDir::new().expect("a directory");
    let list = scratch.path().join("list");
    let part = medium("fox.webm");
    let part = format!("file '{}'\n", part.display());
    fs::write(&list, part.repeat(2)).expect("written");
    let joined = scratch.path().join("joined.mka");
    let (list, to) = (
        list.to_str().expect("Unicode"),
        joined.to_str().expect("Unicode"),
    );
    let input = ["-f", "concat", "-safe", "0", "-i", list];
    ffmpeg(&[&input[..], &["-vn", "-c:a", "copy", to]].concat());
    let bytes = fs::read(&joined).expect("readable");
    let padded = bytes.windows(3).filter(|at| at == b"\x75\xa2\x84");
    assert_eq!(padded.count(), 2, "there is padding in the middle, too");
    agrees_with(LIBOPUS, &joined, OPUS);
}

#[test]
fn mp4_with_opus() {
    let scratch = TempDir::new().expect("a directory");
    // ffmpeg counts the pre-skip in the time scale of the track, which is the rate of the encoder's input.
    let opus = ["-c:a", "libopus", "-ar", "48000"];
    let agrees = |path: &Path| agrees_with(LIBOPUS, path, OPUS);
    let whole = made(&scratch, "whole.mp4", "fox.wav", &opus);
    agrees(&whole);
    let fragments = ["-movflags", "+empty_moov", "-frag_duration", "500000"];
    let fragments = [&opus[..], &fragments].concat();
    agrees(&made(&scratch, "fragments.mp4", "fox.wav", &fragments));
    let short = [&opus[..], &["-ss", "0.5", "-t", "0.2"]].concat();
    agrees(&made(&scratch, "short.mp4", "fox.wav", &short));
    let mut bytes = fs::read(&whole).expect("readable");
    let header = bytes.windows(4).position(|at| at == b"dOps");
    let gain = header.expect("a header of Opus") + 12;
    bytes[gain..gain + 2].copy_from_slice(&(-1536_i16).to_be_bytes());
    let quieter = scratch.path().join("quieter.mp4");
    fs::write(&quieter, bytes).expect("written");
    agrees(&quieter);
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
fn ogg_with_opus_speech() {
    // ffmpeg's own decoder resamples Opus speech with a filter of its own; libopus is the reference.
    agrees_with(
        &["-c:a", "libopus", "-request_sample_fmt", "flt"],
        &medium("fox-opus.ogg"),
        OPUS,
    );
}

/// From speech to noise, the encoder switches between two codecs. The shortest frames have 2.5 ms.
#[test]
fn opus_that_switches_its_mode_and_opus_of_short_frames() {
    let scratch = TempDir::new().expect("a directory");
    let noise = "aeval=val(0)+0.3*gt(t\\,0.8)*random(0)|0.5*val(0)-0.3*gt(t\\,0.8)*random(1)";
    for (name, rate, length) in [
        ("a.ogg", "32k", "20"),
        ("b.ogg", "48k", "60"),
        ("c.ogg", "48k", "2.5"),
    ] {
        let how = [
            "-af",
            noise,
            "-c:a",
            "libopus",
            "-b:a",
            rate,
            "-frame_duration",
            length,
        ];
        agrees_with(LIBOPUS, &made(&scratch, name, "fox.wav", &how), OPUS);
    }
}

#[test]
fn ogg_with_vorbis() {
    agrees(&medium("fox.ogg"), ROUNDING);
}

#[test]
fn ogg_whose_time_does_not_begin_at_0() {
    let scratch = TempDir::new().expect("a directory");
    for (name, codec, tolerance) in [
        ("opus.ogg", "libopus", OPUS),
        ("vorbis.ogg", "libvorbis", ROUNDING),
        ("flac.ogg", "flac", EXACT),
    ] {
        let how = ["-c:a", codec, "-ar", "48000", "-output_ts_offset", "0.7"];
        let late = made(&scratch, name, "fox.wav", &how);
        let decoding = if codec == "libopus" { LIBOPUS } else { &[] };
        agrees_with(decoding, &late, tolerance);
    }
}

#[test]
fn mp3_with_a_lame_tag() {
    agrees(&medium("fox.mp3"), ROUNDING);
}

#[test]
fn flac() {
    agrees(&medium("fox.flac"), EXACT);
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
fn surround() {
    let scratch = TempDir::new().expect("a directory");
    let pan = [
        "-af",
        "pan=5.1|FL=FL|FR=FR|FC=.5*FL|LFE=.3*FR|BL=.2*FL|BR=.7*FR",
    ];
    agrees(&made(&scratch, "surround.wav", "fox.wav", &pan), ROUNDING);
    agrees(
        &made(
            &scratch,
            "surround.ogg",
            "fox.wav",
            &[&pan[..], &["-c:a", "libvorbis"]].concat(),
        ),
        ROUNDING,
    );
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
