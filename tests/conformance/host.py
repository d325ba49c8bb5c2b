"""MCP's streamable HTTP in front of `oneact serve catalog`: host.py DIR

The conformance suite speaks HTTP, the server under test speaks stdio. Every message of a request goes
unchanged to a server's stdin, and every message that the server writes goes unchanged into the answer. A
session of the older era has a server of its own, and so has every request of the modern one, which knows no
sessions. Prints the URL.
"""

import json
import os
import subprocess
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

# Of the older era: the servers of the sessions.
servers = {}


class Server:
    def __init__(self):
        self.lock = Lock()
        self.process = subprocess.Popen(
            [os.environ["ONEACT"], "serve", "catalog", "--root", sys.argv[1]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )

    def exchange(self, message):
        """The messages up to the answer; none for a notification."""
        with self.lock:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
            if "id" not in message:
                return
            for line in self.process.stdout:
                yield line
                if json.loads(line).get("id") == message["id"]:
                    return

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Host(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "method" not in message:
            return self.empty(202)
        session = self.headers.get("Mcp-Session-Id")
        if message["method"] == "initialize":
            session = uuid.uuid4().hex
            servers[session] = Server()
        server = servers.get(session) or Server()
        if "id" in message:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            if session in servers:
                self.send_header("Mcp-Session-Id", session)
            self.send_header("Connection", "close")
            self.end_headers()
            for line in server.exchange(message):
                self.wfile.write(b"data: " + line.rstrip() + b"\n\n")
                self.wfile.flush()
        else:
            list(server.exchange(message))
            self.empty(202)
        if session not in servers:
            server.end()

    def do_GET(self):
        self.empty(405)

    def do_DELETE(self):
        server = servers.pop(self.headers.get("Mcp-Session-Id"), None)
        if server:
            server.end()
        self.empty(200)

    def empty(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


host = ThreadingHTTPServer(("127.0.0.1", 0), Host)
print(f"http://127.0.0.1:{host.server_port}/mcp", flush=True)
host.serve_forever()
