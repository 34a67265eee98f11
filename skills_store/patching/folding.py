"""Folds: normalisations under which lines are compared. Independent of spans and edits.

A fold never changes line ends and works on each line separately, so a folded text has the lines of
the text. Columns of a folded line map back to columns of the line.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

BLANKS = " \t\r"
"""Characters that may end a line invisibly; a stray carriage return is one of them."""

_INNER_RUN = re.compile(r"(?<=[^ \t\r\n])(?:[ \t]{2,}+|\t)(?=[^ \t\r\n])")
_SPACES = "".join(map(chr, (0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)))
_COMBINING = r"[\u0300-\u036f\u0653-\u0655\u1160-\u11ff\u20d0-\u20ff\u3099\u309a]"
_CLUSTER = re.compile(rf"[ \t\r{_SPACES}]+|[^ \t\r{_SPACES}]{_COMBINING}*")
_GAP = re.compile(r"[ \t]+")
_QUOTE = re.compile(r"""\\.|["`]|(?<!\w)'|'(?!\w)""")

_LOOKALIKES = str.maketrans(
    {
        **dict.fromkeys(map(chr, (0x201C, 0x201D, 0x201E, 0x201F)), '"'),
        **dict.fromkeys(map(chr, (0x2018, 0x2019, 0x201A, 0x201B)), "'"),
        **dict.fromkeys(map(chr, (0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212)), "-"),
        **dict.fromkeys(_SPACES, " "),
        chr(0x2026): "...",
    }
)
_LONG_DASHES = _LOOKALIKES | {0x2014: "--"}


def _same(text: str) -> str:
    return text


def _strip_end_blanks(text: str) -> str:
    return "\n".join([line.rstrip(BLANKS) for line in text.split("\n")])


def _collapse_blanks(text: str) -> str:
    return _INNER_RUN.sub(" ", _strip_end_blanks(text))


def _translator(table: dict[int, str]) -> Callable[[str], str]:
    def translate(text: str) -> str:
        return text if text.isascii() else unicodedata.normalize("NFC", text.translate(table))

    return translate


@dataclass(frozen=True, slots=True)
class Fold:
    """Way to compare lines: characters treated as equal, then blanks that are ignored."""

    same_characters: Callable[[str], str] = _same
    without_blanks: Callable[[str], str] = _same
    ignores_spacing: bool = False

    def __call__(self, text: str) -> str:
        """Return the normalised text."""
        return self.without_blanks(self.same_characters(text))

    def is_safe_match(self, one: str, other: str) -> bool:
        """Return whether two lines that fold alike have the same blanks inside their quotes.

        Blanks inside a string literal are data: ignoring them could match different code.
        """
        if not self.ignores_spacing:
            return True
        one, other = self.same_characters(one), self.same_characters(other)
        return one == other or _has_same_quoted_blanks(one.strip(BLANKS), other.strip(BLANKS))


PLAIN = Fold()
END_BLANKS = Fold(without_blanks=_strip_end_blanks)
SPACING = Fold(without_blanks=_collapse_blanks, ignores_spacing=True)
LOOKALIKES = Fold(_translator(_LOOKALIKES), _collapse_blanks, ignores_spacing=True)
LONG_DASHES = Fold(_translator(_LONG_DASHES), _collapse_blanks, ignores_spacing=True)


def source_columns(line: str, fold: Fold) -> Sequence[int] | None:
    """Return, for each column of the folded line and its end, the column of the line; -1 if none.

    None if the line cannot be mapped. A column inside text that folds to several characters has no
    counterpart.
    """
    folded = fold(line)
    if line.startswith(folded):
        return range(len(folded) + 1)
    columns = [0]
    pieces: list[str] = []
    for cluster in _CLUSTER.finditer(line):
        piece = _folded_cluster(line, cluster, fold)
        pieces.append(piece)
        if piece:
            columns[-1] = cluster.start()
            columns.extend([-1] * (len(piece) - 1))
            columns.append(cluster.end())
    return columns if "".join(pieces) == folded else None


def _folded_cluster(line: str, cluster: re.Match[str], fold: Fold) -> str:
    """Fold a part of a line in its context: blanks fold differently at the edges of a line."""
    before = "x" if cluster.start() else ""
    after = "x" if cluster.end() < len(line) else ""
    folded = fold(f"{before}{cluster.group()}{after}")
    return folded[len(before) : len(folded) - len(after)]


def _has_same_quoted_blanks(one: str, other: str) -> bool:
    gaps, other_gaps = _GAP.findall(one), _GAP.findall(other)
    if len(gaps) != len(other_gaps):
        return False
    words = _GAP.split(one)
    remaining = {quote: one.count(quote) for quote in "\"'`"}
    is_open = dict.fromkeys(remaining, False)
    for word, gap, other_gap in zip(words, gaps, other_gaps, strict=False):
        for quote in _QUOTE.findall(word):
            if quote in is_open:
                is_open[quote] = not is_open[quote]
        for quote in remaining:
            remaining[quote] -= word.count(quote)
        if gap != other_gap and any(is_open[quote] and remaining[quote] for quote in remaining):
            return False
    return True
