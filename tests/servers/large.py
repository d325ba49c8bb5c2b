"""An MCP server whose tool answers with a list of `n` records: as structured content, as text, or
as both, like the SDKs do. `word` hides in one of them; `ai` is what it says of a model. Where it is
given a `path`, it writes a file there."""

import json
import sys


def answer(given):
    records = {"records": [{"id": at, "name": f"record {at}", "ok": True} for at in range(given["n"])],
               "word": given.get("word", ""), "found": "yes"}
    records.update(given.get("ai", {}))
    if "path" in given:
        with open(given["path"], "w") as file:
            file.write("made\n")
    form = given.get("form", "structured")
    text = [{"type": "text", "text": json.dumps(records)}]
    if form == "text":
        return {"content": text}
    return {"content": text if form == "both" else [], "structuredContent": records, "isError": form == "error"}


for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "large", "version": "1"}}
    elif message.get("method") == "tools/call":
        result = answer(message["params"]["arguments"])
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
