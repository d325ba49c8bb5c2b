//! The built-in server `media-processing`: extracts audio without other programs, and processes video with FFmpeg.
//!
//! Audio passes through `source` (file → packets → `decode` → `window`) → `convert` (`layout`, `resample`) →
//! `output`. Video passes through `request` → `ffmpeg` (with the rules of `encoding`) → `film_file` or `bundle`.
//! `place` writes the files.

mod audio_extractor;
mod bundle;
mod container;
mod convert;
mod decode;
mod encoding;
mod ffmpeg;
mod film_file;
mod frame_extractor;
mod layout;
mod output;
mod place;
mod request;
mod resample;
mod signal;
mod source;
mod video_segmenter;
mod window;

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
