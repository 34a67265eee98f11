"""What came of a run: all that its result says, before any format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from acp_server.headless.run.changes import Changes
from acp_server.headless.run.denials import Denial, Target
from acp_server.headless.run.findings import Finding
from acp_server.headless.run.outcome import EXIT_CODES, Outcome
from acp_server.turn.loop import Spent


@dataclass(slots=True)
class Report:
    """Grows while the run goes on; it is true whenever the run ends."""

    outcome: Outcome = "internal_error"
    reason: str = ""
    """Why it is no success, and what to do, for a person."""
    text: str = ""
    """The model's last message."""
    session_id: str = ""
    model: str = ""
    stop_reason: str = ""
    spent: Spent = field(default_factory=Spent)
    duration_seconds: float = 0.0
    denials: list[Denial] = field(default_factory=list[Denial])
    left_undone: tuple[Target, ...] = ()
    answer: JsonValue = None
    """The last message as the value that a schema describes; None without one."""
    answer_problems: tuple[str, ...] = ()
    """What the schema finds wrong with it."""
    findings: tuple[Finding, ...] = ()
    changes: Changes = field(default_factory=Changes)
    reviewed: Sequence[str] = ()
    """The files of the change that the task came with, from the top of the repository."""
    loaded: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """`instructions` and `skills`, as the server has told them."""

    @property
    def exit_code(self) -> int:
        """What the process ends with."""
        return EXIT_CODES[self.outcome]
