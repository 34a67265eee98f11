"""`acp-server prompt show --session`: the prompt that a session was begun with."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio
import pytest

from acp_server.history.archive import LazyArchive
from acp_server.session.ports.archive import SavedSystem, SessionFacts
from acp_server.turn.conversation import Text, UserMessage
from tests.cli.command_line import run

USED = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
PROMPT = SavedSystem("You are kept.", "claude-opus-5", USED, {"report": {"characters": 13}})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with three sessions, one of them without a prompt."""
    anyio.run(partial(_store_sessions, tmp_path / "acp" / "sessions.db"))
    return tmp_path


async def _store_sessions(path: Path) -> None:
    archive = LazyArchive(path)
    for session_id, system in (("aa11", PROMPT), ("aa22", replace(PROMPT, text="B")), ("b", None)):
        facts = SessionFacts(session_id, Path("/code"), USED, USED, system=system)
        archive.create(facts).append(UserMessage((Text("hello"),)))
    await archive.close()


def test_a_stored_prompt_is_printed_by_session_id_prefix(home: Path) -> None:
    outcome = run(home, "prompt", "show", "--session", "aa1")
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (0, "You are kept.\n", "")


def test_json_output_of_a_stored_prompt_also_names_its_session(home: Path) -> None:
    outcome = run(home, "prompt", "show", "--session", "aa11", "--json")
    assert json.loads(outcome.stdout) == {
        "session": "aa11",
        "model": "claude-opus-5",
        "written_at": "2026-03-01T12:30:00+00:00",
        "text": "You are kept.",
        "report": {"characters": 13},
        "notices": [],
    }


@pytest.mark.parametrize(
    ("arguments", "exit_code", "word"),
    [
        (["aa"], 1, "several sessions start with 'aa'; give more of the ID: "),
        (["nope"], 1, "no session 'nope'"),
        (["b"], 1, "session b has no stored system prompt"),
        (["aa11", "--model", "x"], 2, "cannot be used with --cwd or --model"),
        (["aa11", "--cwd", "/"], 2, "cannot be used with --cwd or --model"),
    ],
    ids=["several", "unknown", "no prompt", "with a model", "with a folder"],
)
def test_a_prompt_that_cannot_be_shown_is_reported(
    home: Path, arguments: list[str], exit_code: int, word: str
) -> None:
    outcome = run(home, "prompt", "show", "--session", *arguments)
    assert (outcome.exit_code, outcome.stdout) == (exit_code, "")
    assert word in outcome.stderr


def test_a_home_without_sessions_has_no_stored_prompt_and_gets_no_database(tmp_path: Path) -> None:
    outcome = run(tmp_path, "prompt", "show", "--session", "aa")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert not (tmp_path / "acp" / "sessions.db").exists()
