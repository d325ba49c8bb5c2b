//! What is to be seen in a media file, whichever FFmpeg made it: tracks and lengths, in words.

use std::{
    io::{Cursor, Read, Write},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::NamedTempFile;
use zip::ZipArchive;

/// `h264 64x48, aac, 2.9 s`; of a zip, each name with what is in it.
pub(crate) fn seen(bytes: &[u8]) -> Result<String> {
    let Ok(mut zip) = ZipArchive::new(Cursor::new(bytes)) else {
        return film(bytes);
    };
    let mut members = Vec::new();
    for number in 0..zip.len() {
        let mut member = zip.by_index(number)?;
        let mut content = Vec::new();
        member.read_to_end(&mut content)?;
        members.push(format!("{}: {}", member.name()?, film(&content)?));
    }
    Ok(members.join("; "))
}

fn film(bytes: &[u8]) -> Result<String> {
    let mut file = NamedTempFile::new()?;
    file.write_all(bytes)?;
    let entries = "format=duration:stream=codec_name,width,height";
    let ran = Command::new("ffprobe")
        .args(["-v", "error", "-of", "json", "-show_entries", entries])
        .arg(file.path())
        .output()
        .context("ffprobe is needed; install it (Debian: apt-get install ffmpeg)")?;
    ensure!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let found: Value = serde_json::from_slice(&ran.stdout)?;
    let mut words = Vec::new();
    let tracks = found.get("streams").and_then(Value::as_array);
    for track in tracks.into_iter().flatten() {
        let codec = track.get("codec_name").and_then(Value::as_str);
        let codec = codec.unwrap_or("?");
        words.push(match (track.get("width"), track.get("height")) {
            (Some(width), Some(height)) => format!("{codec} {width}x{height}"),
            _ => codec.to_owned(),
        });
    }
    let duration = found.pointer("/format/duration").and_then(Value::as_str);
    if let Some(duration) = duration {
        words.push(format!("{:.1} s", duration.parse::<f64>()?));
    }
    Ok(words.join(", "))
}
