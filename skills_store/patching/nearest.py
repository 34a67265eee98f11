"""Finds the region to show if a text was not found: the most similar one, in bounded time."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate

from skills_store.patching.errors import NearestText
from skills_store.patching.text_search import EditRequest, line_number

MAX_SHOWN_LINES = 8
MAX_SHOWN_CHARACTERS = 200
MAX_REPEATS = 20
"""A line that occurs more often is no evidence for a position."""

MIN_SHARED_WORDS = 0.4
MIN_SIMILARITY = 0.6
"""From this ratio of `difflib` on, two lines are similar."""
MAX_COMPARISONS = 30_000
MAX_COMPARED_CHARACTERS = 500
"""Longer lines are not compared character by character."""
MAX_CANDIDATES = 4
MAX_LEFT_OUT = 5
"""How many lines of the text the old text may leave out and still be laid beside it."""
MAX_SCORED_CHARACTERS = 4_000
MIN_APPLIED_CHARACTERS = 20
"""A shorter line may be anywhere in a file: it does not show that an edit was made."""
_LINES_BEFORE = 2
_MAX_QUOTED_CHARACTERS = 60
_WORD = re.compile(r"\w{2,}")
_LETTER = re.compile(r"\w")
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class NearestSearch:
    """Result of a search: `is_unlike` says that certainly no line is similar."""

    nearest: NearestText | None
    is_unlike: bool = False


def find_nearest(text: str, old: str) -> NearestSearch:
    """Return the region most similar to the old text, around its first difference, if any."""
    lines = text.split("\n")
    old_lines = old.strip("\n").split("\n")
    starts = [
        *_starts_by_equal_lines(lines, old_lines),
        *_starts_by_shared_words(lines, old_lines),
    ]
    is_complete = False
    if not starts:
        start, is_complete = _start_by_similar_line(lines, old_lines)
        if start is None:
            return NearestSearch(None, is_unlike=is_complete)
        starts = [start]
    alignments = [_align(lines, old_lines, start) for start in dict.fromkeys(starts)]
    return NearestSearch(max(alignments, key=lambda each: each.score).describe())


def find_applied(text: str, request: EditRequest) -> int | None:
    """Return the line where the new text starts, if it shows that the edit was made already.

    Its lines must be there whole, together with lines around the change that the old text has too,
    and the change must be long enough to be no coincidence.
    """
    old, new = request.old.strip("\n").split("\n"), request.new.strip("\n").split("\n")
    kept: list[str] = []
    changed: list[str] = []
    for tag, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        (kept if tag == "equal" else changed).extend(new[start:end])
    longest = max(map(len, map(str.strip, changed or kept)), default=0)
    if not any(line.strip() for line in kept) or longest < MIN_APPLIED_CHARACTERS:
        return None
    needle = "\n".join(new)
    position = f"\n{text}\n".find(f"\n{needle}\n")
    return None if position < 0 else line_number(text, position)


@dataclass(frozen=True, slots=True)
class _Alignment:
    """The lines of a part of the text beside the old lines."""

    start: int
    lines: Sequence[str]
    old_lines: Sequence[str]
    changes: Sequence[tuple[str, int, int, int, int]]
    """What differs, as `difflib` gives it."""
    score: tuple[int, float]
    """The characters in equal lines, and how similar the words are."""

    def describe(self) -> NearestText:
        """Return the lines to show, around the first difference."""
        offset = self.changes[0][1] if self.changes else 0
        first = max(0, min(offset, len(self.lines) - 1) - _LINES_BEFORE)
        shown = self.lines[first : first + MAX_SHOWN_LINES]
        return NearestText(
            self.start + first + 1,
            tuple(line[:MAX_SHOWN_CHARACTERS] for line in shown),
            self._describe_difference(),
        )

    def _describe_difference(self) -> str:
        if not self.changes:
            return ""
        tag, own_start, own_end, old_start, _ = self.changes[0]
        number = self.start + own_start + 1
        if tag == "replace":
            difference = _describe_line(number, self.lines[own_start], self.old_lines[old_start])
        elif tag == "delete":
            count = own_end - own_start
            which = f"line {number}" if count == 1 else f"lines {number}-{number + count - 1}"
            difference = f"The old text leaves out {which}."
        else:
            line = _quote(self.old_lines[old_start].strip())
            difference = f"The old text has {line} before line {number}; the file does not."
        count = sum(max(end - start, end2 - start2) for _, start, end, start2, end2 in self.changes)
        return f"{difference} In all, {count} lines differ." if count > 1 else difference


def _align(lines: Sequence[str], old_lines: Sequence[str], start: int) -> _Alignment:
    """Lay the old lines beside the text from a line on."""
    own_lines = lines[start : start + len(old_lines) + MAX_LEFT_OUT]
    own, old = [line.strip() for line in own_lines], [line.strip() for line in old_lines]
    if own[: len(old)] == old:  # they differ in blanks alone
        own, old, own_lines = own_lines[: len(old)], [*old_lines], own_lines[: len(old)]
    opcodes = SequenceMatcher(None, own, old, autojunk=False).get_opcodes()
    equal = sum(len(line) for tag, i, j, _, _ in opcodes if tag == "equal" for line in own[i:j])
    tag, begin, _, old_begin, old_end = opcodes[-1]
    if tag == "delete":  # the text goes on, the old lines do not
        own_lines, opcodes = own_lines[:begin], opcodes[:-1]
    elif tag == "replace" and len(own_lines) - begin > old_end - old_begin:
        own_lines = own_lines[: begin + old_end - old_begin]
        opcodes = [*opcodes[:-1], (tag, begin, len(own_lines), old_begin, old_end)]
    if opcodes and opcodes[0][0] == "delete":
        skipped = opcodes[0][2]
        start, own_lines = start + skipped, own_lines[skipped:]
        opcodes = [(tag, i - skipped, j - skipped, k, m) for tag, i, j, k, m in opcodes[1:]]
    changes = [each for each in opcodes if each[0] != "equal"]
    return _Alignment(start, own_lines, old_lines, changes, (equal, _similarity(own_lines, old)))


def _describe_line(number: int, own_line: str, old_line: str) -> str:
    """Say what differs between a line of the file and one of the old text."""
    if own_line.strip() != old_line.strip():
        own_line, old_line = own_line.strip(), old_line.strip()
    own, old = _TOKEN.findall(own_line), _TOKEN.findall(old_line)
    shorter = min(len(own), len(old))
    before = next((i for i in range(shorter) if own[i] != old[i]), shorter)
    after = next(
        (i for i in range(shorter - before) if own[-1 - i] != old[-1 - i]), shorter - before
    )
    own_part = "".join(own[before : len(own) - after])
    old_part = "".join(old[before : len(old) - after])
    if (
        own_line and old_line and not (own_part and old_part)
    ):  # a token more or less: with the one before it, to find it
        before = max(0, before - 1)
        own_part = "".join(own[before : len(own) - after])
        old_part = "".join(old[before : len(old) - after])
    return f"Line {number}: the file has {_quote(own_part)}, the old text {_quote(old_part)}."


def _quote(text: str) -> str:
    """Return a text in quotes, in which tabs and blanks can be told apart."""
    if not text:
        return "a blank line"
    cut = text if len(text) <= _MAX_QUOTED_CHARACTERS else f"{text[:_MAX_QUOTED_CHARACTERS]}…"
    return '"{}"'.format(cut.replace("\t", "\\t"))


def _similarity(own_lines: Sequence[str], old_lines: Sequence[str]) -> float:
    """Return how similar the words of two texts are, from 0 to 1."""
    own_words = _WORD.findall("\n".join(own_lines)[:MAX_SCORED_CHARACTERS])
    old_words = _WORD.findall("\n".join(old_lines)[:MAX_SCORED_CHARACTERS])
    return SequenceMatcher(None, own_words, old_words, autojunk=False).ratio()


def _starts_by_equal_lines(lines: Sequence[str], old_lines: Sequence[str]) -> list[int]:
    """Let each occurrence of an old line vote for the implied start of the first line."""
    old_offsets: defaultdict[str, list[int]] = defaultdict(list)
    for offset, line in enumerate(old_lines):
        if _WORD.search(line):
            old_offsets[line.strip()].append(offset)
    found: defaultdict[str, list[int]] = defaultdict(list)
    for index, line in enumerate(lines):
        stripped = line.strip()
        if stripped in old_offsets and len(found[stripped]) <= MAX_REPEATS:
            found[stripped].append(index)
    votes: Counter[int] = Counter()
    for stripped, indices in found.items():
        if len(indices) <= MAX_REPEATS and len(old_offsets[stripped]) <= MAX_REPEATS:
            weight = len(stripped)
            for offset in old_offsets[stripped]:
                votes.update({max(0, index - offset): weight for index in indices})
    ranked = sorted(votes, key=lambda start: (-votes[start], start))
    return ranked[:MAX_CANDIDATES]


def _starts_by_shared_words(lines: Sequence[str], old_lines: Sequence[str]) -> list[int]:
    """Return the starts of the windows of equal height that share most words with the old text."""
    words = {word for line in old_lines for word in _WORD.findall(line)}
    if not words:
        return []
    shared = [len(words.intersection(_WORD.findall(line))) for line in lines]
    totals = [0, *accumulate(shared)]
    height = min(len(old_lines), len(lines))
    scores = [totals[end] - totals[end - height] for end in range(height, len(totals))]
    best = max(scores)
    if best < MIN_SHARED_WORDS * len(words):
        return []
    return [start for start, score in enumerate(scores) if score == best][:MAX_CANDIDATES]


def _start_by_similar_line(
    lines: Sequence[str], old_lines: Sequence[str]
) -> tuple[int | None, bool]:
    """Return the start that the most similar pair of lines implies, and whether all were compared.

    Lines of signs alone are similar everywhere and not compared.
    """
    numbers: dict[str, int] = {}
    is_complete = True
    for number, line in enumerate(lines):
        stripped = line.strip()
        if len(stripped) > MAX_COMPARED_CHARACTERS:
            is_complete = False
        elif _LETTER.search(stripped):
            numbers.setdefault(stripped, number)
    offsets = {
        line.strip(): offset for offset, line in enumerate(old_lines) if _LETTER.search(line)
    }
    best, best_start, comparisons = MIN_SIMILARITY, None, 0
    for old_line in sorted(offsets, key=len, reverse=True):
        if len(old_line) > MAX_COMPARED_CHARACTERS:
            is_complete = False
            continue
        matcher = SequenceMatcher(None, "", old_line, autojunk=False)
        for line in _of_similar_length(numbers, len(old_line)):
            comparisons += 1
            if comparisons > MAX_COMPARISONS:
                return best_start, False
            matcher.set_seq1(line)
            if matcher.quick_ratio() >= best and matcher.ratio() >= best:
                is_better = best_start is None or matcher.ratio() > best
                if is_better:
                    best, best_start = matcher.ratio(), max(0, numbers[line] - offsets[old_line])
    return best_start, is_complete


def _of_similar_length(lines: dict[str, int], length: int) -> Iterator[str]:
    """Yield the lines that can be similar to a line of a length at all."""
    for line in lines:
        if 2 * min(len(line), length) >= MIN_SIMILARITY * (len(line) + length):
            yield line
