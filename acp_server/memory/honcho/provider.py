"""The memory provider for Honcho: recalls what it knows of the user, and passes each turn on.

Honcho reasons about the messages by itself, in the background, and forms a representation of the
user. The agent's peer asks about the user's.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from pydantic import JsonValue

from acp_server.memory.honcho.client import (
    MAX_BATCH,
    Conclusions,
    Connections,
    HonchoClient,
    PeerContext,
    open_client,
    peer_configs,
)
from acp_server.memory.honcho.config import HonchoConfig, read_honcho_config
from acp_server.memory.provider import (
    MemoryContext,
    MemoryProvider,
    MemoryTool,
    MemoryWrite,
    TurnMessage,
)
from acp_server.memory.tool_schemas import as_count, as_result, object_schema
from acp_server.text.json_values import as_text

SEARCHED, MOST = 8, 30
CHARACTERS_PER_TOKEN = 4
MAX_QUESTION_CHARACTERS = 10_000
LEVELS = ("minimal", "low", "medium", "high", "max")
BLOCK = (
    "# Honcho\n"
    "Honcho observes the conversation and models the user; what fits a prompt comes with it. Use "
    "honcho_search for what was said, honcho_profile for standing facts, honcho_reasoning (slow) "
    "for questions that need judgement, and honcho_conclude to state a lasting fact."
)
CONTEXT_ONLY = (
    "# Honcho\n"
    "Honcho observes the conversation and models the user; what fits a prompt comes with it."
)


class HonchoMemory(MemoryProvider):
    """The memory of one session in Honcho."""

    def __init__(
        self, client: HonchoClient, connections: Connections, config: HonchoConfig
    ) -> None:
        """Create workspace, peers and session, if they do not exist. Blocks."""
        self._config = config
        self._connections = connections
        self._user = client.peer(config.user_peer)
        self._agent = client.peer(config.ai_peer)
        self._session = client.session(config.session)
        configs = peer_configs(config.user_peer, config.ai_peer)
        self._session.add_peers(list(configs.items()))

    def system_block(self) -> str:
        """Return how to use the memory, and the standing facts about the user."""
        card = self._agent.get_card(target=self._user.id)
        facts = "".join(f"\n- {fact}" for fact in card or ())
        block = BLOCK if self._config.has_tools else CONTEXT_ONLY
        return f"{block}\nStanding facts about the user:{facts}" if facts else block

    def prefetch(self, query: str) -> str:
        """Return what the agent knows of the user that fits a prompt."""
        if not self._config.has_context:
            return ""
        question = query[:MAX_QUESTION_CHARACTERS]
        known = self._agent.context(target=self._user.id, search_query=question)
        return self._limit(known.representation or "")

    def on_turn_end(self, messages: Sequence[TurnMessage]) -> None:
        """Pass a turn on."""
        if not self._config.saves_messages:
            return
        sent = [
            peer.message(part)
            for each in messages
            for peer in ((self._user if each.role == "user" else self._agent),)
            for part in _parts(each.text, self._config.max_message_characters)
        ]
        for start in range(0, len(sent), MAX_BATCH):
            self._session.add_messages(sent[start : start + MAX_BATCH])

    def on_memory_write(self, write: MemoryWrite) -> None:
        """State new entries of USER.md as facts about the user."""
        if write.target == "user" and write.added:
            self._about_user().create(
                [{"content": each, "session_id": self._config.session} for each in write.added]
            )

    def on_session_end(self, messages: Sequence[TurnMessage]) -> None:
        """Close the connections; Honcho has the messages already."""
        del messages
        self._connections.close()

    def tools(self) -> Sequence[MemoryTool]:
        """Return the tools, by their names in Hermes."""
        if not self._config.has_tools:
            return ()
        return (
            MemoryTool(
                "honcho_profile",
                "Read the standing facts that Honcho has about the user.",
                object_schema(),
                self._read_profile,
                is_read_only=True,
            ),
            MemoryTool(
                "honcho_search",
                "Search what was said in all sessions with the user, by words and meaning.",
                object_schema(
                    ("query",),
                    query=("string", "what to look for"),
                    limit=("integer", "1 to 30; default 8"),
                ),
                self._search,
                is_read_only=True,
            ),
            MemoryTool(
                "honcho_context",
                "Read what Honcho knows of the user about a topic: facts and its own conclusions.",
                object_schema(("query",), query=("string", "the topic")),
                self._read_context,
                is_read_only=True,
            ),
            MemoryTool(
                "honcho_reasoning",
                "Ask Honcho a question about the user that needs judgement. Takes seconds.",
                object_schema(
                    ("query",),
                    query=("string", "the question"),
                    reasoning_level=("string", f"one of {', '.join(LEVELS)}"),
                ),
                self._reason,
                is_read_only=True,
            ),
            MemoryTool(
                "honcho_conclude",
                "State a lasting fact about the user, or delete one by its id to protect the user; "
                "facts that changed need no deletion.",
                object_schema(
                    conclusion=("string", "the fact to state"),
                    delete_id=("string", "the id of the fact to delete, from list_query"),
                    list_query=("string", "list stated facts about this, with their ids"),
                ),
                self._conclude,
            ),
        )

    def _about_user(self) -> Conclusions:
        return self._agent.conclusions_of(self._user.id)

    def _read_profile(self, arguments: Mapping[str, JsonValue]) -> str:
        del arguments
        card = self._agent.get_card(target=self._user.id)
        return as_result(facts=list[JsonValue](card or ()))

    def _search(self, arguments: Mapping[str, JsonValue]) -> str:
        limit = as_count(arguments.get("limit"), SEARCHED, MOST)
        query = as_text(arguments["query"])
        found = [
            *self._user.search(query, limit=limit),
            *self._agent.search(query, limit=limit),
        ]
        messages: list[JsonValue] = [
            {"who": "user" if each.peer_id == self._user.id else "you", "text": each.content}
            for each in found[:limit]
        ]
        return as_result(messages=messages)

    def _read_context(self, arguments: Mapping[str, JsonValue]) -> str:
        query = as_text(arguments["query"])
        known = self._agent.context(target=self._user.id, search_query=query)
        return _describe(known) or as_result(result="Honcho knows nothing of this yet.")

    def _reason(self, arguments: Mapping[str, JsonValue]) -> str:
        level = as_text(arguments.get("reasoning_level", ""))
        answer = self._agent.chat(
            as_text(arguments["query"])[:MAX_QUESTION_CHARACTERS],
            target=self._user.id,
            reasoning_level=level if level in LEVELS else self._config.reasoning_level,
        )
        return answer or as_result(result="Honcho has no answer.")

    def _conclude(self, arguments: Mapping[str, JsonValue]) -> str:
        conclusion = as_text(arguments.get("conclusion", "")).strip()
        delete_id = as_text(arguments.get("delete_id", ""))
        query = as_text(arguments.get("list_query", ""))
        about_user = self._about_user()
        if conclusion:
            about_user.create([{"content": conclusion, "session_id": self._config.session}])
            return as_result(result="Stated.")
        if delete_id:
            about_user.delete(delete_id)
            return as_result(result="Deleted.")
        if query:
            found = about_user.query(query, top_k=SEARCHED)
            return as_result(facts=[{"id": each.id, "text": each.content} for each in found])
        return as_result(error="give one of conclusion, delete_id and list_query")

    def _limit(self, text: str) -> str:
        tokens = self._config.context_tokens
        return text[: tokens * CHARACTERS_PER_TOKEN] if tokens else text


def open_honcho(context: MemoryContext) -> MemoryProvider:
    """Connect to Honcho. Blocks.

    Raises:
        ProviderUnavailableError: there is no key, or the package is missing.
    """
    config = read_honcho_config(context, Path.home())
    client, connections = open_client(config)
    with ExitStack() as opened:
        opened.callback(connections.close)
        memory = HonchoMemory(client, connections, config)
        opened.pop_all()  # from here on the end of the session closes them
    return memory


def _parts(text: str, max_characters: int) -> Iterator[str]:
    """Yield a text in parts that one message may hold."""
    for start in range(0, len(text), max_characters):
        yield text[start : start + max_characters]


def _describe(known: PeerContext) -> str:
    facts = "\n".join(f"- {fact}" for fact in known.peer_card or ())
    return "\n\n".join(filter(None, (facts, known.representation)))
