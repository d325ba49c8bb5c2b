"""A tool server on stdin and stdout, in both eras of MCP: `initialize` (up to 2025-11-25) and the
stateless 2026-07-28. It needs only Python's standard library.

A tool is a function with two parameters: its arguments (a dict), and a function `progress(done, total)`.
It returns a dict, which becomes the structured content of the answer, or raises ToolFailed with a text
for the caller. The server runs one tool at a time. To cancel a call, the client ends the process.
"""

import importlib
import json
import os
import sys
from urllib.parse import unquote, urlsplit

LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"


class ToolFailed(Exception):
    """The tool failed. The text says what is wrong and what to do."""


class Refused(Exception):
    """The request itself is wrong: a JSON-RPC error."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def need(module, package):
    """Imports a package during a call, so that the start of the server does not wait for it."""
    try:
        return importlib.import_module(module)
    except ImportError as missing:
        raise ToolFailed(f"the Python package {package} is missing here ({missing}); "
                         f"install it for {sys.executable}: pip install {package}") from missing


def path_of(uri):
    """The path of the file that a path or a file: URI names."""
    parts = urlsplit(uri)
    if parts.scheme not in ("", "file"):
        raise ToolFailed(f"{uri} is not on this machine; give a path or a file: URI")
    path = unquote(parts.path) if parts.scheme else uri
    if not os.path.isfile(path):
        raise ToolFailed(f"there is no file {path}")
    return path


class Server:
    """A server and its tools."""

    def __init__(self, name):
        self.info = {"name": name, "version": "1.0.0"}
        self.tools = {}

    def tool(self, required, **properties):
        """Turns a function into a tool. `properties` are the JSON Schemas of its arguments."""
        def add(function):
            schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
            definition = {"name": function.__name__, "description": function.__doc__, "inputSchema": schema,
                          "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}}
            self.tools[function.__name__] = (definition, function)
            return function
        return add

    def call(self, params):
        if params.get("name") not in self.tools:
            raise Refused(-32602, f"there is no tool {params.get('name')}; there is: {', '.join(self.tools)}")
        definition, function = self.tools[params["name"]]
        given, schema = params.get("arguments") or {}, definition["inputSchema"]
        token = (params.get("_meta") or {}).get("progressToken")
        try:
            for name in schema["required"]:
                if name not in given:
                    raise ToolFailed(f"the argument {name} is missing")
            for name in given:
                if name not in schema["properties"]:
                    raise ToolFailed(f"there is no argument {name}; there is: {', '.join(schema['properties'])}")
            result = function(given, lambda done, total: token is not None and send({
                "method": "notifications/progress",
                "params": {"progressToken": token, "progress": done, "total": total}}))
        except ToolFailed as failure:
            return {"content": [{"type": "text", "text": str(failure)}], "isError": True}
        text = json.dumps(result, ensure_ascii=False)
        return {"content": [{"type": "text", "text": text}], "structuredContent": result, "isError": False}

    def answer(self, method, params):
        if method == "tools/call":
            return self.call(params)
        if method == "tools/list":
            return {"tools": [definition for definition, _ in self.tools.values()]}
        if method == "initialize":
            wanted = params.get("protocolVersion")
            return {"protocolVersion": wanted if wanted in LEGACY else LEGACY[-1],
                    "capabilities": {"tools": {}}, "serverInfo": self.info}
        if method == "server/discover":
            return {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "public",
                    "_meta": {"io.modelcontextprotocol/serverInfo": self.info}}
        if method == "ping":
            return {}
        raise Refused(-32601, f"there is no method {method}")

    def run(self):
        """Answers requests until stdin is closed."""
        for line in sys.stdin:
            try:
                message = json.loads(line)
            except ValueError:
                send({"id": None, "error": {"code": -32700, "message": "not JSON"}})
                continue
            if "id" not in message or "method" not in message:
                continue
            params = message.get("params") or {}
            try:
                result = self.answer(message["method"], params)
                if "io.modelcontextprotocol/protocolVersion" in (params.get("_meta") or {}):
                    result = {"resultType": "complete", **result}
                send({"id": message["id"], "result": result})
            except Refused as refusal:
                send({"id": message["id"], "error": {"code": refusal.code, "message": str(refusal)}})


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False) + "\n")
    sys.stdout.flush()
