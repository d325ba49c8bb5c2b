//! Everything that is tested from outside, through the binary.

mod audio_against_ffmpeg;
#[cfg(test)]
mod tidy;
