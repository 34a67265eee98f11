"""`acp-server sessions`, over sessions that an archive has kept."""

import json
import os
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio
import pytest

from acp_server.cli.screen import TerminalScreen
from acp_server.cli.session_printer import SessionPrinter
from acp_server.history.archive import LazyArchive
from acp_server.session.ports.archive import SessionFacts
from acp_server.turn.conversation import AssistantMessage, Text, UserMessage
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    MessageChunk,
    PlanChanged,
    PlanEntry,
    PromptReceived,
    ThoughtChunk,
)
from acp_server.turn.usage_totals import UsageTotals
from tests.cli.command_line import CliResult, run
from tests.cli.fake_terminal import FakeTerminal
from tests.cli.test_demo_on_a_terminal import on_a_terminal, read_until
from tests.support.user_texts import CANNOT_BE_READ, OPEN_IN_ANOTHER_PROCESS

USED = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
NEW, OLD = "aa11", "aa22"


@dataclass(frozen=True, slots=True)
class Home:
    """A home with two sessions: a new one in /new, and an old one in /old."""

    folder: Path

    def sessions(self, *arguments: str) -> CliResult:
        return run(self.folder, "sessions", *arguments)

    @property
    def database(self) -> Path:
        return self.folder / "acp" / "sessions.db"

    def find_ids(self) -> list[str]:
        return [each["id"] for each in json.loads(self.sessions("list", "--json").stdout)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    anyio.run(partial(_store_sessions, tmp_path / "acp" / "sessions.db"))
    return Home(tmp_path)


async def _store_sessions(path: Path) -> None:
    archive = LazyArchive(path)
    for session_id, cwd, at in (
        (OLD, "/old", datetime(2020, 1, 1, tzinfo=UTC)),
        (NEW, "/new", USED),
    ):
        title = f"kumquats in {cwd}"
        journal = archive.create(SessionFacts(session_id, Path(cwd), at, at, title=title))
        journal.begin_turn()
        journal.show(PromptReceived("p", (Text(title),)))
        journal.append(UserMessage((Text(title),)))
        journal.show(ThoughtChunk("t", "a thought\x9b2J\u202e"))
        journal.show(CallAppeared("c", "terminal", "execute", "Run make"))
        journal.show(CallChanged("c", "completed"))
        journal.show(PlanChanged((PlanEntry("first", "completed"), PlanEntry("then", "pending"))))
        journal.show(MessageChunk("m", "There are \x1b[31mnone."))
        journal.append(AssistantMessage((Text("There are none."),)))
        journal.end_turn()
        journal.sync()
        await journal.close()
    await archive.close()


def test_sessions_are_listed_newest_first(home: Home) -> None:
    listed = home.sessions("list")
    assert (listed.exit_code, listed.stderr) == (0, "")
    first, second = listed.stdout.splitlines()
    assert first.endswith(f"{NEW}  kumquats in /new  /new")
    assert second.endswith(f"{OLD}  kumquats in /old  /old")
    assert "\x1b" not in listed.stdout
    limited = home.sessions("list", "--limit", "1")
    assert len(limited.stdout.splitlines()) == 1
    assert limited.stderr == "There are more: use --limit 2.\n"


def list_with_costs(width: int, *costs: float | None) -> list[str]:
    """Return what a terminal of this width shows of sessions with these costs."""
    sessions = [
        SessionFacts(
            f"aa{number}",
            Path("/home/me/a/deep/directory/of/a/project"),
            USED,
            USED,
            title="A title that is rather long",
            usage=UsageTotals(cost_usd=cost),
        )
        for number, cost in enumerate(costs)
    ]
    output = FakeTerminal()
    screen = TerminalScreen(file=output)
    screen.width = width
    SessionPrinter(screen).print_list(sessions)
    return [line for line in output.text.splitlines() if line]


def test_the_list_has_costs_and_fits_the_terminal() -> None:
    lines = list_with_costs(80, 1.5, None, 0.0042)
    assert [line[18:30] for line in lines] == [
        "aa0    $1.50",
        "aa1         ",
        "aa2  $0.0042",
    ]
    assert all(len(line) <= 80 for line in lines)
    assert all(line.endswith("/a/project") for line in lines)
    assert "$" not in list_with_costs(80, None)[0]


def test_the_list_can_be_filtered_by_directory_and_printed_as_json(home: Home) -> None:
    (session,) = json.loads(home.sessions("list", "--cwd", "/old", "--json").stdout)
    assert session == {
        "id": OLD,
        "title": "kumquats in /old",
        "cwd": "/old",
        "created_at": "2020-01-01T00:00:00+00:00",
        "updated_at": "2020-01-01T00:00:00+00:00",
        "mode": "ask",
        "model_id": None,
        "input_tokens": 0,
        "output_tokens": 0,
        "cost_usd": None,
    }


def test_a_session_is_shown_by_id_prefix(home: Home) -> None:
    shown = home.sessions("show", "aa1")
    assert (shown.exit_code, shown.stderr) == (0, "")
    for line in ("you: kumquats in /new", "tool: Run make (completed)", "plan: [x] first"):
        assert line in shown.stdout
    assert "agent: There are \ufffd[31mnone." in shown.stdout
    assert "a thought" not in shown.stdout
    messages = json.loads(home.sessions("show", NEW, "--json").stdout)["said"]
    assert messages[0] == {"speaker": "user", "text": "kumquats in /new"}


def test_in_a_terminal_a_session_is_shown_as_a_running_one(home: Home) -> None:
    terminal, process = on_a_terminal(home.folder, "sessions", "show", NEW)
    text = re.sub("\x1b\\[[0-9;]*m", "", read_until(terminal, b"(never)").decode())
    os.close(terminal)
    assert process.wait() == 0
    assert "  $ execute         Run make  \u2713 completed\r\n" in text
    assert "    plan            \u2713 first\r\n" in text
    assert "you:" not in text
    assert "a thought" not in text


@pytest.mark.parametrize(
    ("name", "session_id", "problem"),
    [
        ("show", "zz", "no session 'zz'"),
        ("export", "zz", "no session 'zz'"),
        ("delete", "zz", "no session 'zz'"),
        ("delete", "", "no session ''"),
        ("delete", "aa", f"several sessions start with 'aa'; give more of the ID: {NEW}, {OLD}"),
    ],
    ids=["show unknown", "export unknown", "delete unknown", "delete nothing", "delete several"],
)
def test_an_ambiguous_or_unknown_id_is_refused(
    home: Home, name: str, session_id: str, problem: str
) -> None:
    outcome = home.sessions(name, session_id)
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr.startswith(f"acp-server sessions: {problem}")


def test_a_search_shows_the_context_of_each_hit(home: Home) -> None:
    found = home.sessions("search", "kumquats", "new")
    first, second = found.stdout.splitlines()
    assert first.endswith(f"{NEW}  kumquats in /new  1 hit")
    assert second == "    you: kumquats in /new"
    results = json.loads(home.sessions("search", "kumquats", "--cwd", "/old", "--json").stdout)
    assert [each["id"] for each in results["hits"]] == [OLD]
    assert home.sessions("search", "melons") == CliResult(0, "No matches found.\n", "")


def test_a_session_is_exported(home: Home) -> None:
    output = home.sessions("export", NEW).stdout
    assert "a thought\\u009b2J\\u202e" in output, "no data controls a terminal"
    lines = output.splitlines()
    exported = [json.loads(line) for line in lines]
    assert exported[0]["session"]["id"] == NEW
    assert [each["entry"]["type"] for each in exported if "entry" in each] == [
        "PromptReceived",
        "ThoughtChunk",
        "CallRecord",
        "PlanChanged",
        "MessageChunk",
    ]
    (part,) = exported[-1]["message"]["parts"]
    assert (part["type"], part["text"]) == ("Text", "There are none.")
    document = home.sessions("export", NEW, "--format", "md").stdout
    assert document == (
        "# kumquats in /new\n\n/new, 2026-03-01 12:30 UTC\n\n## User\n\nkumquats in /new\n\n"
        "> Run make (completed)\n\n> [x] first\n> [ ] then\n\n"
        "## Assistant\n\nThere are \ufffd[31mnone.\n"
    )


def test_a_session_is_exported_for_others(home: Home) -> None:
    page = home.sessions("export", NEW, "--format", "html").stdout
    assert "<!doctype html>" in page
    assert "Run make" in page
    shown = json.loads(home.sessions("export", NEW, "--format", "json").stdout)
    assert shown["id"] == NEW
    assert shown["said"][0] == {"speaker": "user", "text": "kumquats in /new"}


def test_a_deleted_session_is_removed_from_searches(home: Home) -> None:
    assert home.sessions("delete", "aa1") == CliResult(0, f"Deleted {NEW}\n", "")
    assert home.find_ids() == [OLD]
    found = json.loads(home.sessions("search", "kumquats", "--json").stdout)
    assert [each["id"] for each in found["hits"]] == [OLD]


def test_old_sessions_are_pruned(home: Home) -> None:
    dry = home.sessions("prune", "--older-than", "1y", "--dry-run")
    assert dry.stdout.splitlines()[-1] == "1 session would be deleted"
    assert OLD in dry.stdout
    assert home.find_ids() == [NEW, OLD]
    assert home.sessions("prune", "--older-than", "1y").stdout == "1 session deleted\n"
    assert home.find_ids() == [NEW]
    again = json.loads(home.sessions("prune", "--older-than", "1y", "--json").stdout)
    assert again == {"deleted": [], "in_use": [], "is_dry_run": False}


@pytest.mark.parametrize("age", ["90", "x", "-1d", "1.5d", ""])
def test_an_invalid_age_is_a_usage_error(tmp_path: Path, age: str) -> None:
    outcome = run(tmp_path, "sessions", "prune", f"--older-than={age}")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "is not an age; write it like 12h, 90d, 8w, 6m or 1y" in outcome.stderr


def test_a_session_open_in_another_process_is_neither_deleted_nor_pruned(home: Home) -> None:
    async def hold() -> tuple[CliResult, CliResult]:
        archive = LazyArchive(home.database)
        journal = await archive.resume(OLD)
        outcomes = (
            await anyio.to_thread.run_sync(home.sessions, "delete", OLD),
            await anyio.to_thread.run_sync(home.sessions, "prune", "--older-than", "1y"),
        )
        await journal.close()
        await archive.close()
        return outcomes

    deleted, pruned = anyio.run(hold)
    assert (deleted.exit_code, deleted.stdout) == (1, "")
    assert f"is {OPEN_IN_ANOTHER_PROCESS}" in deleted.stderr
    assert pruned.stdout == "0 sessions deleted\n1 session in use, kept\n"
    assert home.find_ids() == [NEW, OLD]


def test_a_home_without_a_database_has_no_sessions_and_gets_no_database(tmp_path: Path) -> None:
    assert run(tmp_path, "sessions", "list") == CliResult(0, "No sessions found.\n", "")
    assert run(tmp_path, "sessions", "search", "x") == CliResult(0, "No matches found.\n", "")
    assert run(tmp_path, "sessions", "show", "x").exit_code == 1
    assert not (tmp_path / "acp").exists()


@pytest.mark.parametrize("arguments", [["list"], ["search", "x"]], ids=["list", "search"])
def test_a_database_of_a_newer_version_is_reported(home: Home, arguments: list[str]) -> None:
    with closing(sqlite3.connect(home.database)) as connection:
        connection.execute("PRAGMA user_version = 99")
    outcome = home.sessions(*arguments)
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr.startswith("acp-server sessions: ")
    assert "newer version" in outcome.stderr


def test_a_damaged_database_is_reported_and_not_moved(home: Home) -> None:
    home.database.write_bytes(b"no database" * 500)
    outcome = home.sessions("list")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert CANNOT_BE_READ in outcome.stderr
    assert home.database.read_bytes() == b"no database" * 500
