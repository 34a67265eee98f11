"""Recall of the local memory beside `session_search`: `python -m tests.benchmarks.recall [DIR]`.

Without an argument a set is generated: a year of sessions in which a user says where services run,
who owns them and how they are built, among talk about nothing, and later changes some of it;
questions ask for the newest state in other words. With one, DIR holds conversations of the
collection LoCoMo (`locomo10_v2/*.json`), which are not part of this project.

A question is answered if the text that a model would get holds a sentence of a turn that answers
it. `session_search` is asked with the whole question and, as a model would after a first try, with
its words joined by OR.
"""

import argparse
import json
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from acp_server.history.discovery import discover
from acp_server.history.search_databases import open_databases
from acp_server.memory.local.extraction import find_query_words, find_statements
from acp_server.memory.local.provider import LocalMemory
from acp_server.memory.local.store import FactStore
from acp_server.memory.provider import MemoryContext, TurnMessage
from acp_server.session.ports.session_search import SessionQuery
from acp_server.text.json_values import as_list, as_object, as_text
from tests.history.past_sessions import FIRST_DAY, SessionHome, user

SEED = 29
SESSIONS, FACTS_PER_SESSION, CHANGED = 60, 5, 40
SERVICES = [
    "billing",
    "checkout",
    "ledger",
    "invoices",
    "search",
    "catalog",
    "notifier",
    "gateway",
    "sessions",
    "uploader",
    "thumbnails",
    "mailer",
    "audit",
    "metrics",
    "scheduler",
    "importer",
    "exporter",
    "webhooks",
    "accounts",
    "reports",
]
VALUES: dict[str, tuple[str, ...]] = {
    "place": ("Frankfurt", "Oregon", "Singapore", "Dublin", "Tokyo", "Montreal", "Zurich"),
    "person": ("Anna", "Bogdan", "Chiara", "Deniz", "Emeka", "Farah", "Goro", "Ines"),
    "tool": ("Bazel", "Gradle", "Meson", "Nix", "Pants", "CMake", "Just"),
    "store": ("Postgres", "Redis", "DynamoDB", "Cassandra", "SQLite", "ClickHouse"),
    "port": ("8081", "9090", "7443", "5005", "6123", "3100"),
    "day": ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays"),
}
TEMPLATES = (
    ("place", "The {s} service runs in {v}.", "In which region is {s} hosted?"),
    ("person", "{v} owns the {s} service now.", "Who is responsible for {s}?"),
    ("tool", "We build {s} with {v}.", "What does the build of {s} use?"),
    ("store", "The {s} service keeps its data in {v}.", "Which database is behind {s}?"),
    ("port", "Locally, {s} listens on port {v}.", "At what port can I reach {s}?"),
    ("day", "We deploy {s} on {v} only.", "When may {s} be released?"),
)
TALK: tuple[str, ...] = (
    "Please run the tests again and show me the failures.",
    "The diff looks fine, thanks for the quick work on this.",
    "Rename the helper and move it next to its only caller.",
    "I would like the error message to say what to do next.",
    "The pipeline was red this morning because of a flaky test.",
    "Let us keep the change small and leave the refactoring for later.",
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the texts any of which answers it."""

    text: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Collection:
    """Sessions, each a list of texts of the user, and questions about them."""

    sessions: list[list[str]]
    questions: list[Question] = field(default_factory=list[Question])


@dataclass(frozen=True, slots=True)
class Recall:
    """What one way of asking found."""

    way: str
    answered: int
    asked: int
    characters: int
    """Per question, as the model would get them."""

    @property
    def share(self) -> float:
        return self.answered / self.asked


def generate(seed: int = SEED, sessions: int = SESSIONS) -> Collection:
    """Return a set; the same for the same seed."""
    chance = random.Random(seed)  # noqa: S311  no secret
    slots = [(service, template) for service in SERVICES for template in TEMPLATES]
    chance.shuffle(slots)
    current: dict[tuple[str, str], tuple[str, str]] = {}
    said: list[list[str]] = []
    for number in range(sessions):
        texts = chance.sample(TALK, 3)
        new = slots[number * FACTS_PER_SESSION : (number + 1) * FACTS_PER_SESSION]
        old = chance.sample(sorted(current), min(1, len(current))) if number % 3 == 2 else []
        changed = [(s, t) for s, kind in old for t in TEMPLATES if t[0] == kind]
        for service, (kind, statement, question) in (*new, *changed):
            others = [v for v in VALUES[kind] if v not in current.get((service, kind), ("",))[0]]
            text = statement.format(s=service, v=chance.choice(others))
            current[service, kind] = (text, question.format(s=service))
            texts.append(text)
        chance.shuffle(texts)
        said.append(texts)
    # Of each, the newest answer only.
    return Collection(said, [Question(ask, (text,)) for text, ask in current.values()])


def read_locomo(path: Path) -> Collection:
    """Return a conversation of LoCoMo; its questions without evidence are left out."""
    document = as_object(cast("JsonValue", json.loads(path.read_text("utf-8"))))
    texts: dict[str, str] = {}
    sessions: list[list[str]] = []
    for number in range(1, 100):
        turns = [as_object(each) for each in as_list(document.get(f"session_{number}", []))]
        sessions += [[as_text(turn["text"]) for turn in turns]] if turns else []
        texts |= {as_text(turn["dia_id"]): as_text(turn["text"]) for turn in turns}
    questions: list[Question] = []
    for each in map(as_object, as_list(document["qa"])):
        evidence = [as_text(name) for name in as_list(each.get("evidence", []))]
        answers = tuple(texts[name] for name in evidence if name in texts)
        if answers and "answer" in each:
            questions.append(Question(as_text(each["question"]), answers))
    return Collection(sessions, questions)


def measure(collection: Collection, directory: Path) -> Sequence[Recall]:
    """Store the sessions both ways and ask all questions. `directory` must be empty."""
    home = SessionHome(directory)
    days = [FIRST_DAY + timedelta(days=6 * n) for n in range(len(collection.sessions))]
    clock = [days[0].timestamp()]
    store = FactStore(directory / "facts.db", lambda: clock[0])
    for number, texts in enumerate(collection.sessions):
        clock[0] = days[number].timestamp()
        context = MemoryContext(f"session-{number}", directory, "user", directory)
        LocalMemory(store, context).on_turn_end([TurnMessage("user", text) for text in texts])
        home.save_session(f"session-{number}", *map(user, texts), day=6 * number)
    asking = LocalMemory(store, MemoryContext("asks", directory, "user", directory))
    search = next(tool for tool in asking.tools() if tool.is_read_only)

    def past(query: str) -> str:
        with open_databases(home.database_paths) as databases:
            hits = discover(databases, SessionQuery(query)).hits
        return "\n".join(text.text for hit in hits for text in hit.around)

    ways: dict[str, Callable[[str], str]] = {
        "local memory, with the prompt": asking.prefetch,
        "local memory, fact_search": lambda text: search.run({"query": text}),
        "session_search, the question": past,
        "session_search, its words": lambda text: past(" OR ".join(find_query_words(text))),
    }
    return [_ask(way, ask, collection.questions) for way, ask in ways.items()]


def _ask(way: str, ask: Callable[[str], str], questions: Sequence[Question]) -> Recall:
    answered = characters = 0
    for question in questions:
        found = ask(question.text)
        characters += len(found)
        sentences = (each for text in question.answers for each in _sentences(text))
        answered += any(each in found for each in sentences)
    return Recall(way, answered, len(questions), characters // max(len(questions), 1))


def _sentences(text: str) -> Iterator[str]:
    yield from (each.text for each in find_statements(text))
    yield text


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, nargs="?", help="conversations of LoCoMo")
    directory = parser.parse_args().directory
    paths = sorted(directory.glob("*.json")) if directory else []
    collections = [read_locomo(path) for path in paths] or [generate()]
    totals: dict[str, Recall] = {}
    for collection in collections:
        with tempfile.TemporaryDirectory() as folder:
            for each in measure(collection, Path(folder)):
                before = totals.get(each.way, Recall(each.way, 0, 0, 0))
                asked = before.asked + each.asked
                characters = before.characters * before.asked + each.characters * each.asked
                answered = before.answered + each.answered
                totals[each.way] = Recall(each.way, answered, asked, characters // asked)
    for each in totals.values():
        print(f"{each.way:32} {each.answered}/{each.asked} {each.share:.0%} {each.characters:,}")


if __name__ == "__main__":
    main()
