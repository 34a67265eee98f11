"""The tool call that a confined command runs for: it is asked what the command may reach."""

import math
from dataclasses import dataclass, field

import anyio

from acp_server.permissions.effects import Effect
from acp_server.permissions.gate import Gate
from acp_server.permissions.questions import PermissionQuestion
from acp_server.session.commands.markdown import fenced_block
from acp_server.turn.conversation import Text


@dataclass(slots=True)
class HostAnswer:
    """Whether a command may connect to a host."""

    lock: anyio.Lock = field(default_factory=anyio.Lock)
    refusal: str | None = None
    """The reason why not; empty if it may, None until it is known."""


@dataclass(slots=True)
class CommandOrigin:
    """The call of a command, with the gate of its conversation."""

    call_id: str
    command: str
    gate: Gate
    answers: "dict[tuple[str, str], HostAnswer]" = field(
        default_factory=dict[tuple[str, str], "HostAnswer"]
    )
    """What the user said about a site and an address; it holds until the command ends."""
    refused_sockets: list[str] = field(default_factory=list[str])
    """The Unix sockets that it was not allowed to connect to, without a question."""
    unreachable_sites: dict[str, str] = field(default_factory=dict[str, str])
    """The sites that this machine could not connect to although that was allowed, and why."""
    _time_limit: anyio.CancelScope | None = None
    _questions: int = 0
    _seconds_left: float = math.inf

    @property
    def refused_sites(self) -> list[str]:
        """The sites that the command was not allowed to connect to."""
        return list(dict.fromkeys(site for (site, _), each in self.answers.items() if each.refusal))

    def limit_time(self, scope: anyio.CancelScope) -> None:
        """Register the time limit of the command, which stands still while the user is asked."""
        self._time_limit = scope

    async def ask(self, effect: Effect, title: str) -> str:
        """Return why the command may not have an effect; empty if the gate allows it.

        The time limit stands still meanwhile.
        """
        shown = (Text(fenced_block(self.command, "sh")),)
        question = PermissionQuestion(
            self.call_id, effect, title, "execute", shown, is_awaited=False
        )
        self._pause()
        try:
            refusal = await self.gate.authorize(question)
        finally:
            self._resume()
        return "" if refusal is None else refusal.reason

    def _pause(self) -> None:
        """Stop the time limit; each call is followed by one of `_resume`."""
        self._questions += 1
        if self._questions == 1 and self._time_limit is not None:
            self._seconds_left = self._time_limit.deadline - anyio.current_time()
            self._time_limit.deadline = math.inf

    def _resume(self) -> None:
        """Let the time limit go on once no question is open."""
        self._questions -= 1
        if self._questions == 0 and self._time_limit is not None:
            self._time_limit.deadline = anyio.current_time() + self._seconds_left
