"""One model step: send a request, show the stream, and collect it as one reply."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never, cast

import anyio
from anyio import lowlevel, to_thread
from pydantic import JsonValue

from acp_server.text.surrogates import repair_surrogates
from acp_server.turn.call_access import CHANGES, READS, CallAccess, group_calls
from acp_server.turn.continuation import is_whole, whole_values
from acp_server.turn.conversation import (
    ProviderBlock,
    RedactedThinking,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    parse_arguments,
)
from acp_server.turn.errors import ModelFailedError, TurnError
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    CallContent,
    MessageChunk,
    NoticeRaised,
    ThoughtChunk,
    Usage,
)
from acp_server.turn.ports import (
    FastModeStopped,
    LiveCall,
    Model,
    ModelEvent,
    ModelRequest,
    ModelStop,
    Retrying,
    ServerToolCalled,
    ServerToolResult,
    TextCited,
    TextDelta,
    ThinkingDelta,
    ThinkingRedacted,
    ThinkingSigned,
    Toolbox,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
    ToolOutcome,
    TurnSink,
    UsageReported,
)

logger = logging.getLogger(__name__)

NewId = Callable[[], str]


@dataclass(slots=True)
class _StreamedMessage:
    """A text block, shown to the user as one message."""

    id: str
    chunks: list[str] = field(default_factory=list[str])
    citations: list[JsonValue] = field(default_factory=list[JsonValue])


@dataclass(slots=True)
class _StreamedThought:
    """A reasoning block."""

    id: str
    chunks: list[str] = field(default_factory=list[str])
    signature: str = ""


@dataclass(slots=True)
class _StreamedCall:
    """A tool call whose arguments are streaming in."""

    id: str
    name: str
    live: LiveCall
    chunks: list[str] = field(default_factory=list[str])
    is_complete: bool = False
    has_preview: bool = True


_Part = _StreamedMessage | _StreamedThought | _StreamedCall | RedactedThinking | ProviderBlock


class ModelStep:
    """Forwards the stream of one model call to the sink and collects the reply."""

    def __init__(
        self,
        model: Model,
        toolbox: Toolbox,
        sink: TurnSink,
        new_id: NewId,
        message_id: str | None,
        *,
        keeps_reasoning: bool = True,
    ) -> None:
        """Prepare a step; the first text block continues the message `message_id`, if given.

        Without `keeps_reasoning` the reply has none, because another model goes on after it.
        """
        self._model = model
        self._toolbox = toolbox
        self._sink = sink
        self._new_id = new_id
        self._continued_id = message_id
        self._keeps_reasoning = keeps_reasoning
        self._parts: list[_Part] = []
        self.usage = Usage()

    async def run(self, request: ModelRequest) -> ModelStop:
        """Send the request and forward the stream.

        Raises:
            TurnError: the model cannot be asked, or failed in any way.
        """
        try:
            return await self._model.respond(request, self._receive)
        except TurnError:
            raise
        except Exception as error:
            # Boundary: a bug in an adapter fails this turn, not the session.
            logger.exception("the model adapter failed")
            reason = f"the model failed unexpectedly: {type(error).__name__}: {error}"
            raise ModelFailedError(reason) from error

    @property
    def has_output(self) -> bool:
        """Whether any part of the answer has arrived."""
        return bool(self._parts)

    @property
    def message_id(self) -> str | None:
        """The id of the last text block, for a step that continues it."""
        return next(
            (part.id for part in reversed(self._parts) if isinstance(part, _StreamedMessage)), None
        )

    def calls(self) -> tuple[ToolCall, ...]:
        """Return the calls whose arguments arrived completely."""
        return tuple(part for part in self._reply_parts() if isinstance(part, ToolCall))

    def live_calls(self) -> Mapping[str, LiveCall]:
        """Return all calls that were started, by id."""
        return {part.id: part.live for part in self._parts if isinstance(part, _StreamedCall)}

    def reply(self, *, with_calls: bool, is_paused: bool = False) -> tuple[ReplyPart, ...]:
        """Return the reply so far; empty if no provider would accept it back.

        A reply may not end in reasoning. Tool calls stay only if their results will follow; for
        server-side calls that holds only while the provider has paused. Reasoning is kept
        completely or not at all: a message that lacks part of it counts as modified, and its
        signature fails.
        """
        parts = self._reply_parts()
        if not with_calls:
            parts = [part for part in parts if not isinstance(part, ToolCall)]
        total = len(parts)
        if not is_paused:
            answered = self._answered_ids() | {""}
            parts = [
                part
                for part in parts
                if not isinstance(part, ProviderBlock) or part.called_id in answered
            ]
        is_incomplete = bool(parts) and (_is_thinking(parts[-1]) or len(parts) < total)
        if is_incomplete or not self._keeps_reasoning:
            parts = [part for part in parts if not _is_thinking(part)]
        return tuple(parts)

    def _answered_ids(self) -> set[str]:
        """Return the ids of server-side calls that have their results."""
        blocks = (part for part in self._parts if isinstance(part, ProviderBlock))
        return {part.answered_id for part in blocks} - {""}

    def complete_cut_calls(self) -> Mapping[str, int]:
        """Complete the calls that the output limit has cut, so that the reply can hold them.

        Their arguments become those that had arrived completely. Returns the number of characters
        received, by call id.
        """
        cut: dict[str, int] = {}
        last = self._parts[-1] if self._parts else None
        for part in self._parts:
            if not isinstance(part, _StreamedCall):
                continue
            arguments = "".join(part.chunks)
            # Some endpoints report every call as complete. Only the last one can have been cut:
            # the others are invalid JSON because the model wrote it so, and it is told that.
            if not part.is_complete or (part is last and not is_whole(arguments)):
                cut[part.id] = len(arguments)
                part.chunks, part.is_complete = [whole_values(arguments)], True
        return cut

    def close_calls(self, accepted: Sequence[ToolCall], reason: str) -> None:
        """Show every started call that is not in `accepted` as failed."""
        accepted_ids = {call.id for call in accepted}
        for part in self._parts:
            # `emit_now`: this also runs while the turn is being cancelled, where an await raises.
            if isinstance(part, _StreamedCall) and part.id not in accepted_ids:
                self._sink.emit_now(CallChanged(part.id, "failed", content=(Text(reason),)))
        answered = self._answered_ids()
        for part in self._parts:
            called_id = part.called_id if isinstance(part, ProviderBlock) else ""
            if called_id and called_id not in answered:
                self._sink.emit_now(CallChanged(called_id, "failed", content=(Text(reason),)))

    def _reply_parts(self) -> list[ReplyPart]:
        converted = [_to_reply_part(part) for part in self._parts]
        return [part for part in converted if part is not None]

    async def _receive(self, event: ModelEvent) -> None:
        match event:
            case TextDelta() | ThinkingDelta():
                await self._append_text(event)
            case ThinkingSigned():
                self._current_thought().signature = event.signature
            case ThinkingRedacted():
                self._parts.append(RedactedThinking(event.data))
            case TextCited() | ServerToolCalled() | ServerToolResult():
                await self._receive_server_tool_event(event)
            case ToolCallStarted():
                live = await self._toolbox.open(event.call_id, event.name, self._sink)
                self._parts.append(_StreamedCall(event.call_id, event.name, live))
            case ToolCallDelta():
                await self._forward_arguments(self._find_call(event.call_id), event.fragment)
            case ToolCallCompleted():
                # Without this event the arguments may be cut off: such a call never runs.
                self._find_call(event.call_id).is_complete = True
            case Retrying() | FastModeStopped():
                await self._sink.emit(NoticeRaised("warning", _notice_text(event), self._new_id()))
            case UsageReported():
                self.usage = event.usage  # cumulative: replaces, never adds
            case _:
                assert_never(event)

    async def _receive_server_tool_event(
        self, event: TextCited | ServerToolCalled | ServerToolResult
    ) -> None:
        """Keep a server-side call, its result or a citation, and show the call."""
        match event:
            case TextCited():
                last = self._parts[-1] if self._parts else None
                if isinstance(last, _StreamedMessage):
                    last.citations.append(dict(event.citation))
            case ServerToolCalled():
                self._parts.append(ProviderBlock(event.block, called_id=event.call_id))
                appeared = CallAppeared(event.call_id, event.name, "fetch", event.title)
                await self._sink.emit(appeared)
                await self._sink.emit(
                    CallChanged(event.call_id, "in_progress", raw_input=event.arguments)
                )
            case ServerToolResult():
                self._parts.append(ProviderBlock(event.block, answered_id=event.call_id))
                status = "failed" if event.is_error else "completed"
                content = (Text(repair_surrogates(event.text)),)
                await self._sink.emit(CallChanged(event.call_id, status, content=content))

    async def _forward_arguments(self, call: _StreamedCall, fragment: str) -> None:
        """Forward argument text to the tool; after an error its preview stops."""
        call.chunks.append(fragment)
        if call.has_preview:
            # A preview is a convenience: its failure must not end the stream.
            try:
                await call.live.write(fragment)
            except Exception:
                # Only the preview is lost; the call still runs with the complete arguments.
                logger.exception("tool %s failed while its arguments were streaming", call.name)
                call.has_preview = False

    async def _append_text(self, event: TextDelta | ThinkingDelta) -> None:
        if not event.text and not event.is_new:
            return
        kind = _StreamedMessage if isinstance(event, TextDelta) else _StreamedThought
        last = self._parts[-1] if self._parts else None
        if event.is_new or not isinstance(last, kind):
            part_id: str | None = None
            if kind is _StreamedMessage:
                # Only the first text block continues the old message; the next one is its own.
                part_id, self._continued_id = self._continued_id, None
            last = kind(part_id or self._new_id())
            self._parts.append(last)
        if event.text:
            last.chunks.append(event.text)
            event_type = MessageChunk if kind is _StreamedMessage else ThoughtChunk
            await self._sink.emit(event_type(last.id, event.text))

    def _current_thought(self) -> _StreamedThought:
        """Return the current thought; a lone signature starts an empty one."""
        if not self._parts or not isinstance(self._parts[-1], _StreamedThought):
            self._parts.append(_StreamedThought(self._new_id()))
        return cast("_StreamedThought", self._parts[-1])

    def _find_call(self, call_id: str) -> _StreamedCall:
        calls = (
            part for part in self._parts if isinstance(part, _StreamedCall) and part.id == call_id
        )
        return next(calls)


class ToolBatch:
    """Runs the tool calls of one reply and shows each result as it arrives.

    Calls that cannot get in each other's way run together, the others in order (`call_access`).
    """

    def __init__(self, live: Mapping[str, LiveCall], sink: TurnSink) -> None:
        self._live = live
        self._sink = sink
        self._results: dict[str, ToolResult] = {}
        self._touched: dict[str, tuple[str, ...]] = {}
        self._content: dict[str, tuple[CallContent, ...]] = {}
        self.ends_turn = False
        """Whether one of the calls hands the decision how to continue to the user."""

    async def run(self, calls: Sequence[ToolCall]) -> None:
        """Run all calls that have no result yet.

        Raises only cancellation; after that no further call starts.
        """
        calls = [call for call in calls if call.id not in self._results]
        # A single call needs no order, and its tool need not look at its arguments twice.
        accesses = await self._accesses(calls) if len(calls) > 1 else [READS] * len(calls)
        for group in group_calls(accesses):
            # A task starts running before it notices that its scope is cancelled. Without this
            # checkpoint a cancel that came just before would still let every call begin.
            await lowlevel.checkpoint()
            async with anyio.create_task_group() as tasks:
                for index in group:
                    tasks.start_soon(self._run, calls[index])

    async def _accesses(self, calls: Sequence[ToolCall]) -> list[CallAccess]:
        # In a thread: tools look up files, which a slow disk or network share can make long.
        return await to_thread.run_sync(
            lambda: [self._access(call) for call in calls], abandon_on_cancel=True
        )

    def _access(self, call: ToolCall) -> CallAccess:
        try:
            parse_arguments(call)
        except ValueError:
            return READS  # it will not run
        try:
            return self._live[call.id].access(call)
        except Exception:
            # Boundary: a bug in a tool's judgement costs time, never the order.
            logger.exception("the tool %s failed to judge its call", call.name)
            return CHANGES

    def touched_paths(self, calls: Sequence[ToolCall]) -> Mapping[str, tuple[str, ...]]:
        """Return the paths that calls touched, by call id, in the order of the calls."""
        return {call.id: self._touched[call.id] for call in calls if self._touched.get(call.id)}

    def results(self, calls: Sequence[ToolCall]) -> list[tuple[ToolCall, ToolResult]]:
        """Return the calls with their results; all must have ended."""
        return [(call, self._results[call.id]) for call in calls]

    async def is_polling(self, call: ToolCall) -> bool:
        """Return whether repeating a call makes sense, because it waits or asks for news."""
        (access,) = await self._accesses([call])
        return access.is_polling

    def add_note(self, call_id: str, text: str) -> None:
        """Append a note to a result, for the model and for the user."""
        self._append_to_result(call_id, text, Text(text))

    def add_instructions(self, call_id: str, text: str, labels: tuple[str, ...]) -> None:
        """Append instructions to a result for the model, and show the user which files they are."""
        line = Text(f"Loaded instructions: {', '.join(labels)}")
        self._append_to_result(call_id, text, line, labels)

    def _append_to_result(
        self, call_id: str, text: str, shown: Text, labels: tuple[str, ...] = ()
    ) -> None:
        result = self._results[call_id]
        self._results[call_id] = replace(result, text=f"{result.text}\n\n{text}".lstrip())
        self._content[call_id] = (*self._content[call_id], shown)
        content = self._content[call_id]
        self._sink.emit_now(CallChanged(call_id, content=content, instructions=labels))

    def result(self, call: ToolCall, reason: str) -> ToolResult:
        """Return the result of a call; an unfinished call is closed as failed."""
        # Closed here so that the history gets exactly one result per call, even after a cancel.
        if call.id not in self._results:
            self._end(call, self._live[call.id].interrupted_outcome(reason))
        return self._results[call.id]

    def replace_results(self, results: Sequence[ToolResult]) -> None:
        """Replace results for the model; the user has seen them as they were."""
        self._results |= {result.call_id: result for result in results}

    async def _run(self, call: ToolCall) -> None:
        try:
            # Checked for every tool alike, before a permission request or an effect.
            parse_arguments(call)
        except ValueError as error:
            self._end(call, ToolOutcome(str(error), is_error=True))
            return
        try:
            outcome = await self._live[call.id].run(call)
        except Exception as error:
            logger.exception("the tool %s failed", call.name)
            outcome = ToolOutcome(f"{type(error).__name__}: {error}", is_error=True)
        self._end(call, outcome)

    def _end(self, call: ToolCall, outcome: ToolOutcome) -> None:
        # Lone surrogates (from undecodable file names, say) cannot be sent as UTF-8.
        text = repair_surrogates(outcome.text)
        self._results[call.id] = ToolResult(
            call.id, text, outcome.is_error, outcome.media, outcome.saved_to
        )
        self._touched[call.id] = outcome.touched_paths
        self.ends_turn = self.ends_turn or outcome.ends_turn
        status = "failed" if outcome.is_error else "completed"
        shown = (Text(text), *outcome.media) if outcome.shown is None else outcome.shown
        self._content[call.id] = shown
        self._sink.emit_now(
            CallChanged(call.id, status, content=shown, raw_output=outcome.raw_output)
        )


def _is_thinking(part: ReplyPart) -> bool:
    return isinstance(part, Thinking | RedactedThinking)


def _to_reply_part(part: _Part) -> ReplyPart | None:
    """Return a part as it is stored; None for an incomplete or empty one."""
    match part:
        case _StreamedMessage():
            text = repair_surrogates("".join(part.chunks))
            if not text.strip():
                return None
            if not part.citations:
                return Text(text)
            block = {"type": "text", "text": text, "citations": [*part.citations]}
            return ProviderBlock(block, text)
        case _StreamedThought():
            text = repair_surrogates("".join(part.chunks))
            return Thinking(text, part.signature) if text or part.signature else None
        case _StreamedCall():
            return ToolCall(part.id, part.name, "".join(part.chunks)) if part.is_complete else None
        case RedactedThinking() | ProviderBlock():
            return part


def _notice_text(event: Retrying | FastModeStopped) -> str:
    if isinstance(event, FastModeStopped):
        state = "cannot be used" if event.is_final else "is off for now"
        return f"Fast mode {state}: {event.reason}"
    wait = f"{event.wait_seconds:.0f} s" if event.wait_seconds >= 1 else "a moment"
    return f"{event.reason}; retrying in {wait} (attempt {event.attempt} of {event.attempts})"
