"""Validation of chat completions requests: shapes, tool calls and results, models.

https://developers.openai.com/api/reference/resources/chat
"""

import json
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from tests.support.openai_api.endpoint import OpenAiServerConfig, ServedModel
from tests.support.openai_api.refusals import Object, OpenAiRefusal

MAX_CACHE_CONTROLS = 4
CALL_ID = Annotated[str, Field(min_length=1, max_length=40)]
NAME = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
IMAGE_URL_PREFIXES = (
    "data:image/png;base64,",
    "data:image/jpeg;base64,",
    "data:image/webp;base64,",
)


class OpenAiShape(BaseModel):
    """Object that allows no other fields than those declared."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ImageUrl(OpenAiShape):
    url: str
    detail: Literal["auto", "low", "high"] = "auto"


class CacheControl(OpenAiShape):
    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] = "5m"


class TextPart(OpenAiShape):
    type: Literal["text"]
    text: Annotated[str, Field(min_length=1)]
    cache_control: CacheControl | None = None


class ImagePart(OpenAiShape):
    type: Literal["image_url"]
    image_url: ImageUrl


class File(OpenAiShape):
    filename: str
    file_data: str


class FilePart(OpenAiShape):
    type: Literal["file"]
    file: File


Part = Annotated[TextPart | ImagePart | FilePart, Field(discriminator="type")]


class SystemChatMessage(OpenAiShape):
    role: Literal["system", "developer"]
    content: str | Annotated[list[TextPart], Field(min_length=1)]


class UserChatMessage(OpenAiShape):
    role: Literal["user"]
    content: Annotated[str, Field(min_length=1)] | Annotated[list[Part], Field(min_length=1)]


class ChatToolCallFunction(OpenAiShape):
    name: NAME
    arguments: str


class ChatToolCall(OpenAiShape):
    id: CALL_ID
    type: Literal["function"]
    function: ChatToolCallFunction
    extra_content: JsonValue = None


class AssistantChatMessage(OpenAiShape):
    role: Literal["assistant"]
    content: str | None
    tool_calls: Annotated[list[ChatToolCall], Field(min_length=1)] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[Object] | None = None


class ToolChatMessage(OpenAiShape):
    role: Literal["tool"]
    tool_call_id: CALL_ID
    content: str | Annotated[list[TextPart], Field(min_length=1)]


Message = Annotated[
    SystemChatMessage | UserChatMessage | AssistantChatMessage | ToolChatMessage,
    Field(discriminator="role"),
]


class Function(OpenAiShape):
    name: NAME
    description: str = ""
    parameters: Object


class ToolSpec(OpenAiShape):
    type: Literal["function"]
    function: Function


class StreamOptions(OpenAiShape):
    include_usage: bool


class Reasoning(OpenAiShape):
    effort: Literal["low", "medium", "high"]


class ChatRequest(OpenAiShape):
    model: str
    messages: Annotated[list[Message], Field(min_length=1)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    tools: Annotated[list[ToolSpec], Field(min_length=1)] | None = None
    parallel_tool_calls: bool = True
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high"] | None = None
    reasoning: Reasoning | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None


class ChatRules:
    """Validator of requests to one endpoint, which remembers the signatures it sent."""

    def __init__(self, endpoint: OpenAiServerConfig) -> None:
        self._endpoint = endpoint
        self.signatures: set[str] = set()
        """Signatures of tool calls that were sent, as JSON."""
        self.reasoning: set[str] = set()
        """Reasoning texts that were sent; a request may return no others."""

    def check(self, body: Object) -> ChatRequest:
        """Parse and validate a request.

        Raises:
            OpenAiRefusal: The endpoint does not accept the request.
        """
        for name in body:
            if name in self._endpoint.refused_fields:
                raise OpenAiRefusal(f"Unrecognized request argument supplied: {name}")
        try:
            request = ChatRequest.model_validate(body)
        except ValidationError as error:
            raise OpenAiRefusal(_describe_error(error)) from None
        model = find_model(request.model, self._endpoint)
        self._check_fields(request, model)
        self._check_cache_control(request)
        _check_tool_results(request.messages)
        for index, message in enumerate(request.messages):
            self._check_message(index, message, model)
        _check_tools([tool.function.name for tool in request.tools or ()])
        for tool in request.tools or ():
            check_schema(tool.function.parameters, tool.function.name)
        return request

    def _check_fields(self, request: ChatRequest, model: ServedModel) -> None:
        if request.reasoning_effort is not None and not model.can_reason:
            raise OpenAiRefusal("Unrecognized request argument supplied: reasoning_effort")
        if request.max_tokens is not None and model.can_reason:
            raise OpenAiRefusal(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                "'max_completion_tokens' instead."
            )
        if request.parallel_tool_calls is False and not request.tools:
            raise OpenAiRefusal("'parallel_tool_calls' is only allowed when 'tools' are specified.")
        if not request.stream and request.stream_options is not None:
            raise OpenAiRefusal(
                "The 'stream_options' parameter is only allowed when 'stream' is enabled"
            )

    def _check_cache_control(self, request: ChatRequest) -> None:
        marks = len(find_cache_controls(request))
        if marks and not self._endpoint.accepts_cache_control:
            raise OpenAiRefusal("Additional properties are not allowed ('cache_control')")
        if marks > MAX_CACHE_CONTROLS:
            raise OpenAiRefusal(
                f"A maximum of {MAX_CACHE_CONTROLS} blocks with cache_control may be provided"
            )

    def _check_message(self, index: int, message: Message, model: ServedModel) -> None:
        match message:
            case SystemChatMessage():
                self._check_role(index, message)
            case UserChatMessage():
                _check_parts(index, message, model)
            case AssistantChatMessage():
                self._check_reply(index, message)
            case ToolChatMessage():
                pass

    def _check_role(self, index: int, message: SystemChatMessage) -> None:
        if index:
            raise OpenAiRefusal("System messages must be at the beginning.")
        if message.role == "developer" and not self._endpoint.accepts_developer_role:
            raise OpenAiRefusal(
                "developer is not one of ['system', 'assistant', 'user', 'tool', 'function'] - "
                "'messages.0.role'"
            )

    def _check_reply(self, index: int, message: AssistantChatMessage) -> None:
        if not message.content and not message.tool_calls:
            raise OpenAiRefusal(
                f"Invalid value for 'content': expected a string, got null. - {index}"
            )
        calls = message.tool_calls or []
        if len(calls) > 1 and not self._endpoint.accepts_parallel_calls:
            detail = "This model only supports single tool-calls at once!"
            raise OpenAiRefusal(detail, 500, "server_error")
        for call in calls:
            if not isinstance(_parse_json(call.function.arguments), dict):
                raise OpenAiRefusal(f"messages.{index}: arguments must be a JSON object")
        self._check_signatures(index, calls)
        self._check_reasoning(index, message)

    def _check_signatures(self, index: int, calls: Sequence[ChatToolCall]) -> None:
        for number, call in enumerate(calls):
            if call.extra_content is None and (number or not self._endpoint.signs_calls):
                continue
            if not self._endpoint.signs_calls:
                raise OpenAiRefusal(_unexpected_field("extra_content", index))
            if json.dumps(call.extra_content) not in self.signatures:
                message = "Function call is missing a thought_signature in functionCall parts."
                raise OpenAiRefusal(message)

    def _check_reasoning(self, index: int, message: AssistantChatMessage) -> None:
        fields = {
            "reasoning_content": message.reasoning_content,
            "reasoning": message.reasoning,
            "reasoning_details": message.reasoning_details,
        }
        endpoint = self._endpoint
        for name, value in fields.items():
            if value is None:
                continue
            if name != endpoint.reasoning_field or not endpoint.accepts_reasoning:
                raise OpenAiRefusal(_unexpected_field(name, index))
            if value and value not in self.reasoning:
                raise OpenAiRefusal(f"messages.{index}.{name}: is not what was thought")
        if (
            endpoint.requires_reasoning
            and message.tool_calls
            and fields["reasoning_content"] is None
        ):
            raise OpenAiRefusal(
                f"Missing `reasoning_content` field in the assistant message at message index "
                f"{index}"
            )


def find_model(name: str, endpoint: OpenAiServerConfig) -> ServedModel:
    """Return the model with this id.

    Raises:
        OpenAiRefusal: The endpoint has no such model.
    """
    found = next((model for model in endpoint.models if model.id == name), None)
    if found is None:
        message = f"The model `{name}` does not exist or you do not have access to it."
        raise OpenAiRefusal(message, 404, code="model_not_found")
    return found


def check_schema(schema: Object, name: str) -> None:
    """Refuse a schema whose root is not an object with properties."""
    if schema.get("type") != "object" or not isinstance(schema.get("properties"), dict):
        message = "schema must be a JSON Schema of 'type: \"object\"' with properties"
        raise OpenAiRefusal(f"Invalid schema for function '{name}': {message}")


def _check_tools(names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        raise OpenAiRefusal("Tool names must be unique.")


def _check_tool_results(messages: Sequence[Message]) -> None:
    """Refuse calls that no results follow directly, and results without calls."""
    waiting: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if isinstance(message, ToolChatMessage):
            if message.tool_call_id not in waiting:
                raise OpenAiRefusal(
                    "Invalid parameter: messages with role 'tool' must be a response to a "
                    "preceeding message with 'tool_calls'."
                )
            waiting.remove(message.tool_call_id)
            continue
        _check_answered(waiting)
        if isinstance(message, AssistantChatMessage):
            waiting = [call.id for call in message.tool_calls or []]
            if len(set(waiting)) != len(waiting) or seen & set(waiting):
                raise OpenAiRefusal("Duplicate value for 'tool_call_id'")
            seen |= set(waiting)
    _check_answered(waiting)


def _check_answered(waiting: Sequence[str]) -> None:
    if waiting:
        raise OpenAiRefusal(
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            f"{', '.join(waiting)}"
        )


def find_cache_controls(request: ChatRequest) -> list[tuple[int, str]]:
    """Return the cache breakpoints, each as its message index and its lifetime."""
    return [
        (index, part.cache_control.ttl)
        for index, message in enumerate(request.messages)
        if isinstance(message.content, list)
        for part in message.content
        if isinstance(part, TextPart) and part.cache_control is not None
    ]


def _check_parts(index: int, message: UserChatMessage, model: ServedModel) -> None:
    parts = message.content if isinstance(message.content, list) else []
    for part in parts:
        if isinstance(part, ImagePart):
            if not model.accepts_images:
                raise OpenAiRefusal(f"messages.{index}: this model does not support image input")
            if not part.image_url.url.startswith(IMAGE_URL_PREFIXES):
                raise OpenAiRefusal("You uploaded an unsupported image.")


def _describe_error(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    path = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden" and len(first["loc"]) == 1:
        return f"Unrecognized request argument supplied: {path}"
    if first["type"] == "extra_forbidden":
        return f"Additional properties are not allowed ('{first['loc'][-1]}') - '{path}'"
    return f"Invalid value for '{path}': {first['msg']}"


def _unexpected_field(name: str, index: int) -> str:
    return f"Additional properties are not allowed ('{name}' was unexpected) - 'messages.{index}'"


def _parse_json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None
