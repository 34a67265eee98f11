"""Instructions that a client adds to a session's system prompt.

They come as `systemPrompt` (a draft of the protocol) or as `_meta.systemPrompt`, as acpx sends it.
They are added to this agent's own instructions and never replace them: what the tools need and what
must be asked about stands there.
"""

from pydantic import JsonValue

from acp_server.jsonrpc.errors import InvalidParamsError
from acp_server.protocol.content import TextContent
from acp_server.protocol.sessions import ClientSystemPrompt, SessionRequest

MAX_CHARACTERS = 50_000
NO_OVERRIDE = (
    "this agent's own instructions cannot be replaced, because its tools and permissions rely on "
    "them; send yours to be added, with the mode `append`"
)


def client_instructions(request: SessionRequest) -> str | None:
    """Return the instructions to add to the system prompt; None if the client sent none.

    Raises:
        InvalidParamsError: they cannot be used as the client asks.
    """
    if request.system_prompt is not None:
        return _check_length("systemPrompt", _draft_text(request.system_prompt))
    value = (request.meta or {}).get("systemPrompt")
    return None if value is None else _check_length("_meta.systemPrompt", _meta_text(value))


def _draft_text(prompt: ClientSystemPrompt) -> str:
    if prompt.mode == "override":
        raise InvalidParamsError(f"systemPrompt.mode: {NO_OVERRIDE}")
    if prompt.mode != "append":
        reason = f"systemPrompt.mode: {prompt.mode!r} is not supported, only `append`"
        raise InvalidParamsError(reason)
    texts: list[str] = []
    for index, block in enumerate(prompt.content):
        if not isinstance(block, TextContent):
            reason = f"systemPrompt.content.{index}: only blocks of type `text` are supported"
            raise InvalidParamsError(reason)
        texts.append(block.text)
    return "\n\n".join(texts)


def _meta_text(value: JsonValue) -> str:
    if isinstance(value, str):  # by the convention, a text alone replaces the agent's own
        raise InvalidParamsError(f"_meta.systemPrompt: {NO_OVERRIDE}")
    text = value.get("append") if isinstance(value, dict) else None
    if not isinstance(text, str):
        raise InvalidParamsError('_meta.systemPrompt: expected {"append": "your instructions"}')
    return text


def _check_length(name: str, text: str) -> str:
    if not text.strip():
        raise InvalidParamsError(f"{name}: it is empty; leave it out, or send a text")
    if len(text) > MAX_CHARACTERS:
        reason = f"{name}: it has {len(text):,} characters; at most {MAX_CHARACTERS:,} are taken"
        raise InvalidParamsError(reason)
    return text.strip()
