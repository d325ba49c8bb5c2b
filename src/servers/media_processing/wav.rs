//! Writes audio as WAV (RIFF/WAVE) with PCM of 16 bits.

use std::{
    fs::File,
    io::{self, BufWriter, Seek, Write},
};

use super::draft::Draft;

const BUFFER: usize = 64 << 10;
/// The length of the header in bytes.
const HEADER: u32 = 44;
const BYTES_PER_SAMPLE: u16 = 2;
const PCM: u16 = 1;

/// A WAV file that is being written.
pub(super) struct Wav<'a> {
    file: BufWriter<&'a mut File>,
    rate: u32,
    channels: u16,
    /// The bytes of the samples so far.
    data: u32,
}

impl<'a> Wav<'a> {
    pub(super) fn create(draft: &'a mut Draft, rate: u32, channels: u16) -> io::Result<Self> {
        let file = BufWriter::with_capacity(BUFFER, draft.file());
        let mut wav = Self {
            file,
            rate,
            channels,
            data: 0,
        };
        wav.write_header()?;
        Ok(wav)
    }

    /// Writes a sample of each channel after the other, from −1 to 1.
    pub(super) fn write(&mut self, planes: &[Vec<f32>]) -> io::Result<()> {
        let frames = planes.first().map_or(0, Vec::len);
        for at in 0..frames {
            for sample in planes.iter().filter_map(|plane| plane.get(at)) {
                self.file.write_all(&to_i16(*sample).to_le_bytes())?;
            }
        }
        let more = frames * planes.len() * usize::from(BYTES_PER_SAMPLE);
        let data = u32::try_from(more)
            .ok()
            .and_then(|more| self.data.checked_add(more));
        self.data = data
            .filter(|&data| data <= u32::MAX - HEADER)
            .ok_or_else(|| io::Error::other("a WAV file has at most 4 GiB; use flac"))?;
        Ok(())
    }

    /// Completes the header. Returns the samples of each channel.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        // `rewind` writes the buffer first.
        self.file.rewind()?;
        self.write_header()?;
        self.file.flush()?;
        let frame = self.channels * BYTES_PER_SAMPLE;
        Ok((self.data / u32::from(frame)).into())
    }

    fn write_header(&mut self) -> io::Result<()> {
        let frame = self.channels * BYTES_PER_SAMPLE;
        let fields: [&[u8]; 11] = [
            b"RIFF",
            &(self.data + HEADER - 8).to_le_bytes(),
            b"WAVEfmt \x10\0\0\0",
            &PCM.to_le_bytes(),
            &self.channels.to_le_bytes(),
            &self.rate.to_le_bytes(),
            &(self.rate * u32::from(frame)).to_le_bytes(),
            &frame.to_le_bytes(),
            &(BYTES_PER_SAMPLE * 8).to_le_bytes(),
            b"data",
            &self.data.to_le_bytes(),
        ];
        self.file.write_all(&fields.concat())
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "`as` saturates, which is the clipping wanted; NaN is silence"
)]
fn to_i16(sample: f32) -> i16 {
    (f64::from(sample) * 32768.0 + 0.5).floor() as i16
}
