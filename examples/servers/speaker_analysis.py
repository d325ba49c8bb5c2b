#!/usr/bin/env python3
"""An MCP server on stdio that compares the voices in two recordings, with the weights of Resemblyzer.

    pip install -r examples/servers/requirements.txt
    pip install --no-deps Resemblyzer==0.1.4
"""

import sound
import voices
from mcp_stdio import Server, ToolFailed

server = Server("speaker-analysis")
TEXT = {"type": "string", "minLength": 1}


def voice(uri):
    samples = sound.read(uri)
    spoken = sound.speech(samples)
    if not spoken:
        raise ToolFailed(f"nobody speaks in {uri}")
    return voices.embed(b"".join(sound.cut(samples, start, end) for start, end in spoken))


@server.tool(["audio_uri", "other_audio_uri"], audio_uri=TEXT, other_audio_uri=TEXT,
             threshold={"type": "number", "minimum": 0, "maximum": 1})
def speaker_comparer(given, progress):
    """Compares the voices of two 16 kHz mono WAV files. Each file must contain one speaker."""
    threshold = given.get("threshold", voices.SAME)
    similarity = round(float(voice(given["audio_uri"]) @ voice(given["other_audio_uri"])), 3)
    return {"same_speaker": similarity >= threshold, "similarity": similarity, "threshold": threshold}


if __name__ == "__main__":
    server.run()
