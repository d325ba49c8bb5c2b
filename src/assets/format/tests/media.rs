//! Half a second of each format, made once.

use std::{process::Command, sync::LazyLock};

use crate::assets::format::Format;

pub(super) struct Sample {
    pub(super) name: &'static str,
    pub(super) format: Format,
    pub(super) content: Vec<u8>,
}

impl Sample {
    /// Whether the writer says how long the whole is: not so into a pipe, or as text.
    pub(super) fn knows_its_end(&self) -> bool {
        !self.name.ends_with("piped") && !["jsonl", "mp3 bare", "text"].contains(&self.name)
    }
}

pub(super) static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
    let sound = ["-f", "lavfi", "-i", "sine=duration=0.5"];
    let film = [
        "-f",
        "lavfi",
        "-i",
        "testsrc=size=64x48:rate=10:duration=0.5",
    ];
    let both = [
        sound.as_slice(),
        film.as_slice(),
        &["-c:v", "mpeg4", "-c:a", "aac"],
    ]
    .concat();
    let theora = [
        sound.as_slice(),
        film.as_slice(),
        &["-c:v", "libtheora", "-c:a", "libvorbis"],
    ]
    .concat();
    let webm = [sound.as_slice(), &["-c:a", "libopus"]].concat();
    let still = [film.as_slice(), &["-frames:v", "1"]].concat();
    let made = |name, format, input: &[&str], output: &[&str]| Sample {
        name,
        format,
        content: ffmpeg(&[input, output].concat(), name.ends_with("piped")),
    };
    let given = |name, format, content: &[u8]| Sample {
        name,
        format,
        content: content.to_vec(),
    };
    vec![
        made("wav", Format::Wav, &sound, &["-f", "wav"]),
        made(
            "wav rf64",
            Format::Wav,
            &sound,
            &["-f", "wav", "-rf64", "always"],
        ),
        made("wav piped", Format::Wav, &sound, &["-f", "wav"]),
        made("flac", Format::Flac, &sound, &["-f", "flac"]),
        made("flac piped", Format::Flac, &sound, &["-f", "flac"]),
        made("mp3", Format::Mp3, &sound, &["-f", "mp3"]),
        made(
            "mp3 bare",
            Format::Mp3,
            &sound,
            &["-f", "mp3", "-id3v2_version", "0", "-write_xing", "0"],
        ),
        made(
            "mp3 22 kHz, ID3v1",
            Format::Mp3,
            &sound,
            &["-f", "mp3", "-ar", "22050", "-write_id3v1", "1"],
        ),
        made(
            "ogg",
            Format::Ogg,
            &sound,
            &["-f", "ogg", "-c:a", "libvorbis"],
        ),
        made(
            "ogg opus",
            Format::Ogg,
            &sound,
            &["-f", "ogg", "-c:a", "libopus"],
        ),
        made(
            "ogg of many pages",
            Format::Ogg,
            &sound,
            &["-f", "ogg", "-c:a", "libopus", "-page_duration", "20000"],
        ),
        made(
            "ogg flac",
            Format::Ogg,
            &sound,
            &["-f", "ogg", "-c:a", "flac"],
        ),
        made("ogg theora", Format::Ogg, &theora, &["-f", "ogg"]),
        made("mp4", Format::Mp4, &both, &["-f", "mp4"]),
        made(
            "mp4 faststart",
            Format::Mp4,
            &both,
            &["-f", "mp4", "-movflags", "faststart"],
        ),
        made(
            "mp4 fragments",
            Format::Mp4,
            &both,
            &["-f", "mp4", "-movflags", "frag_keyframe+empty_moov"],
        ),
        made(
            "mp4 dash",
            Format::Mp4,
            &both,
            &[
                "-f",
                "mp4",
                "-movflags",
                "dash+frag_every_frame+empty_moov",
                "-write_prft",
                "wallclock",
            ],
        ),
        made("m4a", Format::Mp4, &sound, &["-f", "ipod", "-c:a", "aac"]),
        made("mov", Format::Mov, &both, &["-f", "mov"]),
        made("mkv", Format::Mkv, &both, &["-f", "matroska"]),
        made("mkv piped", Format::Mkv, &both, &["-f", "matroska"]),
        made("webm", Format::WebM, &webm, &["-f", "webm"]),
        made(
            "webm live, piped",
            Format::WebM,
            &webm,
            &["-f", "webm", "-live", "1"],
        ),
        made(
            "jpg",
            Format::Jpeg,
            &still,
            &["-f", "image2", "-c:v", "mjpeg"],
        ),
        made("png", Format::Png, &still, &["-f", "image2", "-c:v", "png"]),
        given("zip", Format::Zip, &zip(&["a.txt", "dir/b.txt"])),
        given(
            "json",
            Format::Json,
            b"{\"segments\": [{\"start\": 0.5, \"text\": \"gr\xC3\xBC\xC3\x9F dich\"}]}",
        ),
        given(
            "jsonl",
            Format::JsonLines,
            b"{\"start\": 0.5}\n{\"start\": 1.5, \"text\": \"a\"}\n",
        ),
        given("text", Format::Text, "Ein Gruß.\n".as_bytes()),
    ]
});

pub(super) fn sample(name: &str) -> &'static Sample {
    SAMPLES.iter().find(|sample| sample.name == name).unwrap()
}

fn ffmpeg(arguments: &[&str], piped: bool) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("made");
    let target = if piped {
        "pipe:1".as_ref()
    } else {
        file.as_os_str()
    };
    let output = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin"])
        .args(arguments)
        .arg(target)
        .output()
        .expect("these tests need ffmpeg on the PATH");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ffmpeg {arguments:?}: {said}");
    if piped {
        output.stdout
    } else {
        std::fs::read(file).unwrap()
    }
}

/// Files of one word each, stored as they are.
pub(super) fn zip(names: &[&str]) -> Vec<u8> {
    let (mut files, mut directory) = (Vec::new(), Vec::new());
    for name in names {
        let offset = u32::try_from(files.len()).unwrap();
        // Version, flags, method, time, checksum of "word", both sizes, lengths of the names.
        let mut common = vec![10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x4A, 0x55, 0x3F, 0x98];
        common.extend([
            4,
            0,
            0,
            0,
            4,
            0,
            0,
            0,
            u8::try_from(name.len()).unwrap(),
            0,
            0,
            0,
        ]);
        files.extend([b"PK\x03\x04", common.as_slice(), name.as_bytes(), b"word"].concat());
        let place = [[0; 10].as_slice(), &offset.to_le_bytes()].concat();
        directory.extend(
            [
                b"PK\x01\x02\x0A\0",
                common.as_slice(),
                &place,
                name.as_bytes(),
            ]
            .concat(),
        );
    }
    let count = u8::try_from(names.len()).unwrap();
    let sizes =
        [directory.len(), files.len()].map(|size| u32::try_from(size).unwrap().to_le_bytes());
    let end = [
        b"PK\x05\x06\0\0\0\0".as_slice(),
        &[count, 0, count, 0],
        &sizes.concat(),
        &[0, 0],
    ]
    .concat();
    [files, directory, end].concat()
}

/// Bytes without meaning, the same in each run (xorshift64).
pub(super) struct Noise(u64);

impl Noise {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number from 0 to `bound`, without the bound; 0 where there is none.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 11)
            .unwrap()
            .checked_rem(bound)
            .unwrap_or(0)
    }

    pub(super) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next().to_be_bytes()[0]).collect()
    }
}
