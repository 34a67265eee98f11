"""Fake OpenAI server on loopback (chat completions and Responses), as strict as the original.

    script = [reply(think("Hm."), call("look", text="where")), "It is here."]
    async with openai_api(script, Endpoint(form="chat")) as api:
        ...
        assert [ask.verdict for ask in api.asks] == ["answered", "answered"]

The script, its faults and the HTTP server come from `messages_api`. This package adds the API
forms: `chat_rules` and `responses_rules` refuse invalid requests, `chat_responses` and
`responses_responses` build answers. An `OpenAiServerConfig` turns on deviations of other servers.
Tests choose the keys, context windows and ids.
"""

from tests.support.openai_api.endpoint import KEY, OpenAiServerConfig, ServedModel
from tests.support.openai_api.service import (
    OpenAiRequest,
    StreamedError,
    make_failure,
    openai_api,
    openai_api_in_thread,
)

__all__ = [
    "KEY",
    "OpenAiRequest",
    "OpenAiServerConfig",
    "ServedModel",
    "StreamedError",
    "make_failure",
    "openai_api",
    "openai_api_in_thread",
]
