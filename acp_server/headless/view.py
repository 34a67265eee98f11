"""Interface for displaying a session: one method per kind of update, and their dispatch.

The dispatch is exhaustive: a new kind of update fails type checking until it is handled here.
"""

from typing import Protocol, TypeAlias, assert_never

from acp_server.headless.updates import UnknownUpdate, Update
from acp_server.protocol.updates import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    CompactionSummaryChunk,
    CompactionUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    Notice,
    Plan,
    SessionInfoUpdate,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
    UserMessageChunk,
)

MessageUpdate: TypeAlias = UserMessageChunk | AgentMessageChunk | AgentThoughtChunk
ToolUpdate: TypeAlias = ToolCallStart | ToolCallProgress | Plan
ChoiceUpdate: TypeAlias = AvailableCommandsUpdate | CurrentModeUpdate | ConfigOptionUpdate
StateUpdate: TypeAlias = SessionInfoUpdate | UsageUpdate | CompactionUpdate | CompactionSummaryChunk


class UpdateView(Protocol):
    """Display of one session's updates."""

    def user_message(self, update: UserMessageChunk) -> None:
        """Show a chunk of a user message."""
        ...

    def message(self, update: AgentMessageChunk) -> None:
        """Show a chunk of an agent message."""
        ...

    def thought(self, update: AgentThoughtChunk) -> None:
        """Show a chunk of the agent's reasoning."""
        ...

    def tool_call(self, update: ToolCallStart) -> None:
        """Show a new tool call."""
        ...

    def tool_call_update(self, update: ToolCallProgress) -> None:
        """Show the changed fields of a tool call."""
        ...

    def plan(self, update: Plan) -> None:
        """Show the complete plan; it replaces the previous one."""
        ...

    def commands(self, update: AvailableCommandsUpdate) -> None:
        """Show the available slash commands."""
        ...

    def mode(self, update: CurrentModeUpdate) -> None:
        """Show the new mode."""
        ...

    def options(self, update: ConfigOptionUpdate) -> None:
        """Show the current values of all config options."""
        ...

    def session_info(self, update: SessionInfoUpdate) -> None:
        """Show the session's title."""
        ...

    def usage(self, update: UsageUpdate) -> None:
        """Show how full the context window is."""
        ...

    def compaction(self, update: CompactionUpdate) -> None:
        """Show the progress of a compaction."""
        ...

    def compaction_summary(self, update: CompactionSummaryChunk) -> None:
        """Show a chunk of a compaction's summary."""
        ...

    def notice(self, update: Notice) -> None:
        """Show a notice to the user."""
        ...

    def unknown(self, update: UnknownUpdate) -> None:
        """Show that an update of an unknown kind arrived."""
        ...


def show_update(view: UpdateView, update: Update) -> None:
    """Call the view's method for an update."""
    match update:
        case UserMessageChunk() | AgentMessageChunk() | AgentThoughtChunk():
            _show_message(view, update)
        case ToolCallStart() | ToolCallProgress() | Plan():
            _show_tool_update(view, update)
        case AvailableCommandsUpdate() | CurrentModeUpdate() | ConfigOptionUpdate():
            _show_choices(view, update)
        case SessionInfoUpdate() | UsageUpdate() | CompactionUpdate() | CompactionSummaryChunk():
            _show_state(view, update)
        case Notice():
            view.notice(update)
        case UnknownUpdate():
            view.unknown(update)
        case _:
            assert_never(update)


def _show_message(view: UpdateView, update: MessageUpdate) -> None:
    match update:
        case UserMessageChunk():
            view.user_message(update)
        case AgentMessageChunk():
            view.message(update)
        case AgentThoughtChunk():
            view.thought(update)
        case _:
            assert_never(update)


def _show_tool_update(view: UpdateView, update: ToolUpdate) -> None:
    match update:
        case ToolCallStart():
            view.tool_call(update)
        case ToolCallProgress():
            view.tool_call_update(update)
        case Plan():
            view.plan(update)
        case _:
            assert_never(update)


def _show_choices(view: UpdateView, update: ChoiceUpdate) -> None:
    match update:
        case AvailableCommandsUpdate():
            view.commands(update)
        case CurrentModeUpdate():
            view.mode(update)
        case ConfigOptionUpdate():
            view.options(update)
        case _:
            assert_never(update)


def _show_state(view: UpdateView, update: StateUpdate) -> None:
    match update:
        case SessionInfoUpdate():
            view.session_info(update)
        case UsageUpdate():
            view.usage(update)
        case CompactionUpdate():
            view.compaction(update)
        case CompactionSummaryChunk():
            view.compaction_summary(update)
        case _:
            assert_never(update)
