#!/usr/bin/env python3
"""The tools of specification 000, acted by a stdio MCP server: toolbox.py [--modern] [--hints JSON] [--described TEXT]

What a tool does is told by the name of what it is given: asked for `…/corrupt.mp4`, it finds its
input corrupt; asked for `…/empty`, it makes an empty file; a name that means nothing goes well.
Legacy era (`initialize`) by default; with --modern only 2026-07-28. With --hints and --described, each tool
has these annotations and this description.
Python 3 standard library only.
"""

import base64
import json
import os
import shutil
import signal
import struct
import sys
import time
import zlib

MODERN = "--modern" in sys.argv
LISTED = {}
if "--hints" in sys.argv:
    LISTED["annotations"] = json.loads(sys.argv[sys.argv.index("--hints") + 1])
if "--described" in sys.argv:
    LISTED["description"] = sys.argv[sys.argv.index("--described") + 1]
MEDIA = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../fixtures/media")

# How any tool can fail, in the words of real ones.
FAILURES = {
    "timeout": "Connection timeout after 30s",
    "corrupt": "Tool exited with code 1: Input file is corrupt or incomplete",
    "busy": "HTTP 429 Too Many Requests",
    "oom": "CUDA out of memory. Tried to allocate 2.00 GiB",
    "odd": "E42: no tape is in the drive",
    "leaky": "cannot fetch https://bucket.example.com/a.wav?X-Amz-Signature=deadbeef&part=1",
}


class ToolFailed(Exception):
    pass


class Refused(Exception):
    pass


def media(name):
    with open(os.path.join(MEDIA, name), "rb") as file:
        return file.read()


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def data(value):
    return {"content": [], "structuredContent": value}


def local(location):
    return location.removeprefix("file://")


def png():
    """One grey pixel."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
            + chunk(b"IDAT", zlib.compress(b"\0\x80")) + chunk(b"IEND", b""))


def bare_header():
    """A WAV file that was opened and never written to."""
    return (b"RIFF" + struct.pack("<I", 36) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 16000, 32000, 2, 16)
            + b"data" + struct.pack("<I", 0))


def write(path, word, good):
    """Writes the asset, or what the word makes of it."""
    if word == "nothing":
        return
    if word == "directory":
        os.mkdir(path)
        return
    bad = {"empty": b"", "page": b"<!DOCTYPE html><title>Sign in</title>", "truncated": good[:len(good) * 2 // 3],
           "header": bare_header()}
    with open(path, "wb") as file:
        file.write(bad.get(word, good))


def url_validator(word, given):
    platform = given.get("platform", "generic_video_platform")
    if word == "leaves":
        return data({"url_valid": True, "platform": platform})
    return data({"url_valid": True, "platform": platform, "video_available": True, "restrictions": None})


def video_downloader(word, given):
    # The specification's third example downloads https://example-source.com/video.
    if word == "video":
        raise ToolFailed(FAILURES["timeout"])
    write(given["output_path"], word, media("fox." + given.get("format", "mp4")))
    return text("downloaded")


def format_converter(word, given):
    write(given["output_path"], word, media("fox." + given["target_format"]))
    return text("converted")


def frame_extractor(word, given):
    image = base64.b64encode(png()).decode()
    if word == "garbled":
        image = "not base64!"
    return {"content": [{"type": "text", "text": "one frame"}, {"type": "image", "data": image, "mimeType": "image/png"}]}


def video_segmenter(word, given):
    path = os.path.join(os.environ["TMPDIR"], "segment.mp4")
    if word == "replaced":  # TMPDIR becomes a link to a directory of others
        shutil.rmtree(os.environ["TMPDIR"])
        os.makedirs("theirs", exist_ok=True)
        os.symlink(os.path.abspath("theirs"), os.environ["TMPDIR"])
    write(path, word, media("fox.mp4"))
    return {"content": [{"type": "resource_link", "uri": "file://" + path, "name": "segment.mp4"}]}


def resolution_normalizer(word, given):
    """Writes where it likes, and names the place."""
    path = {"remote": "https://cdn.example.com/normal.mp4"}.get(word, os.path.abspath("normal.mp4"))
    if word != "remote":
        write(path, word, media("fox.mp4"))
    return data({"output_uri": path, "resolution": given["target_resolution"]})


def transcriber(word, given):
    if given["audio_uri"].startswith("file://") or given["audio_uri"].startswith("/"):
        with open(local(given["audio_uri"]), "rb") as file:
            if file.read(4) != b"RIFF":
                raise ToolFailed(FAILURES["corrupt"])
    result = {
        "segments": [
            {"start": 0.0, "end": 3.2, "speaker": "SPEAKER_00", "text": "Good morning everyone"},
            {"start": 3.5, "end": 7.8, "speaker": "SPEAKER_01", "text": "Thank you for joining us today"},
        ],
        "language_detected": given.get("language", "en"),
        "total_duration_seconds": 45.2,
        "total_segments": 12,
    }
    if word == "partial":
        del result["segments"]
    return data(result)


def language_detector(word, given):
    return text({"prose": "Here is what I found: the language is English.", "blank": ""}.get(
        word, json.dumps({"language": "en", "confidence": 0.97})))


def object_detector(word, given):
    """Says success or not in its result, and never in isError."""
    if word == "dark":
        return data({"success": False, "error": "the frame set is too dark"})
    return data({"success": True, "error": None, "objects": ["fox", "dog"]})


def ocr_extractor(word, given):
    """Tells of failure in prose."""
    if word == "prose":
        return text("Sorry, I could not read the image: quota of today is used up.")
    return text(json.dumps({"lines": ["EXIT"]}))


def result_indexer(word, given):
    """Its index is its text."""
    return text('{"rows": [1, 2' if word == "cut" else '{"rows": [1, 2]}')


def file_storer(word, given):
    return data({"stored": given["target_path"]})


def context_cacher(word, given):
    return data({"received": given})


def thermometer(word, given):
    """Says what its answers are, and holds to it but for the cellar."""
    if word == "broken":
        return {**data({"celsius": "no idea"}), "isError": True}
    return data({"celsius": "warm" if word == "cellar" else 21.5, "place": word})


TOOLS = [
    url_validator, video_downloader, format_converter, frame_extractor, video_segmenter, resolution_normalizer,
    transcriber, language_detector, object_detector, ocr_extractor, result_indexer, file_storer, context_cacher,
    thermometer,
]

# Where a tool's schema matters: what only the server knows about its arguments.
SCHEMAS = {"file_storer": {"type": "object", "required": ["target_path"],
                           "properties": {"target_path": {"type": "string"}}},
           "thermometer": {"type": "object", "properties": {"at": {"type": "string"}}}}

# What only the server knows about its answers.
OUTPUTS = {"thermometer": {"type": "object", "required": ["celsius"], "properties": {"celsius": {"type": "number"}}}}


def word_of(given):
    """The name that tells what is to happen: of the first argument that looks like a place."""
    for value in given.values():
        if isinstance(value, str) and "/" in value:
            return value.split("?")[0].rsplit("/", 1)[1].split(".")[0]
    return ""


def call(name, given):
    tool = next((tool for tool in TOOLS if tool.__name__ == name), None)
    if tool is None:
        raise Refused(f"Unknown tool: {name}")
    word = word_of(given)
    if word == "silent":
        with open(os.path.join(os.environ["TMPDIR"], "called"), "w"):
            time.sleep(600)
    if word == "crash":
        print("fatal: the model file is missing", file=sys.stderr, flush=True)
        os._exit(3)
    if word == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "refused":
        raise Refused("the worker pool is shut down")
    if word == "mute":
        return {"content": [], "isError": True}
    try:
        if word in FAILURES:
            raise ToolFailed(FAILURES[word])
        return tool(word, given)
    except ToolFailed as failure:
        return {**text(str(failure)), "isError": True}


def answer(message):
    method, params = message["method"], message.get("params") or {}
    if method == "tools/call":
        return call(params["name"], params.get("arguments") or {})
    if method == "tools/list":
        return {"tools": [{"name": tool.__name__, "inputSchema": SCHEMAS.get(tool.__name__, {"type": "object"}), **LISTED,
                           **({"outputSchema": OUTPUTS[tool.__name__]} if tool.__name__ in OUTPUTS else {})}
                          for tool in TOOLS]}
    if method == "initialize" and not MODERN:
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "toolbox", "version": "1.0.0"}}
    if method == "server/discover" and MODERN:
        return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "public",
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "toolbox", "version": "1.0.0"}}}
    raise Refused(f"Method not found: {method}")


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            result = answer(message)
            reply["result"] = {"resultType": "complete", **result} if MODERN else result
        except Refused as refusal:
            reply["error"] = {"code": -32601, "message": str(refusal)}
        print(json.dumps(reply), flush=True)


main()
