#!/usr/bin/env python3
"""A stdio MCP server whose tools need more than they were given: asker.py [--legacy]

In the era of 2026-07-28 they ask in their result, remember nothing, and go by what comes back. With
--legacy (2025-11-25) they ask while they are called. Python 3 standard library only.
"""

import json
import os
import sys

LEGACY = "--legacy" in sys.argv
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"

# Nobody's business but ours, and not a byte of it may change.
STATE = 'v1/é"\\\u2028{"seats":1e400}\n'

FORM = {"type": "object", "required": ["name"],
        "properties": {"name": {"type": "string", "minLength": 2}, "age": {"type": "integer", "minimum": 18}}}


class Refused(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message, **({"data": data} if data else {})}


def done(value):
    return {"resultType": "complete", "content": [], "structuredContent": value}


def wants(requests, state=None):
    return {"resultType": "input_required", **({"inputRequests": requests} if requests else {}),
            **({"requestState": state} if state is not None else {})}


def elicit(message, **params):
    return {"method": "elicitation/create", "params": {"message": message, **params}}


def same_state(params, state):
    if params.get("requestState") != state:
        raise Refused(-32602, "this is not the state that was handed out")


def greeter(params, given):
    """Asks for a name in a form; a refusal is an answer too."""
    if "inputResponses" not in params:
        secret = os.environ.get("ASKER_KEY", "")
        return wants({"who": elicit(f"Whom shall I greet? {secret}".strip(), mode="form", requestedSchema=FORM)}, STATE)
    same_state(params, STATE)
    who = params["inputResponses"].get("who")
    if who is None:
        return wants({"who": elicit("Once more: whom shall I greet?", requestedSchema=FORM)}, STATE)
    if who["action"] != "accept":
        return done({"greeting": None, "because": who["action"]})
    return done({"greeting": given["words"] + ", " + who["content"]["name"], "asked_for": who["content"]})


def booker(params, given):
    """Three rounds: how many seats, then a payment elsewhere, then the ticket."""
    state, answers = params.get("requestState"), params.get("inputResponses") or {}
    if state is None:
        return wants({"seats": elicit("How many seats?", requestedSchema={
            "type": "object", "properties": {"n": {"type": "integer"}}})}, "round 1")
    if state == "round 1":
        paid = f"paid? seats={answers['seats']['content']['n']}"
        return wants({"payment": elicit("Please pay.", mode="url", url="https://pay.example.com/?token=t0")}, paid)
    return done({"ticket": state, "consent": answers["payment"]["action"]})


def forgetful(params, given):
    """Keeps no state at all, and may be handed none."""
    if "requestState" in params:
        raise Refused(-32602, "nobody handed out a state")
    if "inputResponses" not in params:
        return wants({"sure": elicit("Are you sure?", requestedSchema={"type": "object", "properties": {}})})
    return done({"sure": params["inputResponses"]["sure"]["action"]})


def busy(params, given):
    """Asks nothing but to be called again."""
    if "requestState" not in params:
        return wants(None, "queue 7")
    return done({"from": params["requestState"], "answers": params.get("inputResponses")})


def thinker(params, given):
    """Wants a model's answer and the roots, though nobody declared them."""
    if "inputResponses" not in params:
        return wants({"capital": {"method": "sampling/createMessage", "params": {
            "messages": [{"role": "user", "content": {"type": "text", "text": "Capital of France?"}}],
            "maxTokens": 100}}, "where": {"method": "roots/list"}}, "s")
    return done(params["inputResponses"])


def sampler(params, given):
    raise Refused(-32021, "Missing required client capability", {"requiredCapabilities": {"sampling": {}}})


def taster(params, given):
    """Writes where it was told to, once somebody has tasted; a state is good for one place only."""
    if "inputResponses" not in params:
        return wants({"taste": elicit("Does it taste?", requestedSchema={"type": "object", "properties": {}})},
                     "for " + given["output_path"])
    same_state(params, "for " + given["output_path"])
    with open(given["output_path"], "w") as file:
        file.write("it tastes\n")
    return done({})


TOOLS = {tool.__name__: tool for tool in (greeter, booker, forgetful, busy, thinker, sampler, taster)}
# The tools that put a question to a person.
ELICIT = {"greeter", "booker", "forgetful", "taster"}


def call(params):
    name, given = params["name"], params.get("arguments") or {}
    declared = (params.get("_meta") or {}).get(CAPABILITIES) or {}
    if name in ELICIT and "elicitation" not in declared:
        raise Refused(-32021, "Missing required client capability", {"requiredCapabilities": {"elicitation": {}}})
    return TOOLS[name](params, given)


QUESTIONS = {
    "form": ("elicitation/create", {"message": "Whom shall I greet?", "requestedSchema": FORM}),
    "url": ("elicitation/create", {"mode": "url", "message": "Please log in.", "elicitationId": "e1",
                                   "url": "https://login.example.com/?X-Amz-Signature=deadbeef&step=1"}),
    "sampling": ("sampling/createMessage", {"messages": [], "maxTokens": 1}),
    "roots": ("roots/list", {}),
}


def legacy_call(params):
    """Asks, and goes by the answer: `then` says what a refusal leads to."""
    given = params["arguments"]
    method, question = QUESTIONS[given["question"]]
    say({"id": "q1", "method": method, "params": question})
    reply = json.loads(sys.stdin.readline())
    told = "answered" if "result" in reply else reply["error"]["code"]
    if given["then"] == "go on":
        return {"content": [], "structuredContent": {"told": told}}
    if given["then"] == "die":
        print("cannot live without an answer", file=sys.stderr, flush=True)
        os._exit(1)
    if given["then"] == "refuse":
        raise Refused(-32603, "cannot go on")
    return {"content": [{"type": "text", "text": given["then"]}], "isError": True}


def answer(message):
    method, params = message["method"], message.get("params") or {}
    if method == "tools/list":
        return {"resultType": "complete", "ttlMs": 0, "cacheScope": "public",
                "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in (*TOOLS, "asker")]}
    if method == "tools/call":
        return legacy_call(params) if LEGACY else call(params)
    if method == "initialize" and LEGACY:
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "asker", "version": "1.0.0"}}
    if method == "server/discover" and not LEGACY:
        return {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                "ttlMs": 0, "cacheScope": "public"}
    raise Refused(-32601, f"Method not found: {method}")


def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main():
    while line := sys.stdin.readline():
        message = json.loads(line)
        if "id" not in message:
            continue
        try:
            say({"id": message["id"], "result": answer(message)})
        except Refused as refusal:
            say({"id": message["id"], "error": refusal.error})


main()
