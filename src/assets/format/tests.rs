//! Real media made by ffmpeg, whole and mutilated; and noise.

mod documents;
mod matroska;
mod media;
mod mp4;
mod ogg;

use std::fs;

use camino::Utf8PathBuf;

use super::*;
use media::{SAMPLES, Sample};

/// A directory for the files of one test.
struct Bench {
    _keep: tempfile::TempDir,
    dir: Utf8PathBuf,
}

impl Bench {
    fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let dir = Utf8PathBuf::from_path_buf(keep.path().to_owned()).unwrap();
        Self { _keep: keep, dir }
    }

    /// Checks a content under a name that promises nothing.
    fn check(&self, content: &[u8], format: Format) -> Result<u64, FormatError> {
        let path = self.dir.join("content.bin");
        fs::write(&path, content).unwrap();
        check(&path, format)
    }

    fn problem(&self, content: &[u8], format: Format) -> String {
        self.check(content, format).unwrap_err().to_string()
    }
}

fn check(path: &Utf8Path, format: Format) -> Result<u64, FormatError> {
    check_while(path, format, &|| true)
}

fn formats() -> impl Iterator<Item = Format> {
    Format::names().into_iter().filter_map(Format::named)
}

#[test]
fn every_format_that_is_checked_has_a_sample_and_the_others_are_no_format() {
    for format in formats().filter(|format| *format != Format::Any) {
        let mut samples = SAMPLES.iter();
        assert!(samples.any(|sample| sample.format == format), "{format}");
    }
    for ending in UNCHECKED {
        assert_eq!(Format::of_ending(ending), None);
    }
}

#[test]
fn real_media_is_what_it_is_and_nothing_else() {
    let bench = Bench::new();
    for Sample {
        name,
        format,
        content,
    } in SAMPLES.iter()
    {
        let checked = bench
            .check(content, *format)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(checked, content.len() as u64);
        let also = |other| match format {
            Format::WebM => other == Format::Mkv,
            Format::Json => other == Format::JsonLines || other == Format::Text,
            Format::JsonLines => other == Format::Text,
            _ => false,
        };
        for other in
            formats().filter(|other| other != format && *other != Format::Any && !also(*other))
        {
            assert!(
                bench.check(content, other).is_err(),
                "{name} passes for {other}"
            );
        }
    }
}

/// The directory lies behind the files, so each entry needs two reads.
#[test]
fn the_check_of_a_zip_reads_little_for_each_entry() {
    let read_bytes = || {
        let told = fs::read_to_string("/proc/thread-self/io").unwrap();
        let count = told.lines().next().unwrap().strip_prefix("rchar: ");
        count.unwrap().parse::<usize>().unwrap()
    };
    let names: Vec<String> = (0..200).map(|number| format!("{number:0>200}")).collect();
    let zip = media::zip(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let bench = Bench::new();
    let before = read_bytes();
    bench.check(&zip, Format::Zip).unwrap();
    let read = read_bytes() - before;
    assert!(read < 4 * zip.len(), "{read} of {} bytes", zip.len());
}

#[test]
fn cut_short_anywhere_nothing_passes() {
    let bench = Bench::new();
    for Sample {
        name,
        format,
        content,
    } in SAMPLES.iter().filter(|sample| sample.knows_its_end())
    {
        let len = content.len();
        let cuts = [
            0,
            1,
            4,
            11,
            40,
            len / 10,
            len / 4,
            len / 2,
            len * 3 / 4,
            len * 9 / 10,
            len - 3,
            len - 1,
        ];
        for cut in cuts {
            let found = bench.check(&content[..cut], *format);
            assert!(found.is_err(), "{name} passes with {cut} of {len} bytes");
        }
    }
}

#[test]
fn with_its_head_zeroed_or_nothing_but_zeros_nothing_passes() {
    let bench = Bench::new();
    for Sample {
        name,
        format,
        content,
    } in SAMPLES.iter()
    {
        let mut headless = content.clone();
        headless.iter_mut().take(16).for_each(|byte| *byte = 0);
        assert!(
            bench.check(&headless, *format).is_err(),
            "{name} without its head"
        );
        let zeros = vec![0; content.len()];
        let problem = bench.problem(&zeros, *format);
        assert!(
            problem.contains("zero bytes") || problem.contains("NUL") || problem.contains("line"),
            "{problem}"
        );
    }
}

#[test]
fn the_error_says_what_was_found_instead() {
    let bench = Bench::new();
    let mp4 = &media::sample("mp4").content;
    let problem = bench.problem(mp4, Format::Wav);
    assert!(
        problem.ends_with("expected WAV (RIFF/WAVE), found a video/mp4"),
        "{problem}"
    );
    assert!(
        bench
            .problem(b"", Format::Wav)
            .ends_with("found an empty file")
    );
    assert!(
        bench
            .problem(b"hello", Format::Png)
            .ends_with("found plain text")
    );
    assert!(
        bench
            .problem(&[1, 2, 0xFE, 0xFF], Format::Png)
            .ends_with("found unknown binary data")
    );
    assert!(
        bench
            .problem(b"<!DOCTYPE html><html>", Format::Mp4)
            .ends_with("found a text/html")
    );
}

#[test]
fn what_is_no_file_is_refused() {
    let bench = Bench::new();
    assert!(matches!(
        check(&bench.dir, Format::Any),
        Err(FormatError::File(StoreError::NotAFile(_)))
    ));
    assert!(matches!(
        check("/dev/zero".into(), Format::Text),
        Err(FormatError::File(StoreError::NotAFile(_)))
    ));
    let missing = check(&bench.dir.join("none"), Format::Any);
    assert!(matches!(
        missing,
        Err(FormatError::File(StoreError::Io {
            operation: "open",
            ..
        }))
    ));
    assert_eq!(bench.check(b"", Format::Any).unwrap(), 0);
}

#[test]
fn a_wav_of_no_samples_or_of_disorder_is_broken() {
    let bench = Bench::new();
    let wav = |riff: u32, chunks: &[(&[u8], u32, &[u8])]| {
        let mut bytes = [b"RIFF", riff.to_le_bytes().as_slice(), b"WAVE"].concat();
        for (name, size, content) in chunks {
            bytes.extend([*name, size.to_le_bytes().as_slice(), content].concat());
        }
        bytes
    };
    let fmt: &[u8] = &[1, 0, 1, 0, 0x40, 0x1F, 0, 0, 0x80, 0x3E, 0, 0, 2, 0, 16, 0];
    let good = wav(40, &[(b"fmt ", 16, fmt), (b"data", 4, &[1, 2, 3, 4])]);
    assert!(bench.check(&good, Format::Wav).is_ok());
    let padded = wav(
        50,
        &[
            (b"odd ", 1, &[7, 0]),
            (b"fmt ", 16, fmt),
            (b"data", 4, &[1, 2, 3, 4]),
        ],
    );
    assert!(bench.check(&padded, Format::Wav).is_ok());
    let streamed = wav(0, &[(b"fmt ", 16, fmt), (b"data", 0, &[1, 2, 3, 4])]);
    assert!(bench.check(&streamed, Format::Wav).is_ok());
    for (chunks, says) in [
        (
            vec![(b"fmt ".as_slice(), 16, fmt), (b"data", 0, &[])],
            "no audio samples",
        ),
        (
            vec![(b"fmt ", 16, fmt), (b"data", u32::MAX, &[])],
            "no audio samples",
        ),
        (
            vec![(b"fmt ", 16, fmt), (b"data", 1, &[1])],
            "no audio samples",
        ),
        (
            vec![(b"fmt ", 16, fmt), (b"data", 5, &[1, 2, 3, 4])],
            "declares 5 bytes, but only 4",
        ),
        (
            vec![(b"data", 4, &[1, 2, 3, 4]), (b"fmt ", 16, fmt)],
            "before its fmt",
        ),
        (
            vec![(b"fmt ", 16, &[0; 16]), (b"data", 4, &[1, 2, 3, 4])],
            "0 channels",
        ),
        (vec![(b"fmt ", 16, fmt)], "no data chunk"),
    ] {
        let riff = 4 + chunks
            .iter()
            .map(|(_, _, content)| 8 + u32::try_from(content.len()).unwrap())
            .sum::<u32>();
        let problem = bench.problem(&wav(riff, &chunks), Format::Wav);
        assert!(problem.contains(says), "{problem}");
    }
}

#[test]
fn a_file_of_many_gigabytes_is_judged_by_its_skeleton() {
    let bench = Bench::new();
    let path = bench.dir.join("big");
    let size = 5_u64 << 30;
    let mut head = b"RF64\xFF\xFF\xFF\xFFWAVEds64\x1C\0\0\0".to_vec();
    head.extend([[0; 8], size.to_le_bytes(), [0; 8]].concat());
    head.extend(b"\0\0\0\0fmt \x10\0\0\0\x01\0\x01\0\x40\x1F\0\0\x80\x3E\0\0\x02\0\x10\0data\xFF\xFF\xFF\xFF");
    fs::write(&path, &head).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(head.len() as u64 + size).unwrap();
    assert_eq!(check(&path, Format::Wav).unwrap(), head.len() as u64 + size);
    file.set_len(head.len() as u64 + size - 1).unwrap();
    assert!(
        check(&path, Format::Wav)
            .unwrap_err()
            .to_string()
            .contains("declares 5368709120 bytes")
    );
}

#[test]
fn a_check_ends_with_its_run() {
    let bench = Bench::new();
    let path = bench.dir.join("content.bin");
    let text = "1 \n".repeat(50_000).into_bytes();
    let media = ["flac", "mkv"].map(media::sample);
    let media = media.map(|sample| (sample.format, &sample.content));
    let texts = [Format::Text, Format::JsonLines].map(|format| (format, &text));
    let blank = vec![b' '; 100_000];
    for (format, content) in media
        .into_iter()
        .chain(texts)
        .chain([(Format::Json, &blank)])
    {
        fs::write(&path, content).unwrap();
        let left = std::cell::Cell::new(3);
        let go_on = || {
            left.set(left.get() - 1);
            left.get() > 0
        };
        let error = check_while(&path, format, &go_on).unwrap_err();
        assert!(error.to_string().contains("the run has ended"), "{error}");
        assert_eq!(left.get(), 0, "{format}");
    }
}

#[test]
fn an_mp3_that_lacks_whole_frames_is_found_out() {
    let bench = Bench::new();
    let mp3 = &media::sample("mp3").content;
    let starts = (mp3.len() / 2..mp3.len()).filter(|at| matches!(mp3[*at..], [0xFF, 0xFB, ..]));
    let problems: Vec<String> = starts
        .map(|at| bench.problem(&mp3[..at], Format::Mp3))
        .collect();
    assert!(
        problems.iter().any(|problem| problem.contains("samples")),
        "{problems:?}"
    );
}

#[test]
fn noise_and_mutilation_never_panic() {
    let bench = Bench::new();
    let mut noise = media::Noise::new(0x5EED);
    for _ in 0..100 {
        let length = noise.below(3000);
        let bytes = noise.bytes(length);
        for format in formats() {
            let passes = bench.check(&bytes, format).is_ok();
            assert!(
                !passes || matches!(format, Format::Any | Format::Text),
                "noise passes for {format}"
            );
        }
    }
    for Sample {
        format, content, ..
    } in SAMPLES.iter()
    {
        for _ in 0..60 {
            let mut bytes = content[..=noise.below(content.len())].to_vec();
            for _ in 0..noise.below(8) {
                let at = noise.below(bytes.len().min(4096));
                bytes[at] = noise.bytes(1)[0];
            }
            // Whatever it says: it says it.
            let _ = bench.check(&bytes, *format);
        }
    }
}
