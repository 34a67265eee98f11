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


class HiddenValues:
    """The values to hide, with their marks; values may be added at any time, never removed."""

    def __init__(self) -> None:
        self._marks: dict[bytes, bytes] = {}
        self.pattern: re.Pattern[bytes] | None = None
        """Matches any of the values, the longest first; None if there are none."""
        self.longest = 0

    def add(self, name: str, value: str) -> None:
        """Hide a value from now on, and what becomes of it in JSON and in URLs."""
        if len(value) < MIN_HIDDEN_CHARACTERS:
            return
        mark = f"[{name}]".encode()
        for form in _forms(value):
            self._marks.setdefault(form.encode("utf-8", "surrogateescape"), mark)
        longest_first = sorted(self._marks, key=len, reverse=True)
        self.pattern = re.compile(b"|".join(map(re.escape, longest_first)))
        self.longest = len(longest_first[0])

    def mark(self, value: bytes) -> bytes:
        """Return the mark of a value that `pattern` has matched."""
        return self._marks[value]

    def may_begin(self, data: bytes) -> bool:
        """Return whether some value begins with these bytes and is longer."""
        return any(len(each) > len(data) and each.startswith(data) for each in self._marks)

    def hide(self, text: str) -> str:
        """Return a text with all values replaced by their marks."""
        if self.pattern is None:
            return text
        data = text.encode("utf-8", "surrogatepass")
        hidden = self.pattern.sub(lambda found: self._marks[found[0]], data)
        return hidden.decode("utf-8", "surrogatepass")


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
        pattern, shown, position = self._values.pattern, bytearray(), 0
        self._held = b""
        while True:
            held_from = len(data) if is_last else self._find_beginning(data, position)
            found = None if pattern is None else pattern.search(data, position)
            # A value that begins where one may begin that is longer waits for more.
            if found is None or found.start() >= held_from:
                shown += data[position:held_from]
                self._held = data[held_from:]
                return bytes(shown)
            shown += data[position : found.start()] + self._values.mark(found[0])
            position = found.end()

    def _find_beginning(self, data: bytes, position: int) -> int:
        """Return from where on the data may be the beginning of a value; its length if nowhere."""
        for start in range(max(position, len(data) - self._values.longest + 1), len(data)):
            if self._values.may_begin(data[start:]):
                return start
        return len(data)


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
