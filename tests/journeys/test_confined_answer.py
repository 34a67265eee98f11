"""One answer for all that the sandbox confines: what passes, what asks, and what is kept."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from acp_server.permissions.questions import PermissionChoiceId
from tests.journeys.day import DayConfig, open_day
from tests.journeys.model_seat import ModelProgram, WriteProgram
from tests.journeys.shop_repository import Repository
from tests.journeys.shown_request import ShownRequest
from tests.journeys.user import AskedQuestion, FormAnswer
from tests.permissions.confined_attempts import ASKED, HELD, PASSED, SECRET
from tests.support.editor import Object
from tests.support.messages_api import call
from tests.tools.confinement.sandbox_setup import needs_sandbox

FIRST = "python3 -c 'print(0)'"
FILES = {
    "a.py": "x = 1\n",
    "run.sh": "#!/bin/sh\necho run\n",
    "Makefile": "test:\n\t@echo tested\n",
    ".env": f"KEY={SECRET}\n",
    "conf/server.pem": SECRET,
    ".vscode/tasks.json": "{}",
    ".github/workflows/ci.yml": "on: push\n",
    ".gitignore": ".env\nconf/\n",
    "shop/__init__.py": "",
}
KEPT = (".env", "conf/server.pem", ".vscode", ".github", ".git/config", ".git/hooks")
CALLS_OF_A_TURN = 80
EVERYTHING: PermissionChoiceId = "allow_confined"
steps = pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.full)])
"""Every fifth command, or all; `tests/permissions/test_shielded_files.py` judges all of them."""


def create_repository(root: Path) -> Repository:
    repository = Repository(root)
    for name, text in FILES.items():
        repository.write(name, text)
    (root / "run.sh").chmod(0o755)
    repository.git("init", "-q", "-b", "main")
    repository.git("config", "user.name", "Test")
    repository.git("config", "user.email", "test@example.org")
    repository.git("add", "-A")
    repository.git("commit", "-q", "-m", "Begin")
    return repository


def kept_state(root: Path) -> dict[str, str]:
    paths = [path for name in KEPT for path in (root / name, *sorted((root / name).rglob("*")))]
    return {str(path): path.read_text() for path in paths if path.is_file()}


def choose_everything(question: AskedQuestion) -> str | FormAnswer | None:
    return EVERYTHING if EVERYTHING in question.choices else "reject_once"


def run_commands(
    tmp_path: Path, commands: Sequence[Object], settings: Object | None = None
) -> tuple[list[AskedQuestion], dict[str, str]]:
    """Run commands in one session; return the questions, and what each command printed."""
    repository = create_repository(tmp_path / "shop")
    before = kept_state(repository.root)
    printed: dict[str, str] = {}

    def write_program(part: Sequence[Object]) -> WriteProgram:
        def work(shown: ShownRequest) -> ModelProgram:
            for arguments in part:
                shown = yield call("terminal", **arguments)
                printed[str(arguments)] = shown.results[-1]
            return "Done."

        return work

    with open_day(tmp_path, DayConfig(settings=settings or {})) as day:
        day.user.policy = choose_everything
        session = day.open_session(repository.root, "confined")
        # A turn has a limited number of requests.
        for number, start in enumerate(range(0, len(commands), CALLS_OF_A_TURN)):
            part = commands[start : start + CALLS_OF_A_TURN]
            session.prompt(f"Work on part {number}.", write_program(part))
        assert kept_state(repository.root) == before
        assert not (tmp_path / "outside.txt").exists()
        return list(day.user.questions), printed


@needs_sandbox
@steps
def test_after_one_answer_the_sandbox_keeps_what_passes_and_the_rest_asks(
    tmp_path: Path, step: int
) -> None:
    assert len(set(ASKED)) >= 100
    passing = (FIRST, *PASSED[::step], *HELD.values())
    asking: list[Object] = [{"command": each} for each in ASKED[::step]]
    flags = ("network", "unconfined")
    asking += [cast("Object", {"command": "python3 x.py", flag: True}) for flag in flags]
    lines: list[Object] = [*({"command": each} for each in passing), *asking]
    questions, printed = run_commands(tmp_path, lines)
    assert questions[0].text == f"`{FIRST}`"
    assert [each.answer for each in questions] == [EVERYTHING, *["reject_once"] * len(asking)]
    rejected = [command for command, text in printed.items() if "rejected" in text]
    assert rejected == [str(each) for each in asking]
    assert len(printed) == len(lines)
    assert not any(SECRET in text for text in printed.values())


@needs_sandbox
def test_the_answer_is_not_offered_if_commands_have_the_whole_network(tmp_path: Path) -> None:
    questions, _ = run_commands(tmp_path, [{"command": FIRST}], {"sandbox": {"network": "on"}})
    assert [each.answer for each in questions] == ["reject_once"]


def test_the_answer_is_not_offered_without_a_sandbox(tmp_path: Path) -> None:
    questions, _ = run_commands(tmp_path, [{"command": FIRST}], {"sandbox": {"mode": "off"}})
    assert [each.answer for each in questions] == ["reject_once"]
