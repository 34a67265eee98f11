"""Rules for `tools` and `tool_choice`."""

import json
from functools import cache

from jsonschema import Draft202012Validator, SchemaError

from tests.support.messages_api.parsed_request import ParsedRequest
from tests.support.messages_api.refusals import MessagesApiRefusal
from tests.support.messages_api.shapes import CustomTool, NoChoice, ToolChoice

COMBINATIONS = {"oneOf", "allOf", "anyOf"}


def check_tools(ask: ParsedRequest) -> None:
    """Refuse invalid tools and tool choices.

    Raises:
        MessagesApiRefusal: A tool or the choice is invalid, or tools are missing.
    """
    for index, tool in enumerate(ask.request.tools):
        if isinstance(tool, CustomTool):
            _check_fields(ask, index, tool)
            _check_schema(index, tool)
    names = [tool.name for tool in ask.request.tools]
    if len(set(names)) != len(names):
        raise MessagesApiRefusal("tools: Tool names must be unique.")
    _check_choice(ask, names)
    _check_tools_declared(ask)


def _check_fields(ask: ParsedRequest, index: int, tool: CustomTool) -> None:
    is_extra = not ask.endpoint.takes_eager_input_streaming
    if is_extra and tool.eager_input_streaming is not None:
        raise MessagesApiRefusal(
            f"tools.{index}.custom.eager_input_streaming: Extra inputs are not permitted"
        )


def _check_schema(index: int, tool: CustomTool) -> None:
    path = f"tools.{index}.custom.input_schema"
    if "type" not in tool.input_schema:
        raise MessagesApiRefusal(f"{path}.type: Field required")
    if tool.input_schema["type"] != "object":
        raise MessagesApiRefusal(f"{path}.type: Input should be 'object'")
    if COMBINATIONS & tool.input_schema.keys():
        raise MessagesApiRefusal(
            f"{path}: input_schema does not support oneOf, allOf, or anyOf at the top level"
        )
    if not _is_schema(json.dumps(tool.input_schema)):
        raise MessagesApiRefusal(
            f"{path}: JSON schema is invalid. It must match JSON Schema draft 2020-12 "
            "(https://json-schema.org/draft/2020-12). Learn more about tool use at "
            "https://docs.claude.com/en/docs/tool-use."
        )


@cache
def _is_schema(text: str) -> bool:
    try:
        Draft202012Validator.check_schema(json.loads(text))
    except SchemaError:
        return False
    return True


def _check_choice(ask: ParsedRequest, names: list[str]) -> None:
    choice = ask.request.tool_choice
    if choice is None or isinstance(choice, NoChoice):
        return
    if not names:
        raise MessagesApiRefusal(
            "tool_choice: `tool_choice` may only be specified while providing `tools`."
        )
    if isinstance(choice, ToolChoice) and choice.name not in names:
        raise MessagesApiRefusal(f"Tool '{choice.name}' not found in provided tools")


def _check_tools_declared(ask: ParsedRequest) -> None:
    kinds = {block.type for message in ask.request.messages for block in message.content}
    if not ask.request.tools and kinds & {"tool_use", "tool_result"}:
        raise MessagesApiRefusal(
            "Requests which include `tool_use` or `tool_result` blocks must define tools."
        )
