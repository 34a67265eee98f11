"""Brings the changes of a sub-agent's worktree into the workspace, through the gated edit flow.

All files are one edit: shown as diffs, asked about once, covered by the checkpoint. Changes
that the user or another agent made meanwhile stay, and those that no longer fit are reported.
"""

from collections.abc import Sequence

from anyio import to_thread

from acp_server.permissions.gate import Gate
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.subagents.worktrees import FileContents, TreeChange
from acp_server.tools.agents.merging import merge_text
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.edit.edit_flow import EditFlow, EditServices, PlannedChange
from acp_server.tools.files.encoding import convert_newlines
from acp_server.tools.files.errors import FileError
from acp_server.turn.events import CallAppeared, CallChanged
from acp_server.turn.ports import TurnSink

TITLE = "Bring back the changes of the worktree"
NO_CHANGES = "[It worked in a git worktree of its own, which is removed, and changed nothing.]"
BROUGHT_BACK = (
    "[It worked in a git worktree of its own, which is removed. In the workspace: {what}]"
)
NOT_BROUGHT_BACK = "Not brought back: {what}"
NOT_TEXT = "{name}: it is no text file of at most 10 MB"
CONFLICT = "{name}: the file has changed meanwhile; these hunks were not applied:\n{hunks}"
WHOLE_CONFLICT = "{name}: {reason}"
MAX_CONFLICT_CHARACTERS = 8_000


@frozen_dataclass
class _Plan:
    changes: Sequence[PlannedChange]
    left: Sequence[str]
    """Files and hunks that are not brought back, each with the reason."""


async def bring_back(
    changes: Sequence[TreeChange], services: EditServices, call_id: str, sink: TurnSink
) -> str:
    """Apply changes to the workspace; return the outcome for the model."""
    if not changes:
        return NO_CHANGES
    await sink.emit(CallAppeared(call_id, "patch", "edit", TITLE))
    gate: Gate = services.gate
    gate.enter_queue(call_id, "patch")
    left: Sequence[str] = ()

    async def plan() -> Sequence[PlannedChange]:
        nonlocal left
        found = await _plan(changes, services)
        left = found.left
        return found.changes

    try:
        flow = EditFlow(services, CallReporter(call_id, sink))
        outcome = await flow.run([each.path for each in changes], plan, can_retry=True)
        text, shown, has_failed = outcome.text, outcome.shown, outcome.is_error
    except FileError as error:
        text, shown, has_failed = error.reason, None, True
    finally:
        gate.leave_queue(call_id)
    status = "failed" if has_failed else "completed"
    await sink.emit(CallChanged(call_id, status, content=shown))
    report = BROUGHT_BACK.format(what=text or "nothing")
    return "\n".join((report, *(NOT_BROUGHT_BACK.format(what=each) for each in left)))


async def _plan(changes: Sequence[TreeChange], services: EditServices) -> _Plan:
    planned: list[PlannedChange] = []
    left: list[str] = []
    for change in changes:
        name = services.display_path(change.path)
        before, after = _text(change.before), _text(change.after)
        if (before is None and change.before.exists) or (after is None and change.after.exists):
            left.append(NOT_TEXT.format(name=name))
            continue
        resolved = await services.resolve(str(change.path))
        current = await services.files.read_if_exists(resolved)
        present = None if current is None else convert_newlines(current.text, "\n")
        if present == after:
            continue
        if before is None or after is None or present is None:
            if present == before:
                planned.append(PlannedChange(resolved, current, after))
            else:
                reason = _whole_conflict(before, after, present)
                left.append(WHOLE_CONFLICT.format(name=name, reason=reason))
            continue
        merged = await to_thread.run_sync(merge_text, before, after, present)
        if merged.text != present:
            planned.append(PlannedChange(resolved, current, merged.text))
        if merged.conflicts:
            hunks = "\n".join(merged.conflicts)[:MAX_CONFLICT_CHARACTERS]
            left.append(CONFLICT.format(name=name, hunks=hunks))
    return _Plan(planned, left)


def _whole_conflict(before: str | None, after: str | None, present: str | None) -> str:
    if after is None:
        return "the sub-agent deleted it, but it has changed meanwhile"
    if before is None:
        return "the sub-agent created it, but it exists by now with another text"
    return "the sub-agent changed it, but it is deleted by now" if present is None else "it differs"


def _text(contents: FileContents) -> str | None:
    """Return the text of a file with plain newlines; None if it does not exist or is no text."""
    if contents.data is None or b"\0" in contents.data:
        return None
    try:
        return convert_newlines(contents.data.decode("utf-8-sig"), "\n")
    except UnicodeDecodeError:
        return None
