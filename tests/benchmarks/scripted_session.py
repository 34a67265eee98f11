"""Script of a working day: a small project, and 20 turns of a user and a model on it.

60 tool calls in 44 answers plus 20 answers that end a turn: 64 requests. Most answers call one
tool. One answer calls eleven, so that with their results more than 20 blocks separate two requests.
Every third turn starts with reasoning whose signature becomes invalid if anything before it
changes. Result sizes are those of file excerpts, searches, edits and a test run. Knows no agent.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from pydantic import JsonValue

from tests.support.messages_api import CallTool, ScriptedReply, call, reply, say, think

NOUNS = ("order", "price", "stock", "buyer", "label", "offer", "route", "claim")
VERBS = ("check", "scann", "count", "group", "guard", "match", "draft", "limit")
FUNCTION = '''\
def {verb}_{noun}(items, most={most}):
    """Return each {noun} that may be {verb}ed."""
    {verb}ed = []
    for item in items:
        if item.{noun}_id > most:
            skip("{verb}", item)
        {verb}ed.append(item)
    return {verb}ed


'''
HEAD_LINES = 3
FUNCTION_LINES = FUNCTION.count("\n")
TESTS = """\
echo "collected 24 items"
echo
for part in rules edges wires; do echo "tests/$part/test_$1.py ........ [ok]"; done
echo
echo "24 passed in 0.41s"
"""

PLAN = (
    "s rr p t",
    "r p",
    "s r p t",
    "r",
    "s rr pp t",
    "r",
    "rrrrrrrrrrr",
    "p t",
    "s r",
    "r p t",
    "",
    "s rr p t",
    "r",
    "s r p",
    "w t",
    "s r",
    "rr p t",
    "",
    "s r p t",
    "sr",
)
"""One turn per line, one answer per word, one call per letter: search, read, patch, write, test."""

PATTERNS = (r"\.append", "most=", r"def \w+_", r"skip\(", "return ")
"""Each pattern has 64 hits, all of them different lines."""

READ_LINES = 24
BRIEF_READ_LINES = 8
"""Lines per file read: alone or with one other file, and among eleven."""

PROMPTS = (
    "Orders above the limit are dropped without a word. Please find out where, and mend it.",
    "And the same for the neighbour, as far as it applies?",
    "Now the limit should be a setting of the shop and no number in the signature.",
    "What does this one return when nothing is found?",
)
ANSWERS = (
    "Done: what lies above the limit is kept in a list of its own now, and the tests pass.",
    "It returns an empty list. Nothing else in the project relies on that.",
    "I changed the one place that decides it; its callers stay as they are. 24 tests pass.",
)


@dataclass(frozen=True, slots=True)
class SessionScript:
    """The user's prompts by turn, and the model's answers by request."""

    prompts: Sequence[str]
    replies: Sequence[ScriptedReply]

    @property
    def call_counts(self) -> list[int]:
        """Number of calls in each answer."""
        return [sum(isinstance(block, CallTool) for block in each.blocks) for each in self.replies]

    @property
    def largest_batch(self) -> int:
        """Index of the answer with the most calls."""
        return self.call_counts.index(max(self.call_counts))


def write_project(folder: Path) -> None:
    """Write the project files."""
    (folder / "shop").mkdir(parents=True)
    for noun in NOUNS:
        functions = (
            FUNCTION.format(verb=verb, noun=noun, most=most) for most, verb in enumerate(VERBS)
        )
        text = f'"""All about a {noun}."""\n\n\n' + "".join(functions)
        (folder / _module(noun)).write_text(text, encoding="utf-8")
    (folder / "AGENTS.md").write_text("Run `sh tests.sh NAME` before you finish.\n")
    (folder / "tests.sh").write_text(TESTS, encoding="utf-8")


def make_script(hits: int | None = None, turns: int = len(PLAN)) -> SessionScript:
    """Return the first turns; searches request this many hits, or use the tool's default."""
    prompts = [f"{PROMPTS[turn % len(PROMPTS)]} ({_noun(turn)})" for turn in range(turns)]
    return SessionScript(prompts, list(_replies(hits, turns)))


def _replies(hits: int | None, turns: int) -> Iterator[ScriptedReply]:
    numbers = count()
    for turn, words in enumerate(PLAN[:turns]):
        thought = [think("Where is it decided?")] if turn % 3 == 0 else []
        for word in words.split():
            texts = [say(f"Let me look at the {_noun(turn)}.")] if len(word) > 1 else []
            calls = [_call(letter, turn, next(numbers), len(word), hits) for letter in word]
            yield reply(*thought, *texts, *calls)
            thought = []
        yield reply(*thought, ANSWERS[turn % len(ANSWERS)])


def _call(letter: str, turn: int, number: int, batch: int, hits: int | None) -> CallTool:
    noun = _noun(number)
    match letter:
        case "s":
            most: Mapping[str, JsonValue] = {} if hits is None else {"limit": hits}
            return CallTool("search_files", {"pattern": PATTERNS[turn % len(PATTERNS)], **most})
        case "r":
            limit = READ_LINES if batch < 3 else BRIEF_READ_LINES
            offset = 1 + HEAD_LINES + FUNCTION_LINES * (number % 4)
            return call("read_file", path=_module(noun), offset=offset, limit=limit)
        case "p":
            return _patch(noun, VERBS[turn % len(VERBS)])
        case "w":
            text = f"# The {noun}s\n\nWhat lies above the limit is kept apart.\n" * 3
            return call("write_file", path=f"notes/{noun}s.md", content=text)
        case _:
            return call("terminal", command=f"sh tests.sh {noun}s")


def _patch(noun: str, verb: str) -> CallTool:
    """Return a patch to a function that no other call changes."""
    old = f'    """Return each {noun} that may be {verb}ed."""\n    {verb}ed = []\n'
    new = old.replace(f"{verb}ed = []", f"{verb}ed, above = [], []")
    return call("patch", path=_module(noun), old_string=old, new_string=new)


def _noun(number: int) -> str:
    return NOUNS[number % len(NOUNS)]


def _module(noun: str) -> str:
    return f"shop/{noun}s.py"
