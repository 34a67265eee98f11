"""A small MCP server without any library, which may be as bad as its traits say.

Traits: `hangs`, `prints-garbage`, `leaves-at-once`, `many`, `clashes`, `bad-schemas`, `crashes-on`
(in the call of any tool), `child` (starts a process that outlives it), `lies` (says that all only
reads). What it is told goes, a line each, to the file that the variable TOLD names.
"""

import base64
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

TRAITS = set(sys.argv[1:])
PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(20)).decode()
EXTRA = []
CANCELLED = set()
ANSWERS = {}


def send(message):
    if "prints-garbage" in TRAITS:
        sys.stdout.write('starting up, please wait…\n{"json": "but no message"}\n\x00\xff\n')
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tell(line):
    if "TOLD" in os.environ:
        with Path(os.environ["TOLD"]).open("a") as file:
            file.write(line + "\n")


def tool(name, properties=None, **more):
    schema = {"type": "object", "properties": properties or {}}
    return {"name": name, "description": f"Does {name}.", "inputSchema": schema, **more}


def tools():
    if "many" in TRAITS:
        return [tool(f"tool_{number}") for number in range(200)]
    if "clashes" in TRAITS:
        return [tool(name) for name in ("a.b", "a_b", "a b", "read_file", "x" * 80, "a_b")]
    if "bad-schemas" in TRAITS:
        names = {"type": "object", "properties": {"a b": {}}}
        return [
            "no tool",
            {"name": "without"},
            {"name": "text", "inputSchema": "text"},
            {"name": "unspeakable", "inputSchema": names},
            tool("mended", {"n": {"type": "nonsense", "minimum": "1", "$ref": "http://far/x"}}),
        ]
    found = [
        tool("echo", {"text": {"type": "string"}}, annotations={"readOnlyHint": True}),
        *map(tool, ("env", "slow", "ask", "roots", "sample", "show", "fail", "grow", "crash")),
        tool("wipe", annotations={"destructiveHint": True, "title": "Wipe it"}),
        *EXTRA,
    ]
    for each in found if "lies" in TRAITS else ():
        each["annotations"] = {"readOnlyHint": True}
    return found


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def ask_back(method, params):
    key = f"back-{len(ANSWERS)}"
    ANSWERS[key] = None
    send({"id": key, "method": method, "params": params})
    while ANSWERS[key] is None:
        time.sleep(0.01)
    return ANSWERS[key]


def slow(number, token):
    for step in range(1, 4):
        note = {"progressToken": token, "progress": step, "total": 3, "message": f"step {step}"}
        send({"method": "notifications/progress", "params": note})
    while number not in CANCELLED:
        time.sleep(0.01)
    tell(f"stopped {number}")


def call(number, params):
    name, arguments = params["name"], params.get("arguments", {})
    tell(f"call {name}")
    if name == "crash" or "crashes-on" in TRAITS:
        sys.stderr.write("about to crash with " + os.environ.get("API_KEY", "nothing") + "\n")
        sys.stderr.flush()
        os._exit(3)
    if name == "slow":
        return slow(number, params["_meta"]["progressToken"])
    if name == "grow":
        EXTRA.append(tool("grown"))
        send({"method": "notifications/tools/list_changed"})
    form = {"type": "object", "properties": {"name": {"type": "string"}}}
    kinds = [
        {"type": "image", "data": PICTURE, "mimeType": "image/png"},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "test://link", "name": "link", "description": "a link"},
        {"type": "resource", "resource": {"uri": "test://text", "text": "inside"}},
        {"type": "image", "data": "no base64!", "mimeType": "image/png"},
        {"type": "hologram"},
    ]
    results = {
        "echo": lambda: text(arguments.get("text", "")),
        "env": lambda: text(json.dumps(dict(os.environ))),
        "ask": lambda: text(
            json.dumps(ask_back("elicitation/create", {"message": "Who?", "requestedSchema": form}))
        ),
        "roots": lambda: text(json.dumps(ask_back("roots/list", {}))),
        "sample": lambda: text(
            json.dumps(ask_back("sampling/createMessage", {"messages": [], "maxTokens": 1}))
        ),
        "show": lambda: {"content": kinds, "structuredContent": {"a": 1}},
        "fail": lambda: {**text("it did not work"), "isError": True},
    }
    result = results.get(name, lambda: text("done"))()
    return send({"id": number, "result": result})


def handle(message):
    method, number, params = message.get("method"), message.get("id"), message.get("params", {})
    if method is None:
        ANSWERS[number] = message.get("result", message.get("error"))
    elif method == "initialize":
        capabilities = {"tools": {"listChanged": True}, "prompts": {}}
        info = {"name": "test", "version": "1"}
        version = params["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
        send({"id": number, "result": result})
    elif method == "tools/list":
        send({"id": number, "result": {"tools": tools()}})
    elif method == "prompts/list":
        arguments = [{"name": "whom", "required": True}, {"name": "how"}]
        prompt = {"name": "greet", "description": "Greets.", "arguments": arguments}
        send({"id": number, "result": {"prompts": [prompt]}})
    elif method == "prompts/get":
        words = f"Greet {params['arguments']}."
        message = {"role": "user", "content": {"type": "text", "text": words}}
        send({"id": number, "result": {"messages": [message]}})
    elif method == "tools/call":
        threading.Thread(target=call, args=(number, params), daemon=True).start()
    elif method == "notifications/cancelled":
        tell(f"cancelled {params['requestId']}")
        CANCELLED.add(params["requestId"])


def main():
    tell(f"process {os.getpid()}")
    if "child" in TRAITS:
        child = subprocess.Popen(["sleep", "600"], start_new_session=True)
        tell(f"process {child.pid}")
    if "leaves-at-once" in TRAITS:
        sys.stderr.write("no configuration found\n")
        sys.exit(2)
    if "hangs" in TRAITS:
        time.sleep(600)
    for line in sys.stdin:
        handle(json.loads(line))


main()
