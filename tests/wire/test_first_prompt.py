"""What a first prompt need not wait for: a session that has rested has it by then."""

import sys
from pathlib import Path

from tests.support.editor import json_at
from tests.support.server_process import command_line, start_server

PLAYER = "acp_server.models.script acp_server.models.scripted"
"""What plays the model here: a real one is imported behind the session's answer."""
ANNOUNCEMENT = "config_option_update"
PROGRAM = """
import sys
from acp_server import __main__; from acp_server.startup import handshake
from acp_server.server import app
from acp_server.session.registry import SessionRegistry
from pydantic import BaseModel

warm_up, build, leave = SessionRegistry.warm_up, BaseModel.model_rebuild, handshake.exit_process
before, built = set(), []
app.WATCH_DELAY_SECONDS = 0.0  # or the watcher would be imported at any time

async def warm_up_and_announce(registry, session, *arguments):
    await warm_up(registry, session, *arguments)
    session.context.options.announce()  # what the test waits for
    before.update(sys.modules)
    built.clear()

def note_and_build(model, **options):
    built.append(model.__name__)
    return build.__func__(model, **options)

def report(code):
    late = sorted(set(sys.modules) - before)
    print("imported", *late, "built", *built, file=sys.stderr, flush=True)
    leave(code)

SessionRegistry.warm_up = warm_up_and_announce
BaseModel.model_rebuild = classmethod(note_and_build)
handshake.exit_process = report
__main__.main()
"""


def test_a_first_prompt_imports_only_its_script_and_builds_no_model(tmp_path: Path) -> None:
    _, _, _, *arguments = command_line(tmp_path)
    command = [sys.executable, "-c", PROGRAM, *arguments]
    variables = {"PYTHONDONTWRITEBYTECODE": "1"}  # nor is code stored, which imports more
    with start_server(tmp_path, command=command, variables=variables) as server:
        server.initialize()
        session = server.new_session(str(tmp_path))
        while json_at(server.receive_update(), "params", "update", "sessionUpdate") != ANNOUNCEMENT:
            continue
        assert "result" in server.prompt(session)
        server.close_stdin()
        server.wait()
        assert server.stderr() == f"imported {PLAYER} built\n"
