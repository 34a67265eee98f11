"""Honcho on loopback: workspaces, peers, sessions, messages and conclusions, version 3 of its API.

It does not reason: a representation is what was said and stated with a word of the query.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from pydantic import JsonValue

from tests.memory.services.loopback import (
    Json,
    RefusedError,
    Request,
    Route,
    Service,
    object_of,
    serve,
)

TIME = "2026-11-27T00:00:00Z"
ID: Json = {"type": "string", "minLength": 1, "maxLength": 512, "pattern": "^[a-zA-Z0-9_-]+$"}
TEXT: Json = {"type": "string"}
ANY: Json = {"type": ["object", "null"]}
PEER_CONFIG = object_of(
    observe_me={"type": ["boolean", "null"]}, observe_others={"type": ["boolean", "null"]}
)
PEERS: Json = {"type": "object", "additionalProperties": PEER_CONFIG}
MESSAGES = object_of(
    ["messages"],
    messages={
        "type": "array",
        "minItems": 1,
        "maxItems": 100,
        "items": object_of(
            ["content", "peer_id"],
            content={"type": "string", "maxLength": 25_000},
            peer_id=TEXT,
            metadata=ANY,
            configuration=ANY,
            created_at={"type": ["string", "null"]},
        ),
    },
)
CONCLUSIONS = object_of(
    ["conclusions"],
    conclusions={
        "type": "array",
        "minItems": 1,
        "maxItems": 100,
        "items": object_of(
            ["content", "observer_id", "observed_id"],
            content={"type": "string", "minLength": 1, "maxLength": 65_535},
            observer_id=TEXT,
            observed_id=TEXT,
            session_id={"type": ["string", "null"]},
        ),
    },
)
CHAT = object_of(
    ["query"],
    query={"type": "string", "minLength": 1, "maxLength": 10_000},
    session_id={"type": ["string", "null"]},
    filters=ANY,
    target={"type": ["string", "null"]},
    stream={"type": "boolean"},
    reasoning_level={"enum": ["minimal", "low", "medium", "high", "max"]},
)
SEARCH = object_of(
    ["query"],
    query=TEXT,
    filters=ANY,
    limit={"type": "integer", "minimum": 1, "maximum": 100},
)
QUERY = object_of(
    ["query"],
    query=TEXT,
    top_k={"type": "integer", "minimum": 1, "maximum": 100},
    distance={"type": ["number", "null"]},
    filters=ANY,
)


@dataclass(slots=True)
class _State:
    workspaces: set[str] = field(default_factory=set[str])
    peers: set[str] = field(default_factory=set[str])
    sessions: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    messages: list[Json] = field(default_factory=list[Json])
    conclusions: list[Json] = field(default_factory=list[Json])

    def create_workspace(self, request: Request) -> JsonValue:
        name = _text(request, "id")
        self.workspaces.add(name)
        return {"id": name, "metadata": {}, "configuration": {}, "created_at": TIME}

    def create_peer(self, request: Request) -> JsonValue:
        workspace, name = self._workspace(request), _text(request, "id")
        self.peers.add(name)
        return {
            "id": name,
            "workspace_id": workspace,
            "created_at": TIME,
            "metadata": {},
            "configuration": {},
        }

    def create_session(self, request: Request) -> JsonValue:
        self._workspace(request)
        name = _text(request, "id")
        self.sessions.setdefault(name, set())
        return self._session(request, name)

    def add_peers(self, request: Request) -> JsonValue:
        name = self._session_id(request)
        self.sessions[name].update(cast("Json", request.body))
        return self._session(request, name)

    def add_messages(self, request: Request) -> JsonValue:
        name = self._session_id(request)
        added: list[JsonValue] = []
        for each in cast("list[Json]", cast("Json", request.body)["messages"]):
            if each["peer_id"] not in self.sessions[name]:
                raise RefusedError(422, f"peer {each['peer_id']!r} is not in the session")
            message: Json = {
                "id": f"m{len(self.messages)}",
                "content": each["content"],
                "peer_id": each["peer_id"],
                "session_id": name,
                "metadata": {},
                "created_at": TIME,
                "workspace_id": self._workspace(request),
                "token_count": 1,
            }
            self.messages.append(message)
            added.append(message)
        return added

    def read_context(self, request: Request) -> JsonValue:
        target = request.query.get("target", request.path["peer"])
        found = self._known_of(target, request.query.get("search_query", ""))
        return {
            "peer_id": self._peer(request),
            "target_id": target,
            "representation": "\n".join(found) or None,
            "peer_card": self._card(target),
        }

    def read_card(self, request: Request) -> JsonValue:
        self._peer(request)
        return {"peer_card": self._card(request.query.get("target", request.path["peer"]))}

    def chat(self, request: Request) -> JsonValue:
        self._peer(request)
        body = cast("Json", request.body)
        found = self._known_of(str(body.get("target")), str(body["query"]))
        return {"content": f"I think: {found[0]}" if found else None}

    def search(self, request: Request) -> JsonValue:
        peer, body = self._peer(request), cast("Json", request.body)
        found = [
            each
            for each in self.messages
            if each["peer_id"] == peer and _fits(str(each["content"]), str(body["query"]))
        ]
        return list[JsonValue](found[: cast("int", body.get("limit", 10))])

    def create_conclusions(self, request: Request) -> JsonValue:
        self._workspace(request)
        added: list[JsonValue] = []
        for each in cast("list[Json]", cast("Json", request.body)["conclusions"]):
            conclusion: Json = {
                "level": "explicit",
                "session_id": None,
                **each,
                "id": f"c{len(self.conclusions)}",
                "created_at": TIME,
            }
            self.conclusions.append(conclusion)
            added.append(conclusion)
        return added

    def query_conclusions(self, request: Request) -> JsonValue:
        query = _text(request, "query")
        return [each for each in self.conclusions if _fits(str(each["content"]), query)]

    def delete_conclusion(self, request: Request) -> JsonValue:
        kept = [each for each in self.conclusions if each["id"] != request.path["conclusion"]]
        if len(kept) == len(self.conclusions):
            raise RefusedError(404, "Conclusion not found")
        self.conclusions = kept
        return None

    def _known_of(self, peer: str, query: str) -> list[str]:
        said = [str(m["content"]) for m in self.messages if m["peer_id"] == peer]
        stated = [str(c["content"]) for c in self.conclusions if c["observed_id"] == peer]
        return [each for each in (*stated, *said) if _fits(each, query)]

    def _card(self, peer: str) -> JsonValue:
        facts = [c["content"] for c in self.conclusions if c["observed_id"] == peer]
        return facts or None

    def _workspace(self, request: Request) -> str:
        if request.path["workspace"] not in self.workspaces:
            raise RefusedError(404, "Workspace not found")
        return request.path["workspace"]

    def _peer(self, request: Request) -> str:
        self._workspace(request)
        if request.path["peer"] not in self.peers:
            raise RefusedError(404, "Peer not found")
        return request.path["peer"]

    def _session_id(self, request: Request) -> str:
        if request.path["session"] not in self.sessions:
            raise RefusedError(404, "Session not found")
        return request.path["session"]

    def _session(self, request: Request, name: str) -> JsonValue:
        return {
            "id": name,
            "is_active": True,
            "workspace_id": self._workspace(request),
            "metadata": {},
            "configuration": {},
            "created_at": TIME,
        }


def _routes() -> Sequence[Route]:
    state, base = _State(), "/v3/workspaces/{workspace}"
    peer, session = f"{base}/peers/{{peer}}", f"{base}/sessions/{{session}}"
    named = object_of(["id"], id=ID, metadata=ANY, configuration=ANY)
    named_session = object_of(["id"], id=ID, metadata=ANY, configuration=ANY, peers=PEERS)
    context = frozenset({"target", "search_query", "search_top_k", "max_conclusions"})
    return (
        Route("POST", "/v3/workspaces", state.create_workspace, named),
        Route("POST", f"{base}/peers", state.create_peer, named),
        Route("POST", f"{base}/sessions", state.create_session, named_session),
        Route("POST", f"{session}/peers", state.add_peers, PEERS),
        Route("POST", f"{session}/messages", state.add_messages, MESSAGES, status=201),
        Route("GET", f"{peer}/context", state.read_context, query=context),
        Route("GET", f"{peer}/card", state.read_card, query=frozenset({"target"})),
        Route("POST", f"{peer}/chat", state.chat, CHAT),
        Route("POST", f"{peer}/search", state.search, SEARCH),
        Route("POST", f"{base}/conclusions", state.create_conclusions, CONCLUSIONS, status=201),
        Route("POST", f"{base}/conclusions/query", state.query_conclusions, QUERY),
        Route("DELETE", f"{base}/conclusions/{{conclusion}}", state.delete_conclusion, status=204),
    )


@contextmanager
def honcho_service() -> Generator[Service]:
    """Run it."""
    with serve("Authorization", _routes) as service:
        yield service


def _text(request: Request, name: str) -> str:
    return str(cast("Json", request.body)[name])


def _fits(text: str, query: str) -> bool:
    words = {word.strip("?.,").lower() for word in query.split() if len(word) > 3}
    return not words or any(word in text.lower() for word in words)
