//! The built-in server `media-processing`: extracts audio, without other programs where symphonia decodes it, and
//! processes video with FFmpeg.
//!
//! Audio passes through `audio_track` (file → packets → samples) → `convert` (`resample`) → `wav`. Video passes through
//! `request` → `ffmpeg` (with the rules of `encoding`) → `film_file` or `bundle`. `draft` writes the files.

mod audio_extractor;
mod audio_track;
mod bundle;
mod convert;
mod draft;
mod edits;
mod encoding;
mod ffmpeg;
mod film_file;
mod frame_extractor;
mod request;
mod resample;
mod video_segmenter;
mod wav;
mod whole;

use super::tool::Tool;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        audio_extractor::audio_extractor(),
        film_file::format_converter(),
        frame_extractor::frame_extractor(),
        video_segmenter::video_segmenter(),
        film_file::resolution_normalizer(),
    ]
}

#[cfg(test)]
mod tests;
