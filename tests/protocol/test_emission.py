"""What the agent sends, byte for byte; the lines are broken for the eye."""

from acp_server.protocol.content import TextContent
from acp_server.protocol.elicitation import (
    ElicitationSchema,
    EnumOption,
    IntegerPropertySchema,
    RequestForm,
    SessionForm,
    SessionUrl,
    StringPropertySchema,
)
from acp_server.protocol.files import ReadTextFileRequest
from acp_server.protocol.initialize_request import Implementation
from acp_server.protocol.initialize_response import (
    AgentCapabilities,
    AuthMethodAgent,
    AuthMethodTerminal,
    InitializeResponse,
    SessionCapabilities,
    SessionListCapabilities,
)
from acp_server.protocol.model import WireModel
from acp_server.protocol.prompt_turn import PromptResponse
from acp_server.protocol.session_update import SessionUpdateParams
from acp_server.protocol.sessions import (
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    SessionConfigBoolean,
    SessionConfigSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)
from acp_server.protocol.terminals import CreateTerminalRequest
from acp_server.protocol.tool_calls import (
    Content,
    Diff,
    PermissionOption,
    RequestPermissionRequest,
    Terminal,
    ToolCallLocation,
)
from acp_server.protocol.updates import (
    AgentMessageChunk,
    AvailableCommand,
    AvailableCommandsUpdate,
    Notice,
    Plan,
    PlanEntry,
    SessionNotification,
    SessionUpdate,
    ToolCallProgress,
    ToolCallStart,
    UnstructuredCommandInput,
    UsageUpdate,
)
from tests.support.case_table import each_case


def wrap_update(update: SessionUpdate) -> SessionNotification:
    """An update as it is sent."""
    return SessionNotification(session_id="s", update=update)


MESSAGES: dict[str, tuple[WireModel, str]] = {
    "initialize": (
        InitializeResponse(
            protocol_version=1,
            agent_capabilities=AgentCapabilities(
                load_session=True,
                session_capabilities=SessionCapabilities(list=SessionListCapabilities()),
            ),
            auth_methods=(
                AuthMethodAgent(id="key", name="API key"),
                AuthMethodTerminal(id="login", name="Log in", args=("login",), env={"A": "b"}),
            ),
            agent_info=Implementation(name="agent", version="1"),
        ),
        """{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"promptCapabilities":
        {"image":false,"audio":false,"embeddedContext":false},"mcpCapabilities":{"http":false,
        "sse":false},"sessionCapabilities":{"list":{}},"auth":{}},"authMethods":[{"id":"key",
        "name":"API key"},{"id":"login","name":"Log in","type":"terminal","args":["login"],
        "env":{"A":"b"}}],"agentInfo":{"name":"agent","version":"1"}}""",
    ),
    "a new session": (
        NewSessionResponse(
            session_id="s",
            modes=SessionModeState(
                current_mode_id="ask", available_modes=(SessionMode(id="ask", name="Ask"),)
            ),
            config_options=(
                SessionConfigSelect(
                    id="model",
                    name="Model",
                    category="model",
                    current_value="large",
                    options=(SessionConfigSelectOption(value="large", name="Large"),),
                ),
                SessionConfigBoolean(id="fast", name="Fast", current_value=False),
            ),
        ),
        """{"modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"}]},
        "configOptions":[{"id":"model","name":"Model","category":"model","type":"select",
        "currentValue":"large","options":[{"value":"large","name":"Large"}]},{"id":"fast",
        "name":"Fast","type":"boolean","currentValue":false}],"sessionId":"s"}""",
    ),
    "a loaded session": (LoadSessionResponse(), "{}"),
    "no sessions": (ListSessionsResponse(sessions=()), """{"sessions":[]}"""),
    "a cancelled turn": (PromptResponse(stop_reason="cancelled"), """{"stopReason":"cancelled"}"""),
    "a piece of a message": (
        wrap_update(AgentMessageChunk(content=TextContent(text="Hi"), message_id="m")),
        """{"sessionId":"s","update":{"content":{"type":"text","text":"Hi"},"messageId":"m",
        "sessionUpdate":"agent_message_chunk"}}""",
    ),
    "a tool call": (
        wrap_update(
            ToolCallStart(
                tool_call_id="t",
                title="Edit a.py",
                name="patch",
                kind="edit",
                content=(
                    Diff(path="/a.py", new_text="a"),
                    Content(content=TextContent(text="done")),
                    Terminal(terminal_id="x"),
                ),
                locations=(ToolCallLocation(path="/a.py", line=1),),
                raw_input={"path": "/a.py", "mode": None},
            )
        ),
        """{"sessionId":"s","update":{"toolCallId":"t","title":"Edit a.py","name":"patch",
        "kind":"edit","status":"pending","content":[{"type":"diff","path":"/a.py","oldText":null,
        "newText":"a"},{"type":"content","content":{"type":"text","text":"done"}},
        {"type":"terminal","terminalId":"x"}],"locations":[{"path":"/a.py","line":1}],
        "rawInput":{"path":"/a.py","mode":null},"sessionUpdate":"tool_call"}}""",
    ),
    "progress of a tool call": (
        wrap_update(ToolCallProgress(tool_call_id="t", status="completed")),
        """{"sessionId":"s","update":{"toolCallId":"t","status":"completed",
        "sessionUpdate":"tool_call_update"}}""",
    ),
    "a plan": (
        wrap_update(Plan(entries=(PlanEntry(content="Read", priority="high", status="pending"),))),
        """{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[{"content":"Read",
        "priority":"high","status":"pending"}]}}""",
    ),
    "commands": (
        wrap_update(
            AvailableCommandsUpdate(
                available_commands=(
                    AvailableCommand(
                        name="test",
                        description="Run tests",
                        input=UnstructuredCommandInput(hint="which"),
                    ),
                )
            )
        ),
        """{"sessionId":"s","update":{"sessionUpdate":"available_commands_update",
        "availableCommands":[{"name":"test","description":"Run tests","input":
        {"hint":"which"}}]}}""",
    ),
    "usage": (
        wrap_update(UsageUpdate(used=0, size=200_000)),
        """{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":0,"size":200000}}""",
    ),
    "a notice of another severity": (
        wrap_update(Notice(severity="_debug", title="Cache cold")),
        """{"sessionId":"s","update":{"sessionUpdate":"notice","severity":"_debug",
        "title":"Cache cold"}}""",
    ),
    "a question for permission": (
        RequestPermissionRequest(
            session_id="s",
            tool_call=ToolCallProgress(tool_call_id="t", title="Edit"),
            options=(PermissionOption(option_id="y", name="Yes", kind="allow_once"),),
        ),
        """{"sessionId":"s","toolCall":{"toolCallId":"t","title":"Edit"},"options":[
        {"optionId":"y","name":"Yes","kind":"allow_once"}]}""",
    ),
    "a file to read": (
        ReadTextFileRequest(session_id="s", path="/a.py", limit=10),
        """{"sessionId":"s","path":"/a.py","limit":10}""",
    ),
    "a command to run": (
        CreateTerminalRequest(session_id="s", command="ls", output_byte_limit=1 << 20),
        """{"sessionId":"s","command":"ls","outputByteLimit":1048576}""",
    ),
    "a form about a session": (
        SessionForm(
            session_id="s",
            message="Which?",
            requested_schema=ElicitationSchema(
                properties={
                    "colour": StringPropertySchema(
                        one_of=(EnumOption(const="r", title="Red"),), default="r"
                    ),
                    "count": IntegerPropertySchema(minimum=0),
                },
                required=("colour",),
            ),
        ),
        """{"sessionId":"s","mode":"form","message":"Which?","requestedSchema":{"type":"object",
        "properties":{"colour":{"type":"string","default":"r","oneOf":[{"const":"r",
        "title":"Red"}]},"count":{"type":"integer","minimum":0}},"required":["colour"]}}""",
    ),
    "a form about a request without an id": (
        RequestForm(request_id=None, message="Which?", requested_schema=ElicitationSchema()),
        """{"requestId":null,"mode":"form","message":"Which?","requestedSchema":{"type":"object",
        "properties":{}}}""",
    ),
    "a page to visit": (
        SessionUrl(session_id="s", message="Log in", elicitation_id="e", url="https://a.example"),
        """{"sessionId":"s","mode":"url","message":"Log in","elicitationId":"e",
        "url":"https://a.example"}""",
    ),
}


@each_case(("message", "lines"), MESSAGES.values(), ids=MESSAGES.keys())
def test_messages_are_serialized_in_a_stable_form(message: WireModel, lines: str) -> None:
    assert message.to_json().decode() == "".join(line.strip() for line in lines.splitlines())


def test_an_update_is_written_as_its_notification_would_be() -> None:
    models = [model for model, _ in MESSAGES.values()]
    notifications = [each for each in models if isinstance(each, SessionNotification)]
    assert len(notifications) > 5
    for each in notifications:
        assert SessionUpdateParams(each.session_id, each.update).to_json() == each.to_json()
