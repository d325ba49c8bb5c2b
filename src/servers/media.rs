//! Opens media files for symphonia.
//!
//! A WAV file that was written to a pipe contains the largest possible number as its length, and the last box of an MP4
//! file may have the size 0. Both are read as if they contained the real length. Every other file is read unchanged.

use std::{
    fs::File,
    io::{self, ErrorKind::UnexpectedEof, Read, Seek, SeekFrom},
    path::Path,
};

use symphonia::{
    core::{
        codecs::audio::{AudioCodecId, well_known as id},
        errors::Error,
        formats::{FormatOptions, FormatReader, probe::Hint},
        io::{MediaSource, MediaSourceStream, MediaSourceStreamOptions},
        meta::MetadataOptions,
        units::{Duration, TimeBase},
    },
    default::get_probe,
};

use crate::assets::format::{Source, bmff, ogg};

/// Detects the container of `file` and reads its headers. The name only decides which format is tried first.
pub(super) fn probe(file: File, name: &Path) -> Result<Box<dyn FormatReader>, Error> {
    let length = file.metadata().map_err(Error::IoError)?.len();
    probe_first(length, file, name)
}

/// The same for the first `length` bytes of `file`.
pub(super) fn probe_first(
    length: u64,
    file: File,
    name: &Path,
) -> Result<Box<dyn FormatReader>, Error> {
    let mut hint = Hint::new();
    if let Some(extension) = name.extension().and_then(|extension| extension.to_str()) {
        hint.with_extension(extension);
    }
    let again = file.try_clone().map_err(Error::IoError)?;
    let media = Media::new(file, length).map_err(Error::IoError)?;
    let stream = MediaSourceStream::new(Box::new(media), MediaSourceStreamOptions::default());
    let (format, metadata) = (FormatOptions::default(), MetadataOptions::default());
    match get_probe().probe(&hint, stream, format, metadata) {
        // symphonia reads to the end of an Ogg file if it knows the codec of none of its streams.
        Err(Error::IoError(error)) if error.kind() == UnexpectedEof && is_whole_ogg(again) => {
            Err(Error::Unsupported("ogg: the codec of its streams"))
        }
        probed => probed,
    }
}

fn is_whole_ogg(mut file: File) -> bool {
    let source = file.rewind().and_then(|()| Source::new(file, BLOCK));
    source.is_ok_and(|mut source| ogg::check(&mut source).is_ok())
}

/// Whether the error means that an MP4 has no movie header. Many programs write it last, so an incomplete file has
/// none.
pub(super) fn is_headless(error: &Error) -> bool {
    matches!(error, Error::Unsupported(what) if what.contains("missing moov"))
}

/// The name of a container in the answers of the tools, from symphonia's name.
pub(super) fn container_name(name: &'static str) -> &'static str {
    match name {
        "isomp4" => "mp4",
        "mkv" => "matroska",
        "wave" => "wav",
        name => name,
    }
}

/// An audio codec that symphonia knows but does not decode: FFmpeg's name and a name for people.
pub(super) fn undecoded(codec: AudioCodecId) -> Option<(&'static str, &'static str)> {
    Some(match codec {
        id::CODEC_ID_OPUS => ("opus", "Opus"),
        id::CODEC_ID_AC3 => ("ac3", "AC-3"),
        id::CODEC_ID_EAC3 => ("eac3", "E-AC-3"),
        id::CODEC_ID_AC4 => ("ac4", "AC-4"),
        id::CODEC_ID_DCA => ("dts", "DTS"),
        id::CODEC_ID_TRUEHD => ("truehd", "TrueHD"),
        id::CODEC_ID_MP1 => ("mp1", "MP1"),
        id::CODEC_ID_MP2 => ("mp2", "MP2"),
        id::CODEC_ID_SPEEX => ("speex", "Speex"),
        id::CODEC_ID_WAVPACK => ("wavpack", "WavPack"),
        id::CODEC_ID_WMA => ("wma", "WMA"),
        _ => return None,
    })
}

/// A duration in seconds, if it is known and above 0.
pub(super) fn seconds(base: Option<TimeBase>, duration: Option<Duration>) -> Option<f64> {
    let time = base?.calc_duration(duration?)?;
    Some(time.as_secs_f64()).filter(|&seconds| seconds > 0.0)
}

/// The number of bytes of a WAV file that are searched for the header of the samples.
const HEAD: u64 = 4096;

/// The number of boxes of an MP4 file among which the last one is searched.
const MOST_BOXES: usize = 1 << 20;

/// The size of the buffer for pages and boxes, in bytes.
const BLOCK: usize = 4096;

/// The length in a file whose writer did not know it.
const UNKNOWN: [u8; 4] = [0xFF; 4];

struct Media {
    file: File,
    length: u64,
    /// Four bytes that replace those of the file, and their position.
    replaced: Option<(u64, [u8; 4])>,
}

impl Media {
    fn new(mut file: File, length: u64) -> io::Result<Self> {
        let mut head = Vec::new();
        (&mut file).take(HEAD).read_to_end(&mut head)?;
        file.rewind()?;
        let replaced = match unknown_length(&head) {
            Some(at) => {
                let known = u32::try_from(length.saturating_sub(at + 4)).unwrap_or(u32::MAX);
                Some((at, known.to_le_bytes()))
            }
            None => box_without_size(file.try_clone()?),
        };
        file.rewind()?;
        Ok(Self {
            file,
            length,
            replaced,
        })
    }
}

/// The position of the length of the samples, if it is unknown.
fn unknown_length(head: &[u8]) -> Option<u64> {
    if !head.starts_with(b"RIFF") || head.get(8..12) != Some(b"WAVE") {
        return None;
    }
    let mut at = 12;
    loop {
        let (name, length) = (head.get(at..at + 4)?, head.get(at + 4..at + 8)?);
        if name == b"data" {
            return (length == UNKNOWN).then_some(at as u64 + 4);
        }
        let length = u64::from(u32::from_le_bytes(length.try_into().ok()?));
        at = usize::try_from(at as u64 + 8 + length.next_multiple_of(2)).ok()?;
    }
}

/// The position and the real size of the last box of an MP4 file, if its size is 0. Sizes of 4 GiB have another form.
fn box_without_size(file: File) -> Option<(u64, [u8; 4])> {
    let mut source = Source::new(file, BLOCK).ok()?;
    let [_, _, _, _, first @ ..] = source.peek::<8>().ok()??;
    if !bmff::is_first(first) {
        return None;
    }
    let length = source.len();
    for _ in 0..MOST_BOXES {
        let (start, size) = (source.at(), source.peek::<4>().ok()??);
        let end = bmff::next_box(&mut source, length).ok()?.end;
        if size == [0; 4] {
            let size = u32::try_from(length - start).ok()?;
            return Some((start, size.to_be_bytes()));
        }
        source.seek(end, "a box").ok()?;
    }
    None
}

impl Read for Media {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let start = self.file.stream_position()?;
        let left = self.length.saturating_sub(start);
        let read = (&mut self.file).take(left).read(buffer)?;
        let Some((at, bytes)) = self.replaced else {
            return Ok(read);
        };
        for (at, byte) in (at..).zip(bytes) {
            let place = at
                .checked_sub(start)
                .and_then(|at| usize::try_from(at).ok());
            let mut read = buffer.iter_mut().take(read);
            if let Some(place) = place.and_then(|place| read.nth(place)) {
                *place = byte;
            }
        }
        Ok(read)
    }
}

impl Seek for Media {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl MediaSource for Media {
    fn is_seekable(&self) -> bool {
        true
    }

    fn byte_len(&self) -> Option<u64> {
        Some(self.length)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(bytes: &[u8]) -> Vec<u8> {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(bytes)
            .and_then(|()| file.rewind())
            .expect("written");
        let mut read = Vec::new();
        Media::new(file, bytes.len() as u64)
            .expect("readable")
            .read_to_end(&mut read)
            .expect("read");
        read
    }

    #[test]
    fn a_wav_of_unknown_length_reads_as_one_of_its_length() {
        let wav = |length: [u8; 4]| {
            [
                b"RIFF\xff\xff\xff\xffWAVELIST\x03\0\0\0abc\0data",
                &length[..],
                b"12345",
            ]
            .concat()
        };
        assert_eq!(read(&wav(UNKNOWN)), wav([5, 0, 0, 0]));
        assert_eq!(read(&wav([4, 0, 0, 0])), wav([4, 0, 0, 0]));
    }

    #[test]
    fn a_box_without_a_size_reads_as_one_of_its_size() {
        let film = |size: u32| [b"\0\0\0\x09ftypx", &size.to_be_bytes()[..], b"mdat12345"].concat();
        assert_eq!(read(&film(0)), film(13));
        assert_eq!(read(&film(13)), film(13));
    }

    #[test]
    fn other_files_read_as_they_are() {
        for bytes in [
            &b""[..],
            b"RIFF",
            b"RIFF\xff\xff\xff\xffWAVEfmt \xff\xff\xff\xff",
            b"data\xff\xff\xff\xff",
        ] {
            assert_eq!(read(bytes), bytes);
        }
    }
}
