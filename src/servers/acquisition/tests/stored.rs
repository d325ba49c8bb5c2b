//! `integrity_checker` and `metadata_extractor` on real files, whole and broken.

use super::*;

const MEDIA: [(&str, &str); 10] = [
    ("fox.mp4", "mp4"),
    ("fox-44100.mov", "mov"),
    ("fox.mkv", "mkv"),
    ("fox-vorbis.mkv", "mkv"),
    ("fox.webm", "webm"),
    ("fox.mp3", "mp3"),
    ("fox.flac", "flac"),
    ("fox.ogg", "ogg"),
    ("fox-opus.ogg", "ogg"),
    ("fox.wav", "wav"),
];

/// 3×2 white pixels.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02\x08\0\0\0\0\xb7\xf8\x86\x59";

fn written(folder: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn checked(path: &Path) -> Value {
    call("integrity_checker", &json!({"file_uri": path})).unwrap()
}

fn metadata(path: &Path) -> Value {
    call("metadata_extractor", &json!({"file_uri": path})).unwrap()
}

#[test]
fn every_whole_medium_is_valid_and_known_by_its_content() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format) in MEDIA {
        let bytes = fs::read(medium(name)).unwrap();
        let answer = checked(&written(&folder, "ohne Namen ☂", &bytes));
        let wanted = json!({
            "valid": true, "format": format, "bytes": bytes.len(), "sha256": sha256(&bytes), "problems": []
        });
        assert_eq!(answer, wanted, "{name}");
    }
}

#[test]
fn every_medium_cut_in_half_is_an_answer_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format) in MEDIA {
        if format == "mp3" {
            continue; // half an MP3 without a length of its own is a shorter MP3
        }
        let bytes = fs::read(medium(name)).unwrap();
        let answer = checked(&written(&folder, name, &bytes[..bytes.len() / 2]));
        assert_eq!(answer["valid"], false, "{name}");
        assert_eq!(answer["format"], format, "{name}");
        let problem = answer["problems"][0].as_str().unwrap();
        assert!(problem.contains("corrupt or incomplete"), "{problem}");
    }
}

#[test]
fn what_was_expected_is_held_against_what_is_there() {
    let path = medium("fox.wav");
    let bytes = fs::read(&path).unwrap();
    let right = json!({
        "file_uri": format!("file://{}", path.display()), "expected_format": "wav",
        "expected_sha256": sha256(&bytes).to_uppercase(), "expected_bytes": bytes.len()
    });
    assert_eq!(call("integrity_checker", &right).unwrap()["valid"], true);
    let wrong = json!({
        "file_uri": path, "expected_format": "mp4", "expected_sha256": "0".repeat(64), "expected_bytes": 1
    });
    let answer = call("integrity_checker", &wrong).unwrap();
    assert_eq!(
        (&answer["valid"], &answer["format"]),
        (&json!(false), &json!("wav"))
    );
    assert_eq!(
        answer["problems"],
        json!([
            format!("it has {} bytes instead of 1", bytes.len()),
            format!("its SHA-256 is not {}", "0".repeat(64)),
            "expected MP4 (ISO base media), found an audio/x-wav",
        ])
    );
}

#[test]
fn a_file_of_unknown_kind_is_valid_only_by_its_sha256() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = b"%PDF-1.7\n\x80\x81\x82\x83";
    let path = written(&folder, "a.mp4", bytes);
    let answer = checked(&path);
    assert_eq!(
        (&answer["valid"], &answer["format"]),
        (&json!(false), &json!("pdf"))
    );
    let known = json!({"file_uri": path, "expected_sha256": sha256(bytes)});
    assert_eq!(call("integrity_checker", &known).unwrap()["valid"], true);
}

#[test]
fn empty_and_zeroed_files_are_invalid_and_broken_json_is_found() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(
        checked(&written(&folder, "a", b""))["problems"],
        json!(["it is empty"])
    );
    let zeroed = checked(&written(&folder, "b", &[0; 5000]));
    assert_eq!(
        (&zeroed["valid"], &zeroed["format"]),
        (&json!(false), &Value::Null)
    );
    let broken = checked(&written(&folder, "c", br#"{"segments": ["#));
    assert_eq!(
        (&broken["valid"], &broken["format"]),
        (&json!(false), &json!("json"))
    );
    let text = checked(&written(&folder, "d", "Grüße 你好".as_bytes()));
    assert_eq!(
        (&text["valid"], &text["format"]),
        (&json!(true), &json!("text"))
    );
}

#[test]
fn a_file_that_is_not_there_or_no_file_is_an_error() {
    for tool in ["integrity_checker", "metadata_extractor"] {
        for file in ["/does/not/exist.mp4", "/tmp", "https://a.example/b.mp4"] {
            let error = call(tool, &json!({"file_uri": file})).unwrap_err();
            assert!(matches!(error, ToolError::Argument { .. }), "{tool} {file}");
        }
    }
}

#[test]
fn the_tracks_of_a_film_are_told() {
    let answer = metadata(&medium("fox.mp4"));
    assert_eq!(
        (&answer["container"], &answer["mime"]),
        (&json!("mp4"), &json!("video/mp4"))
    );
    assert_eq!(
        answer["bytes"],
        fs::metadata(medium("fox.mp4")).unwrap().len()
    );
    let kinds: Vec<_> = answer["tracks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|track| &track["type"])
        .collect();
    assert_eq!(kinds, ["video", "audio"]);
    let (video, audio) = (&answer["tracks"][0], &answer["tracks"][1]);
    assert_eq!(video["codec"], "h264");
    assert!(video["width"].as_u64().unwrap() > 0 && video["height"].as_u64().unwrap() > 0);
    assert_eq!(audio["codec"], "aac");
    assert!(audio["sample_rate"].as_u64().unwrap() >= 8000);
}

#[test]
fn every_medium_tells_its_duration_codec_rate_and_channels() {
    for (name, _) in MEDIA {
        let answer = metadata(&medium(name));
        let seconds = answer["duration_seconds"].as_f64().unwrap();
        assert!((1.0..4.0).contains(&seconds), "{name}: {seconds}");
        let tracks = answer["tracks"].as_array().unwrap();
        let audio = tracks
            .iter()
            .find(|track| track["type"] == "audio")
            .unwrap();
        assert!(audio["codec"].is_string(), "{name}");
        assert!(
            audio["sample_rate"].is_u64() && audio["channels"].is_u64(),
            "{name}: {audio}"
        );
    }
}

#[test]
fn a_rate_of_0_is_no_rate() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = fs::read(medium("fox.wav")).unwrap();
    assert_eq!(&bytes[12..16], b"fmt ");
    bytes[24..28].fill(0);
    let answer = metadata(&written(&folder, "a.wav", &bytes));
    assert_eq!(answer["tracks"][0]["sample_rate"], Value::Null, "{answer}");
}

#[test]
fn tags_and_languages_are_told_under_one_name_whatever_the_container() {
    let folder = tempfile::tempdir().unwrap();
    for (from, name) in [
        ("fox.mp4", "a.mp4"),
        ("fox.mp3", "a.mp3"),
        ("fox.flac", "a.flac"),
        ("fox.ogg", "a.ogg"),
        ("fox.mkv", "a.mkv"),
    ] {
        let tagged = folder.path().join(name);
        let made = std::process::Command::new("ffmpeg")
            .args(["-v", "error", "-nostdin", "-i"])
            .arg(medium(from))
            .args([
                "-c",
                "copy",
                "-metadata",
                "title=Füchse 你好",
                "-metadata",
                "artist=A",
            ])
            .args([
                "-metadata:s:a",
                "title=Füchse 你好",
                "-metadata:s:a",
                "artist=A",
                "-metadata:s:a",
                "language=deu",
            ])
            .arg(&tagged)
            .status();
        assert!(made.expect("ffmpeg is needed").success(), "{name}");
        let answer = metadata(&tagged);
        assert_eq!(answer["tags"]["artist"], "A", "{name}: {answer}");
        if name == "a.mkv" {
            let tracks = answer["tracks"].as_array().unwrap();
            let audio = tracks.iter().find(|track| track["type"] == "audio");
            assert_eq!(audio.unwrap()["language"], "deu");
        } else {
            // Matroska's own title is no tag.
            assert_eq!(answer["tags"]["title"], "Füchse 你好", "{name}: {answer}");
        }
    }
}

#[test]
fn images_tell_their_size() {
    let folder = tempfile::tempdir().unwrap();
    let answer = metadata(&written(&folder, "bild", PNG));
    assert_eq!(
        (&answer["container"], &answer["mime"]),
        (&json!("png"), &json!("image/png"))
    );
    let track = &answer["tracks"][0];
    assert_eq!(
        (&track["type"], &track["width"], &track["height"]),
        (&json!("image"), &json!(3), &json!(2))
    );
    let jpeg = b"\xff\xd8\xff\xe0\0\x04\0\0\xff\xc0\0\x0b\x08\0\x10\0\x20\x01\x01\x11\0\xff\xd9";
    let answer = metadata(&written(&folder, "photo", jpeg));
    let track = &answer["tracks"][0];
    assert_eq!(
        (&track["width"], &track["height"]),
        (&json!(32), &json!(16))
    );
}

#[test]
fn other_files_have_no_container() {
    let folder = tempfile::tempdir().unwrap();
    let pdf = metadata(&written(&folder, "a.mp4", b"%PDF-1.7\n"));
    assert_eq!(
        (&pdf["container"], &pdf["mime"]),
        (&Value::Null, &json!("application/pdf"))
    );
    let text = metadata(&written(&folder, "b.mp3", b"words and words"));
    assert_eq!(
        (&text["container"], &text["mime"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!((&text["tracks"], &text["bytes"]), (&json!([]), &json!(15)));
    assert!(text["modified"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn a_film_without_its_movie_header_is_corrupt() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = fs::read(medium("fox.mp4")).unwrap();
    let cut = written(&folder, "cut.mp4", &bytes[..2000]);
    let error = call("metadata_extractor", &json!({"file_uri": cut})).unwrap_err();
    assert!(matches!(error, ToolError::Corrupt(_)), "{error}");
}
