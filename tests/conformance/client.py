"""The client that the conformance suite starts: `client.py URL`, with the scenario's name in its
environment. It runs oneact ($ONEACT) in a root of its own, with one server in the catalog, the bridge
to that URL, and ends well if oneact says what it should. What the server saw, the suite judges."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BRIDGE = Path(__file__).with_name("bridge.py").resolve()
VERSION = os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"]
PROTOCOL = "legacy" if VERSION < "2026-07-28" else "modern"


class Root:
    """A directory with a catalog: a capability for each tool, under the tool's name."""

    def __init__(self, dir, *tools):
        self.dir = dir
        command = json.dumps(["python3", "-SB", str(BRIDGE), sys.argv[1]])
        catalog = f'catalog = 1\n[server.suite]\ncommand = {command}\nprotocol = "{PROTOCOL}"\n'
        for tool in tools:
            catalog += f'[capability.{tool}]\nmcp = {{ server = "suite", tool = "{tool}" }}\n'
        Path(dir, "catalog.toml").write_text(catalog)

    def oneact(self, *words, task=None):
        done = subprocess.run(
            [os.environ["ONEACT"], *words], cwd=self.dir, input=json.dumps(task), capture_output=True, text=True
        )
        sys.stderr.write(done.stdout + done.stderr)
        return json.loads(done.stdout)

    def run(self, tool, parameters=None, **more):
        """The answer of a run: why it failed, and the two parts of its content."""
        task = {"task_id": f"task_{tool}", "capability_ids": [tool], "metadata": {"session_id": "sess-1"}}
        answer = self.oneact(task=task | {"parameters": parameters or {}} | more)
        content = answer["output"]["content"]
        return content["task_result"], content["oneact"], answer["error"]["error_message"]

    def succeeds(self, tool, parameters=None, **more):
        """Its result."""
        result, run, error = self.run(tool, parameters, **more)
        assert run["state"] == "done", error
        return result["result_data"]

    def fails(self, fault, tool, parameters=None, **more):
        """Before the tool is called; the error."""
        _, run, error = self.run(tool, parameters, **more)
        assert (run["fault"], run["effect"]) == (fault, "none"), (run, error)
        return error

    def asks(self, tool):
        """What it waits for."""
        _, run, error = self.run(tool, accepts_input=True)
        assert run["state"] == "pending", error
        return run["waiting"]

    def answers(self, tool, waiting):
        """Says yes, in another process."""
        yes = {"action": "accept", "content": {"confirmed": True}}
        return self.succeeds(
            tool,
            accepts_input=True,
            input_responses={name: yes for name in waiting["input_requests"]},
            input_requests=waiting["input_requests"],
            request_state=waiting["request_state"],
        )


def initialize(dir):
    """Its server has no tools."""
    refused = Root(dir, "missing").fails("tool_error", "missing")
    assert "no tool `missing`" in refused, refused


def tools_call(dir):
    root = Root(dir, "add_numbers")
    assert root.succeeds("add_numbers", {"a": 5, "b": 3}) == {"text": "The sum of 5 and 3 is 8"}


def request_metadata(dir):
    """Its server refuses the first request, whatever its version. That no tool is there, only an
    answer to the same request can tell: the next run must not be what makes up for it."""
    root = Root(dir, "missing")
    refused = root.fails("tool_error", "missing", accepts_input=True)
    assert "no tool `missing`" in refused, refused


def client_request_state(dir):
    root = Root(dir, "test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type")
    stateful = root.asks("test_mrtr_echo_state")
    stateless = root.asks("test_mrtr_no_state")
    assert stateless["request_state"] is None
    assert root.succeeds("test_mrtr_unrelated") == {"text": "unrelated-ok"}
    assert root.answers("test_mrtr_echo_state", stateful) == {"text": "echo-state-ok"}
    assert root.answers("test_mrtr_no_state", stateless) == {"text": "no-state-ok"}
    assert root.succeeds("test_mrtr_no_result_type") == {"text": "no-result-type-test-ok"}


def no_dereference(dir):
    root = Root(dir, "lookup_user")
    refused = root.fails("tool_error", "lookup_user", {"id": "ada"})
    assert "/canary/profile-schema.json" in refused, refused
    assert root.oneact("doctor", "--json")["verdict"] == "wrong"


def preservation(dir):
    root = Root(dir, "json_schema_2020_12_tool", "json_schema_echo")
    (server,) = root.oneact("doctor", "--json")["servers"]
    schemas = {tool["name"]: tool["input_schema"] for tool in server["tools"]}
    root.succeeds("json_schema_echo", {"schema": schemas["json_schema_2020_12_tool"]})


SCENARIOS = {
    "initialize": initialize,
    "tools_call": tools_call,
    "request-metadata": request_metadata,
    "sep-2322-client-request-state": client_request_state,
    "json-schema-ref-no-deref": no_dereference,
    "json-schema-2020-12-preservation": preservation,
}

with tempfile.TemporaryDirectory(prefix="oneact-conformance-") as dir:
    SCENARIOS[os.environ["MCP_CONFORMANCE_SCENARIO"]](dir)
