"""Report of a run: all facts of its result, and the result as JSON, the same in all formats."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from acp_server.headless.run.changes import WorkspaceChanges
from acp_server.headless.run.denials import Denial, EffectTarget
from acp_server.headless.run.findings import ReviewFinding
from acp_server.headless.run.outcome import EXIT_CODES, Outcome
from acp_server.turn.usage_totals import UsageTotals
from acp_server.version import __version__

RESULT_VERSION = 1


@dataclass(slots=True)
class RunReport:
    """Report of a run, filled during the run; valid whenever the run ends."""

    outcome: Outcome = "internal_error"
    reason: str = ""
    """Message for the user: why the run was not successful, and what to do."""
    failure: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """`kind` of a failed model request, and `retry_after_seconds` if the provider named them."""
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
    """`instructions`, `skills` and `mcpUnavailable`, as reported by the server."""
    is_saved: bool = True
    """Whether the session can be continued."""

    replay: Mapping[str, JsonValue] | None = None
    """How a recording has answered the requests; None if a model did."""

    answered_by: Sequence[str] = ()
    """The models that have answered, as their endpoints name them."""
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    """SHA-256 of `prompt`, `tools`, `skills` and `settings`, as far as they are known."""

    @property
    def saved_session_id(self) -> str:
        """The id by which the session can be continued; empty if it is not saved."""
        return self.session_id if self.is_saved else ""

    @property
    def exit_code(self) -> int:
        """The exit code of the process."""
        return EXIT_CODES[self.outcome]


def result_as_json(report: RunReport) -> dict[str, JsonValue]:
    """Return the result. All keys are always present; unknown values are null."""
    usage = report.usage.usage
    return {
        "type": "result",
        "version": RESULT_VERSION,
        "outcome": report.outcome,
        "exit_code": report.exit_code,
        "reason": report.reason or None,
        "failure": dict(report.failure) or None,
        "text": report.text,
        "answer": report.answer,
        "answer_problems": list(report.answer_problems),
        "findings": [each.model_dump(mode="json") for each in report.findings],
        "session_id": report.saved_session_id or None,
        "model": report.model or None,
        "stop_reason": report.stop_reason or None,
        "duration_seconds": round(report.duration_seconds, 3),
        "usage": {
            "model_calls": report.usage.requests,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "cost_usd": report.usage.cost_usd,
        "permission_denials": [
            {
                "tool": each.tool,
                "call_id": each.call_id,
                "targets": [target_as_json(target) for target in each.targets],
                "reason": each.reason,
                "allow": each.allow_rule or None,
            }
            for each in report.denials
        ],
        "left_undone": [target_as_json(each) for each in report.left_undone],
        "files_changed": [
            {
                "path": each.path,
                "status": each.status,
                "lines_added": each.added,
                "lines_removed": each.removed,
            }
            for each in report.changes.files
        ],
        "changes_unknown": list(report.changes.unknown),
        "instructions_loaded": report.loaded.get("instructions", []),
        "skills_loaded": report.loaded.get("skills", []),
        "mcp_unavailable": report.loaded.get("mcpUnavailable", []),
        "server": __version__,
        "answered_by": ", ".join(report.answered_by) or None,
        "digests": dict(report.digests),
        "replay": None if report.replay is None else dict(report.replay),
    }


def target_as_json(target: EffectTarget) -> dict[str, JsonValue]:
    """Return the target of an effect as JSON."""
    return {"act": target.action, "name": target.name}
