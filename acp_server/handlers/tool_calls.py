"""Maps tool call events of the engine to ACP: content, locations and plans."""

from collections.abc import Mapping, Sequence
from typing import assert_never

from pydantic import JsonValue

from acp_server.protocol.content import (
    BlobResourceContents,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    TextContent,
)
from acp_server.protocol.tool_calls import (
    Content,
    Diff,
    Terminal,
    ToolCallContent,
    ToolCallLocation,
)
from acp_server.protocol.updates import (
    Plan,
    PlanEntry,
    PlanItems,
    PlanRemoved,
    PlanUpdate,
    ToolCallProgress,
    ToolCallStart,
)
from acp_server.turn.conversation import Media, Text
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    CallContent,
    FileDiff,
    Location,
    PlanChanged,
    TerminalEnded,
    TerminalOpened,
    TerminalPrinted,
    TerminalView,
)


def call_start(event: CallAppeared) -> ToolCallStart:
    """Return the update that announces a call."""
    return ToolCallStart(
        tool_call_id=event.call_id,
        title=event.title or event.name,
        name=event.name,
        kind=event.kind,
        status="pending",
        meta=call_meta(event.parent_id, {"hermes": {"agent": event.agent}} if event.agent else {}),
    )


PARENT_KEY = "parentToolUseId"
"""The `_meta` key under which a sub-agent's call names the call that delegated."""
MetaObject = dict[str, JsonValue] | None

_PLACEHOLDER_TITLE = "Run a command"
"""A stand-in for the call's title until the next title update."""

TerminalEvent = TerminalOpened | TerminalPrinted | TerminalEnded


def call_progress(
    event: CallChanged | TerminalEvent, title: str = ""
) -> ToolCallStart | ToolCallProgress:
    """Return the update for a change of a call; `title` is the call's present one, if known."""
    if not isinstance(event, CallChanged):
        return _terminal_progress(event, title)
    found: list[JsonValue] = [*event.instructions]
    return ToolCallProgress(
        tool_call_id=event.call_id,
        status=event.status,
        title=event.title,
        content=None if event.content is None else content_blocks(event.content),
        locations=None if event.locations is None else locations(event.locations),
        raw_input=None if event.raw_input is None else dict(event.raw_input),
        raw_output=None if event.raw_output is None else dict(event.raw_output),
        meta=call_meta(event.parent_id, {"hermes": {"instructions": found}} if found else {}),
    )


def call_meta(parent_id: str, extra: Mapping[str, JsonValue] | None = None) -> MetaObject:
    """Return the `_meta` of a call: the delegating call, for a sub-agent, and other members."""
    parent: dict[str, JsonValue] = {}
    if parent_id:  # clients read either name
        parent = {PARENT_KEY: parent_id, "claudeCode": {PARENT_KEY: parent_id}}
    return {**parent, **(extra or {})} or None


def content_blocks(content: Sequence[CallContent]) -> tuple[ToolCallContent, ...]:
    """Return the content blocks of a call."""
    return tuple(_content_block(part) for part in content)


def locations(touched: Sequence[Location]) -> tuple[ToolCallLocation, ...]:
    """Return the locations a call touches."""
    return tuple(ToolCallLocation(path=each.path, line=each.line) for each in touched)


def _terminal_progress(event: TerminalEvent, title: str) -> ToolCallStart | ToolCallProgress:
    """Return the update for a command of this server, in the `_meta` keys editors understand."""
    match event:
        case TerminalOpened():
            return _terminal_start(event, title or _PLACEHOLDER_TITLE)
        case TerminalPrinted():
            meta: dict[str, JsonValue] = {
                "terminal_output": {"terminal_id": event.terminal_id, "data": event.data}
            }
        case TerminalEnded():
            meta = {
                "terminal_exit": {
                    "terminal_id": event.terminal_id,
                    "exit_code": event.exit_code,
                    "signal": event.signal,
                }
            }
    return ToolCallProgress(tool_call_id=event.call_id, meta=call_meta(event.parent_id, meta))


def _terminal_start(event: TerminalOpened, title: str) -> ToolCallStart:
    """Return the call's start again, now with a terminal.

    Editors look for `terminal_info` in a `tool_call` only, and treat one with a known id as an
    update of that call. They reject a terminal in the content that was not announced this way.
    """
    info: dict[str, JsonValue] = {"terminal_id": event.terminal_id, "cwd": event.cwd}
    return ToolCallStart(
        tool_call_id=event.call_id,
        title=title,
        kind="execute",
        status="in_progress",
        content=(Terminal(terminal_id=event.terminal_id),),
        meta=call_meta(event.parent_id, {"terminal_info": info}),
    )


PLAN_ID = "tasks"
"""The id of a session's only plan."""


def plan_update(event: PlanChanged) -> Plan:
    """Return the complete plan."""
    return Plan(
        entries=tuple(
            PlanEntry(content=entry.content, priority=entry.priority, status=entry.status)
            for entry in event.entries
        )
    )


def plan_update_with_id(plan: Plan) -> PlanUpdate | PlanRemoved:
    """Return a plan's update for clients that tell plans apart by their ids."""
    if not plan.entries:
        return PlanRemoved(plan_id=PLAN_ID)
    return PlanUpdate(plan=PlanItems(plan_id=PLAN_ID, entries=plan.entries))


def _content_block(part: CallContent) -> ToolCallContent:
    match part:
        case Text():
            return Content(content=TextContent(text=part.text))
        case Media():
            return Content(content=_media(part))
        case FileDiff():
            return Diff(
                path=part.path,
                old_text=part.old_text,
                new_text=part.new_text,
                # The protocol has no other way to tell it from a file that is left empty.
                meta={"hermes": {"deletion": True}} if part.is_deletion else None,
            )
        case TerminalView():
            return Terminal(terminal_id=part.terminal_id)
        case _:
            assert_never(part)


def _media(media: Media) -> ContentBlock:
    """Return an image as image content, any other document as an embedded resource."""
    if media.mime_type.startswith("image/"):
        return ImageContent(data=media.data, mime_type=media.mime_type)
    blob = BlobResourceContents(
        uri="attachment:document", mime_type=media.mime_type, blob=media.data
    )
    return EmbeddedResource(resource=blob)
