"""A session as a person reads it in a terminal: answers as Markdown, everything else in a line."""

import time
from collections.abc import Iterator, Sequence
from functools import partial

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.text import Text

from acp_server.cli.screen import Draw, GrowingText, Indented, Screen, duration, printable
from acp_server.headless.updates import UnknownUpdate
from acp_server.protocol.content import ContentBlock, TextContent
from acp_server.protocol.sessions import (
    SessionConfigBoolean,
    SessionConfigOption,
    SessionConfigSelect,
    SessionConfigSelectGroup,
    SessionConfigSelectOption,
)
from acp_server.protocol.updates import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    CompactionSummaryChunk,
    CompactionUpdate,
    ConfigOptionUpdate,
    ContentChunk,
    CurrentModeUpdate,
    Notice,
    Plan,
    SessionInfoUpdate,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
    UserMessageChunk,
)

FOLDED_THOUGHT_LINES = 3
LABEL_COLUMNS = 16


class SessionView:
    """Shows a session's updates as they come; `settle` when something else is to be printed."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._block: GrowingText | None = None
        self._key: tuple[str, str | None] = ("", None)

    def settle(self) -> None:
        """Finish the text that is growing."""
        if self._block is not None:
            block, self._block = self._block, None
            block.finish()

    def fact(self, label: str, text: str, style: str = "quiet") -> None:
        """Print one quiet line."""
        self.settle()
        first_prefix = Text.styled(f"    {label.ljust(LABEL_COLUMNS)}", "quiet")
        self._screen.say((printable(text), style), first_prefix=first_prefix)

    def user_message(self, update: UserMessageChunk) -> None:
        """Show more of what the user said."""
        self._grow("prompt", update)

    def message(self, update: AgentMessageChunk) -> None:
        """Show more of the answer."""
        self._grow("message", update)

    def thought(self, update: AgentThoughtChunk) -> None:
        """Show more of a thought."""
        self._grow("thought", update)

    def tool_call(self, update: ToolCallStart) -> None:
        """Show a call by its title."""
        self.fact(f"{self._screen.signs.tool} {update.kind}", update.title, "none")

    def tool_call_update(self, update: ToolCallProgress) -> None:
        """Show how a call ended."""
        if update.status in {"completed", "failed"}:
            self.fact("", self._screen.join(update.status, update.title or ""))

    def plan(self, update: Plan) -> None:
        """Show the plan's entries, done or not."""
        signs = {"completed": self._screen.signs.ok, "in_progress": self._screen.signs.prompt}
        for number, entry in enumerate(update.entries):
            sign = signs.get(entry.status, self._screen.signs.open_box)
            self.fact("" if number else "plan", f"{sign} {entry.content}")

    def commands(self, update: AvailableCommandsUpdate) -> None:
        """Show the names of the commands."""
        names = [f"/{command.name}" for command in update.available_commands]
        self.fact("commands", "  ".join(names))

    def mode(self, update: CurrentModeUpdate) -> None:
        """Show the new mode."""
        self.fact("mode", update.current_mode_id)

    def options(self, update: ConfigOptionUpdate) -> None:
        """Show the options and their values."""
        self.fact("options", options_line(self._screen, update.config_options))

    def session_info(self, update: SessionInfoUpdate) -> None:
        """Show the new title."""
        if isinstance(update.title, str):
            self.fact("title", update.title)

    def usage(self, update: UsageUpdate) -> None:
        """Show how full the context is."""
        self.fact("context", f"{update.used:,} of {update.size:,} tokens")

    def compaction(self, update: CompactionUpdate) -> None:
        """Show how a compaction goes."""
        self.fact("compaction", update.status)

    def compaction_summary(self, update: CompactionSummaryChunk) -> None:
        """Show more of the summary."""
        self._append("thought", update.compaction_id, update.content)

    def notice(self, update: Notice) -> None:
        """Show a word to the user."""
        style = {"warning": "warning", "error": "problem"}.get(update.severity, "none")
        self.fact("notice", self._screen.join(update.title, update.description or ""), style)

    def unknown(self, update: UnknownUpdate) -> None:
        """Name what cannot be shown."""
        self.fact("unknown", update.kind)

    def _grow(self, kind: str, chunk: ContentChunk) -> None:
        self._append(kind, chunk.message_id, chunk.content)

    def _append(self, kind: str, message_id: str | None, content: ContentBlock) -> None:
        key = (kind, message_id)
        if self._block is None or self._key != key:
            self.settle()
            self._key, self._block = key, GrowingText(self._screen, self._drawing(kind))
        self._block.add(content.text if isinstance(content, TextContent) else f"[{content.type}]")

    def _drawing(self, kind: str) -> Draw:
        if kind == "thought":
            return partial(draw_thought, self._screen, time.perf_counter())
        return draw_prompt if kind == "prompt" else draw_message


def draw_message(text: str, *, is_complete: bool) -> RenderableType:
    """Return an answer as it looks."""
    del is_complete
    return Group("", Indented(Markdown(text, code_theme="ansi_dark")))


def draw_prompt(text: str, *, is_complete: bool) -> RenderableType:
    """Return what the user said as it looks."""
    del is_complete
    return Group("", Indented(Text(text, style="prompt")))


def draw_thought(
    screen: Screen,
    started: float,
    text: str,
    *,
    is_complete: bool,
) -> RenderableType:
    """Return a thought as it looks: dim, under a label, folded once it is complete."""
    signs = screen.signs
    time_taken = duration(time.perf_counter() - started) if is_complete else signs.ellipsis
    body = Indented(
        Text(" ".join(text.split()), style="thought"),
        prefix=f"  {signs.bar} ",
        most_lines=FOLDED_THOUGHT_LINES if is_complete else None,
        ellipsis=signs.ellipsis,
    )
    return Group("", Text.styled(f"  {screen.join('thought', time_taken)}", "quiet"), body)


def options_line(screen: Screen, options: Sequence[SessionConfigOption]) -> str:
    """Return the options with their values, in one line."""
    return screen.join(*(f"{option.name}: {_value(option)}" for option in options))


def _value(option: SessionConfigOption) -> str:
    if isinstance(option, SessionConfigBoolean):
        return "on" if option.current_value else "off"
    return next((each.name for each in _values(option) if each.value == option.current_value), "?")


def _values(option: SessionConfigSelect) -> Iterator[SessionConfigSelectOption]:
    for each in option.options:
        if isinstance(each, SessionConfigSelectGroup):
            yield from each.options
        else:
            yield each
