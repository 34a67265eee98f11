"""In-memory terminal that renders its screen and its scrollback."""

import io
import re

from typing_extensions import override

_TOKEN_RE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([\x00-\x1f])|([^\x00-\x1f]+)")


class FakeTerminal(io.StringIO):
    """Terminal with a number of rows; fails on unknown control sequences."""

    encoding = "utf-8"

    def __init__(self, rows: int = 24) -> None:
        super().__init__()
        self._rows = rows
        self._lines: list[str] = [""]
        self._row = 0
        self._column = 0
        self.has_cursor = True
        self.writes: list[str] = []
        self.screens: list[str] = []
        """Visible text after each write."""

    @override
    def isatty(self) -> bool:
        return True

    @override
    def write(self, text: str, /) -> int:
        end = 0
        for found in _TOKEN_RE.finditer(text):
            assert found.start() == end, repr(text[end : found.start()])
            end = found.end()
            self._apply(found)
        assert end == len(text)
        self.writes.append(text)
        self.screens.append(self.text)
        return len(text)

    @property
    def text(self) -> str:
        """All lines, scrollback included, without trailing blanks."""
        return "\n".join(line.rstrip() for line in self._lines).rstrip("\n")

    def _apply(self, found: re.Match[str]) -> None:
        parameters, command, control, words = found.groups()
        if words is not None:
            line = self._lines[self._row].ljust(self._column)
            self._lines[self._row] = (
                line[: self._column] + words + line[self._column + len(words) :]
            )
            self._column += len(words)
        elif control is not None:
            self._control(control)
        else:
            self._command(parameters, command)

    def _control(self, control: str) -> None:
        assert control in "\r\n", repr(control)
        self._column = 0
        if control == "\n":
            self._row += 1
            if self._row == len(self._lines):
                self._lines.append("")

    def _command(self, parameters: str, command: str) -> None:
        match parameters, command:
            case _, "m":
                pass
            case (("?25h" | "?25l"), _):
                self.has_cursor = command == "h"
            case "?25", "h" | "l":
                self.has_cursor = command == "h"
            case "2", "K":
                self._lines[self._row] = ""
            case count, "A":
                self._row -= int(count or 1)
                top = max(0, len(self._lines) - self._rows)
                assert self._row >= top, "the cursor would leave the screen"
            case _:
                raise AssertionError(f"unknown: {parameters!r} {command!r}")
