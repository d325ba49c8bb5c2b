#!/usr/bin/env python3
"""An MCP server on stdio that finds faces, QR codes and text in images, with OpenCV 4 and tesseract.

    pip install -r examples/servers/requirements.txt
    apt-get install tesseract-ocr

A set of frames is a zip of images, as CAP-PRE-003 makes it, or one image.
"""

import json
import os
import re
import shutil
import subprocess
import zipfile

from mcp_stdio import Server, ToolFailed, need, path_of

server = Server("visual-analysis")
TEXT = {"type": "string", "minLength": 1}
CLASSES = ["face", "qr_code"]
# The number of windows of the cascade that must agree on a face for a confidence of 0.5.
HALF_SURE = 8
# The lowest confidence of a line. Below it, tesseract also finds text in leaves and stones.
LEGIBLE = 0.5


def frames(uri):
    """The images of a set: yields (name, seconds or None, pixels)."""
    path = path_of(uri)
    images = [(os.path.basename(path), open(path, "rb").read)]
    if zipfile.is_zipfile(path):
        archive = zipfile.ZipFile(path)
        images = [(name, lambda name=name: archive.read(name)) for name in sorted(archive.namelist())]
    cv2, numpy = need("cv2", "opencv-python-headless<5"), need("numpy", "numpy")
    for name, read in images:
        pixels = cv2.imdecode(numpy.frombuffer(read(), "uint8"), cv2.IMREAD_COLOR)
        if pixels is None:
            raise ToolFailed(f"{name} in {path} is no image, or a corrupt one")
        time = re.fullmatch(r"frame_(\d+)ms\.\w+", name)
        yield name, int(time[1]) / 1000 if time else None, pixels


def faces(pixels):
    """The faces that OpenCV's frontal-face cascade finds: [(box, confidence, {})]."""
    cv2 = need("cv2", "opencv-python-headless<5")
    if not hasattr(cv2, "CascadeClassifier"):
        raise ToolFailed("this OpenCV has no cascades: pip install 'opencv-python-headless<5'")
    cascade = cv2.CascadeClassifier(os.path.join(cv2.data.haarcascades, "haarcascade_frontalface_default.xml"))
    grey = cv2.equalizeHist(cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY))
    boxes, agreeing = cascade.detectMultiScale2(grey, scaleFactor=1.1, minNeighbors=1, minSize=(24, 24))
    return [([int(side) for side in box], round(int(count) / (int(count) + HALF_SURE), 2), {})
            for box, count in zip(boxes, agreeing)]


def qr_codes(pixels):
    """The QR codes: [(box, confidence, {"text": …})]. A code that could not be read has confidence 0.5."""
    cv2 = need("cv2", "opencv-python-headless<5")
    found, texts, corners, _ = cv2.QRCodeDetector().detectAndDecodeMulti(pixels)
    if not found:
        return []
    return [(list(cv2.boundingRect(corner)), 1.0 if text else 0.5, {"text": text} if text else {})
            for text, corner in zip(texts, corners)]


@server.tool(["frame_set_ref"], frame_set_ref=TEXT, target_classes={"type": "array", "items": {"enum": CLASSES}},
             confidence_threshold={"type": "number", "minimum": 0, "maximum": 1},
             batch_size={"type": "integer", "minimum": 1})
def object_detector(given, progress):
    """Finds faces and QR codes in a set of frames. A box is [left, top, width, height] in pixels."""
    wanted, least = given.get("target_classes", CLASSES), given.get("confidence_threshold", 0.5)
    for name in wanted:
        if name not in CLASSES:
            raise ToolFailed(f"this detector knows no {name}; it knows {', '.join(CLASSES)}")
    detections, count = [], 0
    for frame, time, pixels in frames(given["frame_set_ref"]):
        for kind, detect in (("face", faces), ("qr_code", qr_codes)):
            if kind not in wanted:
                continue
            for box, confidence, more in sorted(detect(pixels), key=lambda found: found[0]):
                if confidence >= least:
                    detections.append({"frame": frame, "time_seconds": time, "class": kind, "box": box,
                                       "confidence": confidence, **more})
        count += 1
        progress(count, None)
    return {"detections": detections, "total_detections": len(detections), "total_frames": count,
            "frame_set_ref": given["frame_set_ref"]}


def lines(pixels):
    """The lines that tesseract reads: [(text, confidence)]."""
    if shutil.which("tesseract") is None:
        raise ToolFailed("the program tesseract is missing here; install it (Debian: apt-get install tesseract-ocr)")
    png = need("cv2", "opencv-python-headless<5").imencode(".png", pixels)[1].tobytes()
    done = subprocess.run(["tesseract", "stdin", "stdout", "--psm", "6", "tsv"], input=png, capture_output=True, check=False,
                          env={**os.environ, "OMP_THREAD_LIMIT": "1"})
    if done.returncode != 0:
        raise ToolFailed(f"tesseract failed: {done.stderr.decode(errors='replace').strip()}")
    read = {}
    for row in done.stdout.decode().splitlines()[1:]:
        _, page, block, paragraph, line, _, *_, confidence, word = row.split("\t")
        if float(confidence) >= 0 and word.strip():
            read.setdefault((page, block, paragraph, line), []).append((word, float(confidence) / 100))
    found = [(" ".join(word for word, _ in line), round(sum(sure for _, sure in line) / len(line), 2))
             for line in read.values()]
    return [(text, confidence) for text, confidence in found if confidence >= LEGIBLE]


@server.tool(["detection_results_ref"], detection_results_ref=TEXT,
             target_regions={"type": "array", "items": {"type": "array", "items": {"type": "integer"}}})
def ocr_extractor(given, progress):
    """Reads English text. With detection results, it reads inside their boxes. With a set of frames, it
    reads inside `target_regions` of each frame ([left, top, width, height] in pixels), or else whole frames."""
    uri, boxes = given["detection_results_ref"], None
    try:
        with open(path_of(uri), encoding="utf-8") as file:
            results = json.load(file)
        uri, boxes = results["frame_set_ref"], results["detections"]
    except (UnicodeDecodeError, json.JSONDecodeError):
        pass                                            # an image, or a zip of images
    except (KeyError, TypeError) as problem:
        raise ToolFailed(f"{uri} holds no detection results: `detections` and `frame_set_ref` are required") from problem
    texts = []
    for count, (frame, time, pixels) in enumerate(frames(uri), 1):
        height, width = pixels.shape[:2]
        regions = given.get("target_regions") or [[0, 0, width, height]]
        if boxes is not None:
            regions = [found["box"] for found in boxes if found["frame"] == frame]
        for left, top, wide, high in regions:
            part = pixels[max(0, top):top + high, max(0, left):left + wide]
            texts += [{"frame": frame, "time_seconds": time, "box": [left, top, wide, high], "text": text, "confidence": sure}
                      for text, sure in (lines(part) if part.size else [])]
        progress(count, None)
    return {"texts": texts, "total_texts": len(texts)}


if __name__ == "__main__":
    server.run()
