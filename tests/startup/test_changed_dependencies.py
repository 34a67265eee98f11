"""A dependency that changed makes the server slower, never broken; one warning tells of it."""

import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.startup.changed_dependencies import (
    CHANGES,
    CHANGES_BY_DEPENDENCY,
    COLLECTOR,
    DATACLASSES,
    DISPATCHER,
    LATE_MODELS,
    PLUGINS,
    SDK,
    TYPED_DICTS,
    WATCH_IMPORT,
    Change,
)
from tests.support.editor import json_at
from tests.support.messages_api import KEY, bad_request, call, messages_api_in_thread, reply
from tests.support.server_process import start_server

FROM_THE_START: Sequence[str] = (sys.executable, "-m", "acp_server")
OPTIMISATIONS = (
    *(SDK, PLUGINS, TYPED_DICTS, LATE_MODELS),
    *(DATACLASSES, DISPATCHER, COLLECTOR, WATCH_IMPORT),
)
WITHOUT = """
import sys
from acp_server.startup import fallback

fast_or_plain = fallback.fast_or_plain

def choose(title, fast, plain, **options):
    is_removed = title.startswith({titles!r})
    return plain() if is_removed else fast_or_plain(title, fast, plain, **options)

fallback.fast_or_plain = choose
from acp_server.__main__ import main
main()
"""
"""Starts the server without some of its optimisations."""


SLOWER = "the slower way is used"
LOGGED = re.compile(r"\d{4}-\d\d-\d\d ")
"""Begins each line of the log; a traceback has further lines."""


def write_plugin(folder: Path) -> None:
    """Install a plug-in of pydantic that gives itself away when it is loaded."""
    (folder / "listening_plugin.py").write_text("raise RuntimeError('a plug-in was loaded')")
    metadata = folder / "listening_plugin-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: listening-plugin\nVersion: 1")
    (metadata / "entry_points.txt").write_text("[pydantic]\nlistening = listening_plugin:plugin")


def check_session(
    folder: Path, *changes: Change, command: Sequence[str] = FROM_THE_START
) -> Sequence[str]:
    """Answer two prompts, the second with an error of the endpoint; return the lines on stderr."""
    home, copies, project = folders = [folder / name for name in ("home", "copies", "project")]
    for each in folders:
        each.mkdir()
    for change in changes:
        change.write(copies)
    write_plugin(copies)
    (project / "notes.txt").write_text("Be kind.")
    script = [reply(call("read_file", path="notes.txt")), "It says so.", bad_request("Too odd.")]
    with messages_api_in_thread(script) as api:
        variables = {
            "ANTHROPIC_BASE_URL": api.url,
            "ANTHROPIC_API_KEY": KEY,
            "PYTHONPATH": os.pathsep.join((str(copies), str(Path.cwd()))),
            # the copies share the bytecode of the installed packages
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        with start_server(
            home, command=(*command, "serve"), variables=variables, new_interpreter=True
        ) as server:
            server.initialize()
            session = server.new_session(str(project))
            answer = server.prompt(session)
            assert json_at(answer, "result", "stopReason") == "end_turn", answer
            assert server.agent_text().endswith("It says so.")
            assert "Be kind." in str(api.model_requests[1].body)
            assert "Too odd." in str(server.prompt(session))
            server.close_stdin()
            server.receive_until_end()
            assert server.wait() == 0
            return server.stderr().splitlines()


def check_warnings(lines: Sequence[str], *changes: Change) -> None:
    """Check that each change is told of in one line of its own, and nothing else is."""
    expected = sorted(change.warning for change in changes if change.warning)
    shown = [next((each for each in expected if each in line), line) for line in lines]
    assert sorted(shown) == expected


# the first of each, and the second, import the SDK as a whole, which takes seconds
@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.full)])
def test_a_prompt_is_answered_although_every_dependency_changed(
    tmp_path: Path, number: int
) -> None:
    changes = [[*changes.values()][number] for changes in CHANGES_BY_DEPENDENCY.values()]
    check_warnings(check_session(tmp_path, *changes), *changes)


@pytest.mark.full
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_prompt_is_answered_although_a_dependency_changed(tmp_path: Path, change: Change) -> None:
    check_warnings(check_session(tmp_path, change), change)


@pytest.mark.full
def test_nothing_is_logged_with_the_installed_dependencies(tmp_path: Path) -> None:
    assert check_session(tmp_path) == []


REMOVALS = [
    # the whole SDK takes seconds to import, and a changed one is imported so above
    pytest.param(OPTIMISATIONS[1:], id="all but the SDK's"),
    pytest.param(OPTIMISATIONS, id="all", marks=pytest.mark.full),
    *(pytest.param((each,), marks=pytest.mark.full) for each in OPTIMISATIONS),
]


@pytest.mark.parametrize("removed", REMOVALS)
def test_a_prompt_is_answered_without_an_optimisation(
    tmp_path: Path, removed: tuple[str, ...]
) -> None:
    program = WITHOUT.format(titles=removed)
    assert check_session(tmp_path, command=(sys.executable, "-c", program)) == []


def test_an_sdk_that_cannot_be_imported_fails_each_prompt_until_it_is_mended(
    tmp_path: Path,
) -> None:
    """And of all else that is installed, nothing is logged."""
    home, copies = tmp_path / "home", tmp_path / "copies"
    broken = copies / "anthropic" / "__init__.py"
    for folder in (home, broken.parent):
        folder.mkdir(parents=True)
    broken.write_text("raise RuntimeError('half installed')")
    write_plugin(copies)
    with messages_api_in_thread(["Here I am."]) as api:
        variables = {
            "ANTHROPIC_BASE_URL": api.url,
            "ANTHROPIC_API_KEY": KEY,
            "PYTHONPATH": os.pathsep.join((str(copies), str(Path.cwd()))),
        }
        command = (*FROM_THE_START, "serve")
        with start_server(
            home, command=command, variables=variables, new_interpreter=True
        ) as server:
            server.initialize()
            session = server.new_session(str(tmp_path))
            for _ in range(2):
                error = server.prompt(session)["error"]
                assert "RuntimeError: half installed" in str(json_at(error, "data", "details"))
            shutil.rmtree(broken.parent)
            assert json_at(server.prompt(session), "result", "stopReason") == "end_turn"
            assert server.agent_text().endswith("Here I am.")
            server.close_stdin()
            server.receive_until_end()
            assert server.wait() == 0
            lines = server.stderr().splitlines()
    logged = [line for line in lines if LOGGED.match(line) or SLOWER in line]
    assert {"the API client could not be imported" in line for line in logged} == {True}
