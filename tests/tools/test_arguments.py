"""Arguments: their schemas as the model sees them, and what half of them tell."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from acp_server.text.json_values import as_object, as_text
from acp_server.tools.agents.delegate_task import DelegateArguments
from acp_server.tools.arguments import (
    CHEAP_PARSE_CHARACTERS,
    PARSE_INTERVAL_SECONDS,
    ArgumentBuffer,
    Arguments,
    PartialArguments,
    json_schema_of,
    model_schema_of,
)
from acp_server.tools.edit.patch import PatchArguments
from acp_server.tools.edit.write_file import WriteFileArguments
from acp_server.tools.interaction.clarify import ClarifyArguments
from acp_server.tools.interaction.exit_plan import ExitPlanArguments
from acp_server.tools.interaction.todo import TodoArguments
from acp_server.tools.memory.memory import MemoryArguments
from acp_server.tools.memory.session_search import SessionSearchArguments
from acp_server.tools.read.read_file import ReadFileArguments
from acp_server.tools.search.search_files import SearchFilesArguments
from acp_server.tools.shell.process import ProcessArguments
from acp_server.tools.shell.terminal import ConfinedArguments, TerminalArguments
from acp_server.tools.skills.skill_manage import SkillManageArguments
from acp_server.tools.skills.skill_view import SkillViewArguments
from acp_server.tools.skills.skills_list import SkillsListArguments
from acp_server.tools.symbols.call_arguments import SymbolArguments
from acp_server.tools.web.web_fetch import WebFetchArguments
from tests.support.case_table import each_case

SCHEMAS = Path(__file__).with_name("schemas.json")
TOOLS: dict[str, type[Arguments]] = {
    "read_file": ReadFileArguments,
    "search_files": SearchFilesArguments,
    "symbols": SymbolArguments,
    "write_file": WriteFileArguments,
    "patch": PatchArguments,
    "terminal": TerminalArguments,
    "process": ProcessArguments,
    "web_fetch": WebFetchArguments,
    "todo": TodoArguments,
    "clarify": ClarifyArguments,
    "exit_plan": ExitPlanArguments,
    "memory": MemoryArguments,
    "skills_list": SkillsListArguments,
    "skill_view": SkillViewArguments,
    "skill_manage": SkillManageArguments,
    "delegate_task": DelegateArguments,
}


def test_the_tool_schemas_are_unchanged() -> None:
    """They stand in every request: a change of one is a change of all caches."""
    schemas = {name: model_schema_of(arguments) for name, arguments in TOOLS.items()}
    assert json.dumps(schemas, indent=1) + "\n" == SCHEMAS.read_text(encoding="utf-8")


def test_all_schemas_together_are_small() -> None:
    schemas = {name: model_schema_of(arguments) for name, arguments in TOOLS.items()}
    assert len(json.dumps(schemas, separators=(",", ":"))) < 7_500


@each_case("arguments", [*TOOLS.values(), ConfinedArguments, SessionSearchArguments])
def test_every_argument_is_described_with_its_default(arguments: type[Arguments]) -> None:
    schema, full = model_schema_of(arguments), json_schema_of(arguments)
    texts = dict(_descriptions(schema))
    assert all(texts.values()), texts
    assert not {"$ref", "default", "minimum"} & set(re.findall(r'"([^"]+)":', json.dumps(schema)))
    for name, each in as_object(full["properties"]).items():
        default = as_object(each).get("default")
        if default not in (None, "", ".", []):
            text = texts[name].lower()
            assert "default" in text
            shown = f"{default:g}" if isinstance(default, float) else str(default)
            assert shown.lower() in text


def _descriptions(schema: Mapping[str, JsonValue]) -> Iterator[tuple[str, str]]:
    for name, each in as_object(schema.get("properties")).items():
        yield name, as_text(as_object(each).get("description"))
        inner = _descriptions(as_object(as_object(each).get("items")))
        yield from ((f"{name}.{inner_name}", text) for inner_name, text in inner)


def test_all_sessions_share_a_schema() -> None:
    assert all(json_schema_of(each) is json_schema_of(each) for each in TOOLS.values())


@pytest.mark.parametrize("arguments", [WriteFileArguments, PatchArguments])
def test_the_path_comes_first_and_the_long_text_last(arguments: type[Arguments]) -> None:
    properties = json_schema_of(arguments)["properties"]
    assert isinstance(properties, dict)
    names = list(properties)
    assert names[0] == "path"
    assert names[1] in {"content", "old_string"}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.text(), values, max_size=5)


def read(text: str) -> PartialArguments:
    stream = ArgumentBuffer()
    stream.write(text)
    return stream.parse()


@given(arguments=objects, is_ascii=st.booleans())
def test_completed_arguments_are_final_at_every_prefix(
    *, arguments: dict[str, JsonValue], is_ascii: bool
) -> None:
    text = json.dumps(arguments, ensure_ascii=is_ascii)
    for end in range(len(text) + 1):
        so_far = read(text[:end])
        for name, value in so_far.complete.items():
            if not isinstance(value, list | dict):
                assert arguments[name] == value
        for name, partial in so_far.incomplete.items():
            full_value = arguments[name]
            assert isinstance(full_value, str)
            assert full_value.startswith(partial)
    assert read(text) == PartialArguments(arguments, {})


@given(st.text() | st.binary().map(lambda data: data.decode(errors="surrogateescape")))
def test_any_partial_arguments_can_be_parsed(text: str) -> None:
    stream = ArgumentBuffer()
    for character in text:
        stream.write(character)
        stream.parse()


def test_the_partial_value_of_a_text_grows() -> None:
    assert read('{"path": "a", "content": "x\\ny\\u00') == PartialArguments(
        {"path": "a"}, {"content": "x\ny"}
    )
    assert read('{"path": "a').text("path") == "a"
    assert read('{"path": "a').complete_text("path") is None


def test_a_number_is_complete_once_it_has_ended() -> None:
    assert read('{"offset": 1') == PartialArguments({}, {})
    assert read('{"offset": 12,') == PartialArguments({"offset": 12}, {})


def test_large_arguments_are_parsed_only_occasionally() -> None:
    stream = ArgumentBuffer()
    stream.write("x" * CHEAP_PARSE_CHARACTERS)
    assert [stream.is_due(0.0), stream.is_due(0.0)] == [True, True]
    stream.write("x")
    assert [
        stream.is_due(now) for now in (0.01, PARSE_INTERVAL_SECONDS, PARSE_INTERVAL_SECONDS + 0.01)
    ] == [
        False,
        True,
        False,
    ]
