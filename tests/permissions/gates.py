"""Permission gates for two files and a directory, and a user whose answers the test gives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio import lowlevel

from acp_server.permissions.effects import FileTarget, RunCommandEffect, SandboxStatus, WriteFiles
from acp_server.permissions.facts import FactCollector
from acp_server.permissions.gate import PermissionGate
from acp_server.permissions.modes import Mode
from acp_server.permissions.questions import (
    PermissionChoice,
    PermissionChoiceId,
    PermissionQuestion,
)
from acp_server.permissions.rule_store import RuleStore
from tests.support.timeouts import HANG_TIMEOUT_SECONDS


@dataclass(slots=True)
class OpenQuestion:
    """A permission request that waits for `answer`."""

    question: PermissionQuestion
    choices: Sequence[PermissionChoice]
    _answer: PermissionChoiceId | None = None
    _is_answered: anyio.Event = field(default_factory=anyio.Event)

    @property
    def call_id(self) -> str:
        return self.question.call_id

    def answer(self, answer: PermissionChoiceId | None) -> None:
        self._answer = answer
        self._is_answered.set()

    async def wait(self) -> PermissionChoiceId | None:
        await self._is_answered.wait()
        return self._answer


@dataclass(slots=True)
class ManualUser:
    """Records permission requests and never answers by itself."""

    asked: list[OpenQuestion] = field(default_factory=list[OpenQuestion])
    max_open: int = 0
    _open: int = 0

    async def ask(
        self, question: PermissionQuestion, choices: Sequence[PermissionChoice]
    ) -> PermissionChoiceId | None:
        asked = OpenQuestion(question, choices)
        self.asked.append(asked)
        self._open += 1
        self.max_open = max(self.max_open, self._open)
        try:
            return await asked.wait()
        finally:
            self._open -= 1

    async def wait_for_question(self, number: int) -> OpenQuestion:
        """Wait for the request with this index."""
        await wait_until(lambda: len(self.asked) > number)
        return self.asked[number]


async def wait_until(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        while not is_so():
            await lowlevel.checkpoint()  # lets the gate's tasks run, without a wall-clock wait


@dataclass(slots=True)
class GateSetup:
    """A directory and its permission gates."""

    base: Path
    mode: Mode = "ask"
    user: ManualUser = field(default_factory=ManualUser)
    cancelled_at: list[str] = field(default_factory=list[str])

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
            cancel_turn=lambda: self.cancelled_at.append("turn"),
            facts=FactCollector((self.root,), self.base / "home", self.base / "own"),
            store=self.store,
            root=self.root,
        )

    def target(self, name: str) -> FileTarget:
        path = self.root / name
        real = path.resolve()
        return FileTarget(path, real, is_inside=real.is_relative_to(self.root))

    def edit(self, call_id: str, name: str = "src/a.py") -> PermissionQuestion:
        return PermissionQuestion(call_id, WriteFiles((self.target(name),)), f"Edit {name}", "edit")

    def command(
        self,
        call_id: str,
        command: str,
        directory: str = ".",
        sandbox_status: SandboxStatus = "free",
    ) -> PermissionQuestion:
        target = self.target(directory)
        effect = RunCommandEffect(command, target, sandbox_status=sandbox_status)
        return PermissionQuestion(call_id, effect, command, "execute")
