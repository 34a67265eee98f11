"""Fake Messages API server on loopback, as strict as Anthropic's.

    async def test_a_file_is_read() -> None:
        script = [
            reply(think("Which file?"), call("read_file", path="a.py")),
            "It says hello.",
        ]
        async with messages_api(script) as api:
            client = AsyncAnthropic(base_url=api.url, api_key=KEY)
            ...
            assert [ask.verdict for ask in api.asks] == ["answered", "answered"]
            assert api.asks[1].usage.input.read > 0

`messages_api` serves in the test's event loop, `messages_api_in_thread` in a thread, for a server
under test in another process. Both take a script (the model's replies: `script`) and a
`MessagesServerConfig` (keys, models, features missing in old gateways: `endpoint`). `api.requests`
records each request and its outcome (`records`): refusal, usage, and how sending ended.

A request is first validated against the rules of the API (`shapes`, `rules`, `thinking_history`)
and refused as the API refuses it; only a valid one plays the next turn of the script. Turns may
fail before the response starts (`failures`) or during it (`faults`). Reads and writes of the prompt
cache are computed per prefix (`cache`), in estimated tokens (`prefix`).

Not implemented: server tools other than web search, batches, files, structured outputs beyond the
field, and all betas except thinking block binding and fine-grained tool streaming.
"""

from tests.support.messages_api.cache import ApiUsage, InputUsage
from tests.support.messages_api.endpoint import KEY, OLD_VERSION, VERSION, MessagesServerConfig
from tests.support.messages_api.failures import (
    DroppedConnection,
    HttpFailure,
    bad_gateway,
    bad_request,
    fast_mode_limited,
    forbidden,
    not_found,
    overloaded,
    rate_limited,
    server_error,
    too_large,
    unauthorized,
    unavailable,
)
from tests.support.messages_api.faults import (
    CutAfterBytes,
    CutAfterEvents,
    CutInsideCharacter,
    EndAfterEvents,
    ErrorEvent,
    ExtraEvent,
    GarbageBytes,
    HoldUntilGate,
    PauseBeforeEvent,
    ReplacedBytes,
    StreamFault,
    TrickledBytes,
    huge_event,
    pings,
)
from tests.support.messages_api.model_specs import MODEL_SPECS, ModelSpec, find_model_spec
from tests.support.messages_api.parsed_request import ParsedRequest
from tests.support.messages_api.records import RecordedRequest
from tests.support.messages_api.response_steps import ResponseGate
from tests.support.messages_api.script import (
    CallTool,
    Script,
    ScriptedReply,
    ScriptedTurn,
    ThinkRedacted,
    call,
    reply,
    say,
    think,
)
from tests.support.messages_api.server import (
    FakeApiServer,
    FakeApiServerInThread,
    messages_api,
    messages_api_in_thread,
)

__all__ = [
    "KEY",
    "MODEL_SPECS",
    "OLD_VERSION",
    "VERSION",
    "ApiUsage",
    "CallTool",
    "CutAfterBytes",
    "CutAfterEvents",
    "CutInsideCharacter",
    "DroppedConnection",
    "EndAfterEvents",
    "ErrorEvent",
    "ExtraEvent",
    "FakeApiServer",
    "FakeApiServerInThread",
    "GarbageBytes",
    "HoldUntilGate",
    "HttpFailure",
    "InputUsage",
    "MessagesServerConfig",
    "ModelSpec",
    "ParsedRequest",
    "PauseBeforeEvent",
    "RecordedRequest",
    "ReplacedBytes",
    "ResponseGate",
    "Script",
    "ScriptedReply",
    "ScriptedTurn",
    "StreamFault",
    "ThinkRedacted",
    "TrickledBytes",
    "bad_gateway",
    "bad_request",
    "call",
    "fast_mode_limited",
    "find_model_spec",
    "forbidden",
    "huge_event",
    "messages_api",
    "messages_api_in_thread",
    "not_found",
    "overloaded",
    "pings",
    "rate_limited",
    "reply",
    "say",
    "server_error",
    "think",
    "too_large",
    "unauthorized",
    "unavailable",
]
