"""The three forms of Mem0 behind one interface: the platform, an own server, the library.

The platform and the library are used by the SDK, which is optional. The SDK reports use and errors
to its makers unless it is told not to when it is imported; here it is told.
"""

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast
from urllib.parse import quote

import httpx2
from pydantic import JsonValue

from acp_server.memory.mem0.config import Mem0Config
from acp_server.memory.provider import ProviderUnavailableError
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.json_values import Object, as_object, as_objects

MISSING_SDK = (
    "its package is not installed; install it with "
    "`uv tool install 'hermes-acp-server[mem0]'` or `pip install mem0ai`"
)
SERVER_TIMEOUT_SECONDS = 30.0


class Mem0Backend(Protocol):
    """Memories of one user. Methods block and raise whatever the service or the SDK raises."""

    def search(self, query: str, limit: int, *, is_reranked: bool) -> Sequence[Object]:
        """Return memories by relevance: `id`, `memory`, `score`."""
        ...

    def add(self, messages: Sequence[Object], *, infers: bool) -> None:
        """Store messages as they are, or what Mem0 infers from them."""
        ...

    def update(self, memory_id: str, text: str) -> None:
        """Replace the text of a memory."""
        ...

    def delete(self, memory_id: str) -> None:
        """Delete a memory."""
        ...

    def close(self) -> None:
        """Close connections."""
        ...


class SdkClient(Protocol):
    """What is used of `mem0.MemoryClient`; its library has the same methods."""

    def search(self, query: str, **options: object) -> object: ...  # noqa: D102

    def add(self, messages: object, **options: object) -> object: ...  # noqa: D102

    def update(self, memory_id: str, **options: object) -> object: ...  # noqa: D102

    def delete(self, memory_id: str) -> object: ...  # noqa: D102


@dataclass(slots=True)
class SdkBackend:
    """The platform, or the library on this machine."""

    client: SdkClient
    config: Mem0Config
    update_option: str
    """What the SDK calls the new text of a memory."""

    def search(self, query: str, limit: int, *, is_reranked: bool) -> Sequence[Object]:
        """Return memories by relevance."""
        options: dict[str, object] = {"rerank": is_reranked} if self._is_platform else {}
        filters = {"user_id": self.config.user_id}
        return _results(self.client.search(query, filters=filters, top_k=limit, **options))

    def add(self, messages: Sequence[Object], *, infers: bool) -> None:
        """Store messages."""
        self.client.add(
            list(messages),
            user_id=self.config.user_id,
            agent_id=self.config.agent_id,
            infer=infers,
            metadata={"channel": "acp"},
        )

    def update(self, memory_id: str, text: str) -> None:
        """Replace the text of a memory."""
        self.client.update(memory_id, **{self.update_option: text})

    def delete(self, memory_id: str) -> None:
        """Delete a memory."""
        self.client.delete(memory_id)

    def close(self) -> None:
        """Close the connections, if the SDK has a way."""
        for owner in (self.client, getattr(self.client, "client", None)):
            close = getattr(owner, "close", None)
            if callable(close):
                close()

    @property
    def _is_platform(self) -> bool:
        return self.config.mode == "platform"


class ServerBackend:
    """A Mem0 server of one's own, which has other paths than the platform."""

    def __init__(self, config: Mem0Config) -> None:
        self._config = config
        headers = {"X-API-Key": config.api_key} if config.api_key else {}
        self._client = httpx2.Client(
            base_url=config.host, headers=headers, timeout=SERVER_TIMEOUT_SECONDS
        )

    def search(self, query: str, limit: int, *, is_reranked: bool) -> Sequence[Object]:
        """Return memories by relevance; such a server has no reranking."""
        del is_reranked
        filters: JsonValue = {"user_id": self._config.user_id}
        body: JsonValue = {"query": query, "top_k": limit, "filters": filters}
        return _results(self._request("POST", "/search", body))

    def add(self, messages: Sequence[Object], *, infers: bool) -> None:
        """Store messages."""
        body: JsonValue = {
            "messages": list[JsonValue](messages),
            "user_id": self._config.user_id,
            "agent_id": self._config.agent_id,
            "infer": infers,
            "metadata": {"channel": "acp"},
        }
        self._request("POST", "/memories", body)

    def update(self, memory_id: str, text: str) -> None:
        """Replace the text of a memory."""
        self._request("PUT", f"/memories/{quote(memory_id, safe='')}", {"text": text})

    def delete(self, memory_id: str) -> None:
        """Delete a memory."""
        self._request("DELETE", f"/memories/{quote(memory_id, safe='')}")

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _request(self, method: str, path: str, body: JsonValue = None) -> JsonValue:
        answer = self._client.request(method, path, json=body if body is not None else None)
        answer.raise_for_status()
        return cast("JsonValue", answer.json()) if answer.content else None


@frozen_dataclass
class SdkModules:
    """The classes of the SDK."""

    client: object
    library: object


def open_backend(config: Mem0Config, state_directory: Path) -> Mem0Backend:
    """Connect. Blocks: the SDK asks the platform whether the key is valid.

    Raises:
        ProviderUnavailableError: the SDK is not installed.
    """
    if config.mode == "platform" and config.host:
        return ServerBackend(config)
    sdk = _import_sdk(state_directory)
    if config.mode == "oss":
        from_config = getattr(sdk.library, "from_config")  # noqa: B009  of an untyped package
        document = {**_library_config(config), "version": "v1.1"}
        return SdkBackend(cast("SdkClient", from_config(document)), config, "data")
    create = cast("type[SdkClient]", sdk.client)
    options = {"api_key": config.api_key, "host": config.platform_host}
    return SdkBackend(create(**options), config, "text")


def _library_config(config: Mem0Config) -> dict[str, JsonValue]:
    """Return the settings of the library, with `~` in the path of its database expanded."""
    parts = {name: as_object(config.oss.get(name)) for name in ("vector_store", "llm", "embedder")}
    store = as_object(parts["vector_store"].get("config", {}))
    path = store.get("path")
    if isinstance(path, str):
        expanded: JsonValue = {**store, "path": str(Path(path).expanduser())}
        parts["vector_store"] = {**parts["vector_store"], "config": expanded}
    return {name: part for name, part in parts.items() if part}


def _import_sdk(state_directory: Path) -> SdkModules:
    changes = {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(state_directory)}
    try:
        with _variables(changes):
            module = import_module("mem0")
    except ImportError as error:
        raise ProviderUnavailableError(MISSING_SDK) from error
    return SdkModules(getattr(module, "MemoryClient"), getattr(module, "Memory"))  # noqa: B009


@contextmanager
def _variables(changes: Mapping[str, str]) -> Generator[None]:
    """Set variables of the environment, which the SDK reads while it is imported."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _results(answer: object) -> Sequence[Object]:
    """Return the list of memories, which the SDK returns in two forms."""
    value = cast("JsonValue", answer)
    found = as_object(value).get("results", []) if isinstance(value, dict) else value
    return as_objects(found)
