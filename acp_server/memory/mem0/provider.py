"""The memory provider for Mem0: recalls memories with each prompt, and passes each turn on.

Mem0 infers facts from turns by itself. Its memories are the user's, so both Hermes and this server
see them.
"""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from acp_server.memory.mem0.backends import Mem0Backend, open_backend
from acp_server.memory.mem0.config import Mem0Config, read_mem0_config
from acp_server.memory.provider import (
    MemoryContext,
    MemoryProvider,
    MemoryTool,
    MemoryWrite,
    TurnMessage,
)
from acp_server.memory.tool_schemas import as_count, as_result, object_schema
from acp_server.text.json_values import Object, as_text

RECALLED, SEARCHED, MOST = 8, 10, 50
BLOCK = (
    "# Mem0\n"
    "What Mem0 remembers of the user from earlier sessions comes with prompts. Use "
    "mem0_search when an answer may depend on more of it, with other words if nothing fits; store "
    "lasting facts with mem0_add, and correct wrong ones with mem0_update or mem0_delete."
)


class Mem0Memory(MemoryProvider):
    """The memories of one user of Mem0."""

    def __init__(self, backend: Mem0Backend, config: Mem0Config) -> None:
        self._backend = backend
        self._config = config

    def system_block(self) -> str:
        """Return how to use the memory; the same for everyone, so that it can be cached."""
        return BLOCK

    def prefetch(self, query: str) -> str:
        """Return the memories that fit a prompt."""
        found = self._backend.search(query, RECALLED, is_reranked=False)
        return "\n".join(f"- {_text_of(each)}" for each in found if _text_of(each))

    def on_turn_end(self, messages: Sequence[TurnMessage]) -> None:
        """Pass a turn on; Mem0 decides what to remember of it."""
        sent: list[Object] = [{"role": each.role, "content": each.text} for each in messages]
        self._backend.add(sent, infers=True)

    def on_memory_write(self, write: MemoryWrite) -> None:
        """Store new entries of the built-in memory as they are."""
        for entry in write.added:
            self._backend.add([{"role": "user", "content": entry}], infers=False)

    def on_session_end(self, messages: Sequence[TurnMessage]) -> None:
        """Close the connections."""
        del messages
        self._backend.close()

    def tools(self) -> Sequence[MemoryTool]:
        """Return the tools, by their names in Hermes."""
        return (
            MemoryTool(
                "mem0_search",
                "Search what Mem0 remembers of the user, by meaning; results have ids.",
                object_schema(
                    ("query",),
                    query=("string", "what to look for"),
                    top_k=("integer", "1 to 50; default 10"),
                ),
                self._search,
                is_read_only=True,
            ),
            MemoryTool(
                "mem0_add",
                "Store a lasting fact about the user, as it is.",
                object_schema(("content",), content=("string", "the fact")),
                self._add,
            ),
            MemoryTool(
                "mem0_update",
                "Replace the text of a memory that is wrong.",
                object_schema(
                    ("memory_id", "text"),
                    memory_id=("string", "its id, from mem0_search"),
                    text=("string", "the new text"),
                ),
                self._update,
            ),
            MemoryTool(
                "mem0_delete",
                "Delete a memory that no longer holds.",
                object_schema(("memory_id",), memory_id=("string", "its id, from mem0_search")),
                self._delete,
            ),
        )

    def _search(self, arguments: Mapping[str, JsonValue]) -> str:
        query, limit = as_text(arguments["query"]), as_count(arguments.get("top_k"), SEARCHED, MOST)
        found = self._backend.search(query, limit, is_reranked=self._config.is_reranked)
        memories = [
            {"id": each.get("id"), "memory": _text_of(each), "score": each.get("score")}
            for each in found
        ]
        return as_result(results=list[JsonValue](memories))

    def _add(self, arguments: Mapping[str, JsonValue]) -> str:
        content = as_text(arguments["content"])
        self._backend.add([{"role": "user", "content": content}], infers=False)
        return as_result(result="Stored. It may take a moment until searches find it.")

    def _update(self, arguments: Mapping[str, JsonValue]) -> str:
        self._backend.update(as_text(arguments["memory_id"]), as_text(arguments["text"]))
        return as_result(result="Updated.")

    def _delete(self, arguments: Mapping[str, JsonValue]) -> str:
        self._backend.delete(as_text(arguments["memory_id"]))
        return as_result(result="Deleted.")


def open_mem0(context: MemoryContext) -> MemoryProvider:
    """Connect to Mem0. Blocks.

    Raises:
        ProviderUnavailableError: there is no key, or the package is missing.
    """
    config = read_mem0_config(context)
    backend = open_backend(config, context.home / "acp" / "mem0")
    return Mem0Memory(backend, config)


def _text_of(memory: Object) -> str:
    return as_text(memory.get("memory", ""))
