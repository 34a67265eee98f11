"""The provider that docs/memory.md shows: short, and working as it stands."""

import re
from pathlib import Path
from types import ModuleType

from acp_server.memory.provider import MemoryContext, MemoryProvider, ProviderReply, TurnMessage
from acp_server.memory.providers import ExternalMemory

PAGE = Path(__file__).parents[2] / "docs" / "memory.md"
MAX_LINES = 40


def documented_code() -> str:
    match = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert match is not None
    return match[1]


def test_it_takes_forty_lines() -> None:
    assert len(documented_code().strip().splitlines()) <= MAX_LINES


async def test_it_recalls_learns_and_has_a_tool(tmp_path: Path) -> None:
    module = ModuleType("words_memory")
    exec(documented_code(), module.__dict__)  # noqa: S102  the text is our own
    context = MemoryContext("s1", tmp_path, "Ada", tmp_path)

    def load() -> MemoryProvider:
        return module.__dict__["WordsMemory"](context)

    memory = ExternalMemory("words", load, lambda _: None)
    block = await memory.system_block()
    assert block.text == "You keep a glossary for Ada. Add words with define_word."
    (tool,) = memory.tools
    reply = await memory.call_tool(tool, {"word": "CI", "meaning": "the build server"})
    assert reply == ProviderReply("1 words")
    load().on_turn_end([TurnMessage("user", "prod means Frankfurt")])
    assert await memory.prefetch("is ci red?") == ProviderReply("ci: the build server")
    assert await memory.prefetch("restart prod") == ProviderReply("prod: Frankfurt")
