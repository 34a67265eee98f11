"""A Messages API on loopback for tests, as strict as Anthropic's own.

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
under test in a process of its own. Both take a script (what the model says: `script`) and an
`Endpoint` (keys, models, what an old gateway lacks: `endpoint`). `api.requests` is what came in and
what became of it (`records`), with refusals, usage and whether the answer was sent to its end.

A request is first held against the rules of the API (`shapes`, `rules`, `history`), and refused as
the API refuses it; only one that it would take plays the next turn of the script. Turns may fail
before they begin (`failures`) or on the way (`faults`). What the prompt cache reads and writes is
accounted for by prefix (`cache`), in tokens that are estimated (`prefix`).

What is not there: server tools but the web search, batches, files, structured outputs beyond the
field, and every beta except thinking's block binding and fine-grained tool streaming.
"""

from tests.support.messages_api.asking import Ask
from tests.support.messages_api.cache import InputUsage, Usage
from tests.support.messages_api.endpoint import KEY, OLD_VERSION, VERSION, Endpoint
from tests.support.messages_api.failures import (
    Failure,
    Vanish,
    bad_gateway,
    bad_request,
    forbidden,
    not_found,
    overloaded,
    rate_limited,
    server_error,
    too_large,
    unauthorized,
    unavailable,
)
from tests.support.messages_api.families import FAMILIES, Family, family_called
from tests.support.messages_api.faults import (
    CutAfterBytes,
    CutAfterEvents,
    CutInsideCharacter,
    Drip,
    EndAfterEvents,
    ErrorEvent,
    ExtraEvent,
    Garbage,
    Hang,
    HoldBack,
    Misspelled,
    StreamFault,
    huge_event,
    pings,
)
from tests.support.messages_api.records import RecordedRequest
from tests.support.messages_api.script import (
    Call,
    Reply,
    Script,
    ThinkSecretly,
    Turn,
    call,
    reply,
    say,
    think,
)
from tests.support.messages_api.server import (
    MessagesApi,
    MessagesApiInThread,
    messages_api,
    messages_api_in_thread,
)
from tests.support.messages_api.steps import Gate

__all__ = [
    "FAMILIES",
    "KEY",
    "OLD_VERSION",
    "VERSION",
    "Ask",
    "Call",
    "CutAfterBytes",
    "CutAfterEvents",
    "CutInsideCharacter",
    "Drip",
    "EndAfterEvents",
    "Endpoint",
    "ErrorEvent",
    "ExtraEvent",
    "Failure",
    "Family",
    "Garbage",
    "Gate",
    "Hang",
    "HoldBack",
    "InputUsage",
    "MessagesApi",
    "MessagesApiInThread",
    "Misspelled",
    "RecordedRequest",
    "Reply",
    "Script",
    "StreamFault",
    "ThinkSecretly",
    "Turn",
    "Usage",
    "Vanish",
    "bad_gateway",
    "bad_request",
    "call",
    "family_called",
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
