"""Names, schemas, configuration, redaction, results and arguments: what needs no server."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.mcp.features import PromptArgument
from acp_server.mcp.ports import no_scan
from acp_server.mcp.prompt_commands import parse_prompt_arguments
from acp_server.mcp.redaction import make_redaction
from acp_server.mcp.results import MAX_CHARACTERS, tool_outcome
from acp_server.mcp.schema_repair import MAX_CHARACTERS as MOST_SCHEMA_CHARACTERS
from acp_server.mcp.schema_repair import ToolSchemaError, repair_schema
from acp_server.mcp.server_configs import (
    describe_transport,
    merge_servers,
    server_identity,
    workspace_servers,
)
from acp_server.mcp.tool_names import server_name_parts, tool_names
from acp_server.session.ports.mcp_configs import (
    HttpServerConfig,
    ServerTimeouts,
    SignInConfig,
    StdioServerConfig,
)
from acp_server.session.saved_outputs import SavedOutputs
from acp_server.turn.conversation import Media
from acp_server.turn.ports import ToolOutcome
from tests.support.user_texts import CHARACTERS_SHOWN

PNG = "iVBORw0KGgoAAAAA"


def test_servers_with_similar_names_are_disambiguated() -> None:
    names = server_name_parts(["my server", "my_server", "a__b", "", "x" * 40])
    assert (names["my_server"], names["a__b"], names[""]) == ("my_server", "a_b", "server")
    assert len(set(names.values())) == 5
    assert all("__" not in name and not name.endswith("_") for name in names.values())


def test_a_tool_keeps_its_name_whatever_other_tools_exist() -> None:
    few, many = tool_names("s", ["a.b"]), tool_names("s", ["c", "a.b"])
    assert few["a.b"] == many["a.b"] == "s__a_b"
    assert tool_names("s", ["a"], reserved=["s__a"])["a"].startswith("s__a_")


SCHEMAS: dict[str, tuple[JsonValue, JsonValue]] = {
    "none at all": (None, {"type": "object", "properties": {}}),
    "another type at the top": ({"type": "array"}, {"type": "object", "properties": {}}),
    "a combination at the top": (
        {"oneOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}]},
        {"type": "object", "properties": {"a": {"type": "string"}}},
    ),
    "a reference at the top": (
        {"$ref": "#/$defs/T", "$defs": {"T": {"properties": {"a": {"type": "string"}}}}},
        {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "$defs": {"T": {"properties": {"a": {"type": "string"}}}},
        },
    ),
    "required without a property": (
        {"properties": {"a": True}, "required": ["a", "b", "a"]},
        {"type": "object", "properties": {"a": True}, "required": ["a"]},
    ),
    "a reference to far away": (
        {"properties": {"a": {"$ref": "https://far/x", "description": "it"}}},
        {"type": "object", "properties": {"a": {"description": "it"}}},
    ),
    "keywords that are none, or wrong": (
        {"$schema": "x", "$id": "y", "properties": {"a": {"enum": [], "minimum": "1", "z": 1}}},
        {"type": "object", "properties": {"a": {}}},
    ),
}


@pytest.mark.parametrize(("schema", "expected"), SCHEMAS.values(), ids=SCHEMAS.keys())
def test_a_schema_is_repaired_so_that_providers_accept_it(
    schema: JsonValue, expected: JsonValue
) -> None:
    assert repair_schema(schema) == expected


def test_a_large_schema_loses_its_descriptions_before_its_depth() -> None:
    properties: dict[str, JsonValue] = {
        f"p{number}": {"type": "string", "description": "words " * 100} for number in range(50)
    }
    mended = repair_schema({"properties": properties})
    assert len(json.dumps(mended)) <= MOST_SCHEMA_CHARACTERS
    assert list(json.loads(json.dumps(mended))["properties"]) == list(properties)


def test_an_irreducibly_large_schema_is_refused() -> None:
    properties: dict[str, JsonValue] = {f"property_{number}": {} for number in range(1_000)}
    with pytest.raises(ToolSchemaError, match="larger than 8,000 characters"):
        repair_schema({"properties": properties})


def test_an_infinitely_nested_schema_is_truncated() -> None:
    schema: dict[str, JsonValue] = {}
    for _ in range(500):
        schema = {"properties": {"a": schema}}
    assert len(json.dumps(repair_schema(schema))) <= MOST_SCHEMA_CHARACTERS


def test_workspace_servers_are_read_and_an_invalid_entry_affects_no_valid_one() -> None:
    servers, problems = workspace_servers(
        {
            "files": {"command": "npx", "args": ["-y", "x"], "env": {"A": "1"}, "timeout": 5},
            "docs": {"type": "sse", "url": "https://docs.example/sse"},
            "asleep": {"command": "npx", "enabled": False},
            "bad": {"args": []},
            "worse": "text",
        }
    )
    assert servers == (
        StdioServerConfig("files", "npx", ("-y", "x"), {"A": "1"}, timeouts=ServerTimeouts(60, 5)),
        HttpServerConfig(
            "docs", "https://docs.example/sse", transport="sse", timeouts=ServerTimeouts(60, 120)
        ),
    )
    assert [problem.split(":")[0] for problem in problems] == [
        "the workspace's MCP server bad",
        "the workspace's MCP server worse",
    ]


def test_a_server_of_the_request_overrides_one_of_the_settings() -> None:
    asked, other = StdioServerConfig("a", "one"), StdioServerConfig("b", "three")
    assert merge_servers((asked,), (StdioServerConfig("a", "two"), other)) == (asked, other)


@pytest.mark.parametrize("entries", [None, {}, "text", ["a"], {"a": None}])
def test_entries_that_name_no_server_add_none(entries: JsonValue) -> None:
    assert workspace_servers(entries)[0] == ()


def test_an_invalid_url_breaks_nothing_and_is_redacted() -> None:
    server = HttpServerConfig("r", "http://[bad-secret")
    assert describe_transport(server) == "http `://`"
    assert make_redaction(server)("no http://[bad-secret") == "no [hidden]"


def test_server_descriptions_contain_no_secrets() -> None:
    process = StdioServerConfig("p", "/opt/server", ("--key=hush",), {"KEY": "hush"})
    remote = HttpServerConfig("r", "https://me:hush@host/x?key=hush", {"Authorization": "hush"})
    descriptions = [
        f"{each!r} {describe_transport(each)} {server_identity(each)}" for each in (process, remote)
    ]
    assert not any("hush" in each for each in descriptions)
    assert server_identity(process) != server_identity(StdioServerConfig("p", "/opt/server"))


def test_results_lose_certain_secrets_and_keep_doubtful_ones() -> None:
    server = StdioServerConfig("p", "x", (), {"API_KEY": "secret-1", "FOLDER": "/home/me"})
    hide = make_redaction(server)
    assert hide("secret-1 in /home/me") == "[hidden] in [hidden]"
    assert hide.redact_result({"a": ["secret-1 in /home/me", 1]}) == {
        "a": ["[hidden] in /home/me", 1]
    }


def test_parts_of_headers_and_urls_are_treated_as_secrets() -> None:
    url = "https://me%40home:pass-word@host/x?token=abc-secret"
    hide = make_redaction(HttpServerConfig("r", url, {"Authorization": "Bearer xyz-secret"}))
    assert hide("xyz-secret, abc-secret, pass-word, me@home") == ", ".join(["[hidden]"] * 4)


RESULTS: dict[str, tuple[JsonValue, ToolOutcome]] = {
    "nothing": ({}, ToolOutcome("(no output)")),
    "a picture": (
        {"content": [{"type": "image", "data": PNG, "mimeType": "text/html"}]},
        ToolOutcome("", media=(Media("image/png", PNG),)),
    ),
    "the same twice": (
        {"content": [{"type": "text", "text": '{"a": 1}'}], "structuredContent": {"a": 1}},
        ToolOutcome('{"a": 1}'),
    ),
    "a document as a resource": (
        {"content": [{"type": "resource", "resource": {"uri": "x:y", "blob": "JVBERi0x"}}]},
        ToolOutcome("[resource x:y]", media=(Media("application/pdf", "JVBERi0x"),)),
    ),
    "no content but nonsense": (
        {"content": ["x", None, 1]},
        ToolOutcome("\n\n".join(["[something of the type '', which cannot be shown]"] * 3)),
    ),
}


@pytest.mark.parametrize(("result", "outcome"), RESULTS.values(), ids=RESULTS.keys())
def test_a_result_is_parsed_leniently(result: dict[str, JsonValue], outcome: ToolOutcome) -> None:
    assert tool_outcome(result, "s", no_scan) == outcome


def test_a_long_text_keeps_its_beginning_and_end() -> None:
    text = "a" * MAX_CHARACTERS + "z" * MAX_CHARACTERS
    output = tool_outcome({"content": [{"type": "text", "text": text}]}, "s", no_scan).text
    assert output.startswith("aaa")
    assert output.endswith("zzz")
    assert f"of 50,000 {CHARACTERS_SHOWN} …]" in output


def test_a_long_text_is_kept_whole_in_a_file_that_the_result_names(tmp_path: Path) -> None:
    text = "a line\n" * MAX_CHARACTERS
    result: dict[str, JsonValue] = {"content": [{"type": "text", "text": text}]}
    outcome = tool_outcome(result, "s", no_scan, SavedOutputs(tmp_path, "s1"), "call_1")
    assert len(outcome.text) <= MAX_CHARACTERS
    assert f"are shown; read {outcome.saved_to} (25,000 lines" in outcome.text
    assert Path(outcome.saved_to).read_text() == text


@pytest.mark.parametrize(
    ("text", "given"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param("Rome", {"city": "Rome"}, id="in order"),
        pytest.param("note='two words' Rome", {"city": "Rome", "note": "two words"}, id="by name"),
        pytest.param("Rome all the rest", {"city": "Rome", "note": "all the rest"}, id="the rest"),
        pytest.param("it's a=b", {"city": "it's", "note": "a=b"}, id="an apostrophe"),
    ],
)
def test_prompt_arguments_after_the_name_are_parsed(text: str, given: dict[str, str]) -> None:
    declared = (PromptArgument("city", is_required=True), PromptArgument("note"))
    assert parse_prompt_arguments(text, declared) == given


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, SignInConfig()),
        ({"auth": " OAuth "}, SignInConfig(is_expected=True)),
        ({"auth": "none"}, None),
        ({"headers": {"authorization": "Bearer x"}, "auth": None}, None),
        (
            {"oauth": {"client_id": "c", "client_secret": "s", "redirect_port": 8765, "x": 1}},
            SignInConfig(client_id="c", client_secret="s", redirect_port=8765),  # noqa: S106
        ),
    ],
)
def test_the_keys_for_signing_in_are_read(
    keys: dict[str, JsonValue], expected: SignInConfig | None
) -> None:
    (server,), problems = workspace_servers({"a": {"url": "https://a.example/mcp", **keys}})
    assert problems == ()
    assert isinstance(server, HttpServerConfig)
    assert server.sign_in_config == expected
