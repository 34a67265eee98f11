"""The user edits files while an agent works on them: nothing of theirs is overwritten.

The real server in a process of its own, with a Messages API as strict as the real one.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.anthropic_model.test_process import serve
from tests.support.editor import Object, json_at
from tests.support.messages_api import (
    CallTool,
    FakeApiServerInThread,
    ScriptedReply,
    call,
    messages_api_in_thread,
    reply,
)
from tests.support.messages_api.script import Responder
from tests.support.server_process import ServerProcess

OLD = "".join(f"def function_{number}(): ...\n" for number in range(1, 61))
MINE = OLD.replace("function_40", "mine")
NEW = "print('new')\n"
READ = call("read_file", path="a.py")
WRITE = call("write_file", path="a.py", content=NEW)


@dataclass(slots=True)
class Work:
    """A session of a server, and the endpoint that plays its model."""

    home: Path
    api: FakeApiServerInThread
    server: ServerProcess
    session_id: str = ""

    @property
    def file(self) -> Path:
        return self.home / "workspace" / "a.py"

    def open_session(self, method: str = "session/new") -> None:
        """Open a session in mode `bypass`: a new one, or the last one again."""
        params: Object = {"cwd": str(self.file.parent), "mcpServers": []}
        if self.session_id:
            params["sessionId"] = self.session_id
        answer = self.server.call(method, params)
        assert "result" in answer, answer
        result = answer["result"]
        if method == "session/new":
            self.session_id = str(json_at(result, "sessionId"))
        mode: JsonValue = {"sessionId": self.session_id, "modeId": "bypass"}
        assert "result" in self.server.call("session/set_mode", mode)

    def run(self, *batches: CallTool | Callable[[], ScriptedReply]) -> list[str]:
        """Prompt; the model makes one call after the other. Return what it received."""
        before = len(self.api.model_requests)
        for each in batches:
            self.api.add(reply(each) if isinstance(each, CallTool) else _play(each))
        self.api.add("Done.")
        answer = self.server.prompt(self.session_id)
        assert json_at(answer, "result", "stopReason") == "end_turn"
        requests = self.api.model_requests[before:]
        assert [each.verdict for each in requests] == ["answered"] * (len(batches) + 1)
        return [_last_text(each.body) for each in requests]


def _play(act: Callable[[], ScriptedReply]) -> Responder:
    def respond(_: object) -> ScriptedReply:
        return act()

    return respond


def _last_text(body: Object) -> str:
    """Return the text of a request's last message: a prompt with its remarks, or results."""
    messages = body["messages"]
    assert isinstance(messages, list)
    return _text_of(json_at(messages[-1], "content"))


def _text_of(content: JsonValue) -> str:
    if isinstance(content, list):
        return "\n".join(map(_text_of, content))
    if isinstance(content, dict):
        return _text_of(content.get("content", content.get("text")))
    return str(content)


@pytest.fixture
def work(tmp_path: Path) -> Generator[Work]:
    """A new session in a workspace with one file."""
    with messages_api_in_thread([]) as api:
        (tmp_path / "workspace").mkdir()
        with serve(tmp_path, api) as server:
            opened = Work(tmp_path, api, server)
            opened.file.write_text(OLD)
            server.initialize()
            opened.open_session()
            yield opened


@contextmanager
def restarted(work: Work) -> Generator[None]:
    """End the server, and open the session in a new one."""
    work.server.close_stdin()
    assert work.server.wait() == 0
    with serve(work.home, work.api) as work.server:
        work.server.initialize()
        work.open_session("session/load")
        yield


def test_a_file_that_was_not_read_is_not_overwritten(work: Work) -> None:
    assert "a.py exists already, and you have not read it." in work.run(WRITE)[-1]
    assert work.file.read_text() == OLD


def test_what_the_user_changes_while_the_agent_works_is_not_overwritten(work: Work) -> None:
    def edit_meanwhile() -> ScriptedReply:
        work.file.write_text(MINE)
        return reply(WRITE)

    patch = call("patch", path="a.py", old_string="def function_7()", new_string="def seven()")
    _, _, refusal, patched = work.run(READ, edit_meanwhile, patch)
    assert "a.py changed since you read it, by the user or a command: line 40." in refusal
    assert "edited a.py at line 7; the file had changed since you read it: line 40" in patched
    assert work.file.read_text() == MINE.replace("function_7(", "seven(")


def test_the_model_is_told_with_the_next_prompt_and_only_once(work: Work) -> None:
    work.run(READ)
    work.file.write_text(MINE)
    assert "a.py (line 40)" in work.run()[0]
    assert "Changed since" not in work.run()[0]
    assert "line 40" in work.run(WRITE)[-1]
    assert work.file.read_text() == MINE


def test_after_a_restart_the_model_need_not_read_everything_again(work: Work) -> None:
    work.run(READ, call("write_file", path="b.py", content=OLD))
    (work.file.parent / "b.py").write_text(MINE)
    with restarted(work):
        prompt, edited = work.run(WRITE)
        assert "b.py (line 40)" in prompt
        assert "a.py" not in prompt.partition("[Changed")[2]
        assert "edited a.py" in edited
        assert "Changed since" not in work.run()[0]
    assert (work.file.parent / "b.py").read_text() == MINE


def test_a_placeholder_does_not_replace_code(work: Work) -> None:
    content = "def function_1(): return 1\n# ... rest of the code unchanged ...\n"
    head = "".join(OLD.splitlines(keepends=True)[:9])
    *_, written, patched = work.run(
        READ,
        call("write_file", path="a.py", content=content),
        call("patch", path="a.py", old_string=head, new_string="# ... existing code ...\n"),
    )
    assert "'# ... rest of the code unchanged ...' (line 2 of the result) would replace" in written
    assert "'# ... existing code ...' (line 1 of the result) would replace" in patched
    assert work.file.read_text() == OLD
