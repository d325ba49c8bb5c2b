//! RIFF/WAVE with 16-bit PCM.

use super::{Encoder, OutputProblem};
use crate::servers::media_processing::layout::Width;

/// Bytes before the samples.
const HEADER: u32 = 44;
const BYTES_PER_SAMPLE: u16 = 2;
const PCM: u16 = 1;

pub(super) struct Wav {
    rate: u32,
    channels: u16,
    /// Bytes of samples written.
    data: u32,
}

impl Wav {
    pub(super) fn new(rate: u32, width: Width) -> Self {
        Self {
            rate,
            channels: width.channels(),
            data: 0,
        }
    }
}

impl Encoder for Wav {
    fn header(&self) -> Result<Vec<u8>, OutputProblem> {
        let frame = self.channels * BYTES_PER_SAMPLE;
        let bytes_per_second = self
            .rate
            .checked_mul(frame.into())
            .ok_or(OutputProblem::Rate(self.rate))?;
        let length = self.data.checked_add(HEADER - 8);
        let length = length.ok_or(OutputProblem::TooLong)?;
        let mut header = Vec::new();
        header.extend(b"RIFF");
        header.extend(length.to_le_bytes());
        header.extend(b"WAVEfmt ");
        header.extend(16_u32.to_le_bytes());
        header.extend(PCM.to_le_bytes());
        header.extend(self.channels.to_le_bytes());
        header.extend(self.rate.to_le_bytes());
        header.extend(bytes_per_second.to_le_bytes());
        header.extend(frame.to_le_bytes());
        header.extend((BYTES_PER_SAMPLE * 8).to_le_bytes());
        header.extend(b"data");
        header.extend(self.data.to_le_bytes());
        Ok(header)
    }

    fn encode(&mut self, samples: &[i16]) -> Result<Vec<u8>, OutputProblem> {
        let more = u32::try_from(samples.len() * usize::from(BYTES_PER_SAMPLE)).ok();
        let data = more.and_then(|more| self.data.checked_add(more));
        self.data = data
            .filter(|&data| data <= u32::MAX - HEADER)
            .ok_or(OutputProblem::TooLong)?;
        Ok(samples
            .iter()
            .flat_map(|sample| sample.to_le_bytes())
            .collect())
    }

    fn finish(&mut self) -> Result<Vec<u8>, OutputProblem> {
        Ok(Vec::new())
    }
}
