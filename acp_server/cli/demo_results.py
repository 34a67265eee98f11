"""Script of the demo, read from `demo.toml`, and its results: measurements, checks, problems."""

import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from acp_server.cli.screen import count, duration
from acp_server.headless.process import AgentExit
from acp_server.headless.updates import Update
from acp_server.protocol.prompt_turn import StopReason
from acp_server.protocol.updates import (
    AgentMessageChunk,
    AgentThoughtChunk,
    ToolCallProgress,
    ToolCallStart,
)


class DemoStep(BaseModel):
    """A prompt of the demo, its caption, and after how many answer chunks to cancel it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    caption: str
    cancel_after_chunks: int | None = None
    failing_calls: int | None = 0
    """How many of its tool calls must fail; None if that is unknown."""

    @property
    def expected_stop_reason(self) -> StopReason:
        """Stop reason that the turn must end with."""
        return "end_turn" if self.cancel_after_chunks is None else "cancelled"


class DemoScript(BaseModel):
    """The steps of the demo; the first one fixes the project that consists of `files`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: tuple[DemoStep, ...]
    files: Mapping[str, str]


def load_demo_script() -> DemoScript:
    """Load the script from this package."""
    text = Path(__file__).with_name("demo.toml").read_text(encoding="utf-8")
    return DemoScript.model_validate(tomllib.loads(text))


@dataclass(frozen=True, slots=True)
class DemoCheckResult:
    """Result of one verification: its name, the facts and the problems."""

    name: str
    result: str
    problems: Sequence[str] = ()


@dataclass(slots=True)
class DemoTurn:
    """Measurements of one turn; times are from `time.perf_counter`."""

    step: DemoStep
    started_at: float
    chunks: int = 0
    """Chunks of reasoning and answer."""
    answer_chunks: int = 0
    call_ids: set[str] = field(default_factory=set[str])
    """Ids of tool calls; a set, because a call is reported again when it opens a terminal."""
    failed_calls: int = 0
    first_chunk_at: float | None = None
    cancelled_at: float | None = None
    ended_at: float = 0.0
    stop_reason: StopReason = "end_turn"

    def count_update(self, update: Update) -> None:
        """Count an update of this turn."""
        if isinstance(update, AgentMessageChunk | AgentThoughtChunk):
            self.chunks += 1
            self.answer_chunks += isinstance(update, AgentMessageChunk)
            self.first_chunk_at = self.first_chunk_at or time.perf_counter()
        if isinstance(update, ToolCallStart):
            self.call_ids.add(update.tool_call_id)
        self.failed_calls += isinstance(update, ToolCallProgress) and update.status == "failed"

    @property
    def should_cancel(self) -> bool:
        """Whether the turn should be cancelled now."""
        limit = self.step.cancel_after_chunks
        return limit is not None and self.answer_chunks >= limit and self.cancelled_at is None

    @property
    def problems(self) -> Iterator[str]:
        """Yield deviations from the expected stop reason and failed calls."""
        prompt, reason = self.step.prompt, self.stop_reason
        if reason != self.step.expected_stop_reason:
            yield f"{prompt!r} ended with {reason}, not {self.step.expected_stop_reason}"
        must_fail = self.step.failing_calls
        if must_fail is not None and self.failed_calls != must_fail:
            yield f"{prompt!r}: {self.failed_calls} tool calls failed, not {must_fail}"


@dataclass(slots=True)
class DemoSummary:
    """Result of the demo."""

    turns: list[DemoTurn] = field(default_factory=list[DemoTurn])
    updates: int = 0
    questions: int = 0
    seconds: float = 0.0
    exit: AgentExit | None = None
    findings: Sequence[DemoCheckResult] = ()

    @property
    def problems(self) -> list[str]:
        """Problems of the turns, the verification and the server's exit."""
        found = [problem for turn in self.turns for problem in turn.problems]
        found += [problem for finding in self.findings for problem in finding.problems]
        if self.exit is not None and self.exit.code != 0:
            found.append(f"the server ended with exit code {self.exit.code}")
        return found

    @property
    def counts(self) -> Sequence[str]:
        """The counts and the duration as texts."""
        return (
            count(len(self.turns), "prompt"),
            count(self.updates, "update"),
            count(sum(turn.chunks for turn in self.turns), "chunk"),
            count(sum(len(turn.call_ids) for turn in self.turns), "call"),
            count(self.questions, "question"),
            duration(self.seconds),
        )
