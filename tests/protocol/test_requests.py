"""What clients send: what is forgiven, and what is an error."""

from collections.abc import Callable
from functools import partial

import pytest
from pydantic import JsonValue, ValidationError

from acp_server.protocol.content import (
    Annotations,
    BlobResourceContents,
    EmbeddedResource,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from acp_server.protocol.initialize_request import (
    AuthenticateRequest,
    ClientCapabilities,
    ClientSessionCapabilities,
    FileSystemCapabilities,
    InitializeRequest,
    NoticeCapabilities,
)
from acp_server.protocol.model import WireModel
from acp_server.protocol.prompt_turn import (
    CancelNotification,
    CancelRequestNotification,
    PromptRequest,
)
from acp_server.protocol.sessions import (
    CloseSessionRequest,
    DeleteSessionRequest,
    EnvVariable,
    ListSessionsRequest,
    LoadSessionRequest,
    McpServerHttp,
    McpServerStdio,
    NewSessionRequest,
    ResumeSessionRequest,
    SetSessionConfigOptionRequest,
    SetSessionModeRequest,
)
from tests.support.case_table import each_case

Json = dict[str, JsonValue]

SESSION: Json = {"sessionId": "1"}
FOLDER: Json = {"cwd": "/code"}

NO_SERVERS: list[Json] = [
    {},
    {"mcpServers": None},
    {"mcpServers": {}},
    {"mcpServers": "none"},
    {"mcpServers": 1},
]

BEGINNINGS = [NewSessionRequest, LoadSessionRequest, ResumeSessionRequest]

NOT_STRINGS: list[JsonValue] = [None, True, 0, 1.5, [], ["1"], {}, {"id": "1"}]
NOT_VERSIONS: list[JsonValue] = [None, True, False, -1, 65536, 1.0, "1", "2025-01-01", [], {}]
NOT_PROMPTS: list[JsonValue] = [
    None,
    "text",
    {"type": "text", "text": "hello"},
    ["hello"],
    [{"text": "no type"}],
    [{"type": "video", "data": ""}],
    [{"type": "text"}],
    [{"type": "text", "text": None}],
    [{"type": "text", "text": "good"}, {"type": "image", "data": "no media type"}],
    [{"type": "resource", "resource": {"uri": "file:///neither-text-nor-blob"}}],
]

STRICT: list[tuple[type[WireModel], Json, str, list[JsonValue]]] = [
    (InitializeRequest, {}, "protocolVersion", NOT_VERSIONS),
    (AuthenticateRequest, {}, "methodId", NOT_STRINGS),
    (NewSessionRequest, {}, "cwd", NOT_STRINGS),
    (LoadSessionRequest, FOLDER, "sessionId", NOT_STRINGS),
    (LoadSessionRequest, SESSION, "cwd", NOT_STRINGS),
    (ResumeSessionRequest, FOLDER, "sessionId", NOT_STRINGS),
    (ResumeSessionRequest, SESSION, "cwd", NOT_STRINGS),
    (CloseSessionRequest, {}, "sessionId", NOT_STRINGS),
    (DeleteSessionRequest, {}, "sessionId", NOT_STRINGS),
    (PromptRequest, SESSION, "prompt", NOT_PROMPTS),
    (PromptRequest, {"prompt": []}, "sessionId", NOT_STRINGS),
    (CancelNotification, {}, "sessionId", NOT_STRINGS),
    (SetSessionModeRequest, {"modeId": "1"}, "sessionId", NOT_STRINGS),
    (SetSessionModeRequest, SESSION, "modeId", NOT_STRINGS),
    (SetSessionConfigOptionRequest, SESSION | {"value": "1"}, "configId", NOT_STRINGS),
    (SetSessionConfigOptionRequest, SESSION | {"configId": "1"}, "value", NOT_STRINGS),
]


@each_case(
    ("model", "rest", "name", "wrong"),
    STRICT,
    ids=[f"{model.__name__}.{name}" for model, _, name, _ in STRICT],
)
def test_strict_fields_refuse_every_other_type_and_absence(
    model: type[WireModel], rest: Json, name: str, wrong: list[JsonValue]
) -> None:
    for value in wrong:
        with pytest.raises(ValidationError):
            model.from_wire(rest | {name: value})
    with pytest.raises(ValidationError):
        model.from_wire(rest)


@pytest.mark.parametrize("params", [None, True, 1, "text", [], [{"sessionId": "1"}]])
def test_params_that_are_not_an_object_are_rejected(params: JsonValue) -> None:
    with pytest.raises(ValidationError):
        CancelNotification.from_wire(params)
    with pytest.raises(ValidationError):
        ListSessionsRequest.from_wire(params)


@pytest.mark.parametrize("version", [0, 1, 2, 65535])
def test_any_protocol_version_can_be_requested(version: int) -> None:
    assert InitializeRequest.from_wire({"protocolVersion": version}) == InitializeRequest(
        protocol_version=version
    )


@pytest.mark.parametrize("nonsense", [None, True, 1, "all", [], [{"fs": {}}]])
def test_invalid_capabilities_are_treated_as_none(nonsense: JsonValue) -> None:
    read = InitializeRequest.from_wire(
        {"protocolVersion": 1, "clientCapabilities": nonsense, "clientInfo": nonsense}
    )

    assert read == InitializeRequest(
        protocol_version=1, client_capabilities=ClientCapabilities(), client_info=None
    )


def test_one_invalid_capability_keeps_the_others() -> None:
    read = ClientCapabilities.from_wire(
        {
            "fs": {"readTextFile": True, "writeTextFile": "yes"},
            "terminal": 1,
            "session": {"notices": {}, "compaction": True, "configOptions": None},
            "auth": "none",
            "elicitation": [],
            "teleport": {},
            "_meta": "no object",
        }
    )

    assert read == ClientCapabilities(
        fs=FileSystemCapabilities(read_text_file=True, write_text_file=False),
        session=ClientSessionCapabilities(notices=NoticeCapabilities()),
    )


@pytest.mark.parametrize("model", BEGINNINGS)
def test_an_invalid_mcp_server_is_dropped(model: type[NewSessionRequest]) -> None:
    stdio: Json = {
        "name": "good",
        "command": "/bin/server",
        "args": ["-v"],
        "env": [{"name": "A", "value": "b"}],
    }
    bad: list[JsonValue] = [
        7,
        {},
        stdio | {"command": None},
        {**stdio, "args": [1]},
        {"name": "no type", "url": "http://localhost", "headers": []},
        {"type": "http", "name": "no headers", "url": "http://localhost"},
        {"type": "acp", "name": "a draft", "id": "1"},
    ]
    http: JsonValue = {"type": "http", "name": "web", "url": "http://localhost", "headers": None}

    read = model.from_wire(SESSION | FOLDER | {"mcpServers": [*bad, stdio, *bad, http]})

    assert read.mcp_servers == (
        McpServerStdio(
            name="good",
            command="/bin/server",
            args=("-v",),
            env=(EnvVariable(name="A", value="b"),),
        ),
        McpServerHttp(name="web", url="http://localhost", headers=()),
    )


@each_case("model", BEGINNINGS)
@each_case("servers", NO_SERVERS)
def test_mcp_servers_that_are_not_a_list_are_treated_as_empty(
    model: type[WireModel], servers: Json
) -> None:
    assert model.from_wire(SESSION | FOLDER | servers) == model.from_wire(
        SESSION | FOLDER | {"mcpServers": []}
    )


@each_case("model", BEGINNINGS)
@each_case("wrong", ["/a", {}, 1, True, [1], [None], [""], ["/a", ""], ["/a", 1]])
def test_invalid_additional_directories_are_an_error(
    model: type[WireModel], wrong: JsonValue
) -> None:
    with pytest.raises(ValidationError):
        model.from_wire(SESSION | FOLDER | {"additionalDirectories": wrong})


@pytest.mark.parametrize("model", BEGINNINGS)
def test_additional_directories_keep_their_order_and_null_means_none(
    model: type[NewSessionRequest],
) -> None:
    request = SESSION | FOLDER

    several = model.from_wire(request | {"additionalDirectories": ["/b", "relative", "/a"]})
    null = model.from_wire(request | {"additionalDirectories": None})

    assert several.additional_directories == ("/b", "relative", "/a")
    assert null == model.from_wire(request)


def test_a_prompt_keeps_its_blocks_and_tolerates_invalid_optional_fields() -> None:
    read = PromptRequest.from_wire(
        {
            "sessionId": "1",
            "prompt": [
                {"type": "text", "text": "Look:", "annotations": 7, "_meta": None},
                {
                    "type": "resource_link",
                    "name": "a.py",
                    "uri": "file:///a.py#L10-20",
                    "size": "big",
                    "annotations": {"audience": ["user", "nobody"], "priority": "high"},
                },
                {"type": "resource", "resource": {"uri": "file:///b", "text": "b", "mimeType": 1}},
                {"type": "resource", "resource": {"uri": "file:///c", "blob": "Yw=="}},
            ],
        }
    )

    assert read == PromptRequest(
        session_id="1",
        prompt=(
            TextContent(text="Look:"),
            ResourceLink(
                name="a.py",
                uri="file:///a.py#L10-20",
                annotations=Annotations(audience=("user",)),
            ),
            EmbeddedResource(resource=TextResourceContents(uri="file:///b", text="b")),
            EmbeddedResource(resource=BlobResourceContents(uri="file:///c", blob="Yw==")),
        ),
    )


@pytest.mark.parametrize("request_id", [None, 0, 1, "1", "", -(1 << 63), (1 << 63) - 1])
def test_a_request_is_cancelled_by_its_exact_id(request_id: int | str | None) -> None:
    read = CancelRequestNotification.from_wire({"requestId": request_id})

    assert read == CancelRequestNotification(request_id=request_id)
    assert type(read.request_id) is type(request_id)
    assert read.to_wire() == {"requestId": request_id}


@each_case("wrong", [True, False, 1.0, 1.5, 1 << 63, [], {}, ["1"]])
def test_an_invalid_request_id_is_rejected(wrong: JsonValue) -> None:
    with pytest.raises(ValidationError):
        CancelRequestNotification.from_wire({"requestId": wrong})


def test_a_config_option_is_set_to_a_value_or_to_a_boolean() -> None:
    option: Json = {"sessionId": "1", "configId": "model"}

    value = SetSessionConfigOptionRequest.from_wire(option | {"value": "large"})
    future = SetSessionConfigOptionRequest.from_wire(option | {"type": "new", "value": "large"})
    boolean = SetSessionConfigOptionRequest.from_wire(option | {"type": "boolean", "value": False})

    assert value == SetSessionConfigOptionRequest(session_id="1", config_id="model", value="large")
    assert future == value
    assert boolean == SetSessionConfigOptionRequest(
        session_id="1", config_id="model", type="boolean", value=False
    )


@pytest.mark.parametrize("kind", [{}, {"type": None}, {"type": "number"}])
def test_a_boolean_config_value_without_its_type_is_rejected(kind: Json) -> None:
    with pytest.raises(ValidationError):
        SetSessionConfigOptionRequest.from_wire(
            {"sessionId": "1", "configId": "fast", "value": True, **kind}
        )


@each_case("name", ["cwd", "cursor"])
@each_case("wrong", [1, True, [], {}])
def test_invalid_list_sessions_params_are_rejected(name: str, wrong: JsonValue) -> None:
    with pytest.raises(ValidationError):
        ListSessionsRequest.from_wire({name: wrong})


PLAIN: dict[str, JsonValue] = {"cwd": "/a", "mcpServers": []}
REQUESTS: list[JsonValue] = [
    PLAIN,
    {**PLAIN, "_meta": {"a": [1]}, "unknown": 1},
    {**PLAIN, "_meta": "wrong"},
    {**PLAIN, "additionalDirectories": ["/b", "/c"]},
    {**PLAIN, "additionalDirectories": None},
    {**PLAIN, "mcpServers": None},
    {"cwd": "/a"},
    {**PLAIN, "systemPrompt": None},
    {**PLAIN, "systemPrompt": {"mode": "append", "content": []}},
    {**PLAIN, "mcpServers": [{"name": "a", "command": "b", "args": [], "env": []}]},
    {"mcpServers": []},
    {**PLAIN, "cwd": 1, "additionalDirectories": [""]},
    [],
    None,
]


@each_case("value", REQUESTS)
def test_a_plain_request_is_read_as_by_the_whole_validation(value: JsonValue) -> None:
    def read(validate: Callable[[JsonValue], NewSessionRequest]) -> object:
        try:
            request = validate(value)
        except ValidationError as error:
            return error.errors(include_url=False)
        return request, request.model_fields_set, request.to_wire()

    whole = read(partial(NewSessionRequest.model_validate, by_name=False))
    assert read(NewSessionRequest.from_wire) == whole
