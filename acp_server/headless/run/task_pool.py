"""Runs many tasks concurrently, each in its own process, git worktree and session.

A failing task does not affect the others; each has an entry in the report.
"""

import json
import signal
import subprocess
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import anyio
from anyio.abc import Process
from pydantic import JsonValue

from acp_server.headless.run.outcome import Outcome
from acp_server.headless.run.report import RunReport, result_as_json
from acp_server.headless.run.task_list import RunTask
from acp_server.headless.run.worktrees import WorktreeError, WorktreeFactory

TERMINATE_SECONDS = 8.0
"""Time for a terminated task to print its result before it is killed."""
OUTCOMES_BY_SEVERITY: tuple[Outcome, ...] = (
    *("interrupted", "terminated", "internal_error", "usage_error", "authentication"),
    *("provider_error", "refused", "budget", "timeout", "session_not_found", "denied", "findings"),
    "done",
)
NOT_STARTED_REASON = "the run was ended before this task started"

Json = dict[str, JsonValue]
Arguments = Callable[[RunTask], Sequence[str]]
"""Returns the command line options for a task."""


@dataclass(frozen=True, slots=True)
class TaskEntry:
    """Report entry of one task."""

    task: RunTask
    result: Json
    patch: Path
    log: Path

    @property
    def outcome(self) -> Outcome:
        """The outcome of the task."""
        return worst_outcome([cast("Outcome", self.result["outcome"])])

    def as_json(self) -> Json:
        """Return the entry as JSON for the report."""
        has_patch = self.patch.is_file() and self.patch.stat().st_size > 0
        return {
            "id": self.task.id,
            "outcome": self.outcome,
            "patch": str(self.patch) if has_patch else None,
            "log": str(self.log),
            "result": self.result,
        }


@dataclass(slots=True)
class TaskPool:
    """Runs tasks, at most `jobs` at a time."""

    worktrees: WorktreeFactory
    output: Path
    """Directory for results, patches and logs."""
    arguments: Arguments
    jobs: int
    command: Sequence[str]
    """Command that runs one task, read from its stdin; options are appended."""
    on_ended: Callable[[TaskEntry], Awaitable[None]]
    """Awaited with the entry of each ended task."""
    entries: dict[str, TaskEntry] = field(default_factory=dict[str, TaskEntry], init=False)

    async def run(self, tasks: Sequence[RunTask]) -> None:
        """Run all tasks; those not started or interrupted have an entry too."""
        limiter = anyio.CapacityLimiter(self.jobs)
        try:
            async with anyio.create_task_group() as group:
                for task in tasks:
                    group.start_soon(self._run_task, task, limiter)
        finally:
            for task in tasks:
                self.entries.setdefault(
                    task.id, self._entry(task, failed_result("terminated", NOT_STARTED_REASON))
                )

    async def _run_task(self, task: RunTask, limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            try:
                async with self.worktrees.create(task.id) as folder:
                    result = await self._run_process(task, folder)
            except (WorktreeError, OSError) as error:
                result = failed_result("internal_error", str(error))
        entry = self.entries[task.id] = self._entry(task, result)
        text = json.dumps(entry.as_json(), indent=1)
        with suppress(OSError):  # not essential: the report has the entry too
            await anyio.Path(self.output / f"{task.id}.json").write_text(text)
        await self.on_ended(entry)

    async def _run_process(self, task: RunTask, folder: Path) -> Json:
        command = (*self.command, *self.arguments(task))
        common_options = ("--cwd", str(folder), "--format", "json", "--no-github")
        patch = ("--patch", str(self._file(task, "patch")))
        with self._file(task, "log").open("wb") as log:
            process = await anyio.open_process(
                (*command, *common_options, *patch),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
            output = bytearray()
            try:
                await _communicate(process, task.prompt.encode(errors="replace"), output)
            finally:
                with anyio.CancelScope(shield=True):
                    await _terminate(process, output)
                    partial_result = _parse_result(output)
                    if partial_result is not None:
                        self.entries[task.id] = self._entry(task, partial_result)
        result, code = _parse_result(output), process.returncode
        if result is not None:
            return result
        reason = f"exited with code {code} without a result; see its log"
        if code is not None and code < 0:
            reason = f"was killed by {signal.Signals(-code).name}"
        return failed_result("internal_error", f"the process of this task {reason}")

    def _entry(self, task: RunTask, result: Json) -> TaskEntry:
        return TaskEntry(task, result, self._file(task, "patch"), self._file(task, "log"))

    def _file(self, task: RunTask, kind: str) -> Path:
        return self.output / f"{task.id}.{kind}"


def failed_result(outcome: Outcome, reason: str) -> Json:
    """Return a result for a task that printed none."""
    return result_as_json(RunReport(outcome=outcome, reason=reason))


def worst_outcome(outcomes: Collection[Outcome]) -> Outcome:
    """Return the most severe outcome, which the whole run ends with."""
    for outcome in OUTCOMES_BY_SEVERITY:
        if outcome in outcomes:
            return outcome
    return "done"


async def _communicate(process: Process, stdin_data: bytes, output: bytearray) -> None:
    """Send the task to the process and collect its stdout until it exits."""
    assert process.stdin is not None  # noqa: S101  both are pipes
    assert process.stdout is not None  # noqa: S101
    try:
        await process.stdin.send(stdin_data)
        await process.stdin.aclose()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # the process has already exited: its exit code is reported
    async for piece in process.stdout:
        output += piece
    await process.wait()


async def _terminate(process: Process, output: bytearray) -> None:
    """Terminate a process that still runs, so that it prints its result; kill it after that."""
    if process.returncode is None:
        process.terminate()
        with anyio.move_on_after(TERMINATE_SECONDS):
            async for piece in process.stdout or ():
                output += piece
            await process.wait()
        if process.returncode is None:
            process.kill()
    await process.aclose()


def _parse_result(output: bytearray) -> Json | None:
    try:
        value = cast("JsonValue", json.loads(output))
    except ValueError:
        return None
    return value if isinstance(value, dict) and value.get("type") == "result" else None
