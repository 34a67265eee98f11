"""State of a tool call, accumulated from its updates: fields, output, permission request.

Independent of how it is displayed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from pydantic import JsonValue

from acp_server.protocol.content import TextContent
from acp_server.protocol.tool_calls import (
    Content,
    PermissionOption,
    RequestPermissionRequest,
    Terminal,
    ToolCall,
    ToolCallContent,
    ToolCallLocation,
    ToolCallStatus,
    ToolCallUpdate,
    ToolKind,
)
from acp_server.protocol.updates import PlanEntry, ToolCallProgress, ToolCallStart

MAX_OUTPUT_CHARACTERS = 64 * 1024


@dataclass(slots=True)
class ToolCallQuestion:
    """A permission request about a tool call, and the user's answer."""

    options: Sequence[PermissionOption]
    remarks: Sequence[str] = ()
    """Texts that are shown with the question only."""
    is_answered: bool = False
    answer: PermissionOption | None = None
    """None although `is_answered`: the request was cancelled."""


@dataclass(slots=True)
class ToolCallState:
    """Current state of one tool call; times are on the caller's clock, in seconds."""

    started: float
    title: str = "a call"
    name: str = ""
    """The name by which the model called the tool; empty if the agent does not tell it."""
    kind: ToolKind = "other"
    status: ToolCallStatus = "pending"
    content: Sequence[ToolCallContent] = ()
    locations: Sequence[ToolCallLocation] = ()
    raw_input: JsonValue = None
    """Arguments of the call, as the agent shows them."""
    ended: float | None = None
    question: ToolCallQuestion | None = None
    written_files: list[str] = field(default_factory=list[str])
    """Names of files that the agent wrote through this client."""
    plan: Sequence[PlanEntry] = ()
    """Plan entries that the call has changed."""
    is_start_shown: bool = False
    """Whether an output that shows starts and ends has shown the start."""
    _output: dict[str, str] = field(default_factory=dict[str, str], init=False)

    @property
    def has_ended(self) -> bool:
        """Whether the call has ended."""
        return self.status in {"completed", "failed"}

    @property
    def text(self) -> str:
        """All text of the content."""
        texts = [block.content for block in self.content if isinstance(block, Content)]
        return "\n".join(text.text for text in texts if isinstance(text, TextContent))

    def start(self, call: ToolCall) -> None:
        """Set the fields from the call's first notification."""
        self.title, self.kind, self.status = call.title, call.kind, call.status
        self.name = call.name or ""
        self.content, self.locations = call.content, call.locations
        self.raw_input = call.raw_input

    def apply(self, update: ToolCallUpdate, now: float) -> None:
        """Apply an update: fields that are None keep their values."""
        self.title = self.title if update.title is None else update.title
        self.kind = self.kind if update.kind is None else update.kind
        self.status = self.status if update.status is None else update.status
        self.content = self.content if update.content is None else update.content
        self.locations = self.locations if update.locations is None else update.locations
        self.raw_input = self.raw_input if update.raw_input is None else update.raw_input
        # Output is sent under `_meta` to clients without terminals.
        output = (update.meta or {}).get("terminal_output")
        if isinstance(output, dict):
            terminal_id, data = output.get("terminal_id"), output.get("data")
            if isinstance(terminal_id, str) and isinstance(data, str):
                text = self._output.get(terminal_id, "") + data
                self._output[terminal_id] = text[-MAX_OUTPUT_CHARACTERS:]
        if self.has_ended and self.ended is None:
            self.ended = now

    def set_question(self, request: RequestPermissionRequest, now: float) -> None:
        """Set the open permission request; its texts are shown only until it is answered."""
        content = request.tool_call.content or ()
        texts = [block.content for block in content if isinstance(block, Content)]
        remarks = [text.text for text in texts if isinstance(text, TextContent)]
        other_blocks = tuple(block for block in content if not isinstance(block, Content)) or None
        self.apply(request.tool_call.model_copy(update={"content": other_blocks}), now)
        self.question = ToolCallQuestion(request.options, remarks)

    def output(self, terminal: Terminal) -> str:
        """Return the last output of an agent-side terminal, at most 64 Ki characters."""
        return self._output.get(terminal.terminal_id, "")

    def has_location(self, path: PurePath) -> bool:
        """Return whether a file is among the call's locations."""
        return any(PurePath(location.path) == path for location in self.locations)


class RunningToolCalls:
    """A session's tool calls that have not ended, by id."""

    def __init__(self) -> None:
        self._states: dict[str, ToolCallState] = {}

    def apply(self, update: ToolCallStart | ToolCallProgress, now: float) -> ToolCallState:
        """Apply an update and return the call's new state; drop the call once it has ended."""
        call_id = update.tool_call_id
        if isinstance(update, ToolCallStart):
            state = self._states[call_id] = ToolCallState(now)
            state.start(update)
        else:
            state = self._states.setdefault(call_id, ToolCallState(now))
            state.apply(update, now)
        if state.has_ended:
            del self._states[call_id]
        return state
