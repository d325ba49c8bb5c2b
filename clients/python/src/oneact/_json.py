"""JSON as oneact reads and writes it."""

from __future__ import annotations

import json
from typing import Any

# oneact does not read what has more levels of arrays and objects.
DEEPEST = 127


def compact(document: object) -> bytes:
    """One line of JSON. A ValueError: oneact could not read it, and would not answer it in a session."""
    try:
        line = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode() + b"\n"
        too_deep = _too_deep(document)
    except UnicodeEncodeError as error:
        raise ValueError(f"a text contains a lone surrogate, which JSON in UTF-8 cannot hold: {error}") from None
    except RecursionError:
        too_deep = True
    if too_deep:
        raise ValueError(f"the JSON document has more than {DEEPEST} levels of arrays and objects")
    return line


def _too_deep(document: object) -> bool:
    level = [document]
    for _ in range(DEEPEST + 1):
        outers = [one for one in level if isinstance(one, (dict, list, tuple))]
        if not outers:
            return False
        level = [inner for outer in outers for inner in (outer.values() if isinstance(outer, dict) else outer)]
    return True


def parse(text: bytes | str) -> Any:
    """The document of a text. An integer that has more digits than Python reads stays a text. A ValueError: no JSON."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return json.loads(text, parse_int=_int)
    except RecursionError:
        raise ValueError("the JSON document has too many levels") from None


def _int(digits: str) -> int | str:
    try:
        return int(digits)
    except ValueError:
        return digits
