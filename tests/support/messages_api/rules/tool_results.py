"""Rules for tool uses: each has one result, at the start of the next message."""

from collections.abc import Iterator

from tests.support.messages_api.parsed_request import ParsedRequest
from tests.support.messages_api.refusals import MessagesApiRefusal
from tests.support.messages_api.shapes import Message, ToolResultBlock, ToolUseBlock


def check_tool_results(ask: ParsedRequest) -> None:
    """Refuse uses without results and results without uses.

    Raises:
        MessagesApiRefusal: A use or a result has no counterpart.
    """
    messages = ask.request.messages
    _check_unique(messages)
    for index, message in enumerate(messages):
        following = messages[index + 1] if index + 1 < len(messages) else None
        _check_has_results(index, message, following)
        _check_has_uses(index, message, messages[index - 1] if index else None)


def _uses(message: Message | None) -> list[ToolUseBlock]:
    return [block for block in message.content if block.type == "tool_use"] if message else []


def _leading_results(message: Message | None) -> Iterator[ToolResultBlock]:
    for block in message.content if message else []:
        if block.type != "tool_result":
            return
        yield block


def _check_unique(messages: list[Message]) -> None:
    seen: set[str] = set()
    for index, message in enumerate(messages):
        for position, block in enumerate(message.content):
            if block.type != "tool_use":
                continue
            if block.id in seen:
                raise MessagesApiRefusal(
                    f"messages.{index}.content.{position}: `tool_use` ids must be unique"
                )
            seen.add(block.id)


def _check_has_results(index: int, message: Message, following: Message | None) -> None:
    answered = {result.tool_use_id for result in _leading_results(following)}
    missing = [use.id for use in _uses(message) if use.id not in answered]
    if missing:
        raise MessagesApiRefusal(
            f"messages.{index}: `tool_use` ids were found without `tool_result` blocks "
            f"immediately after: {', '.join(missing)}. Each `tool_use` block must have a "
            "corresponding `tool_result` block in the next message."
        )


def _check_has_uses(index: int, message: Message, previous: Message | None) -> None:
    use_ids = {use.id for use in _uses(previous)}
    seen: set[str] = set()
    for position, block in enumerate(message.content):
        if block.type != "tool_result":
            continue
        path = f"messages.{index}.content.{position}"
        if block.tool_use_id not in use_ids:
            raise MessagesApiRefusal(
                f"{path}: unexpected `tool_use_id` found in `tool_result` blocks: "
                f"{block.tool_use_id}. Each `tool_result` block must have a corresponding "
                "`tool_use` block in the previous message."
            )
        if block.tool_use_id in seen:
            raise MessagesApiRefusal(
                f"{path}: each tool_use must have a single result. Found multiple `tool_result` "
                f"blocks with id: {block.tool_use_id}"
            )
        seen.add(block.tool_use_id)
