"""Behind a gate that refuses everything no tool has an effect; the system itself is the witness."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import cast

import anyio
import pytest

from acp_server.tools.tool_names import TOOL_NAMES
from tests.permissions.refusing import ALLOWED, ATTEMPTS, REFUSED, main
from tests.support.forked_function import run_in_fork
from tests.support.user_texts import NO_SUCH_BACKGROUND_COMMAND, NO_SUCH_TOOL, NOT_READ

WITHOUT_EFFECT = {"todo", "clarify", "session_search", "skills_list", "skill_view"}
"""What shows, asks, or reads what this program itself keeps."""
OUT_OF_REACH = {
    **dict.fromkeys(("exit_plan", "memory", "skill_manage"), NO_SUCH_TOOL),
    "process": NO_SUCH_BACKGROUND_COMMAND,
    "write_file over a file": NOT_READ,
}
"""What a task does not have, not even refused; the session's commands in the background are none
of its own, and what the session has read, a task has not."""
AttemptResults = Mapping[str, tuple[str, Sequence[str]]]
"""By what was tried: what the tool answered, and what was heard of the system meanwhile."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> AttemptResults:
    folder = tmp_path_factory.mktemp("refused")

    def run() -> str:
        sys.dont_write_bytecode = True  # no import may write a file
        os.environ.clear()  # noqa: TID251  of the fork
        os.environ["PATH"] = os.defpath  # noqa: TID251
        return json.dumps(anyio.run(main, folder))

    code, output = run_in_fork(run)
    assert code == 0, output
    return cast("AttemptResults", json.loads(output))


def test_every_tool_with_an_effect_is_tested() -> None:
    tried = {name for name, _ in ATTEMPTS.values()}
    assert tried == {*TOOL_NAMES, "s__tool"} - WITHOUT_EFFECT - {"delegate_task"}


@pytest.mark.parametrize("name", ATTEMPTS.keys())
def test_a_refused_call_has_no_effect(results: AttemptResults, name: str) -> None:
    answer, effects = results[name]
    assert REFUSED in answer
    assert effects == []


@pytest.mark.parametrize("name", ATTEMPTS.keys())
def test_a_refused_call_of_a_sub_agent_has_no_effect(results: AttemptResults, name: str) -> None:
    answer, effects = results[f"{name}, by a sub-agent"]
    assert OUT_OF_REACH.get(name, REFUSED) in answer
    assert effects == []


def test_a_refused_undo_has_no_effect(results: AttemptResults) -> None:
    answer, effects = results["an undo"]
    assert (REFUSED in answer, effects) == (True, [])


def test_refused_calls_leave_the_disk_unchanged(results: AttemptResults) -> None:
    assert results["the disk"] == ["as before", []]


@pytest.mark.parametrize("name", ALLOWED)
def test_an_allowed_call_is_detected(results: AttemptResults, name: str) -> None:
    """Else the silence of the others would mean nothing."""
    _, effects = results[f"{name}, allowed"]
    assert effects != []
