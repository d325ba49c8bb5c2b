#!/usr/bin/env python3
"""Still frames of a video as one zip: an MCP server on stdio. Needs the program ffmpeg.

The frames are called frame_MILLISECONDS.jpg (or .png), by their time in the video.
"""

import os
import shutil
import subprocess
import tempfile
import zipfile

from mcp_stdio import Server, ToolFailed, path_of

server = Server("frame-extraction")


@server.tool(["input_uri"], input_uri={"type": "string", "minLength": 1},
             interval_seconds={"type": "number", "exclusiveMinimum": 0},
             output_format={"type": "string", "enum": ["jpg", "png"]})
def frame_extractor(given, progress):
    """Takes a frame of a video every so many seconds, beginning with the first, into one zip of images."""
    video, interval, kind = path_of(given["input_uri"]), given.get("interval_seconds", 1.0), given.get("output_format", "jpg")
    if shutil.which("ffmpeg") is None:
        raise ToolFailed("the program ffmpeg is missing here; install it (Debian: apt-get install ffmpeg)")
    # Beside the zip, in a directory that goes when the client clears up: $TMPDIR.
    place = tempfile.mkdtemp()
    done = subprocess.run(
        ["ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error", "-i", video, "-map", "0:v:0",
         "-vf", f"fps=1/{interval}:start_time=0:round=up", "-q:v", "2", os.path.join(place, f"%06d.{kind}")],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
    images = sorted(name for name in os.listdir(place))
    if done.returncode != 0 or not images:
        words = "; ".join(done.stderr.strip().splitlines()[:2])
        raise ToolFailed(f"ffmpeg took no frames from {video}: {words or 'it has none'}")
    packed = os.path.join(place, "frames.zip")
    with zipfile.ZipFile(packed, "w") as archive:
        for number, image in enumerate(images):
            entry = zipfile.ZipInfo(f"frame_{round(number * interval * 1000):09}.{kind}")
            with open(os.path.join(place, image), "rb") as file:
                archive.writestr(entry, file.read())
            os.unlink(os.path.join(place, image))
    return {"output_uri": packed, "frames": len(images)}


if __name__ == "__main__":
    server.run()
