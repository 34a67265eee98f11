"""What every provider of this package must do, as a session uses it."""

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from pydantic import JsonValue

from acp_server.memory.provider import (
    MemoryContext,
    MemoryProvider,
    MemoryTool,
    MemoryWrite,
    TurnMessage,
)
from acp_server.memory.providers import load_provider
from tests.memory.services.honcho_service import honcho_service
from tests.memory.services.loopback import KEY, Service
from tests.memory.services.mem0_service import mem0_platform, mem0_server

SAID = "We deploy the billing service from Frankfurt."
QUESTION = "Where is the billing service deployed?"
WRITTEN = "Prefers tabs over spaces"


def context_of(
    home: Path, keys: Mapping[str, str] | None = None, session: str = "s1", **settings: JsonValue
) -> MemoryContext:
    """Return the context of a session in the directory `project` of a home."""
    workspace = home / "project"
    workspace.mkdir(exist_ok=True)
    return MemoryContext(session, workspace, "me", home, keys or {}, settings)


@contextmanager
def local_home(home: Path) -> Generator[Service | None]:
    del home
    yield None


@contextmanager
def honcho_home(home: Path) -> Generator[Service | None]:
    """A home with a Honcho of its own, set up as Hermes does."""
    with honcho_service() as service:
        document = {"baseUrl": service.url, "hosts": {"hermes": {"peerName": "me"}}}
        (home / "honcho.json").write_text(json.dumps(document))
        yield service


@contextmanager
def mem0_server_home(home: Path) -> Generator[Service | None]:
    with mem0_server() as service:
        (home / "mem0.json").write_text(json.dumps({"host": service.url, "user_id": "me"}))
        yield service


@contextmanager
def mem0_platform_home(home: Path) -> Generator[Service | None]:
    with mem0_platform() as service:
        (home / "mem0.json").write_text(json.dumps({"platform_host": service.url}))
        yield service


PREPARE: Mapping[str, tuple[str, Callable[[Path], AbstractContextManager[Service | None]]]] = {
    "local": ("local", local_home),
    "honcho": ("honcho", honcho_home),
    "mem0 server": ("mem0", mem0_server_home),
    "mem0 platform": ("mem0", mem0_platform_home),
}
KEYS = {"HONCHO_API_KEY": KEY, "MEM0_API_KEY": KEY}


def exercise(name: str, home: Path, service: Service | None) -> None:
    """Use a provider in every way, in two sessions; assert that it remembers."""
    first = load_provider(name, context_of(home, KEYS))
    assert first.system_block()
    first.prefetch("hello there")
    first.on_turn_end([TurnMessage("user", SAID), TurnMessage("assistant", "Noted.")])
    first.on_memory_write(MemoryWrite("user", (WRITTEN,)))
    first.before_compaction([TurnMessage("user", SAID)])
    first.on_session_end([TurnMessage("user", SAID)])
    second = load_provider(name, context_of(home, KEYS, "s2"))
    assert SAID in second.prefetch(QUESTION)
    assert WRITTEN in second.prefetch("tabs or spaces?")
    for tool in second.tools():
        _use(tool, second)
    second.on_session_end(())
    if service is not None:
        assert service.failures == []


def _use(tool: MemoryTool, provider: MemoryProvider) -> None:
    """Call a tool with arguments that fit it."""
    arguments: dict[str, JsonValue] = {}
    match tool.name:
        case "fact_store" | "mem0_add" | "honcho_conclude":
            name = {"fact_store": "text", "mem0_add": "content"}.get(tool.name, "conclusion")
            assert tool.run({name: "Lives in Zurich near the lake"})
            assert "Zurich" in provider.prefetch("who lives near Zurich?")
            if tool.name == "honcho_conclude":
                found = json.loads(tool.run({"list_query": "Zurich"}))["facts"]
                tool.run({"delete_id": found[0]["id"]})
                assert "Zurich" not in provider.prefetch("who lives near Zurich?")
            return
        case "mem0_update" | "mem0_delete":
            search = next(each for each in provider.tools() if each.name == "mem0_search")
            found = json.loads(search.run({"query": "Zurich Geneva"}))["results"]
            arguments = {"memory_id": found[0]["id"]}
            if tool.name == "mem0_update":
                arguments["text"] = "Lives in Geneva"
        case "honcho_profile":
            pass
        case _:
            arguments = {"query": QUESTION}
    result = tool.run(arguments)
    assert result
    if tool.is_read_only and arguments:
        assert "Frankfurt" in result, tool.name
