"""A whole job: each message of the server fits the newest schema, stable or with drafts."""

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import cast

import pytest
from jsonschema_rs import Draft202012Validator
from pydantic import JsonValue

from tests.mcp.mcp_editor import McpEditor, open_mcp_editor
from tests.mcp.test_client_servers import SERVER, NotesServer
from tests.support.editor import Object, json_at
from tests.support.messages_api import ResponseGate, ScriptedReply, call, reply, say, think
from tests.support.node_clients import node_clients

SCHEMAS = "node_modules/@agentclientprotocol/sdk/schema/v1"
UPDATES: Object = {"notices": {}, "compaction": {}, "configOptions": {"boolean": {}}}
STABLE_CLIENT: Object = {
    "elicitation": {"form": {}},
    "session": UPDATES,
    "_meta": {"terminal_output": True, "subagent-transcript": True},
}
DRAFT_CLIENT: Object = {**STABLE_CLIENT, "plan": {}, "subagents": {}}
TODO = call("todo", todos=[{"id": "1", "content": "Greet", "status": "in_progress"}])
WRITE = call("write_file", path="greeting.txt", content="Hello.\n")
COMMAND = call("terminal", command="sort greeting.txt | tee sorted.txt")
TASK = call("delegate_task", goal="count the files")


@cache
def schema(name: str) -> Object:
    """Return a published schema; `name` is its file."""
    return json.loads((node_clients() / SCHEMAS / name).read_text(encoding="utf-8"))


@cache
def definitions_of(name: str, method: str) -> dict[str, str]:
    """Return the definitions of a method: those of `Request`, `Response` and `Notification`."""
    defined = cast("dict[str, Object]", schema(name)["$defs"])
    names = [key for key, value in defined.items() if value.get("x-method") == method]
    return {kind: each for kind in KINDS for each in names if each.endswith(kind)}


KINDS = ("Request", "Response", "Notification")


def faults(name: str, method: str, kind: str, value: JsonValue) -> list[str]:
    """Return what in a message does not fit the schema, also members that it does not know."""
    definition = definitions_of(name, method).get(kind)
    if definition is None:
        return [f"{method} has no {kind} in {name}"]
    validator = _validator(name, definition)
    found = [f"{method}: {error.message}" for error in validator.iter_errors(value)]
    known = (
        json_at(schema(name), "$defs", definition, "properties")
        if _has_properties(name, definition)
        else None
    )
    unknown = set(cast("Object", value)) - set(cast("Object", known)) if known else set[str]()
    return found + [f"{method}: {each} is not known" for each in sorted(unknown)]


def _has_properties(name: str, definition: str) -> bool:
    return "properties" in cast("Object", json_at(schema(name), "$defs", definition))


@cache
def _validator(name: str, definition: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"#/$defs/{definition}", "$defs": schema(name)["$defs"]})


class WireLog:
    """The messages of an editor's connection, and the methods of its requests."""

    def __init__(self, line: McpEditor) -> None:
        self.line = line
        self.methods: dict[JsonValue, str] = {}

    async def call(self, method: str, **params: JsonValue) -> JsonValue:
        """Send a request and return its result."""
        pending = self.line.editor.start_request(method, params)
        self.methods[pending.id] = method
        return json_at(await pending.response(), "result")

    async def prompt(self, session: str, text: str) -> JsonValue:
        """Send a prompt and return the stop reason."""
        blocks: JsonValue = [{"type": "text", "text": text}]
        return json_at(
            await self.call("session/prompt", sessionId=session, prompt=blocks), "stopReason"
        )

    def check(self, name: str) -> Counter[str]:
        """Count the server's messages by method; each must fit the schema."""
        wrong: list[str] = []
        seen: Counter[str] = Counter()
        for message in self.line.editor.messages:
            if "method" in message:
                method = str(message["method"])
                kind = "Request" if "id" in message else "Notification"
                wrong += faults(name, method, kind, message["params"])
            else:
                method = self.methods[message["id"]]
                wrong += faults(name, method, "Response", message["result"])
            seen[method] += 1
        assert wrong == []
        return seen


async def work(log: WireLog, root: Path, servers: list[JsonValue]) -> str:
    """Open a session, choose its options, and let it work; return its id."""
    opened = await log.call("session/new", cwd=str(root), mcpServers=servers)
    session = str(json_at(opened, "sessionId"))
    await log.call("session/set_mode", sessionId=session, modeId="plan")
    for option, value in (("mode", "ask"), ("thought_level", "low")):
        await log.call("session/set_config_option", sessionId=session, configId=option, value=value)
    await log.call(
        "session/set_config_option",
        sessionId=session,
        configId="fast_mode",
        type="boolean",
        value=True,
    )
    assert await log.prompt(session, "greet the world") == "end_turn"
    assert (root / "sorted.txt").read_text() == "Hello.\n"
    assert await log.prompt(session, "/fast off") == "end_turn"
    return session


async def stop(log: WireLog, session: str) -> None:
    """Cancel a turn whose request the model does not answer."""
    before = len(log.line.api.model_requests)
    blocks: JsonValue = [{"type": "text", "text": "wait"}]
    pending = log.line.editor.start_request(
        "session/prompt", {"sessionId": session, "prompt": blocks}
    )
    log.methods[pending.id] = "session/prompt"
    await log.line.api.wait_for_model_requests(before + 1)  # not a list of models before it
    log.line.editor.cancel(session)
    assert json_at(await pending.response(), "result", "stopReason") == "cancelled"


@pytest.mark.parametrize(
    ("capabilities", "name"),
    [(STABLE_CLIENT, "schema.json"), (DRAFT_CLIENT, "schema.unstable.json")],
    ids=["stable", "drafts"],
)
async def test_a_whole_job_fits_the_newest_schemas(
    tmp_path: Path, capabilities: Object, name: str
) -> None:
    has_drafts = name == "schema.unstable.json"
    note = (call("notes__add", text="milk"),) if has_drafts else ()
    script = [
        reply(think("Let me see."), TODO, *note, WRITE),
        reply(COMMAND, TASK),
        reply(think("I count."), say("There is one.")),
        reply(say("Done.")),
        ScriptedReply(head_gate=ResponseGate()),
    ]
    async with open_mcp_editor(tmp_path, script, capabilities=capabilities) as line:
        NotesServer(line)
        log, root = WireLog(line), line.directory
        log.methods[0] = log.methods[1] = "initialize"
        servers: list[JsonValue] = [
            {"type": "acp", "name": SERVER.name, "serverId": SERVER.server_id}
        ]
        session = await work(log, root, servers if has_drafts else [])
        await stop(log, session)
        await log.call("session/close", sessionId=session)
        await log.call("session/list")
        again: Object = {"sessionId": session, "cwd": str(root), "mcpServers": []}
        await log.call("session/load", **again)
        await log.prompt(session, "/usage")
        if has_drafts:
            await log.call("session/fork", **again)
            await log.call("session/set_title", sessionId=session, title="Greeting")
            await log.call("auth/status")
            await log.call("providers/list")
        await log.call("session/delete", sessionId=session)
        seen = log.check(name)
    fast = [request.body.get("speed") for request in line.api.model_requests]
    assert fast == ["fast", "fast", "fast", "fast", None]
    assert seen["session/update"] > 20
    assert ("mcp/message" in seen) == has_drafts


def test_the_check_finds_what_does_not_fit() -> None:
    answer: Object = {"stopReason": "end_turn"}
    for name in ("schema.json", "schema.unstable.json"):
        assert faults(name, "session/prompt", "Response", answer) == []
        assert faults(name, "session/prompt", "Response", {**answer, "mood": 1}) == [
            "session/prompt: mood is not known"
        ]
        assert len(faults(name, "session/prompt", "Response", {"stopReason": 1})) == 1
    assert faults("schema.json", "mcp/message", "Request", {}) == [
        "mcp/message has no Request in schema.json"
    ]
