"""The checkpoints of one session, for the commands `/undo` and `/checkpoints`.

An undo creates a checkpoint itself, so it can be undone. A message in the conversation tells the
model about it; if the conversation is rewound too, this message replaces the removed messages.
"""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from acp_server.checkpoints.errors import CheckpointError
from acp_server.checkpoints.manager import Keeper
from acp_server.checkpoints.records import Record
from acp_server.session.ids import new_id
from acp_server.session.recorder import title_of
from acp_server.session.session import Session
from acp_server.session.steering import prompt_parts
from acp_server.startup.fast_dataclass import frozen
from acp_server.tools.display_paths import shown
from acp_server.tools.edit.edit_flow import Workshop
from acp_server.tools.edit.restore import Restored, Restorer
from acp_server.tools.edit.restore_plan import Plan, Planner
from acp_server.turn.conversation import (
    AssistantMessage,
    Conversation,
    Message,
    Text,
    UserMessage,
)
from acp_server.turn.ports import Sink

CONVERSATION = "--conversation"
MOST_LISTED = 20
MOST_NAMED = 20
NOTHING = "There is nothing to undo: no turn of this session has a checkpoint with changed files."
OFF = "Checkpoints are off. Turn them on with the setting `checkpoints.enabled`."
UNKNOWN = "There is no checkpoint `{name}`. Use `/checkpoints` to list them."
USAGE = (
    "Usage: `/undo [NUMBER or ID] [--conversation]`. Use `/checkpoints` to list numbers and ids."
)
CANNOT_CUT = (
    "The conversation cannot be rewound to that turn: it was compacted since, or the turn is no "
    "longer in it. Nothing was changed. Use `/undo {name}` to restore the files only."
)
NOTED = "(Noted.)"


class _UndoError(Exception):
    """The undo cannot be done. The text is for the user."""


@frozen
class _Wish:
    """Parsed arguments of `/undo`; `name` is empty for the last turn."""

    name: str
    is_with_conversation: bool


@dataclass(slots=True)
class SessionCheckpoints:
    """Records the file changes of one session's turns, and undoes them."""

    session: Session
    workshop: Workshop
    keeper: Keeper
    root: Path
    """The session's directory, links resolved; shown paths are relative to it."""
    _cut: dict[str, tuple[Message, ...]] = field(
        default_factory=dict[str, tuple[Message, ...]], init=False
    )
    """Messages removed by undos of this process, by the id of the undone record."""

    @asynccontextmanager
    async def turn(self, prompt: UserMessage, conversation: Conversation) -> AsyncGenerator[None]:
        """Record the file changes made inside this context."""
        position, generation = len(conversation), conversation.generation

        def digest() -> str:
            # After a rebuild, `position` would name another message: then there is no digest, and
            # the conversation cannot be rewound to this turn.
            is_whole = conversation.generation == generation
            return _digest_at(conversation, position) if is_whole else ""

        async with self.keeper.turn(title_of(prompt_parts(prompt)), position, digest):
            yield
        await self.keeper.tidy()

    async def listing(self) -> str:
        """Return the checkpoints as a Markdown table, the latest first."""
        if not self.keeper.is_enabled:
            return OFF
        records = await self.keeper.records()
        rows = [_row(number, record) for number, record in enumerate(records[:MOST_LISTED], 1)]
        if not rows:
            return NOTHING
        head = "| | ID | When | Turn | Files |\n|---|---|---|---|---|"
        return "\n".join([head, *rows]) + (
            "\n\nUse `/undo NUMBER` to restore the files to their state before that turn."
        )

    async def undo(self, arguments: str, sink: Sink) -> str:
        """Restore the files the user permits; return Markdown that reports the result."""
        if not self.keeper.is_enabled:
            return OFF
        try:
            wish = _wish(arguments)
            record = await self._chosen(wish)
            if wish.is_with_conversation and not self._can_cut(record):
                return CANNOT_CUT.format(name=wish.name or record.id)
            return await self._undo(await self.keeper.completed(record), wish, sink)
        except _UndoError as error:
            return str(error)
        except CheckpointError as error:
            return f"Nothing was undone: {error.reason}."

    async def _chosen(self, wish: _Wish) -> Record:
        records = await self.keeper.records()
        if wish.name:
            by_name = {str(number): record for number, record in enumerate(records, 1)}
            by_name |= {record.id: record for record in records}
            if wish.name not in by_name:
                raise _UndoError(UNKNOWN.format(name=wish.name))
            return by_name[wish.name]
        turns = (each for each in records if not each.is_undone and not each.origin.undoes)
        record = next(turns, None)
        if record is None:
            raise _UndoError(NOTHING)
        return record

    async def _undo(self, record: Record, wish: _Wish, sink: Sink) -> str:
        planner = Planner(self.workshop, self.keeper)
        plan = await planner.without_lost(await planner.plan(record))
        title = f"Undo of “{record.origin.title}”"
        restorer = Restorer(self.workshop, self.keeper, sink, new_id)
        async with self.keeper.turn(title, len(self.session.conversation), str, record.id):
            notes = self._notes(record)
            restored = await restorer.restore(plan, notes, record.folders)
        # A partial undo does not count as one: `/undo` must offer the same record again.
        is_whole = not restored.left and bool(restored.done or not plan.steps)
        if is_whole:
            await self.keeper.note_undone(record, is_undone=True)
        has_cut = wish.is_with_conversation and (is_whole or bool(restored.done))
        self._tell_model(record, restored, has_cut=has_cut)
        return self._answer(record, plan, restored, has_cut=has_cut)

    def _notes(self, record: Record) -> Sequence[str]:
        """Return a note about the files without a checkpoint, to be shown before any question."""
        named = [
            f"{self._name(path) if path else 'files changed by commands'}: {reason}"
            for path, reason in record.unkept.items()
        ]
        if not named:
            return ()
        more = f"\n- and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
        lines = "\n".join(f"- {each}" for each in named[:MOST_NAMED])
        return (f"These files have no checkpoint and are not restored:\n{lines}{more}",)

    def _can_cut(self, record: Record) -> bool:
        conversation, origin = self.session.conversation, record.origin
        if origin.undoes:
            return origin.undoes in self._cut
        digest = record.prompt_digest
        return bool(digest) and _digest_at(conversation, origin.position) == digest

    def _tell_model(self, record: Record, restored: Restored, *, has_cut: bool) -> None:
        """Append a message about the undo to the conversation, and rewind it if asked to."""
        conversation = self.session.conversation
        if not restored.done and not has_cut:
            return
        names = self._names(restored.done) or "none"
        told = f"[The user has undone “{record.origin.title}”. Brought back: {names}.]"
        pair = (UserMessage((Text(told),)), AssistantMessage((Text(NOTED),)))
        # Rewinding needs a rebuild, which invalidates the prompt cache; appending does not.
        if not has_cut:
            for message in pair:
                conversation.append(message)
            return
        messages = tuple(conversation)
        if record.origin.undoes:
            conversation.rebuild((*messages, *self._cut.pop(record.origin.undoes), *pair))
        else:
            self._cut[record.id] = messages[record.origin.position :]
            conversation.rebuild((*messages[: record.origin.position], *pair))
        self.session.spent.context_tokens = 0  # measured before the rewind, so no longer valid

    def _answer(self, record: Record, plan: Plan, restored: Restored, *, has_cut: bool) -> str:
        lines: list[str] = []
        title = record.origin.title
        if restored.done:
            names = self._names(restored.done)
            lines.append(
                f"Restored to before “{title}”: {names}. Use `/checkpoints` to reverse this."
            )
        elif not plan.steps and not plan.obstacles:
            lines.append(f"All files are already as they were before “{title}”.")
        else:
            lines.append("No file was restored.")
        left = restored.left.items()
        lines += [f"- {self._name(path)} was not restored: {reason}" for path, reason in left]
        lines += self._notes(record)
        if has_cut:
            lines.append("The conversation was restored to the same point.")
        return "\n".join(lines)

    def _names(self, paths: Sequence[str]) -> str:
        more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
        return ", ".join(map(self._name, paths[:MOST_NAMED])) + more

    def _name(self, path: str) -> str:
        return f"`{shown(Path(path), self.root)}`"


def _wish(arguments: str) -> _Wish:
    """Parse the arguments of `/undo`.

    Raises:
        _UndoError: They are invalid.
    """
    words = arguments.split()
    names = [word for word in words if word != CONVERSATION]
    if len(names) > 1 or any(word.startswith("-") for word in names):
        raise _UndoError(USAGE)
    return _Wish(names[0] if names else "", CONVERSATION in words)


def _digest_at(conversation: Conversation, position: int) -> str:
    """Return a digest of the message at a position; empty if there is none."""
    messages = tuple(conversation)
    if position >= len(messages):
        return ""
    return blake2b(repr(messages[position]).encode(errors="replace"), digest_size=16).hexdigest()


def _row(number: int, record: Record) -> str:
    when = time.strftime("%d %b %H:%M", time.localtime(record.origin.started_at))
    count = len(record.changes) if record.is_closed else len(record.edits)
    files = f"{count}" if record.is_closed else f"{count or 'unknown'} (interrupted)"
    more = f", {len(record.unkept)} without checkpoint" if record.unkept else ""
    undone = " (undone)" if record.is_undone else ""
    title = record.origin.title.replace("|", "\\|")
    return f"| {number} | `{record.id}` | {when} | {title}{undone} | {files}{more} |"
