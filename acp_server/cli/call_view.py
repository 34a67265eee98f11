"""Terminal view of a tool call: title, status, content and permission request."""

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import assert_never

from rich.console import Group, RenderableType
from rich.text import Text

from acp_server.cli.screen import Indented, TerminalScreen, one_line
from acp_server.cli.text_lines import (
    DiffLine,
    End,
    FoldedLines,
    diff_lines,
    fold,
    output_lines,
    text_lines,
)
from acp_server.headless.tool_call_state import ToolCallState
from acp_server.protocol.content import TextContent
from acp_server.protocol.tool_calls import Content, Diff, Terminal, ToolKind
from acp_server.protocol.updates import PlanEntry
from acp_server.text.quantities import count, duration

LABEL_COLUMNS = 16
DIFF_LINES = 20
OUTPUT_LINES = 12
TEXT_LINES = 4
MAX_LOCATIONS = 3
MAX_BLOCKS = 6
MAX_TITLE_CHARACTERS = 300
SILENT_KINDS: frozenset[ToolKind] = frozenset({"think"})
"""Kinds whose successful output is not shown: the user sees the plan instead."""
_STYLES = {"+": "added", "-": "removed", " ": "quiet", "gap": "quiet"}


class ToolCallView:
    """View of the current state of one tool call."""

    def __init__(self, screen: TerminalScreen, state: ToolCallState) -> None:
        self.state = state
        self._screen = screen

    def draw(self, *, is_final: bool) -> RenderableType:
        """Return the renderable; it shows the end of the content while the model writes it."""
        state = self.state
        is_growing = not is_final and state.question is None and state.status == "pending"
        content = Group(*self._content("last" if is_growing else "first"))
        answers = Group(*self._permission_rows())
        is_result = state.kind == "execute"  # a command prints only after permission was given
        parts = (answers, content) if is_result else (content, answers)
        files = [f"{one_line(name)} was written by the editor" for name in state.written_files]
        effects = [Text(text, "quiet") for text in files]
        for entry in state.plan:
            style = "none" if entry.status == "in_progress" else "quiet"
            effects.append(Text(plan_line(self._screen, entry), style))
        return Group("", self._head(), *parts, *map(self._row, effects))

    def _head(self) -> RenderableType:
        state, screen = self.state, self._screen
        label = Text.assemble(
            (f"  {screen.symbols.kinds[state.kind]} ", "accent"),
            (state.kind.replace("_", " ").ljust(LABEL_COLUMNS), "quiet"),
        )
        title = one_line(state.title[:MAX_TITLE_CHARACTERS])
        names = [name for name in self._location_names() if name.removesuffix(":1") not in title]
        line = Text.assemble((title, "prompt"), "  ", self._status(), overflow="fold")
        if names:
            line.append(f" {screen.symbols.dot} {screen.join(*names)}", "quiet")
        return Indented(line, " " * label.cell_len, first_prefix=label)

    def _location_names(self) -> Iterator[str]:
        """Yield the first locations as file names with lines."""
        places: dict[str, None] = {}
        for location in self.state.locations:
            name = one_line(PurePath(location.path).name or location.path)
            places[name if location.line is None else f"{name}:{location.line}"] = None
        shown = fold(list(places), MAX_LOCATIONS, "first")
        yield from shown.lines
        if shown.hidden:
            yield self._hidden_note(shown.hidden, "place")

    def _status(self) -> Text:
        state, signs = self.state, self._screen.symbols
        # The calls of a stored session have no times.
        seconds = 0.0 if state.ended is None else state.ended - state.started
        time_taken = duration(seconds) if seconds else ""
        match state.status:
            case "completed":
                sign, style = signs.ok, "ok"
            case "failed":
                sign, style = signs.problem, "problem"
            case "pending" | "in_progress":
                sign, style = signs.ellipsis, "accent"
            case _:
                assert_never(state.status)
        is_asking = state.question is not None and not state.question.is_answered
        word = "asks" if is_asking else state.status.replace("_", " ")
        return Text.assemble(
            (f"{sign} ", style), (self._screen.join(word, time_taken), "quiet"), style="none"
        )

    def _content(self, end: End) -> Iterator[RenderableType]:
        state = self.state
        if state.kind in SILENT_KINDS and state.status != "failed":
            return
        for block in state.content[:MAX_BLOCKS]:
            match block:
                case Diff():
                    yield from self._diff(block, end)
                case Terminal():
                    lines = output_lines(state.output(block))
                    yield from self._lines(fold(lines, OUTPUT_LINES, "last"))
                case Content():
                    text = block.content
                    lines = text_lines(text.text) if isinstance(text, TextContent) else [text.type]
                    is_output = state.kind == "execute"  # of a command: its end matters
                    shown = (OUTPUT_LINES, "last") if is_output else (TEXT_LINES, "first")
                    yield from self._lines(fold(lines, *shown))
                case _:
                    assert_never(block)
        hidden = len(state.content) - MAX_BLOCKS
        if hidden > 0:
            yield self._row(Text(self._hidden_note(hidden, "block"), "quiet"))

    def _diff(self, diff: Diff, end: End) -> Iterator[RenderableType]:
        lines = diff_lines(diff.old_text, diff.new_text)
        name = one_line(PurePath(diff.path).name or diff.path)
        signs = [line.sign for line in lines]
        size = " ".join(f"{sign}{signs.count(sign):,}" for sign in ("+", "-") if sign in signs)
        word = "new file" if diff.old_text is None else ""
        yield self._row(Text(self._screen.join(name, size, word), "quiet"))
        shown = fold(lines, DIFF_LINES, end)
        yield from self._folded(shown, [self._diff_line(line) for line in shown.lines])

    def _diff_line(self, line: DiffLine) -> Text:
        text = self._screen.symbols.ellipsis if line.sign == "gap" else f"{line.sign} {line.text}"
        return Text(text.rstrip(), _STYLES[line.sign])

    def _lines(self, shown: FoldedLines[str]) -> Iterator[RenderableType]:
        if any(shown.lines):
            yield from self._folded(shown, [Text(line, "none") for line in shown.lines])

    def _folded(
        self, shown: FoldedLines[str] | FoldedLines[DiffLine], lines: Sequence[Text]
    ) -> Iterator[RenderableType]:
        note = [Text(self._hidden_note(shown.hidden, "line"), "quiet")] if shown.hidden else []
        rows = [*note, *lines] if shown.end == "last" else [*lines, *note]
        yield from map(self._row, rows)

    def _row(self, text: Text) -> RenderableType:
        text.overflow = "fold"
        return Indented(text, f"    {self._screen.symbols.bar} ")

    def _hidden_note(self, hidden: int, noun: str) -> str:
        return f"{self._screen.symbols.ellipsis} {count(hidden, f'more {noun}')}"

    def _permission_rows(self) -> Iterator[RenderableType]:
        """Yield the permission options and the user's answer."""
        question, signs = self.state.question, self._screen.symbols
        if question is None:
            return
        for remark in question.remarks[:MAX_BLOCKS]:
            lines = text_lines(remark)
            is_in_title = len(lines) == 1 and lines[0] in self.state.title
            if not is_in_title:  # a short command is
                yield from self._lines(fold(lines, TEXT_LINES, "first"))
        label = Text.assemble((f"  {signs.question} ", "warning"), "allow it?".ljust(LABEL_COLUMNS))
        for option in question.options:
            is_chosen = option == question.answer
            sign = signs.chosen if is_chosen else signs.open_box
            line = Text(f"{sign} {one_line(option.name)}", "none" if is_chosen else "quiet")
            line.overflow = "fold"
            yield Indented(line, " " * label.cell_len, first_prefix=label)
            label = Text(" " * label.cell_len)
        if question.is_answered:
            answer = "withdrawn by the agent" if question.answer is None else question.answer.name
            head = Text.assemble((f"  {signs.prompt} ", "accent"), "you".ljust(LABEL_COLUMNS))
            yield Indented(Text(one_line(answer), "prompt"), " " * head.cell_len, first_prefix=head)


def plan_line(screen: TerminalScreen, entry: PlanEntry) -> str:
    """Return one line for a plan entry."""
    signs = {"completed": screen.symbols.ok, "in_progress": screen.symbols.prompt}
    return f"{signs.get(entry.status, screen.symbols.open_box)} {one_line(entry.content)}"
