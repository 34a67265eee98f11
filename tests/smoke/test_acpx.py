"""acpx, the public command-line client, drives the real server."""

import json
import re
import shlex
import subprocess
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest
from pydantic import JsonValue

from tests.handlers import expected
from tests.smoke import server
from tests.support.node_clients import node_clients
from tests.support.server_process import command_line, environment, forked, model_id


@dataclass(frozen=True)
class Acpx:
    """acpx with its own home, talking to our server in one workspace."""

    folder: Path
    script: str = server.SCRIPT
    options: tuple[str, ...] = ()
    """Of our server."""
    workspace: Path | None = None
    """Where it works, if not in its home."""
    is_forked: bool = False
    """Whether our server is a fork, which saves its imports, and no new interpreter."""

    def arguments(self, *words: str) -> list[str]:
        """The command line for these words; acpx's background process would soon leave alone."""
        program = node_clients() / "node_modules/acpx/dist/cli.js"
        command = command_line(self.folder, self.script, self.options)
        command = forked(command) if self.is_forked else command
        return [
            *(server.find_node(), str(program)),
            *("--agent", shlex.join(command)),
            *("--cwd", str(self.workspace or self.folder), "--ttl", "60", "--timeout", "60"),
            *words,
        ]

    def environment(self) -> dict[str, str]:
        """Return the variables of acpx; all its runs share the compiled code."""
        compiled = node_clients() / "node_modules/.compile-cache"
        return environment(self.folder) | {"NODE_COMPILE_CACHE": str(compiled)}

    def run(self, *words: str) -> str:
        """What acpx prints for these words."""
        completed = subprocess.run(
            self.arguments(*words),
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=server.DEADLINE_SECONDS,
            text=True,
            check=False,
        )
        assert completed.returncode == 0, completed.stderr
        return completed.stdout

    def messages(self, *words: str) -> JsonValue:
        """What acpx prints as JSON: the messages of the wire, or a report of its own."""
        return read_lines(self.run("--format", "json", *words).splitlines())

    @contextmanager
    def session(self) -> Generator[None]:
        """A saved session, whose background process is gone afterwards."""
        self.run("sessions", "new")
        try:
            yield
        finally:
            self.run("sessions", "close")


def read_lines(lines: Iterable[str]) -> JsonValue:
    """The messages on these lines, without the envelope's version and number."""
    messages: list[dict[str, JsonValue]] = [json.loads(line) for line in lines]
    bare: list[JsonValue] = [
        {key: value for key, value in message.items() if key not in {"jsonrpc", "id"}}
        for message in messages
    ]
    return expected.shorten_ids(server.drop_info_updates(bare))


def request(method: str, **params: JsonValue) -> JsonValue:
    return {"method": method, "params": params}


def prompt(text: str) -> JsonValue:
    blocks: JsonValue = [{"type": "text", "text": text}]
    return request("session/prompt", sessionId="sess_1", prompt=blocks)


def update(content: JsonValue) -> JsonValue:
    return request("session/update", sessionId="sess_1", update=content)


def opening(folder: Path) -> list[JsonValue]:
    """What goes over the wire before acpx's first prompt.

    The session was opened by another process, which has ended.
    """
    modes, options = (
        expected.mode_state("ask"),
        expected.config_options("ask", model_id(folder), "hosts"),
    )
    return [
        request(
            "initialize",
            protocolVersion=1,
            clientCapabilities={
                "fs": {"readTextFile": True, "writeTextFile": True},
                "terminal": True,
            },
            clientInfo={"name": "acpx", "version": "0.19.1"},
        ),
        {"result": expected.INITIALIZED},
        request("session/resume", sessionId="sess_1", cwd=str(folder), mcpServers=[]),
        {"result": {"modes": modes, "configOptions": options}},
    ]


def answered(stop_reason: str) -> JsonValue:
    return {"result": {"stopReason": stop_reason}}


@pytest.fixture
def acpx(tmp_path: Path) -> Acpx:
    return Acpx(tmp_path)


@pytest.mark.full
def test_acpx_shows_the_thought_and_the_response_of_a_single_prompt(acpx: Acpx) -> None:
    assert acpx.run("exec", "hello") == (
        "[client] initialize (running)\n"
        "\n"
        "[client] session/new (running)\n"
        "\n"
        "[thinking] Let me see.\n"
        "Hello there.\n"
        "\n"
        "[done] end_turn\n"
    )


def check_first_prompt(acpx: Acpx) -> None:
    """Prompt in a session that has been opened by another process."""
    assert acpx.messages("prompt", "first") == [
        *opening(acpx.folder),
        prompt("first"),
        *map(update, server.greeting_updates(first_message=1)),
        answered("end_turn"),
    ]


def test_acpx_prompts_in_a_session_that_another_process_has_opened(tmp_path: Path) -> None:
    acpx = Acpx(tmp_path, is_forked=True)
    with acpx.session():
        check_first_prompt(acpx)


@pytest.mark.full
def test_acpx_prompts_changes_the_mode_cancels_and_prompts_again_in_one_session(
    acpx: Acpx,
) -> None:
    report = {"resumed": False, "acpxRecordId": "sess_1", "acpxSessionId": "sess_1"}
    with acpx.session():
        check_first_prompt(acpx)
        assert acpx.messages("set-mode", "plan") == [
            {"action": "mode_set", "modeId": "plan", **report}
        ]
        assert acpx.messages("set", "mode", "bypass") == [
            {
                "action": "config_set",
                "configId": "mode",
                "value": "bypass",
                "configOptions": expected.config_options("bypass", model_id(acpx.folder), "hosts"),
                **report,
            }
        ]
        running = subprocess.Popen(
            acpx.arguments("--format", "json", "prompt", "wait"),
            env=acpx.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        with running:
            assert running.stdout is not None
            until_working = list(lines_until(running.stdout, "Working"))
            assert acpx.messages("cancel") == [
                {
                    "action": "cancel_result",
                    "acpxRecordId": "sess_1",
                    "cancelled": True,
                }
            ]
            after = running.stdout.readlines()
        assert read_lines(until_working + after) == [
            prompt("wait"),
            update(expected.message_chunk("msg_1", "Working")),
            request("session/cancel", sessionId="sess_1"),
            answered("cancelled"),
        ]
        assert acpx.messages("prompt", "next") == [
            prompt("next"),
            *map(update, server.greeting_updates(first_message=1)),
            answered("end_turn"),
        ]


def lines_until(stream: IO[str], word: str) -> Generator[str]:
    """The lines up to the first that holds the word."""
    for line in stream:
        yield line
        if word in line:
            return


WORKED = """\
[client] initialize (running)

[client] session/new (running)

[tool] Plan (pending)

[tool] Read a file (pending)

[plan]
  - [in_progress] Greet the world

[tool] Update the plan (completed)
  kind: think
  input: {{"todos":[{{"id":"1","content":"Greet the world","status":"in_progress"}}]}}
  output:
    1 items; 1 open

[tool] Read greeting.txt (completed)
  kind: read
  input: greeting.txt
  files: {folder}/greeting.txt:1
  output:
    Hello there.
    
    ```
    Hello there.
    ```

[tool] Edit a file (pending)

{question}[client] fs/write_text_file (running)

[tool] Edit greeting.txt (completed)
  kind: edit
  input: greeting.txt
  files: {folder}/greeting.txt:1
  output:
    edited greeting.txt at line 1
    
    diff {folder}/greeting.txt (line count unchanged)

[tool] Run a command (pending)

{question}[client] terminal/create (running)

[client] terminal/wait_for_exit (running)

[client] terminal/output (running)

[client] terminal/release (running)

[tool] `sort greeting.txt | tee sorted.txt; exit 3` (failed)
  kind: execute
  input: sort greeting.txt | tee sorted.txt; exit 3
  files: {folder}
  output:
    Hello world.
    [exit code 3]
    
    [terminal] {terminal}
    
    diff {folder}/sorted.txt (+2 lines)
Done.

[done] end_turn
"""  # noqa: W293  as acpx prints it
QUESTION = "[client] session/request_permission (running)\n\n"
READ = "[client] fs/read_text_file (running)\n\n"
TERMINAL = re.compile(r"(?<=\[terminal\] )[-0-9a-f]{36}")


@pytest.mark.parametrize(
    ("mode", "question"),
    [
        pytest.param("bypass", "", id="bypass", marks=pytest.mark.full),
        pytest.param("ask", QUESTION, id="ask"),
    ],
)
def test_acpx_shows_the_plan_the_edit_and_the_terminal_of_a_turn(
    tmp_path: Path, mode: str, question: str
) -> None:
    home, workspace = (tmp_path / name for name in ("home", "workspace"))
    home.mkdir()
    workspace.mkdir()
    workspace.joinpath("greeting.txt").write_text("Hello there.\n")
    acpx = Acpx(home, server.WORK, ("--mode", mode), workspace, is_forked=mode == "ask")
    printed = TERMINAL.sub("TERMINAL", acpx.run("--approve-all", "exec", "go"))
    assert READ in printed
    printed = printed.replace(READ, "")  # how often a buffer is looked at is not the point
    assert printed == WORKED.format(folder=workspace, question=question, terminal="TERMINAL")
    assert workspace.joinpath("greeting.txt").read_text() == "Hello world.\n"
    assert workspace.joinpath("sorted.txt").read_text() == "Hello world.\n"
