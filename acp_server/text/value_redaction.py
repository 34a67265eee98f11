"""Known secret values in a stream of bytes, replaced by marks such as `[API_KEY]`. Pure.

A value is found wherever the stream is cut into chunks: the end of a chunk that may be the
beginning of a value is held back until it is clear whether it is one.
"""

import json
import re
from urllib.parse import quote

MIN_HIDDEN_CHARACTERS = 8
"""Shorter values, such as a port or `true`, occur in any output by chance and are not hidden."""
_MIN_LINE_CHARACTERS = 16
"""Minimum length of a line of a longer value, such as a private key, to be hidden by itself."""
_MAX_COLORED_BYTES = 200
"""Longer values are not looked for between escape sequences, which makes large expressions."""
_MAX_HELD_FACTOR = 12
"""A value with an escape sequence before each byte is so many times as long."""
_ESCAPE = rb"\x1b\[[0-?]*[ -/]*[@-~]"
"""A sequence that changes colors or moves the cursor: it is gone once the text is rendered."""
_ESCAPES = re.compile(_ESCAPE)
_CUT_ESCAPE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*)?\Z")


class HiddenValues:
    """The values to hide, with their marks; values may be added at any time, never removed."""

    def __init__(self) -> None:
        self._marks: dict[bytes, bytes] = {}
        self._values: tuple[bytes, ...] = ()
        self._first_bytes = frozenset[int]()
        self.pattern: re.Pattern[bytes] | None = None
        """Matches any of the values, the longest first; None if there are none."""

    def add(self, name: str, value: str) -> None:
        """Hide a value from now on, and what becomes of it in JSON and in URLs."""
        if len(value) < MIN_HIDDEN_CHARACTERS:
            return
        mark = f"[{name}]".encode()
        for form in _forms(value):
            self._marks.setdefault(form.encode("utf-8", "surrogateescape"), mark)
        self._values = tuple(sorted(self._marks, key=len, reverse=True))
        self._first_bytes = frozenset(each[0] for each in self._values)
        # Without groups, the search skips all bytes that no value begins with.
        self.pattern = re.compile(b"|".join(map(_expression, self._values)))

    def mark(self, found: re.Match[bytes]) -> bytes:
        """Return the mark of what `pattern` has matched."""
        known = self._marks.get(_ESCAPES.sub(b"", found[0]))
        if known is not None:
            return known
        # A value may have escape sequences of its own.
        matches = (each for each in self._values if re.fullmatch(_expression(each), found[0]))
        return self._marks[next(matches)]

    def find_beginning(self, data: bytes, position: int) -> int:
        """Return from where on data may be the beginning of a value; its length if nowhere."""
        if not self._values:
            return len(data)
        longest = _MAX_HELD_FACTOR * len(self._values[0])
        for start in range(max(position, len(data) - longest), len(data)):
            if data[start] in self._first_bytes and self._may_begin(data[start:]):
                return start
        return len(data)

    def _may_begin(self, data: bytes) -> bool:
        plain = _ESCAPES.sub(b"", _CUT_ESCAPE.sub(b"", data)) if b"\x1b" in data else data
        return any(len(each) > len(plain) and each.startswith(plain) for each in self._values)


class StreamRedactor:
    """Replaces values in one stream."""

    def __init__(self, values: HiddenValues) -> None:
        self._values = values
        self._held = b""

    def write(self, chunk: bytes) -> bytes:
        """Take a chunk; return the bytes that are certain by now, perhaps none."""
        if self._values.pattern is None and not self._held:
            return chunk
        return self._replace(self._held + chunk, is_last=False)

    def finish(self) -> bytes:
        """Return what was held back: the stream has ended, or more of it will be shown later."""
        return self._replace(self._held, is_last=True) if self._held else b""

    def _replace(self, data: bytes, *, is_last: bool) -> bytes:
        values, shown, position = self._values, bytearray(), 0
        self._held = b""
        held_from = -1
        while True:
            if held_from < position:  # else it is still the first beginning
                held_from = len(data) if is_last else values.find_beginning(data, position)
            found = None if values.pattern is None else values.pattern.search(data, position)
            # A value that begins where one may begin that is longer waits for more.
            if found is None or found.start() >= held_from:
                shown += data[position:held_from]
                self._held = data[held_from:]
                return bytes(shown)
            shown += data[position : found.start()] + values.mark(found)
            position = found.end()


def _expression(value: bytes) -> bytes:
    """Return an expression that matches a value, also one that is printed in colors."""
    if len(value) > _MAX_COLORED_BYTES:
        return re.escape(value)
    return (b"(?:%s)*" % _ESCAPE).join(re.escape(bytes((each,))) for each in value)


def _forms(value: str) -> set[str]:
    """Return the forms of a value that programs print."""
    forms = {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    forms |= {quote(value, safe=""), quote(value)}
    if "\n" in value:
        lines = (line.strip() for line in value.splitlines())
        forms |= {value.replace("\n", "\r\n"), " ".join(value.split())}
        forms |= {
            line for line in lines if len(line) >= _MIN_LINE_CHARACTERS and "-----" not in line
        }
    return forms
