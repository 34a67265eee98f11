"""Rules for web search: calls need results, and results must come from the server.

Two rules are assumptions: search blocks need the declared tool, and only a paused message may end
in an open call. The documentation implies them but states no error.
"""

import hashlib
from collections.abc import Iterator

from tests.support.messages_api.parsed_request import ParsedRequest
from tests.support.messages_api.refusals import MessagesApiRefusal
from tests.support.messages_api.shapes import (
    Block,
    ServerToolUseBlock,
    TextBlock,
    WebSearchResultBlock,
    WebSearchTool,
)

SearchBlock = ServerToolUseBlock | WebSearchResultBlock


def encrypted_content(url: str) -> str:
    """Return the encrypted content of a page, which only the server can create."""
    return f"encrypted-{hashlib.sha256(url.encode()).hexdigest()}"


def check_web_searches(ask: ParsedRequest) -> None:
    """Refuse search blocks that were modified or lack their counterpart.

    Raises:
        MessagesApiRefusal: A search block is invalid.
    """
    found = list(_search_blocks(ask))
    is_declared = any(isinstance(tool, WebSearchTool) for tool in ask.request.tools)
    if found and not is_declared:
        raise MessagesApiRefusal(f"{found[0][0]}: `{found[0][1].type}` needs the tool `web_search`")
    _check_pairs(ask, found)
    for path, block in _blocks(ask):
        _check_encrypted_content(path, block)


def _search_blocks(ask: ParsedRequest) -> Iterator[tuple[str, SearchBlock]]:
    for path, block in _blocks(ask):
        if isinstance(block, SearchBlock):
            yield path, block


def _blocks(ask: ParsedRequest) -> Iterator[tuple[str, Block]]:
    for index, message in enumerate(ask.request.messages):
        for position, block in enumerate(message.content):
            if isinstance(block, SearchBlock) and message.role != "assistant":
                raise MessagesApiRefusal(
                    f"messages.{index}: `{block.type}` may only be of the assistant"
                )
            yield f"messages.{index}.content.{position}", block


def _check_pairs(ask: ParsedRequest, found: list[tuple[str, SearchBlock]]) -> None:
    open_calls: dict[str, str] = {}
    for path, block in found:
        if isinstance(block, ServerToolUseBlock):
            open_calls[block.id] = path
        elif open_calls.pop(block.tool_use_id, None) is None:
            raise MessagesApiRefusal(
                f"{path}: unexpected `tool_use_id` found in `web_search_tool_result` blocks: "
                f"{block.tool_use_id}"
            )
    if open_calls and not ask.is_continuation:
        call_id, path = next(iter(open_calls.items()))
        raise MessagesApiRefusal(
            f"{path}: `web_search` tool use with id `{call_id}` was found without a corresponding "
            "`web_search_tool_result` block"
        )


def _check_encrypted_content(path: str, block: Block) -> None:
    if isinstance(block, WebSearchResultBlock) and isinstance(block.content, list):
        for each in block.content:
            if each.encrypted_content != encrypted_content(each.url):
                raise MessagesApiRefusal(
                    f"{path}: Invalid encrypted_content in search_result block"
                )
    for citation in (block.citations or []) if isinstance(block, TextBlock) else []:
        found = citation if isinstance(citation, dict) else {}
        is_found = found.get("type") == "web_search_result_location"
        if is_found and found.get("encrypted_index") != encrypted_content(str(found.get("url"))):
            raise MessagesApiRefusal(f"{path}: Invalid encrypted_index in citation")
