"""Permission gates for two files and a directory, and a user whose answers the test gives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio import lowlevel

from acp_server.permissions.effects import RunCommand, Target, WriteFiles
from acp_server.permissions.facts import Surveyor
from acp_server.permissions.gate import PermissionGate
from acp_server.permissions.modes import Mode
from acp_server.permissions.questions import Choice, ChoiceId, Question
from acp_server.permissions.rule_store import RuleStore
from tests.support.timeouts import PATIENCE_SECONDS


@dataclass(slots=True)
class Asked:
    """A permission request that waits for `answer`."""

    question: Question
    choices: Sequence[Choice]
    _answer: ChoiceId | None = None
    _is_answered: anyio.Event = field(default_factory=anyio.Event)

    @property
    def call_id(self) -> str:
        return self.question.call_id

    def answer(self, answer: ChoiceId | None) -> None:
        self._answer = answer
        self._is_answered.set()

    async def wait(self) -> ChoiceId | None:
        await self._is_answered.wait()
        return self._answer


@dataclass(slots=True)
class User:
    """Records permission requests and never answers by itself."""

    asked: list[Asked] = field(default_factory=list[Asked])
    most_at_once: int = 0
    _open: int = 0

    async def ask(self, question: Question, choices: Sequence[Choice]) -> ChoiceId | None:
        asked = Asked(question, choices)
        self.asked.append(asked)
        self._open += 1
        self.most_at_once = max(self.most_at_once, self._open)
        try:
            return await asked.wait()
        finally:
            self._open -= 1

    async def question(self, number: int) -> Asked:
        """Wait for the request with this index."""
        await until(lambda: len(self.asked) > number)
        return self.asked[number]


async def until(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE_SECONDS):
        while not is_so():
            await lowlevel.checkpoint()  # lets the gate's tasks run, without a wall-clock wait


@dataclass(slots=True)
class Setting:
    """A directory and its permission gates."""

    base: Path
    mode: Mode = "ask"
    user: User = field(default_factory=User)
    cancelled: list[str] = field(default_factory=list[str])

    @property
    def root(self) -> Path:
        return self.base / "root"

    @property
    def store(self) -> RuleStore:
        return RuleStore(self.base / "own/permissions.json")

    def gate(self) -> PermissionGate:
        """Return the gate of a new session."""
        (self.root / "src").mkdir(parents=True, exist_ok=True)
        return PermissionGate(
            mode=lambda: self.mode,
            asker=self.user,
            cancel_turn=lambda: self.cancelled.append("turn"),
            surveyor=Surveyor((self.root,), self.base / "home", self.base / "own"),
            store=self.store,
            root=self.root,
        )

    def target(self, name: str) -> Target:
        path = self.root / name
        real = path.resolve()
        return Target(path, real, is_inside=real.is_relative_to(self.root))

    def edit(self, call_id: str, name: str = "src/a.py") -> Question:
        return Question(call_id, WriteFiles((self.target(name),)), f"Edit {name}", "edit")

    def command(self, call_id: str, command: str) -> Question:
        return Question(call_id, RunCommand(command, self.target(".")), command, "execute")
