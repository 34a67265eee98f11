"""Whoever shows a session: one method for each kind of update, and the closed table of them.

A kind that is added to the protocol does not pass the type checker until it has its place here.
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

Talk: TypeAlias = UserMessageChunk | AgentMessageChunk | AgentThoughtChunk
Work: TypeAlias = ToolCallStart | ToolCallProgress | Plan
Choices: TypeAlias = AvailableCommandsUpdate | CurrentModeUpdate | ConfigOptionUpdate
State: TypeAlias = SessionInfoUpdate | UsageUpdate | CompactionUpdate | CompactionSummaryChunk


class View(Protocol):
    """Shows what happens in a session."""

    def user_message(self, update: UserMessageChunk) -> None:
        """Show more of what the user said."""
        ...

    def message(self, update: AgentMessageChunk) -> None:
        """Show more of what the agent says."""
        ...

    def thought(self, update: AgentThoughtChunk) -> None:
        """Show more of what the agent thinks."""
        ...

    def tool_call(self, update: ToolCallStart) -> None:
        """Show that a tool is called."""
        ...

    def tool_call_update(self, update: ToolCallProgress) -> None:
        """Show what has changed about a call."""
        ...

    def plan(self, update: Plan) -> None:
        """Show the whole plan, in the place of the one before."""
        ...

    def commands(self, update: AvailableCommandsUpdate) -> None:
        """Show which slash commands there are."""
        ...

    def mode(self, update: CurrentModeUpdate) -> None:
        """Show that the mode has changed."""
        ...

    def options(self, update: ConfigOptionUpdate) -> None:
        """Show the configuration options as they stand."""
        ...

    def session_info(self, update: SessionInfoUpdate) -> None:
        """Show the session's title."""
        ...

    def usage(self, update: UsageUpdate) -> None:
        """Show how full the context is."""
        ...

    def compaction(self, update: CompactionUpdate) -> None:
        """Show how a compaction goes."""
        ...

    def compaction_summary(self, update: CompactionSummaryChunk) -> None:
        """Show more of a compaction's summary."""
        ...

    def notice(self, update: Notice) -> None:
        """Show a word to the user."""
        ...

    def unknown(self, update: UnknownUpdate) -> None:
        """Show that there was something which this client does not know."""
        ...


def show_update(view: View, update: Update) -> None:
    """Hand an update to the method that is for it."""
    match update:
        case UserMessageChunk() | AgentMessageChunk() | AgentThoughtChunk():
            _talk(view, update)
        case ToolCallStart() | ToolCallProgress() | Plan():
            _work(view, update)
        case AvailableCommandsUpdate() | CurrentModeUpdate() | ConfigOptionUpdate():
            _choices(view, update)
        case SessionInfoUpdate() | UsageUpdate() | CompactionUpdate() | CompactionSummaryChunk():
            _state(view, update)
        case Notice():
            view.notice(update)
        case UnknownUpdate():
            view.unknown(update)
        case _:
            assert_never(update)


def _talk(view: View, update: Talk) -> None:
    match update:
        case UserMessageChunk():
            view.user_message(update)
        case AgentMessageChunk():
            view.message(update)
        case AgentThoughtChunk():
            view.thought(update)
        case _:
            assert_never(update)


def _work(view: View, update: Work) -> None:
    match update:
        case ToolCallStart():
            view.tool_call(update)
        case ToolCallProgress():
            view.tool_call_update(update)
        case Plan():
            view.plan(update)
        case _:
            assert_never(update)


def _choices(view: View, update: Choices) -> None:
    match update:
        case AvailableCommandsUpdate():
            view.commands(update)
        case CurrentModeUpdate():
            view.mode(update)
        case ConfigOptionUpdate():
            view.options(update)
        case _:
            assert_never(update)


def _state(view: View, update: State) -> None:
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
