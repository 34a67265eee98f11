"""Counts the questions that recorded sessions would have brought.

`python -m tests.permissions.measure_questions sessions.jsonl` reads an object a line:
`{"agent": "name", "root": "/workspace", "commands": [{"command": "ls", "cwd": "/workspace"}]}`. It
prints a table for users who answer each question for itself, and for users who take the widest
answer for the session, with and without a sandbox; then what the last of these questions are about.

The repositories are not there: files are taken to exist, settings of git to be harmless, remotes to
be at one host, and the tests and scripts that a session runs to be declared by its project.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NotRequired, TypedDict, cast
from unittest.mock import patch

from acp_server.permissions.effects import FileTarget, RunCommandEffect, SandboxStatus
from acp_server.permissions.facts import FactCollector
from acp_server.permissions.policy import Allow, Ask, CommandFacts, Decision, decide
from acp_server.permissions.questions import PermissionChoiceId, choices_for
from acp_server.permissions.rules import PermissionRule, RuleBook

WIDEST: tuple[PermissionChoiceId, ...] = ("allow_confined", "allow_checks", "allow_session")
OUTSIDE = "/outside"
MAX_CAUSES = 25


class RecordedCommand(TypedDict):
    """A command, and the directory that it ran in."""

    command: str
    cwd: NotRequired[str | None]


class RecordedSession(TypedDict):
    """The commands of a session, in order."""

    agent: str
    root: str
    commands: Sequence[RecordedCommand]


@dataclass(slots=True)
class QuestionCounts:
    """The questions of one kind of user."""

    passed: int = 0
    """Commands that pass without any answer."""
    refused: int = 0
    questions: list[int] = field(default_factory=list[int])
    """Questions by session."""
    causes: Counter[str] = field(default_factory=Counter[str])
    examples: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


@dataclass(frozen=True, slots=True)
class User:
    """A user by the answers that he takes, and by whether his commands are confined."""

    name: str
    takes_widest: bool
    sandbox: SandboxStatus


USERS = (
    User("each for itself", takes_widest=False, sandbox="confined"),
    User("the widest, in the sandbox", takes_widest=True, sandbox="confined"),
    User("the widest, without a sandbox", takes_widest=True, sandbox="free"),
)


def read_sessions(paths: Sequence[Path]) -> Iterator[RecordedSession]:
    """Yield the sessions of JSON Lines files."""
    for path in paths:
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                yield cast("RecordedSession", json.loads(line))


@contextmanager
def _without_repositories() -> Generator[None]:
    """Answer for the repositories, which are not there."""
    facts = "acp_server.permissions.facts"
    answers: dict[str, object] = {
        f"{facts}.find_git_doubt": "",
        f"{facts}.find_hosts": ("github.com",),
        f"{facts}.find_hook_directories": (),
        "acp_server.permissions.project_checks._declares": True,
    }
    with ExitStack() as stack:
        for name, answer in answers.items():
            stack.enter_context(patch(name, return_value=answer))
        yield


def _decide(collector: FactCollector, effect: RunCommandEffect, rules: RuleBook) -> Decision:
    return decide(collector.collect(effect), "ask", rules)


def _targets(session: RecordedSession, root: Path) -> Iterator[tuple[str, FileTarget]]:
    """Yield commands and directories, with the workspace in place of the recorded one."""
    recorded = session["root"].rstrip("/")
    for each in session["commands"]:
        text, cwd = each["command"], each.get("cwd") or recorded
        if recorded:
            text, cwd = (part.replace(recorded, str(root)) for part in (text, cwd))
        is_inside = cwd == str(root) or cwd.startswith(f"{root}/") or not cwd.startswith("/")
        place = root / cwd if is_inside else Path(OUTSIDE)
        yield text, FileTarget(place, place, is_inside=is_inside)


def play(session: RecordedSession, user: User, root: Path, counts: QuestionCounts) -> None:
    """Count the questions of one session."""
    collector = FactCollector((root,), root.parent / "home", root.parent / "own")
    rules, asked = RuleBook(), 0
    for text, cwd in _targets(session, root):
        effect = RunCommandEffect(
            text, cwd, sandbox_status=user.sandbox, is_isolated=user.sandbox == "confined"
        )
        decision = _decide(collector, effect, rules)
        if not isinstance(decision, Ask):
            is_unasked = isinstance(decision, Allow)
            counts.refused += not is_unasked
            counts.passed += is_unasked and isinstance(
                _decide(collector, effect, RuleBook()), Allow
            )
            continue
        asked += 1
        chosen = _widest(decision, root) if user.takes_widest else None
        if chosen is None:
            facts = cast("CommandFacts", collector.collect(effect))
            cause = _cause(facts, decision)
            counts.causes[cause] += 1
            counts.examples.append((cause, text))
        else:
            counts.causes["answered for the session"] += 1
            rules.rules.append(chosen)
    counts.questions.append(asked)


def _widest(decision: Ask, root: Path) -> PermissionRule | None:
    """Return the rule of the widest answer for the session; None if there is only "once"."""
    offered = {each.id: each.scope for each in choices_for(decision, root)}
    scopes = (scope for each in WIDEST if (scope := offered.get(each)) is not None)
    return next((PermissionRule(scope, is_allowed=True) for scope in scopes), None)


def _cause(facts: CommandFacts, decision: Ask) -> str:
    """Return what a question that no answer covers is about."""
    assessment = facts.assessment
    if facts.is_protected:
        return "names a protected file"
    if facts.outside or any("outside" in each for each in facts.doubts):
        return "outside the workspace"
    if assessment.removes_or_sends:
        return "removes or sends"
    return decision.reason[:70]


def measure(sessions: Sequence[RecordedSession]) -> dict[str, QuestionCounts]:
    """Return the counts_by_user by the names of users."""
    counts_by_user = {user.name: QuestionCounts() for user in USERS}
    with tempfile.TemporaryDirectory() as folder, _without_repositories():
        root = Path(folder).resolve() / "work"
        root.mkdir()
        for session in sessions:
            for user in USERS:
                play(session, user, root, counts_by_user[user.name])
    return counts_by_user


def table(counts_by_user: dict[str, QuestionCounts], count: int) -> Iterator[str]:
    """Yield the rows of a Markdown table; `count` is the number of commands."""
    first = next(iter(counts_by_user.values()))
    yield f"{count} commands of {len(first.questions)} sessions; {first.passed / count:.1%} pass"
    yield "| user | questions | share of the first | median | p90 |"
    yield "| --- | --- | --- | --- | --- |"
    most = sum(first.questions)
    for name, counts in counts_by_user.items():
        number = sum(counts.questions)
        deciles = statistics.quantiles([*counts.questions, *counts.questions], n=10)
        median = statistics.median(counts.questions)
        yield f"| {name} | {number} | {number / most:.0%} | {median:g} | {deciles[-1]:g} |"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Count the questions of recorded sessions.")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--examples", type=Path, help="write what asks to this file")
    options = parser.parse_args()
    sessions = list(read_sessions(options.files))
    counts_by_user = measure(sessions)
    count = sum(len(session["commands"]) for session in sessions)
    lines = [*table(counts_by_user, count)]
    for name, counts in [*counts_by_user.items()][1:]:
        lines += [
            "",
            name,
            *(f"{number:6} {cause}" for cause, number in counts.causes.most_common(25)),
        ]
    sys.stdout.write("\n".join(lines) + "\n")
    if options.examples is not None:
        examples = {name: counts.examples for name, counts in counts_by_user.items()}
        options.examples.write_text(json.dumps(examples, indent=1))


if __name__ == "__main__":
    main()
