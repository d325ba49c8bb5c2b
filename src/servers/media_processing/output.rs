//! Encodes audio as WAV or FLAC with 16 bits and writes it in blocks.

use std::{
    fs::File,
    io::{BufWriter, Seek, Write},
};

use flacenc::{
    bitsink::ByteSink,
    component::{BitRepr, Stream, StreamInfo},
    config,
    error::{Verified, Verify},
    source::{Context, Fill, FrameBuf},
};
use serde::{Deserialize, Serialize};

use super::{
    place::{Draft, Place, Written},
    signal::Width,
};
use crate::servers::tool::ToolError;

const BUFFER: usize = 64 << 10;

/// The format of the output file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Format {
    #[default]
    Wav,
    Flac,
}

/// The encoder of a format. The header is written at the start, and again when all samples are written.
trait Encoder: Send {
    /// The header for the samples that were encoded so far. Its length is constant.
    fn header(&self) -> Result<Vec<u8>, ToolError>;

    /// Encodes interleaved samples. Returns the bytes that are complete.
    fn encode(&mut self, samples: &[i16]) -> Result<Vec<u8>, ToolError>;

    /// Returns the remaining bytes.
    fn finish(&mut self) -> Result<Vec<u8>, ToolError>;
}

/// A file that is being written. Dropping it removes the file.
pub(super) struct Output {
    encoder: Box<dyn Encoder>,
    draft: Draft,
    file: BufWriter<File>,
}

impl Output {
    /// Creates a file for `rate` samples per second.
    pub(super) fn create(
        place: &Place,
        format: Format,
        rate: u32,
        width: Width,
    ) -> Result<Self, ToolError> {
        let (encoder, ending): (Box<dyn Encoder>, _) = match format {
            Format::Wav => (Box::new(Wav::new(rate, width)), "wav"),
            Format::Flac => (Box::new(Flac::new(rate, width)?), "flac"),
        };
        let mut draft = Draft::create(place, ending)?;
        let file = draft.file().try_clone().map_err(draft.failed())?;
        let mut output = Self {
            encoder,
            draft,
            file: BufWriter::with_capacity(BUFFER, file),
        };
        let header = output.encoder.header()?;
        output.append(&header)?;
        Ok(output)
    }

    pub(super) fn write(&mut self, samples: &[i16]) -> Result<(), ToolError> {
        let bytes = self.encoder.encode(samples)?;
        self.append(&bytes)
    }

    /// Writes the remaining bytes, syncs the file, and moves it to its place.
    pub(super) fn finish(mut self) -> Result<Written, ToolError> {
        let owed = self.encoder.finish()?;
        self.append(&owed)?;
        let header = self.encoder.header()?;
        // `rewind` flushes the buffer first.
        self.file
            .rewind()
            .and_then(|()| self.file.write_all(&header))
            .and_then(|()| self.file.flush())
            .map_err(self.draft.failed())?;
        self.draft.publish()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), ToolError> {
        let written = self.file.write_all(bytes);
        written.map_err(self.draft.failed())
    }
}

/// The length of the header in bytes.
const HEADER: u32 = 44;
const BYTES_PER_SAMPLE: u16 = 2;
const PCM: u16 = 1;

/// RIFF/WAVE with PCM.
struct Wav {
    rate: u32,
    channels: u16,
    data: u32,
}

impl Wav {
    fn new(rate: u32, width: Width) -> Self {
        Self {
            rate,
            channels: width.channels(),
            data: 0,
        }
    }
}

impl Encoder for Wav {
    fn header(&self) -> Result<Vec<u8>, ToolError> {
        let frame = self.channels * BYTES_PER_SAMPLE;
        let bytes_per_second = self.rate.checked_mul(frame.into()).ok_or_else(|| {
            let rate = self.rate;
            ToolError::Failed(format!(
                "a WAV file cannot contain {rate} samples per second; use a lower sample_rate"
            ))
        })?;
        let length = self.data.checked_add(HEADER - 8);
        let length = length.ok_or_else(too_long)?;
        let fields: [&[u8]; 11] = [
            b"RIFF",
            &length.to_le_bytes(),
            b"WAVEfmt \x10\0\0\0",
            &PCM.to_le_bytes(),
            &self.channels.to_le_bytes(),
            &self.rate.to_le_bytes(),
            &bytes_per_second.to_le_bytes(),
            &frame.to_le_bytes(),
            &(BYTES_PER_SAMPLE * 8).to_le_bytes(),
            b"data",
            &self.data.to_le_bytes(),
        ];
        Ok(fields.concat())
    }

    fn encode(&mut self, samples: &[i16]) -> Result<Vec<u8>, ToolError> {
        let more = u32::try_from(samples.len() * usize::from(BYTES_PER_SAMPLE)).ok();
        let data = more.and_then(|more| self.data.checked_add(more));
        self.data = data
            .filter(|&data| data <= u32::MAX - HEADER)
            .ok_or_else(too_long)?;
        Ok(samples
            .iter()
            .flat_map(|sample| sample.to_le_bytes())
            .collect())
    }

    fn finish(&mut self) -> Result<Vec<u8>, ToolError> {
        Ok(Vec::new())
    }
}

fn too_long() -> ToolError {
    ToolError::Failed(
        "the audio exceeds the maximum size of a WAV file (4 GiB); use flac".to_owned(),
    )
}

/// Samples per channel in a block: the default of the reference encoder.
const BLOCK: usize = 4096;
const BITS: usize = 16;

/// FLAC, with the crate `flacenc`.
struct Flac {
    config: Verified<config::Encoder>,
    info: StreamInfo,
    /// The digest and the number of samples.
    context: Context,
    frame: FrameBuf,
    channels: usize,
    /// Interleaved samples that do not fill a block yet.
    pending: Vec<i32>,
    frames: usize,
}

impl Flac {
    fn new(rate: u32, width: Width) -> Result<Self, ToolError> {
        let channels = usize::from(width.channels());
        let rate = usize::try_from(rate).map_err(refused)?;
        let config = config::Encoder::default()
            .into_verified()
            .map_err(|(_, error)| refused(error))?;
        let mut info = StreamInfo::new(rate, channels, BITS).map_err(refused)?;
        info.set_block_sizes(BLOCK, BLOCK).map_err(refused)?;
        let frame = FrameBuf::with_size(channels, BLOCK).map_err(refused)?;
        let context = Context::new(BITS, channels);
        Ok(Self {
            config,
            info,
            context,
            frame,
            channels,
            pending: Vec::new(),
            frames: 0,
        })
    }

    /// Encodes the first pending samples as one block.
    fn block(&mut self, samples: usize) -> Result<Vec<u8>, ToolError> {
        let block: Vec<i32> = self.pending.drain(..samples).collect();
        self.frame.fill_interleaved(&block).map_err(refused)?;
        self.context.fill_interleaved(&block).map_err(refused)?;
        let frame =
            flacenc::encode_fixed_size_frame(&self.config, &self.frame, self.frames, &self.info)
                .map_err(refused)?;
        self.frames += 1;
        let mut bytes = ByteSink::new();
        frame.write(&mut bytes).map_err(refused)?;
        Ok(bytes.into_inner())
    }
}

impl Encoder for Flac {
    fn header(&self) -> Result<Vec<u8>, ToolError> {
        let mut info = self.info.clone();
        info.set_total_samples(self.context.total_samples());
        info.set_md5_digest(&self.context.md5_digest());
        let mut bytes = ByteSink::new();
        Stream::with_stream_info(info)
            .write(&mut bytes)
            .map_err(refused)?;
        Ok(bytes.into_inner())
    }

    fn encode(&mut self, samples: &[i16]) -> Result<Vec<u8>, ToolError> {
        self.pending.extend(samples.iter().copied().map(i32::from));
        let mut bytes = Vec::new();
        while self.pending.len() >= BLOCK * self.channels {
            bytes.extend(self.block(BLOCK * self.channels)?);
        }
        Ok(bytes)
    }

    fn finish(&mut self) -> Result<Vec<u8>, ToolError> {
        match self.pending.len() {
            0 => Ok(Vec::new()),
            left => self.block(left),
        }
    }
}

fn refused(error: impl std::fmt::Display) -> ToolError {
    ToolError::Failed(format!("cannot encode FLAC: {error}"))
}

#[cfg(test)]
mod tests;
