"""Report of a run: all facts of its result, independent of the output format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from acp_server.headless.run.changes import WorkspaceChanges
from acp_server.headless.run.denials import Denial, EffectTarget
from acp_server.headless.run.findings import ReviewFinding
from acp_server.headless.run.outcome import EXIT_CODES, Outcome
from acp_server.turn.loop import UsageTotals


@dataclass(slots=True)
class RunReport:
    """Report of a run, filled during the run; valid whenever the run ends."""

    outcome: Outcome = "internal_error"
    reason: str = ""
    """Message for the user: why the run was not successful, and what to do."""
    text: str = ""
    """The model's last message."""
    session_id: str = ""
    model: str = ""
    stop_reason: str = ""
    usage: UsageTotals = field(default_factory=UsageTotals)
    duration_seconds: float = 0.0
    denials: list[Denial] = field(default_factory=list[Denial])
    left_undone: tuple[EffectTarget, ...] = ()
    answer: JsonValue = None
    """The last message as a JSON value; None if no schema was given."""
    answer_problems: tuple[str, ...] = ()
    """Validation problems of the answer."""
    findings: tuple[ReviewFinding, ...] = ()
    changes: WorkspaceChanges = field(default_factory=WorkspaceChanges)
    reviewed_files: Sequence[str] = ()
    """Files of the reviewed change, relative to the repository root."""
    loaded: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """`instructions` and `skills`, as reported by the server."""

    @property
    def exit_code(self) -> int:
        """The exit code of the process."""
        return EXIT_CODES[self.outcome]
