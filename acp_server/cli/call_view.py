"""Terminal view of a tool call: title, status, content and permission request."""

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import assert_never

from rich.console import Group, RenderableType
from rich.text import Text

from acp_server.cli.diff_lines import DiffLine, diff_lines
from acp_server.cli.screen import Indented, Screen, count, duration, one_line
from acp_server.cli.text_lines import End, Folded, folded, output_lines, text_lines
from acp_server.headless.tool_call_state import CallState
from acp_server.protocol.content import TextContent
from acp_server.protocol.tool_calls import (
    Content,
    Diff,
    Terminal,
    ToolCallLocation,
    ToolKind,
)
from acp_server.protocol.updates import PlanEntry

LABEL_COLUMNS = 16
DIFF_LINES = 20
OUTPUT_LINES = 12
TEXT_LINES = 4
MOST_LOCATIONS = 3
MOST_BLOCKS = 6
MOST_TITLE_CHARACTERS = 300
SILENT_KINDS: frozenset[ToolKind] = frozenset({"think"})
"""Kinds whose successful output is not shown: the user sees the plan instead."""
_STYLES = {"+": "added", "-": "removed", " ": "quiet", "gap": "quiet"}


class CallView:
    """Screen block for one tool call."""

    def __init__(self, screen: Screen, state: CallState) -> None:
        self.state = state
        self._screen = screen

    @property
    def is_over(self) -> bool:
        """Whether the call has ended."""
        return self.state.is_over

    def draw(self, *, is_final: bool) -> RenderableType:
        """Return the renderable; it shows the end of the content while the model writes it."""
        state = self.state
        is_growing = not is_final and state.question is None and state.status == "pending"
        content = Group(*self._content("last" if is_growing else "first"))
        answers = Group(*self._answers())
        is_result = state.kind == "execute"  # a command prints only after permission was given
        parts = (answers, content) if is_result else (content, answers)
        return Group("", self._head(), *parts, *self._remarks())

    def _head(self) -> RenderableType:
        state, screen = self.state, self._screen
        label = Text.assemble(
            (f"  {screen.signs.kinds[state.kind]} ", "accent"),
            (state.kind.replace("_", " ").ljust(LABEL_COLUMNS), "quiet"),
        )
        title = one_line(state.title[:MOST_TITLE_CHARACTERS])
        words = [place for place in self._places() if place.removesuffix(":1") not in title]
        line = Text.assemble((title, "prompt"), "  ", self._status(), overflow="fold")
        if words:
            line.append(f" {screen.signs.dot} {screen.join(*words)}", "quiet")
        return Indented(line, " " * label.cell_len, first_prefix=label)

    def _places(self) -> Iterator[str]:
        """Yield the first locations as file names with lines."""
        places = dict.fromkeys(map(_place, self.state.locations))
        shown = folded(list(places), MOST_LOCATIONS, "first")
        yield from shown.lines
        if shown.hidden:
            yield self._more(shown.hidden, "place")

    def _status(self) -> Text:
        state, signs = self.state, self._screen.signs
        time_taken = "" if state.ended is None else duration(state.ended - state.started)
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
        for block in state.content[:MOST_BLOCKS]:
            match block:
                case Diff():
                    yield from self._diff(block, end)
                case Terminal():
                    lines = output_lines(state.output(block))
                    yield from self._lines(folded(lines, OUTPUT_LINES, "last"))
                case Content():
                    yield from self._lines(folded(self._text(block), TEXT_LINES, "first"))
                case _:
                    assert_never(block)
        hidden = len(state.content) - MOST_BLOCKS
        if hidden > 0:
            yield self._row(Text(self._more(hidden, "block"), "quiet"))

    def _remarks(self) -> Iterator[RenderableType]:
        """Yield effects of the call besides its content: files written, plan entries."""
        for name in self.state.written:
            yield self._row(Text(f"{one_line(name)} was written by the editor", "quiet"))
        for entry in self.state.plan:
            style = "none" if entry.status == "in_progress" else "quiet"
            yield self._row(Text(plan_line(self._screen, entry), style))

    def _text(self, block: Content) -> Sequence[str]:
        content = block.content
        return text_lines(content.text) if isinstance(content, TextContent) else [content.type]

    def _diff(self, diff: Diff, end: End) -> Iterator[RenderableType]:
        lines = diff_lines(diff.old_text, diff.new_text)
        name = one_line(PurePath(diff.path).name or diff.path)
        word = "new file" if diff.old_text is None else ""
        yield self._row(Text(self._screen.join(name, _size(lines), word), "quiet"))
        shown = folded(lines, DIFF_LINES, end)
        yield from self._folded(shown, [self._diff_line(line) for line in shown.lines])

    def _diff_line(self, line: DiffLine) -> Text:
        text = self._screen.signs.ellipsis if line.sign == "gap" else f"{line.sign} {line.text}"
        return Text(text.rstrip(), _STYLES[line.sign])

    def _lines(self, shown: Folded[str]) -> Iterator[RenderableType]:
        if any(shown.lines):
            yield from self._folded(shown, [Text(line, "none") for line in shown.lines])

    def _folded(
        self, shown: Folded[str] | Folded[DiffLine], lines: Sequence[Text]
    ) -> Iterator[RenderableType]:
        note = [Text(self._more(shown.hidden, "line"), "quiet")] if shown.hidden else []
        rows = [*note, *lines] if shown.end == "last" else [*lines, *note]
        yield from map(self._row, rows)

    def _row(self, text: Text) -> RenderableType:
        text.overflow = "fold"
        return Indented(text, f"    {self._screen.signs.bar} ")

    def _more(self, hidden: int, noun: str) -> str:
        return f"{self._screen.signs.ellipsis} {count(hidden, f'more {noun}')}"

    def _answers(self) -> Iterator[RenderableType]:
        """Yield the permission options and the user's answer."""
        question, signs = self.state.question, self._screen.signs
        if question is None:
            return
        for remark in question.remarks[:MOST_BLOCKS]:
            lines = text_lines(remark)
            if not _is_in(lines, self.state.title):
                yield from self._lines(folded(lines, TEXT_LINES, "first"))
        label = Text.assemble((f"  {signs.question} ", "warning"), "allow it?".ljust(LABEL_COLUMNS))
        for option in question.options:
            is_chosen = option == question.answer
            sign = signs.chosen if is_chosen else signs.open_box
            line = Text(f"{sign} {one_line(option.name)}", "none" if is_chosen else "quiet")
            line.overflow = "fold"
            yield Indented(line, " " * label.cell_len, first_prefix=label)
            label = Text(" " * label.cell_len)
        if question.is_answered:
            said = "withdrawn by the agent" if question.answer is None else question.answer.name
            you = Text.assemble((f"  {signs.prompt} ", "accent"), "you".ljust(LABEL_COLUMNS))
            yield Indented(Text(one_line(said), "prompt"), " " * you.cell_len, first_prefix=you)


def _is_in(lines: Sequence[str], title: str) -> bool:
    """Whether the title already contains the text, as with a short command."""
    return len(lines) == 1 and lines[0] in title


def _place(location: ToolCallLocation) -> str:
    name = one_line(PurePath(location.path).name or location.path)
    return name if location.line is None else f"{name}:{location.line}"


def _size(lines: Sequence[DiffLine]) -> str:
    signs = [line.sign for line in lines]
    return " ".join(f"{sign}{signs.count(sign):,}" for sign in ("+", "-") if sign in signs)


def plan_line(screen: Screen, entry: PlanEntry) -> str:
    """Return one line for a plan entry."""
    signs = {"completed": screen.signs.ok, "in_progress": screen.signs.prompt}
    return f"{signs.get(entry.status, screen.signs.open_box)} {one_line(entry.content)}"
