"""Rules for messages: the order of roles and the blocks that each may contain."""

from collections.abc import Iterator

from tests.support.messages_api.endpoint import VERSION
from tests.support.messages_api.parsed_request import ParsedRequest
from tests.support.messages_api.refusals import MessagesApiRefusal
from tests.support.messages_api.shapes import Block, Message, TextBlock

DIRECTIVE = "; the directive-only form (content: [] with output_config) is accepted at any position"
ASSISTANT_ONLY_BLOCKS = {"tool_use"}
USER_ONLY_BLOCKS = {"tool_result", "image", "search_result"}


def check_messages(ask: ParsedRequest) -> None:
    """Refuse invalid conversations.

    Raises:
        MessagesApiRefusal: A role or a block is not allowed at its position.
    """
    messages = ask.request.messages
    if not messages:
        raise MessagesApiRefusal("messages: at least one message is required")
    _check_texts(ask)
    for index, message in enumerate(messages):
        _check_content(messages, index)
        if message.role == "system":
            _check_system(ask, index)
        for position, block in enumerate(message.content):
            _check_role(ask, message, f"messages.{index}.content.{position}", block)
    if messages[0].role == "assistant" and not ask.endpoint.takes_leading_assistant:
        raise MessagesApiRefusal('messages: first message must use the "user" role')
    _check_end(ask, messages[-1])


def _check_texts(ask: ParsedRequest) -> None:
    for position, block in enumerate(ask.request.system):
        _check_text("system", f"system.{position}", block)
    for index, message in enumerate(ask.request.messages):
        for position, block in enumerate(message.content):
            for text in _texts(block):
                _check_text("messages", f"messages.{index}.content.{position}", text)


def _texts(block: Block) -> Iterator[TextBlock]:
    if block.type == "text":
        yield block
    elif block.type == "tool_result":
        yield from (inner for inner in block.content if inner.type == "text")


def _check_text(location: str, path: str, block: TextBlock) -> None:
    if not block.text and block.cache_control is not None:
        raise MessagesApiRefusal(f"{path}.text: cache_control cannot be set for empty text blocks")
    if not block.text:
        raise MessagesApiRefusal(f"{location}: text content blocks must be non-empty")
    if not block.text.strip():
        raise MessagesApiRefusal(
            f"{location}: text content blocks must contain non-whitespace text"
        )


def _check_content(messages: list[Message], index: int) -> None:
    message = messages[index]
    if message.content or (message.role == "assistant" and index == len(messages) - 1):
        return
    match message.role:
        case "user":
            raise MessagesApiRefusal(f"messages.{index}: user messages must have non-empty content")
        case "assistant":
            raise MessagesApiRefusal(
                f"messages.{index}: all messages must have non-empty content except for the "
                "optional final assistant message"
            )
        case "system":
            raise MessagesApiRefusal(
                f"messages.{index}: system content must contain at least one block"
            )


def _check_system(ask: ParsedRequest, index: int) -> None:
    messages = ask.request.messages
    before = messages[index - 1].role if index else None
    after = messages[index + 1].role if index + 1 < len(messages) else "assistant"
    if not ask.model_spec.takes_system_messages:
        raise MessagesApiRefusal(f"messages.{index}: role 'system' is not supported on this model")
    if any(block.type != "text" for block in messages[index].content):
        raise MessagesApiRefusal(
            f"messages.{index}: role 'system' supports text, tool_addition, and tool_removal "
            "blocks only"
        )
    if before is None:
        raise MessagesApiRefusal(
            "messages.0: use the top-level 'system' parameter for the initial system prompt"
            + DIRECTIVE
        )
    if before == "assistant":
        raise MessagesApiRefusal(
            f"messages.{index}: role 'system' must follow a 'user' message or an 'assistant' "
            f"message ending in a server tool result{DIRECTIVE}"
        )
    if after == "user":
        raise MessagesApiRefusal(
            f"messages.{index}: role 'system' must precede an 'assistant' message or end the "
            f"array{DIRECTIVE}"
        )


def _check_role(ask: ParsedRequest, message: Message, path: str, block: Block) -> None:
    if message.role == "user" and block.type in {"thinking", "redacted_thinking"}:
        raise MessagesApiRefusal(
            f"{path.rpartition('.')[0]}: {block.type} blocks may only be in `assistant` messages"
        )
    if message.role == "user" and block.type in ASSISTANT_ONLY_BLOCKS:
        raise MessagesApiRefusal(
            f"{path}: `{block.type}` blocks can only be in `assistant` messages"
        )
    is_document = block.type == "document" and ask.headers.version == VERSION
    if message.role == "assistant" and (block.type in USER_ONLY_BLOCKS or is_document):
        raise MessagesApiRefusal(f"{path}: `{block.type}` blocks can only be in `user` messages")
    has_citations = isinstance(block, TextBlock) and bool(block.citations)
    if message.role == "user" and has_citations and ask.headers.version == VERSION:
        raise MessagesApiRefusal(
            f"{path}.text.citations: citations are not permitted in `user` messages"
        )


def _check_end(ask: ParsedRequest, last: Message) -> None:
    is_pending = any(block.type == "tool_use" for block in last.content)
    if last.role != "assistant" or is_pending or ask.is_continuation:
        return
    if not ask.model_spec.takes_prefill:
        raise MessagesApiRefusal(
            "This model does not support assistant message prefill. The conversation must end "
            "with a user message."
        )
    texts = [block.text for block in last.content if block.type == "text"]
    if texts and texts[-1] != texts[-1].rstrip():
        raise MessagesApiRefusal(
            "messages: final assistant content cannot end with trailing whitespace"
        )
