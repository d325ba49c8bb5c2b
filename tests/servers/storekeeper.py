#!/usr/bin/env python3
"""Tools that read assets by URL or path and write files, for tests with object stores: storekeeper.py

`transcriber` fetches its audio and answers with the transcript of specification 000's second example. `copier` reads a
local file and writes it COUNT times. `talker` gives a long result. Python 3 standard library only.
"""

import json
import sys
import urllib.request

TRANSCRIPT = {
    "segments": [
        {"start": 0.0, "end": 3.2, "speaker": "SPEAKER_00", "text": "Good morning everyone"},
        {"start": 3.5, "end": 7.8, "speaker": "SPEAKER_01", "text": "Thank you for joining us today"},
    ],
    "language_detected": "en",
    "total_duration_seconds": 45.2,
    "total_segments": 12,
}


def read(place):
    if place.startswith("http"):
        with urllib.request.urlopen(place) as answer:
            return answer.read()
    with open(place, "rb") as file:
        return file.read()


def transcriber(audio_uri, language="en", timestamps=True):
    audio = read(audio_uri)
    if language == "fail":
        raise ValueError(f"cannot transcribe {audio_uri}")
    if audio[:4] != b"RIFF":
        raise ValueError("this is no WAV file")
    return {**TRANSCRIPT, "heard_at": audio_uri} if language == "echo" else TRANSCRIPT


def copier(output_path, input_path=None, count=1, text="x"):
    piece = read(input_path) if input_path else text.encode()
    with open(output_path, "wb") as file:
        for _ in range(count):
            file.write(piece)
    return {"bytes": len(piece) * count}


def talker(length):
    return {"text": "x" * length}


TOOLS = {tool.__name__: tool for tool in (transcriber, copier, talker)}


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "storekeeper", "version": "1"}}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    if method == "tools/call":
        try:
            result = TOOLS[params["name"]](**params["arguments"])
        except Exception as error:
            return {"isError": True, "content": [{"type": "text", "text": str(error)}]}
        return {"content": [], "structuredContent": result}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
