"""The checkpoints of one session, for the commands `/undo` and `/checkpoints`.

An undo creates a checkpoint itself, so it can be undone. A message in the conversation tells the
model about it; if the conversation is rewound too, this message replaces the removed messages.
"""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from acp_server.checkpoints.errors import CheckpointError
from acp_server.checkpoints.manager import CheckpointManager
from acp_server.checkpoints.records import TurnRecord
from acp_server.checkpoints.turn_range import TurnRange
from acp_server.session.context import SessionContext
from acp_server.session.conversation_rewinds import Rewinding
from acp_server.session.errors import RestoreRefusedError, UnknownCheckpointError
from acp_server.session.ids import new_id
from acp_server.session.ports.checkpoints import RestoreReport, RestoreScope
from acp_server.session.recorder import make_title
from acp_server.session.steering import prompt_parts
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.display_paths import display_path
from acp_server.tools.edit.edit_flow import EditServices
from acp_server.tools.edit.restore import Restorer, RestoreResult
from acp_server.tools.edit.restore_plan import RestorePlan, RestorePlanner
from acp_server.turn.conversation import (
    AssistantMessage,
    Text,
    UserMessage,
)
from acp_server.turn.ports import TurnSink

CONVERSATION_FLAG = "--conversation"
MAX_LISTED = 20
MAX_NAMED = 20
ALL_UNDONE = (
    "Every turn is undone already. Use `/checkpoints` to list the undos, and `/undo NUMBER` to "
    "reverse one."
)
NOTHING_TO_UNDO = (
    "There is nothing to undo: no turn of this session has a checkpoint with changed files."
)
CHECKPOINTS_OFF = "Checkpoints are off. Turn them on with the setting `checkpoints.enabled`."
UNKNOWN_CHECKPOINT = "There is no checkpoint `{name}`. Use `/checkpoints` to list them."
USAGE = (
    "Usage: `/undo [NUMBER or ID] [--conversation]`. Use `/checkpoints` to list numbers and ids."
)
CANNOT_REWIND = (
    "The conversation cannot be rewound to that turn: it was compacted since, or the turn is no "
    "longer in it. Nothing was changed. Use `/undo {name}` to restore the files only."
)
CANNOT_RESTORE = (
    "That undo removed no messages that are still known, so the conversation cannot be restored. "
    "Nothing was changed. Use `/undo {name}` to restore the files only."
)
CANNOT_REWIND_TO = (
    "The conversation cannot be rewound to that message: it was compacted since. Nothing was "
    "changed. The scope `files` restores the files only."
)
ACKNOWLEDGEMENT = "(Noted.)"


class _UndoError(Exception):
    """The undo cannot be done. The text is for the user."""


@frozen_dataclass
class _UndoRequest:
    """Parsed arguments of `/undo`; `name` is empty for the last turn."""

    name: str
    should_rewind: bool


@frozen_dataclass
class _UndoTarget:
    """The turns to undo, under the id and title of the first."""

    checkpoint: str
    title: str
    turns: TurnRange
    rewinding: Rewinding | None
    """None if the conversation stays."""


@frozen_dataclass
class _Undone:
    """Result of an undo, and the id of its own checkpoint."""

    checkpoint: str
    plan: RestorePlan
    restored: RestoreResult
    is_rewound: bool


@dataclass(slots=True)
class SessionCheckpoints:
    """Records the file changes of one session's turns, and undoes them."""

    session: SessionContext
    services: EditServices
    manager: CheckpointManager
    root: Path
    """The session's directory, links resolved; shown paths are relative to it."""

    @asynccontextmanager
    async def record_turn(self, prompt: UserMessage) -> AsyncGenerator[None]:
        """Record the file changes made inside this context."""
        async with self.manager.turn(make_title(prompt_parts(prompt))):
            yield
        await self.manager.prune()

    async def describe(self) -> str:
        """Return the checkpoints as a Markdown table, the latest first."""
        if not self.manager.is_enabled:
            return CHECKPOINTS_OFF
        records = await self.manager.records()
        rows = [_table_row(number, record) for number, record in enumerate(records[:MAX_LISTED], 1)]
        if not rows:
            return NOTHING_TO_UNDO
        head = "| | ID | When | Turn | Files |\n|---|---|---|---|---|"
        return "\n".join([head, *rows]) + (
            "\n\nUse `/undo NUMBER` to restore the files to their state before that turn."
        )

    async def undo(self, arguments: str, sink: TurnSink) -> str:
        """Restore the files the user permits; return Markdown that reports the result."""
        if not self.manager.is_enabled:
            return CHECKPOINTS_OFF
        try:
            request = _parse_arguments(arguments)
            record = await self._select_record(request)
            title = record.origin.title
            rewinding: Rewinding | None = None
            if request.should_rewind:
                rewinds = self.session.rewinds
                rewinding = rewinds.find(record.id)
                if rewinding is None and not record.origin.undoes:
                    rewinding = rewinds.find_titled(title)
                if rewinding is None:
                    reason = CANNOT_RESTORE if record.origin.undoes else CANNOT_REWIND
                    return reason.format(name=request.name or record.id)
            turns = TurnRange((await self.manager.complete(record),))
            undone = await self._undo(_UndoTarget(record.id, title, turns, rewinding), sink)
            return self._describe_result(title, turns, undone)
        except _UndoError as error:
            return str(error)
        except CheckpointError as error:
            return f"Nothing was undone: {error.reason}."

    async def _select_record(self, request: _UndoRequest) -> TurnRecord:
        records = await self.manager.records()
        if request.name:
            by_name = {str(number): record for number, record in enumerate(records, 1)}
            by_name |= {record.id: record for record in records}
            if request.name not in by_name:
                raise _UndoError(UNKNOWN_CHECKPOINT.format(name=request.name))
            return by_name[request.name]
        turns = (each for each in records if not each.is_undone and not each.origin.undoes)
        record = next(turns, None)
        if record is None:
            raise _UndoError(ALL_UNDONE if records else NOTHING_TO_UNDO)
        return record

    async def restore(self, checkpoint: str, scope: RestoreScope, sink: TurnSink) -> RestoreReport:
        """Restore the state before a prompt or an undo of this session.

        Raises:
            UnknownCheckpointError: the session has no such checkpoint.
            RestoreRefusedError: it cannot be restored; nothing was changed.
        """
        if not self.manager.is_enabled:
            raise RestoreRefusedError(CHECKPOINTS_OFF)
        records = [each for each in await self.manager.records() if each.id >= checkpoint]
        is_recorded = any(each.id == checkpoint for each in records)
        if checkpoint not in self.session.checkpoint_ids and not is_recorded:
            raise UnknownCheckpointError(checkpoint)
        rewinding: Rewinding | None = None
        if scope != "files":
            rewinding = self.session.rewinds.find_next(checkpoint)
            if rewinding is None:
                raise RestoreRefusedError(CANNOT_REWIND_TO)
        self.session.checkpoint_ids.create()
        try:
            chosen = [] if scope == "conversation" else records
            turns = TurnRange([await self.manager.complete(each) for each in chosen])
        except CheckpointError as error:
            raise RestoreRefusedError(f"Nothing was restored: {error.reason}.") from error
        title = records[-1].origin.title if is_recorded else "an earlier prompt"
        undone = await self._undo(_UndoTarget(checkpoint, title, turns, rewinding), sink)
        left = {**turns.omitted, **undone.plan.obstacles, **undone.restored.failures}
        left = {path: reason for path, reason in left.items() if path}
        return RestoreReport(tuple(undone.restored.done), left, undone.checkpoint)

    async def _undo(self, target: _UndoTarget, sink: TurnSink) -> _Undone:
        turns, rewinding = target.turns, target.rewinding
        planner = RestorePlanner(self.services, self.manager)
        plan = await planner.exclude_unreadable(await planner.plan(turns))
        restorer = Restorer(self.services, self.manager, sink, new_id)
        async with self.manager.turn(f"Undo of “{target.title}”", target.checkpoint) as undo:
            notes = self._uncovered_files_note(turns)
            restored = await restorer.restore(plan, notes, turns.folders)
        # A partial undo does not count as one: `/undo` must offer the same record again.
        is_complete = not restored.failures and bool(restored.done or not plan.steps)
        if is_complete:
            await self.manager.mark_undone(turns.records, undo)
        is_rewound = rewinding is not None and (is_complete or bool(restored.done))
        self._note_in_conversation(target, restored, undo, is_rewound=is_rewound)
        return _Undone(undo, plan, restored, is_rewound)

    def _uncovered_files_note(self, turns: TurnRange) -> Sequence[str]:
        """Return a note about the files without a checkpoint, to be shown before any question."""
        entries = [
            f"{self._display_name(path) if path else 'files changed by commands'}: {reason}"
            for path, reason in turns.omitted.items()
        ]
        if not entries:
            return ()
        more = f"\n- and {len(entries) - MAX_NAMED} more" if len(entries) > MAX_NAMED else ""
        lines = "\n".join(f"- {each}" for each in entries[:MAX_NAMED])
        return (f"These files have no checkpoint and are not restored:\n{lines}{more}",)

    def _note_in_conversation(
        self, target: _UndoTarget, restored: RestoreResult, undo: str, *, is_rewound: bool
    ) -> None:
        """Append a message about the undo to the conversation, and rewind it if asked to."""
        conversation, rewinding = self.session.conversation, target.rewinding
        if not restored.done and not is_rewound:
            return
        names = self._display_names(restored.done) or "none"
        notice = f"[The user has undone “{target.title}”. Brought back: {names}.]"
        pair = (UserMessage((Text(notice),)), AssistantMessage((Text(ACKNOWLEDGEMENT),)))
        # Rewinding needs a rebuild, which invalidates the prompt cache; appending does not.
        if not is_rewound or rewinding is None:
            for message in pair:
                conversation.append(message)
            return
        # What the model read in the removed messages, it has no longer seen.
        self.session.seen_files.forget_all()
        self.session.rewinds.apply(rewinding, target.checkpoint, undo, pair)
        self.session.totals.context_tokens = 0  # measured before the rewind, so no longer valid

    def _describe_result(self, title: str, turns: TurnRange, undone: _Undone) -> str:
        lines: list[str] = []
        plan, restored = undone.plan, undone.restored
        if restored.done:
            names = self._display_names(restored.done)
            lines.append(
                f"Restored to before “{title}”: {names}. Use `/checkpoints` to reverse this."
            )
        elif not plan.steps and not plan.obstacles:
            lines.append(f"All files are already as they were before “{title}”.")
        else:
            lines.append("No file was restored.")
        failures = restored.failures.items()
        lines += [
            f"- {self._display_name(path)} was not restored: {reason}" for path, reason in failures
        ]
        lines += self._uncovered_files_note(turns)
        if undone.is_rewound:
            lines.append("The conversation was restored to the same point.")
        return "\n".join(lines)

    def _display_names(self, paths: Sequence[str]) -> str:
        more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
        return ", ".join(map(self._display_name, paths[:MAX_NAMED])) + more

    def _display_name(self, path: str) -> str:
        return f"`{display_path(Path(path), self.root)}`"


def _parse_arguments(arguments: str) -> _UndoRequest:
    """Parse the arguments of `/undo`.

    Raises:
        _UndoError: They are invalid.
    """
    words = arguments.split()
    names = [word for word in words if word != CONVERSATION_FLAG]
    if len(names) > 1 or any(word.startswith("-") for word in names):
        raise _UndoError(USAGE)
    return _UndoRequest(names[0] if names else "", CONVERSATION_FLAG in words)


def _table_row(number: int, record: TurnRecord) -> str:
    when = time.strftime("%d %b %H:%M", time.localtime(record.origin.started_at))
    count = len(record.changes) if record.is_closed else len(record.edits)
    files = f"{count}" if record.is_closed else f"{count or 'unknown'} (interrupted)"
    more = f", {len(record.omitted)} without checkpoint" if record.omitted else ""
    undone = " (undone)" if record.is_undone else ""
    title = record.origin.title.replace("|", "\\|")
    return f"| {number} | `{record.id}` | {when} | {title}{undone} | {files}{more} |"
