"""Chat completions and Responses on loopback for tests, as strict as OpenAI's own.

    script = [reply(think("Hm."), call("look", text="where")), "It is here."]
    async with openai_api(script, Endpoint(form="chat")) as api:
        ...
        assert [ask.verdict for ask in api.asks] == ["answered", "answered"]

The script, its faults and the server under it are those of `messages_api`; what is here is the
wire: which requests are refused (`chat_rules`, `responses_rules`) and how an answer is written
(`chat_answers`, `responses_answers`), with the oddities of other servers where an `Endpoint` asks
for them. The keys, the windows and the ids are the test's.
"""

from tests.support.openai_api.endpoint import KEY, Endpoint, Listed
from tests.support.openai_api.service import (
    OpenAiAsk,
    StreamedError,
    failure,
    openai_api,
    openai_api_in_thread,
)

__all__ = [
    "KEY",
    "Endpoint",
    "Listed",
    "OpenAiAsk",
    "StreamedError",
    "failure",
    "openai_api",
    "openai_api_in_thread",
]
