"""Example of a third-party memory provider: stores the users' messages in a JSONL file."""

import json
from collections.abc import Sequence
from pathlib import Path

from acp_server.memory.provider import MemoryContext, MemoryProvider, TurnMessage


class SaidBeforeProvider(MemoryProvider):
    """Memory provider that recalls user messages which share a word with the prompt."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def prefetch(self, query: str) -> str:
        words = set(query.lower().split())
        return "\n".join(text for text in self._read_texts() if words & set(text.lower().split()))

    def on_turn_end(self, messages: Sequence[TurnMessage]) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.writelines(
                f"{json.dumps(each.text)}\n" for each in messages if each.role == "user"
            )

    def system_block(self) -> str:
        return f"Said before: {len(self._read_texts())} things."

    def _read_texts(self) -> list[str]:
        lines = self._file.read_text(encoding="utf-8") if self._file.exists() else ""
        return [str(json.loads(line)) for line in lines.splitlines()]


def open_said_before(context: MemoryContext) -> SaidBeforeProvider:
    """Open the provider; the target of the entry point."""
    return SaidBeforeProvider(context.home / "said-before.jsonl")


def write_dist_info(folder: Path, *names: str) -> None:
    """Write package metadata into a `sys.path` directory, with entry points of these names."""
    record = folder / "said_before-1.0.dist-info"
    record.mkdir(parents=True)
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: said-before\nVersion: 1.0\n")
    points = [f"{name} = tests.memory.example_provider:open_said_before" for name in names]
    (record / "entry_points.txt").write_text(
        "\n".join(["[acp_server.memory_providers]", *points, ""])
    )
