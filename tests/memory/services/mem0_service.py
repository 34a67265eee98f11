"""Mem0 on loopback: its platform, and the server that people run themselves.

It infers nothing: what is added becomes a memory as it is, one for each message of the user.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import cast
from uuid import UUID, uuid5

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

NAMESPACE = UUID(int=29)
TIME = "2026-11-27T00:00:00Z"
TEXT: Json = {"type": "string"}
MESSAGES: Json = {
    "type": "array",
    "items": object_of(
        ["role", "content"], role={"enum": ["user", "assistant", "system"]}, content=TEXT
    ),
}
OWNERS: dict[str, JsonValue] = {"user_id": TEXT, "agent_id": TEXT, "run_id": TEXT}
ADD = object_of(
    ["messages"],
    messages=MESSAGES,
    metadata={"type": "object"},
    infer={"type": "boolean"},
    **OWNERS,
)
FILTERS: Json = {"type": "object", "minProperties": 1}
SEARCH = object_of(
    ["query", "filters"],
    query={"type": "string", "minLength": 1},
    filters=FILTERS,
    top_k={"type": "integer", "minimum": 1, "maximum": 1000},
    rerank={"type": "boolean"},
)
SERVER_SEARCH = object_of(
    ["query"], query=TEXT, filters=FILTERS, top_k={"type": "integer"}, **OWNERS
)
UPDATE = object_of(["text"], text=TEXT, metadata={"type": "object"})


@dataclass(slots=True)
class _State:
    memories: dict[str, Json] = field(default_factory=dict[str, Json])

    def ping(self, request: Request) -> JsonValue:
        del request
        return {"status": "ok", "org_id": "o", "project_id": "p", "user_email": "me@example.com"}

    def add(self, request: Request, *, is_server: bool) -> JsonValue:
        body = cast("Json", request.body)
        added: list[JsonValue] = []
        for message in cast("list[Json]", body["messages"]):
            if message["role"] == "user":
                memory_id = str(uuid5(NAMESPACE, str(len(self.memories))))
                self.memories[memory_id] = {
                    "id": memory_id,
                    "memory": message["content"],
                    "user_id": body["user_id"],
                    "created_at": TIME,
                    "updated_at": TIME,
                }
                added.append({"id": memory_id, "event": "ADD"})
        if is_server or not body.get("infer", True):
            return {"results": added}
        event_id = str(uuid5(NAMESPACE, "event"))
        return {"message": "queued", "status": "PENDING", "event_id": event_id}

    def search(self, request: Request) -> JsonValue:
        body = cast("Json", request.body)
        owner = cast("Json", body["filters"]).get("user_id")
        words = [word.strip("?.,").lower() for word in str(body["query"]).split() if len(word) > 3]
        found: list[JsonValue] = [
            {**memory, "score": 0.9}
            for memory in self.memories.values()
            if memory["user_id"] == owner
            and any(word in str(memory["memory"]).lower() for word in words)
        ]
        return {"results": found[: cast("int", body.get("top_k", 10))]}

    def update(self, request: Request) -> JsonValue:
        memory = self._memory(request)
        memory["memory"] = cast("Json", request.body)["text"]
        return memory

    def delete(self, request: Request) -> JsonValue:
        del self.memories[str(self._memory(request)["id"])]
        return {"message": "Memory deleted successfully!"}

    def _memory(self, request: Request) -> Json:
        try:
            UUID(request.path["memory"])
        except ValueError as error:
            raise RefusedError(400, "memory_id should be a valid UUID") from error
        if request.path["memory"] not in self.memories:
            raise RefusedError(404, "Memory not found!")
        return self.memories[request.path["memory"]]


def _platform_routes() -> Sequence[Route]:
    state = _State()
    return (
        Route("GET", "/v1/ping/", state.ping),
        Route("POST", "/v3/memories/add/", partial(state.add, is_server=False), ADD),
        Route("POST", "/v3/memories/search/", state.search, SEARCH),
        Route("PUT", "/v1/memories/{memory}/", state.update, UPDATE),
        Route("DELETE", "/v1/memories/{memory}/", state.delete),
    )


def _server_routes() -> Sequence[Route]:
    state = _State()
    return (
        Route("POST", "/memories", partial(state.add, is_server=True), ADD),
        Route("POST", "/search", state.search, SERVER_SEARCH),
        Route("PUT", "/memories/{memory}", state.update, UPDATE),
        Route("DELETE", "/memories/{memory}", state.delete),
    )


@contextmanager
def mem0_platform() -> Generator[Service]:
    """Run the platform."""
    with serve("Authorization", _platform_routes) as service:
        yield service


@contextmanager
def mem0_server() -> Generator[Service]:
    """Run the server that people run themselves."""
    with serve("X-API-Key", _server_routes) as service:
        yield service
