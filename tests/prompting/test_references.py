"""What a prompt of a plain client refers to by `@`."""

import json
from collections.abc import Sequence
from pathlib import Path

from acp_server.session.diagnostics import DiagnosticsStore, FileDiagnostic
from acp_server.session.prompting.references import MAX_REFERENCES, PromptReferences
from acp_server.turn.conversation import Attachment, Link, PromptPart, Text
from acp_server.turn.ports import TurnSink
from tests.prompt_engine.sources.trees import write_tree
from tests.turn.fake_sinks import MemorySink
from tests.turn.turn_harness import FunctionTools, echo_arguments


class AttachingTools(FunctionTools):
    """Tools that attach each link as its name."""

    async def attach(self, link: Link, sink: TurnSink) -> Sequence[PromptPart]:
        del sink
        return (Attachment(link.uri, link.name),)


async def read(root: Path, text: str, *attached: str) -> Sequence[PromptPart]:
    write_tree(root, {"a.py": "1\n2\n3\n", "docs/b c.md": "B"})
    tools = AttachingTools(
        terminal=echo_arguments,
        web_fetch=echo_arguments,
        read_file=echo_arguments,
        symbols=echo_arguments,
    )
    problems = DiagnosticsStore()
    problems.receive(root / "a.py", [FileDiagnostic("error", "it is wrong", 2)])
    references = PromptReferences(root, problems)
    return await references.read(text, attached, tools, MemorySink())


async def test_files_and_lines_are_attached(tmp_path: Path) -> None:
    parts = await read(tmp_path, "See @a.py, @a.py#L2-3 and @docs/b\\ c.md. Ask @bob.")
    uri = (tmp_path / "a.py").as_uri()
    assert parts == [
        Attachment(uri, "@a.py"),
        Attachment(f"{uri}#L2-3", "@a.py#L2-3"),
        Attachment((tmp_path / "docs/b c.md").as_uri(), "@docs/b c.md"),
    ]


async def test_what_the_editor_attached_is_not_read_again(tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    assert await read(tmp_path, "See @a.py", f"{uri}#L1") == []


async def test_a_symbol_is_looked_up_by_the_tool(tmp_path: Path) -> None:
    parts = await read(tmp_path, "See @symbol:Order.total, and @symbol: alone.")
    (part,) = parts
    assert isinstance(part, Attachment)
    assert part.uri == "@symbol:Order.total"
    assert json.loads(part.text) == {"action": "definition", "name": "Order.total"}


async def test_a_directory_changes_and_pages_are_read_by_the_tools(tmp_path: Path) -> None:
    parts = await read(tmp_path, "See @docs/ @diff @staged, @https://x.example/y")
    arguments = [json.loads(part.text) for part in parts if isinstance(part, Attachment)]
    assert arguments == [
        {"path": str(tmp_path / "docs")},
        {"command": "git diff HEAD"},
        {"command": "git diff --staged"},
        {"url": "https://x.example/y"},
    ]


async def test_problems_are_those_of_the_editor(tmp_path: Path) -> None:
    (part,) = await read(tmp_path, "Fix @problems.")
    assert isinstance(part, Text)
    assert f"{tmp_path / 'a.py'}:2: error: it is wrong" in part.text


async def test_code_and_addresses_refer_to_nothing(tmp_path: Path) -> None:
    text = "`@a.py`, me@a.py\n```\n@a.py\n```\n\0 @\0 @~nobody/x"
    assert not await read(tmp_path, text)


async def test_a_prompt_has_a_limited_number_of_references(tmp_path: Path) -> None:
    names = [f"{number}.txt" for number in range(MAX_REFERENCES + 2)]
    write_tree(tmp_path, dict.fromkeys(names, "x"))
    parts = await read(tmp_path, " ".join(f"@{name}" for name in names))
    assert len(parts) == MAX_REFERENCES + 1
    assert "2 more references were not read" in str(parts[-1])
