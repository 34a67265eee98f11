"""The local memory provider: recalls what was said in earlier sessions, and facts that were stored.

After each turn it keeps the statements of the user and what the agent found out by name; with each
prompt it recalls the facts that fit. Secrets are removed before anything is kept, and text that
looks like instructions is not kept.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue

from acp_server.memory.local.extraction import Statement, find_statements, find_things
from acp_server.memory.local.store import Fact, FactSource, FactStore
from acp_server.memory.provider import (
    MemoryContext,
    MemoryProvider,
    MemoryTool,
    MemoryWrite,
    TurnMessage,
)
from acp_server.memory.tool_schemas import as_count, object_schema
from acp_server.text.json_values import as_text
from acp_server.text.redaction import redact_secrets
from prompt_engine.threats import scan

RECALLED_FACTS = 8
SEARCHED_FACTS = 10
MOST_FACTS = 30
SHOWN_THINGS = 12
MAX_FACT_CHARACTERS = 600
LEAST_HERMES_TRUST = 0.3
SEARCH = "fact_search"
STORE = "fact_store"
BLOCK = (
    "# Local memory\n"
    "Facts from earlier sessions on this machine: {count}. Those that fit a prompt come with it, "
    "with their dates; of two that contradict each other the newer one holds. Use fact_search when "
    "an answer may depend on more of them, and fact_store for what must last."
)
THINGS = "\nOften named here: {names}."


class LocalMemory(MemoryProvider):
    """The facts of one home, as one session sees them."""

    def __init__(self, store: FactStore, context: MemoryContext) -> None:
        self._store = store
        self._workspace = str(context.workspace)
        self._session = context.session_id

    def system_block(self) -> str:
        """Return what the model must know of this memory."""
        names = self._store.frequent_things(self._workspace, SHOWN_THINGS)
        named = THINGS.format(names=", ".join(names)) if names else ""
        return BLOCK.format(count=f"{self._store.count():,}") + named

    def prefetch(self, query: str) -> str:
        """Return the facts that fit a prompt, the best first."""
        facts = self._store.search(query, RECALLED_FACTS, self._workspace, self._session)
        return "\n".join(f"- {self._describe(fact)}" for fact in facts)

    def on_turn_end(self, messages: Sequence[TurnMessage]) -> None:
        """Keep the user's statements, and those of the answer that name something."""
        said = (each.text for each in messages if each.role == "user")
        answered = [each.text for each in messages if each.role == "assistant"][-1:]
        self._keep("user", (each for text in said for each in find_statements(text)))
        answers = (each for text in answered for each in find_statements(text))
        self._keep("assistant", (each for each in answers if each.things))

    def on_memory_write(self, write: MemoryWrite) -> None:
        """Follow the changes of MEMORY.md and USER.md."""
        self._store.remove_texts(map(_normalize, write.removed))
        texts = map(_normalize, write.added)
        self._keep("memory", (Statement(text, find_things(text)) for text in texts))

    def tools(self) -> Sequence[MemoryTool]:
        """Return the tools to search and to store facts."""
        return (
            MemoryTool(
                SEARCH,
                "Search the facts of earlier sessions by words and names. Results have ids, dates "
                "and the directory they are from.",
                object_schema(
                    ("query",),
                    query=("string", "words or names; no syntax"),
                    limit=("integer", "1 to 30; default 10"),
                ),
                self._run_search,
                is_read_only=True,
            ),
            MemoryTool(
                STORE,
                "Store a lasting fact in the local memory, or remove one that is wrong.",
                object_schema(
                    (),
                    text=("string", "a fact to store, in one sentence that explains itself"),
                    remove_id=("integer", "the id of a fact to remove"),
                ),
                self._run_store,
            ),
        )

    def _keep(self, source: FactSource, statements: Iterable[Statement]) -> Sequence[int]:
        kept = list(filter(None, map(_screen, statements)))
        return self._store.add(kept, source, self._workspace, self._session) if kept else ()

    def _run_search(self, arguments: Mapping[str, JsonValue]) -> str:
        count = as_count(arguments.get("limit"), SEARCHED_FACTS, MOST_FACTS)
        query = as_text(arguments.get("query", ""))
        facts = self._store.search(query, count, self._workspace)
        lines = [f"{fact.id}: {self._describe(fact)}" for fact in facts]
        return "\n".join(lines) or "No fact fits. Try other words, or session_search."

    def _run_store(self, arguments: Mapping[str, JsonValue]) -> str:
        remove_id, text = arguments.get("remove_id"), as_text(arguments.get("text", "")).strip()
        done: list[str] = []
        if isinstance(remove_id, int):
            removed = self._store.remove(remove_id)
            done.append(f"Removed: {removed}" if removed else f"There is no fact {remove_id}.")
        if text:
            statement = Statement(_normalize(text), find_things(text))
            ids = self._keep("stored", (statement,))
            done.append(
                f"Stored as {ids[0]}."
                if ids
                else "Not stored: the text looks like instructions. Put it as a plain fact."
            )
        return " ".join(done) or "Nothing was done. Give text, remove_id or both."

    def _describe(self, fact: Fact) -> str:
        day = datetime.fromtimestamp(fact.said_at, UTC).date().isoformat()
        is_elsewhere = fact.workspace and fact.workspace != self._workspace
        place = f", {Path(fact.workspace).name}" if is_elsewhere else ""
        role = ", the agent's words" if fact.source == "assistant" else ""
        return f"{fact.text} ({day}{place}{role})"


def open_local_memory(context: MemoryContext) -> MemoryProvider:
    """Open the facts of a home, with those of Hermes' own database if there is one. Blocks."""
    store = FactStore(context.home / "acp" / "facts.db")
    hermes = _hermes_database(context)
    if hermes.is_file():
        store.replace_all("hermes", _read_hermes_facts(hermes, context.settings))
    return LocalMemory(store, context)


def _hermes_database(context: MemoryContext) -> Path:
    """Return the path of the database of Hermes' provider `holographic`."""
    path = as_text(context.settings.get("db_path", "")) or "$HERMES_HOME/memory_store.db"
    return Path(path.replace("$HERMES_HOME", str(context.home))).expanduser()


def _read_hermes_facts(
    path: Path, settings: Mapping[str, JsonValue]
) -> Sequence[tuple[str, float]]:
    """Return the trusted facts of Hermes' database and their times; it is only read."""
    least = settings.get("min_trust_threshold", LEAST_HERMES_TRUST)
    query = """
        SELECT content, unixepoch(updated_at) FROM facts WHERE trust_score >= ? ORDER BY fact_id
    """
    uri = f"{path.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as database:
        rows = database.execute(query, (least,)).fetchall()
    facts = [(Statement(_normalize(str(text)), ()), float(when or 0)) for text, when in rows]
    return [(kept.text, when) for fact, when in facts if (kept := _screen(fact))]


def _screen(statement: Statement) -> Statement | None:
    """Return a statement without secrets; None if it must not reach a model."""
    text = redact_secrets(statement.text)[:MAX_FACT_CHARACTERS]
    if not text or scan(text, "strict"):
        return None
    return statement if text == statement.text else Statement(text, find_things(text))


def _normalize(text: str) -> str:
    return " ".join(text.split())
