"""The user's own rules about commands that never run: patterns as in Hermes' `approvals.deny`.

A pattern is compared with the whole line, with each simple command in it, and with the commands
that launchers, shells and `eval` are given. Case is ignored; `*` matches any text, `?` one
character and `[...]` one of several. Values of variables are unknown, except in loops over plain
words: like the deny list, the rules are no security boundary.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

_CONTINUATION = re.compile(r"\\\r?\n")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class UserRules:
    """The patterns, and the home directory, which `~` in them means."""

    patterns: Sequence[str] = ()
    home: str | None = None
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """What a pattern is from, by pattern, if not from `approvals.deny`."""

    def match_line(self, line: str) -> str | None:
        """Return as a phrase why a line never runs; None if no pattern fits it."""
        if not self.patterns:
            return None
        return self._match(_CONTROL.sub("", _CONTINUATION.sub("", line)))

    def match_words(self, words: Sequence[str]) -> str | None:
        """Return as a phrase why a simple command never runs; None if no pattern fits it."""
        if not self.patterns or not words:
            return None
        program = words[0].rpartition("/")[2]
        return self._match(" ".join(words)) or self._match(" ".join((program, *words[1:])))

    def _match(self, text: str) -> str | None:
        for pattern in self.patterns:
            lowered = pattern.strip().lower()
            if lowered and any(fnmatchcase(each, lowered) for each in self._forms(text)):
                source = self.sources.get(pattern, "`approvals.deny`")
                return f"the rule `{pattern}` ({source}) forbids it"
        return None

    def _forms(self, text: str) -> Iterator[str]:
        plain = text.strip().lower()
        yield plain
        if self.home and self.home.lower() in plain:
            yield plain.replace(self.home.lower(), "~")
