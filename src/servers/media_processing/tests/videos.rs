//! What the tools that use FFmpeg make, as ffprobe and ffmpeg themselves see it.

use std::collections::BTreeMap;

use zip::ZipArchive;

use super::*;

/// ffprobe's words on a file, such as `h264,64,48`.
fn probed(path: &Path, entries: &str) -> Vec<String> {
    let run = Command::new("ffprobe")
        .args(["-v", "error", "-of", "csv=p=0", "-show_entries", entries])
        .arg(path)
        .output()
        .expect("ffprobe runs");
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let text = String::from_utf8(run.stdout).expect("Unicode");
    text.lines()
        .map(|line| line.trim_end_matches(',').to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

fn streams(path: &Path) -> Vec<String> {
    probed(path, "stream=codec_name,width,height")
}

/// The pictures of a film from a filter on, one MD5 each.
fn pictures(path: &Path, select: &str) -> Vec<String> {
    let path = path.to_str().expect("Unicode");
    let out = ffmpeg(&[
        "-i",
        path,
        "-map",
        "0:v:0",
        "-vf",
        select,
        "-fps_mode",
        "passthrough",
        "-f",
        "framemd5",
        "-",
    ]);
    let text = String::from_utf8(out).expect("Unicode");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit(", ").next().expect("a hash").to_owned())
        .collect()
}

/// Unpacks a zip of stored files.
fn unpacked(zip: &Path, into: &TempDir) -> Vec<PathBuf> {
    let mut zip = ZipArchive::new(fs::File::open(zip).expect("there")).expect("a zip");
    zip.extract(into.path()).expect("extracted");
    let names: Vec<String> = zip
        .file_names()
        .map(|name| name.expect("a name").into_owned())
        .collect();
    names.iter().map(|name| into.path().join(name)).collect()
}

fn names(files: &[PathBuf]) -> Vec<String> {
    let name = |file: &PathBuf| {
        file.file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned()
    };
    files.iter().map(name).collect()
}

/// One film in every container, with a codec that is asked for or without.
#[test]
fn a_film_is_converted_into_every_container() {
    let scratch = TempDir::new().expect("a directory");
    for (format, codec, expected) in [
        ("mkv", None, ["h264,64,48", "aac"]),
        ("mov", None, ["h264,64,48", "aac"]),
        ("webm", None, ["vp9,64,48", "opus"]),
        ("webm", Some("vp8"), ["vp8,64,48", "opus"]),
        ("mp4", Some("h265"), ["hevc,64,48", "aac"]),
    ] {
        let output = scratch
            .path()
            .join(format!("{}.{format}", codec.unwrap_or("copied")));
        let mut arguments =
            json!({"input_uri": medium("fox.mp4"), "target_format": format, "output_path": output});
        if let Some(codec) = codec {
            arguments["target_codec"] = codec.into();
        }
        let answer = call_tool("format_converter", &arguments).expect("converted");
        assert_eq!(streams(&output), expected);
        assert_eq!(answer["bytes"], fs::metadata(&output).expect("there").len());
        assert_eq!(
            answer["video"]["codec"],
            expected[0].split(',').next().expect("a codec")
        );
        let seconds = answer["duration_seconds"].as_f64().expect("known");
        assert!((2.8..3.1).contains(&seconds), "{answer}");
    }
}

#[test]
fn a_codec_that_fits_is_copied_picture_for_picture() {
    let scratch = TempDir::new().expect("a directory");
    for (codec, target) in [(json!(null), "a.mkv"), (json!("h264"), "b.mkv")] {
        let output = scratch.path().join(target);
        let mut arguments =
            json!({"input_uri": medium("fox.mp4"), "target_format": "mkv", "output_path": output});
        if codec.is_string() {
            arguments["target_codec"] = codec;
        }
        call_tool("format_converter", &arguments).expect("converted");
        assert_eq!(
            pictures(&output, "null"),
            pictures(&medium("fox.mp4"), "null")
        );
    }
}

#[test]
fn a_rotation_and_what_an_edit_list_hides_are_kept_where_a_copy_would_lose_them() {
    let scratch = TempDir::new().expect("a directory");
    let turned = ["-c", "copy", "-metadata:s:v", "rotate=90"];
    let turned = made(&scratch, "turned.mp4", "fox.mp4", &turned);
    let (whole, cut) = (medium("fox.mp4"), scratch.path().join("cut.mp4"));
    let (whole, to) = (
        whole.to_str().expect("Unicode"),
        cut.to_str().expect("Unicode"),
    );
    ffmpeg(&["-ss", "0.7", "-i", whole, "-c", "copy", to]);
    let converted_to = |container: &str, input: &Path| {
        let output = input.with_extension(format!("new.{container}"));
        let arguments =
            json!({"input_uri": input, "target_format": container, "output_path": output});
        call_tool("format_converter", &arguments).expect("converted");
        output
    };
    let converted = |input: &Path| converted_to("mkv", input);
    let size = |path: &Path| {
        let path = path.to_str().expect("Unicode");
        let out = ffmpeg(&[
            "-i",
            path,
            "-frames:v",
            "1",
            "-f",
            "image2pipe",
            "-c:v",
            "ppm",
            "-",
        ]);
        let head = String::from_utf8_lossy(&out[..16]).into_owned();
        let sides = head.split_ascii_whitespace().skip(1).take(2);
        sides.map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    assert_ne!(size(&turned), size(&medium("fox.mp4")));
    assert_eq!(size(&converted(&turned)), size(&turned));
    let shown = pictures(&cut, "null").len();
    assert!(shown < pictures(&medium("fox.mp4"), "null").len());
    assert_eq!(pictures(&converted(&cut), "null").len(), shown);
    let mut bytes = fs::read(medium("fox.mp4")).expect("readable");
    let lists = bytes.windows(4).enumerate().filter(|(_, at)| at == b"elst");
    let lists: Vec<usize> = lists.map(|(at, _)| at).collect();
    assert_eq!(lists.len(), 2);
    for list in lists {
        bytes[list + 12..list + 16].copy_from_slice(&500_u32.to_be_bytes());
    }
    let early = scratch.path().join("early.mp4");
    fs::write(&early, bytes).expect("written");
    let shown = pictures(&early, "null").len();
    assert!(shown < pictures(&medium("fox.mp4"), "null").len());
    for container in ["mp4", "mov", "mkv"] {
        let converted = converted_to(container, &early);
        assert_eq!(pictures(&converted, "null").len(), shown, "{container}");
    }
    let arguments = json!({"input_uri": early, "method": "keyframe", "segment_duration": 1});
    let refused = call_tool("video_segmenter", &arguments)
        .expect_err("refused")
        .to_string();
    assert!(
        refused.contains("an edit list of the input hides a part"),
        "{refused}"
    );
}

#[test]
fn the_same_input_makes_the_same_bytes() {
    let scratch = TempDir::new().expect("a directory");
    let made = |name: &str| {
        let output = scratch.path().join(name);
        let arguments =
            json!({"input_uri": medium("fox.webm"), "target_format": "mkv", "output_path": output});
        call_tool("format_converter", &arguments).expect("converted");
        fs::read(output).expect("readable")
    };
    assert!(made("a.mkv") == made("b.mkv"));
}

#[test]
fn sound_alone_is_converted_too_and_a_cover_is_no_film() {
    let scratch = TempDir::new().expect("a directory");
    let output = scratch.path().join("out.mp4");
    let arguments =
        json!({"input_uri": medium("fox.mp3"), "target_format": "mp4", "output_path": output});
    let answer = call_tool("format_converter", &arguments).expect("converted");
    assert_eq!(
        (&answer["video"], &answer["audio"]),
        (&json!(null), &json!(["mp3"]))
    );
}

#[test]
fn odd_sides_are_made_even() {
    let scratch = TempDir::new().expect("a directory");
    let odd = made(
        &scratch,
        "odd.webm",
        "fox.webm",
        &["-vf", "scale=65:47", "-c:v", "libvpx", "-c:a", "copy"],
    );
    let output = scratch.path().join("even.mp4");
    let arguments = json!({"input_uri": odd, "target_format": "mp4", "output_path": output});
    call_tool("format_converter", &arguments).expect("converted");
    assert_eq!(streams(&output)[0], "h264,64,46");
}

#[test]
fn a_resolution_keeps_the_pictures_shape() {
    let scratch = TempDir::new().expect("a directory");
    // Twice as wide as its pixels are many: seen as 128x48.
    let wide = made(
        &scratch,
        "wide.mp4",
        "fox.mp4",
        &["-vf", "setsar=2", "-c:v", "libx264", "-c:a", "copy"],
    );
    let fox = medium("fox.mp4");
    for (input, resolution, expected) in [
        (&fox, "240p", "h264,320,240"),
        (&wide, "240p", "h264,640,240"),
        (&fox, "320x180", "h264,320,180"),
        (&wide, "320x180", "h264,320,180"),
    ] {
        let output = scratch
            .path()
            .join(format!("{resolution}-{expected}-{}.mp4", input == &wide));
        let arguments =
            json!({"input_uri": input, "target_resolution": resolution, "output_path": output});
        let answer = call_tool("resolution_normalizer", &arguments).expect("scaled");
        assert_eq!(streams(&output), [expected, "aac"]);
        assert_eq!(probed(&output, "stream=sample_aspect_ratio")[0], "1:1");
        assert_eq!(answer["output_format"], "mp4");
    }
}

#[test]
fn a_box_is_filled_with_black_beside_the_picture() {
    let scratch = TempDir::new().expect("a directory");
    let white = made(
        &scratch,
        "white.mp4",
        "fox.mp4",
        &["-vf", "drawbox=color=white:t=fill", "-an"],
    );
    let output = scratch.path().join("box.mp4");
    let arguments =
        json!({"input_uri": white, "target_resolution": "320x120", "output_path": output});
    call_tool("resolution_normalizer", &arguments).expect("scaled");
    let gray = ffmpeg(&[
        "-i",
        output.to_str().expect("Unicode"),
        "-frames:v",
        "1",
        "-f",
        "rawvideo",
        "-pix_fmt",
        "gray",
        "-",
    ]);
    let row = &gray[60 * 320..61 * 320];
    // 64x48 in 320x120 is 160x120, in the middle.
    assert!(
        row[..76].iter().chain(&row[244..]).all(|&pixel| pixel < 20),
        "{row:?}"
    );
    assert!(row[84..236].iter().all(|&pixel| pixel > 235), "{row:?}");
}

#[test]
fn frames_show_what_is_seen_at_their_times() {
    let scratch = TempDir::new().expect("a directory");
    for (interval, every, count) in [(1.0, 10, 3), (0.5, 5, 6), (10.0, 100, 1)] {
        let output = scratch.path().join(format!("{count}.zip"));
        let arguments = json!({
            "input_uri": medium("fox.mp4"), "interval_seconds": interval, "output_format": "png", "output_path": output
        });
        let answer = call_tool("frame_extractor", &arguments).expect("extracted");
        assert_eq!(answer["frames"], count);
        let into = TempDir::new().expect("a directory");
        let files = unpacked(&output, &into);
        let expected = pictures(
            &medium("fox.mp4"),
            &format!("select='not(mod(n,{every}))',format=rgb24"),
        );
        let found: Vec<String> = files
            .iter()
            .flat_map(|file| pictures(file, "format=rgb24"))
            .collect();
        assert_eq!(found, expected, "every {interval} s");
    }
}

#[test]
fn frames_are_named_after_their_times() {
    let scratch = TempDir::new().expect("a directory");
    let output = scratch.path().join("out.zip");
    let arguments = json!({"input_uri": medium("fox.webm"), "output_path": output});
    call_tool("frame_extractor", &arguments).expect("extracted");
    let into = TempDir::new().expect("a directory");
    let files = unpacked(&output, &into);
    assert_eq!(
        names(&files),
        [
            "frame_0000000000ms.jpg",
            "frame_0000001000ms.jpg",
            "frame_0000002000ms.jpg"
        ]
    );
    assert!(files.iter().all(|file| streams(file) == ["mjpeg,64,48"]));
}

#[test]
fn a_video_that_begins_late_still_has_a_first_frame() {
    let scratch = TempDir::new().expect("a directory");
    let late = made(
        &scratch,
        "late.mkv",
        "fox.mp4",
        &[
            "-vf",
            "setpts=PTS+0.3/TB",
            "-c:v",
            "libx264",
            "-c:a",
            "copy",
        ],
    );
    let output = scratch.path().join("out.zip");
    call_tool(
        "frame_extractor",
        &json!({"input_uri": late, "output_path": output}),
    )
    .expect("extracted");
    let files = unpacked(&output, &TempDir::new().expect("a directory"));
    assert_eq!(names(&files)[0], "frame_0000000000ms.jpg");
    assert_eq!(files.len(), 4);
}

#[test]
fn segments_are_cut_to_the_frame_and_lose_none() {
    let scratch = TempDir::new().expect("a directory");
    let output = scratch.path().join("out.zip");
    let arguments =
        json!({"input_uri": medium("fox.mp4"), "segment_duration": 1, "output_path": output});
    let answer = call_tool("video_segmenter", &arguments).expect("cut");
    let times: Vec<(f64, f64)> = answer["segments"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|each| {
            (
                each["start_seconds"].as_f64().expect("known"),
                each["end_seconds"].as_f64().expect("known"),
            )
        })
        .collect();
    assert_eq!(times.len(), 3);
    for (found, expected) in times.iter().zip([0.0, 1.0, 2.0]) {
        assert!((found.0 - expected).abs() < 0.05, "{times:?}");
    }
    let into = TempDir::new().expect("a directory");
    let files = unpacked(&output, &into);
    assert_eq!(
        names(&files),
        answer["segments"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|each| each["name"].as_str().expect("a name"))
            .collect::<Vec<_>>()
    );
    let counts: BTreeMap<_, _> = files
        .iter()
        .map(|file| (file, pictures(file, "null").len()))
        .collect();
    assert_eq!(counts.into_values().collect::<Vec<_>>(), [10, 10, 9]);
    // Sound at each cut is within a frame of the picture.
    for file in &files[..2] {
        let seconds: f64 = probed(file, "stream=duration")[1]
            .parse()
            .expect("a number");
        assert!((seconds - 1.0).abs() < 0.05, "{seconds} s of sound");
    }
}

#[test]
fn keyframe_segments_are_copied() {
    let scratch = TempDir::new().expect("a directory");
    let input = made(
        &scratch,
        "keys.mp4",
        "fox.mp4",
        &["-c:v", "libx264", "-g", "5", "-bf", "0", "-c:a", "copy"],
    );
    let output = scratch.path().join("out.zip");
    let arguments = json!({
        "input_uri": input, "method": "keyframe", "segment_duration": 0.7, "output_path": output
    });
    let answer = call_tool("video_segmenter", &arguments).expect("cut");
    assert_eq!(answer["method"], "keyframe");
    let into = TempDir::new().expect("a directory");
    let files = unpacked(&output, &into);
    let parts: Vec<String> = files
        .iter()
        .flat_map(|file| pictures(file, "null"))
        .collect();
    assert_eq!(parts, pictures(&input, "null"));
    assert!(files.len() > 1);
}
