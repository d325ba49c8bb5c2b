"""A stdio MCP server that goes wrong in one way: `python3 rogues MODE`. Without MODE, prints all modes.

tests/suite/misbehaving_servers.rs says what has to come of each. Every process writes itself into `processes`,
so that none can hide. Python 3 standard library only.
"""

import os
import sys

import answers, assets, handshakes, processes, silence, sizes  # noqa: E401, F401 (they fill MODES)
from good import HEARD, MODES, error, good, greet, listed, note, send


def main(mode):
    note(os.getpid())
    moment, wrong = MODES[mode]
    if moment == "start":
        wrong()
    unknown = lambda request: send(error(request, -32601, "no such method"))
    greets = unknown if moment == "discover" else greet
    ways = {"initialize": greets, "list": lambda request: listed(request, {}), "call": good,
            "discover": unknown, moment: wrong}
    for message in HEARD:
        # `initialize`, `server/discover`, `tools/list`, `tools/call`
        way = message.get("method", "").rpartition("/")[2]
        if way in ways and "id" in message:
            ways[way](message)


if len(sys.argv) > 1:
    main(sys.argv[1])
else:
    print("\n".join(MODES))
