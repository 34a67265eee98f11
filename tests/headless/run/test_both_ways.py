"""One task done by `acp-server run`, and by acpx with the server on its pipes: the same results."""

import json
import shlex
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from tests.cli.command_line import command_line, environment
from tests.headless.run.pipeline import MODEL, parse_line
from tests.headless.run.repositories import create_repository, git
from tests.smoke.server import find_node
from tests.support.fork_server import CommandLine, get_fork_server
from tests.support.messages_api import (
    KEY,
    FakeApiServerInThread,
    messages_api_in_thread,
    reply,
)
from tests.support.messages_api.script import CallTool
from tests.support.node_clients import node_clients
from tests.support.server_process import forked

Object = Mapping[str, JsonValue]
FULL = pytest.mark.full
ANSWER = "All but the deployment is done."
TaskRunner = Callable[[str, Mapping[str, str], Path], tuple[int, "RunResult"]]
SERVED_MODES = {"plan": "plan", "edit": "accept_edits", "full": "bypass"}
WORK = (
    CallTool("read_file", {"path": "notes.txt"}, "read"),
    CallTool("patch", {"path": "notes.txt", "old_string": "one", "new_string": "two"}, "patch"),
    CallTool("write_file", {"path": "new.txt", "content": "new\n"}, "write"),
    CallTool("terminal", {"command": "wc -l notes.txt"}, "count"),
    CallTool("terminal", {"command": "make deploy"}, "deploy"),
)
PROTECTED = CallTool(
    "write_file", {"path": ".git/hooks/pre-commit", "content": "owned"}, "protected"
)
"""What `run` lets happen in no mode; an editor's user has said in bypass that it may."""
CASES: dict[str, tuple[tuple[CallTool, ...], dict[str, str], tuple[int, int]]] = {
    "edit": ((*WORK, PROTECTED), {"deploy": "failed", "protected": "failed"}, (5, 5)),
    "plan": (
        (*WORK, PROTECTED),
        {call.id or "": "failed" for call in (*WORK[1:], PROTECTED)},
        (5, 0),
    ),
    "full": (WORK, {}, (0, 0)),
}
"""By mode: what the model asks for, what of it fails, and both exit codes."""


@dataclass(slots=True)
class RunResult:
    """What came of the task, however it was driven."""

    text: str = ""
    kinds: dict[str, str] = field(default_factory=dict[str, str])
    statuses: dict[str, str] = field(default_factory=dict[str, str])
    """Of calls, by their ids; their last ones."""
    denied: set[str] = field(default_factory=set[str])
    """Calls that were asked about in vain."""
    tool_results: list[str] = field(default_factory=list[str])
    """The results of calls that did not fail, as the model got them."""
    git_status: str = ""
    files: dict[str, str] = field(default_factory=dict[str, str])


def run_with_cli(mode: str, variables: Mapping[str, str], folder: Path) -> tuple[int, RunResult]:
    options = ("--cwd", str(folder), "--mode", mode, "--format", "acp", "--ephemeral")
    ended = get_fork_server().run(CommandLine(("run", "Go", *options), variables), 60)
    lines = map(parse_line, ended.stdout.decode().splitlines())
    return ended.exit_code, collect_result([cast("Object", line["message"]) for line in lines])


def run_with_acpx(mode: str, variables: Mapping[str, str], folder: Path) -> tuple[int, RunResult]:
    server = shlex.join(forked(command_line("serve", "--mode", SERVED_MODES[mode])))
    program = node_clients() / "node_modules/acpx/dist/cli.js"
    policy = ("--approve-reads", "--non-interactive-permissions", "deny")
    options = ("--no-fs", "--no-terminal", *policy, "--format", "json", "--cwd", str(folder))
    command = [find_node(), str(program), "--agent", server, *options, "exec", "Go"]
    compiled = str(node_clients() / "node_modules/.compile-cache")
    code, lines = printed(command, {**variables, "NODE_COMPILE_CACHE": compiled}, folder)
    return code, collect_result(lines)


def printed(
    command: list[str], variables: Mapping[str, str], folder: Path
) -> tuple[int, list[Object]]:
    """Run a command, and return its code and the objects that it prints, a line each."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.returncode, [parse_line(line) for line in done.stdout.decode().splitlines()]


def collect_result(messages: Iterable[Object]) -> RunResult:
    """Return what messages of the wire tell of a task."""
    result, asked = RunResult(), dict[JsonValue, str]()
    for message in messages:
        params = cast("Object", message.get("params") or {})
        if message.get("method") == "session/request_permission":
            asked[message["id"]] = str(cast("Object", params["toolCall"])["toolCallId"])
        elif "result" in message and "outcome" in cast("Object", message["result"]):
            outcome = cast("Object", cast("Object", message["result"])["outcome"])
            if outcome.get("optionId") != "allow_once":
                result.denied.add(asked[message["id"]])
        add_update(cast("Object", params.get("update") or {}), result)
    return result


def add_update(update: Object, result: RunResult) -> None:
    """Add what an update tells."""
    match update.get("sessionUpdate"):
        case "agent_message_chunk":
            result.text += str(cast("Object", update["content"])["text"])
        case "tool_call" | "tool_call_update":
            name = str(update["toolCallId"])
            result.kinds[name] = str(update.get("kind") or result.kinds[name])
            result.statuses[name] = str(update.get("status") or result.statuses[name])
        case _:
            return


def sent_results(api: FakeApiServerInThread) -> dict[str, str]:
    """Return the results of calls in the last request, by the calls' ids."""
    messages = cast("list[Object]", api.model_requests[-1].body["messages"])
    blocks = [
        cast("Object", block)
        for message in messages
        for block in cast("list[JsonValue]", message["content"])
    ]
    return {
        str(each["tool_use_id"]): json.dumps(each["content"])
        for each in blocks
        if each["type"] == "tool_result"
    }


def run_task(runner: TaskRunner, mode: str, folder: Path) -> tuple[int, RunResult]:
    """Do the task in a workspace of its own; return the exit code, and what came of it."""
    (folder / "home").mkdir(parents=True)
    files = {"notes.txt": b"one\n", "Makefile": b"deploy:\n\ttouch deployed.txt\n"}
    workspace = create_repository(folder / "workspace", files)
    with messages_api_in_thread([*map(reply, CASES[mode][0]), ANSWER]) as api:
        endpoint = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": KEY}
        variables = environment(folder / "home", ACP_SERVER_MODEL=MODEL, **endpoint)
        code, result = runner(mode, {**variables, "HOME": str(folder / "home")}, workspace)
        assert api.remaining_turns == 0
        results = sent_results(api)
    failed = {name for name, status in result.statuses.items() if status == "failed"}
    result.tool_results = [
        text.replace(str(workspace), "W") for name, text in results.items() if name not in failed
    ]
    result.git_status = git(workspace, "status", "--short")
    result.files = {each.name: each.read_text() for each in workspace.glob("*.txt")}
    return code, result


@pytest.mark.parametrize(
    "mode", ["edit", pytest.param("plan", marks=FULL), pytest.param("full", marks=FULL)]
)
def test_the_run_command_and_acpx_produce_the_same_result(tmp_path: Path, mode: str) -> None:
    calls, failed, codes = CASES[mode]
    run_code, by_run = run_task(run_with_cli, mode, tmp_path / "run")
    acpx_code, by_acpx = run_task(run_with_acpx, mode, tmp_path / "acpx")
    assert by_run == by_acpx
    statuses = {call.id: failed.get(call.id or "", "completed") for call in calls}
    assert (by_run.text, by_run.statuses) == (ANSWER, statuses)
    assert (run_code, acpx_code) == codes
