"""A file that keeps becoming a link and a file again while calls are made of it.

The swapping goes on in a thread, for as many rounds as there are calls. Which of them succeed is
chance; that none reads or writes behind the link without a question is not.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acp_server.permissions.modes import Mode
from tests.permissions.file_attempts import Attempt
from tests.permissions.stage import MARKER, Recorder, Stage, acting, set_up
from tests.permissions.test_red_team_delegation import Puppet

ROUNDS = 12
"""How often each call is made."""
DELETION = "*** Begin Patch\n*** Delete File: swap.txt\n*** End Patch"
CALLS: dict[str, Attempt] = {
    "read": ("read_file", {"path": "swap.txt"}),
    "write": ("write_file", {"path": "swap.txt", "content": "written\n"}),
    "patch": ("patch", {"path": "swap.txt", "old_string": "less", "new_string": "ful"}),
    "delete": ("patch", {"mode": "patch", "patch": DELETION}),
}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return set_up(tmp_path)


@contextmanager
def swapping(file: Path, target: Path) -> Generator[None]:
    """Have a path be a link to something and a file of its own by turns, without a gap."""
    aside, is_over = file.with_name("aside"), threading.Event()

    def swap() -> None:
        while not is_over.is_set():
            aside.symlink_to(target)
            aside.replace(file)
            aside.write_text("harmless\n")
            aside.replace(file)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@pytest.mark.parametrize("mode", ["ask", "accept_edits", "plan"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
async def test_nothing_is_reached_through_a_link_that_comes_and_goes(
    stage: Stage, call: Attempt, mode: Mode
) -> None:
    far = stage.outside / "plans.txt"
    async with acting(stage, mode) as actor:
        with swapping(stage.root / "swap.txt", far):
            for _ in range(ROUNDS):
                outcome = await actor.call(*call)
                assert MARKER not in outcome.text
    assert not any(MARKER in repr(event) for event in actor.screen.events)
    assert far.read_text() == f"{MARKER}\n"


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
async def test_a_yes_to_the_file_is_none_to_where_the_link_leads(
    stage: Stage, call: Attempt
) -> None:
    """All questions are answered with yes: of those about the link, none is asked of the user."""
    far = stage.outside / "plans.txt"
    user = Recorder("allow_once")
    async with acting(stage, "ask", user) as actor:
        with swapping(stage.root / "swap.txt", far):
            for _ in range(ROUNDS):
                user.questions.clear()
                outcome = await actor.call(*call)
                was_asked = any(str(far) in repr(each.effect) for each in user.questions)
                assert was_asked or MARKER not in outcome.text
                assert was_asked or far.read_text() == f"{MARKER}\n"
                far.write_text(f"{MARKER}\n")


async def test_nor_by_a_sub_agent(stage: Stage) -> None:
    far, puppet = stage.outside / "plans.txt", Puppet()
    stage.model, puppet.stage = puppet, stage
    async with acting(stage, "accept_edits") as actor:
        with swapping(stage.root / "swap.txt", far):
            puppet.attempts = list(CALLS.values()) * (ROUNDS // 2)
            await actor.call("delegate_task", {"goal": "try"})
    assert len(puppet.results) == len(puppet.attempts)
    assert not any(MARKER in result.text for result in puppet.results)
    assert far.read_text() == f"{MARKER}\n"
