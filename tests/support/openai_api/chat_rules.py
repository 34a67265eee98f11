"""Validation of chat completions requests: shapes, tool calls and results, models.

https://developers.openai.com/api/reference/resources/chat
"""

import json
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from tests.support.openai_api.endpoint import Endpoint, Listed
from tests.support.openai_api.refusals import Object, Refusal

MOST_MARKS = 4
CALL_ID = Annotated[str, Field(min_length=1, max_length=40)]
NAME = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
IMAGES = ("data:image/png;base64,", "data:image/jpeg;base64,", "data:image/webp;base64,")


class Shape(BaseModel):
    """Object that allows no other fields than those declared."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ImageUrl(Shape):
    url: str
    detail: Literal["auto", "low", "high"] = "auto"


class CacheControl(Shape):
    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] = "5m"


class TextPart(Shape):
    type: Literal["text"]
    text: Annotated[str, Field(min_length=1)]
    cache_control: CacheControl | None = None


class ImagePart(Shape):
    type: Literal["image_url"]
    image_url: ImageUrl


class File(Shape):
    filename: str
    file_data: str


class FilePart(Shape):
    type: Literal["file"]
    file: File


Part = Annotated[TextPart | ImagePart | FilePart, Field(discriminator="type")]


class System(Shape):
    role: Literal["system", "developer"]
    content: str | Annotated[list[TextPart], Field(min_length=1)]


class User(Shape):
    role: Literal["user"]
    content: Annotated[str, Field(min_length=1)] | Annotated[list[Part], Field(min_length=1)]


class CalledFunction(Shape):
    name: NAME
    arguments: str


class Called(Shape):
    id: CALL_ID
    type: Literal["function"]
    function: CalledFunction
    extra_content: JsonValue = None


class Assistant(Shape):
    role: Literal["assistant"]
    content: str | None
    tool_calls: Annotated[list[Called], Field(min_length=1)] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[Object] | None = None


class Tool(Shape):
    role: Literal["tool"]
    tool_call_id: CALL_ID
    content: str | Annotated[list[TextPart], Field(min_length=1)]


Message = Annotated[System | User | Assistant | Tool, Field(discriminator="role")]


class Function(Shape):
    name: NAME
    description: str = ""
    parameters: Object


class ToolSpec(Shape):
    type: Literal["function"]
    function: Function


class StreamOptions(Shape):
    include_usage: bool


class Reasoning(Shape):
    effort: Literal["low", "medium", "high"]


class ChatRequest(Shape):
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

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.seals: set[str] = set()
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
                raise Refusal(f"Unrecognized request argument supplied: {name}")
        try:
            request = ChatRequest.model_validate(body)
        except ValidationError as error:
            raise Refusal(_told(error)) from None
        model = model_called(request.model, self._endpoint)
        self._check_fields(request, model)
        self._check_marks(request)
        _check_pairs(request.messages)
        for place, message in enumerate(request.messages):
            self._check_message(place, message, model)
        _check_tools([tool.function.name for tool in request.tools or ()])
        for tool in request.tools or ():
            check_schema(tool.function.parameters, tool.function.name)
        return request

    def _check_fields(self, request: ChatRequest, model: Listed) -> None:
        if request.reasoning_effort is not None and not model.reasons:
            raise Refusal("Unrecognized request argument supplied: reasoning_effort")
        if request.max_tokens is not None and model.reasons:
            raise Refusal(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                "'max_completion_tokens' instead."
            )
        if request.parallel_tool_calls is False and not request.tools:
            raise Refusal("'parallel_tool_calls' is only allowed when 'tools' are specified.")
        if not request.stream and request.stream_options is not None:
            raise Refusal("The 'stream_options' parameter is only allowed when 'stream' is enabled")

    def _check_marks(self, request: ChatRequest) -> None:
        marks = len(marks_of(request))
        if marks and not self._endpoint.takes_marks:
            raise Refusal("Additional properties are not allowed ('cache_control')")
        if marks > MOST_MARKS:
            raise Refusal(f"A maximum of {MOST_MARKS} blocks with cache_control may be provided")

    def _check_message(self, place: int, message: Message, model: Listed) -> None:
        match message:
            case System():
                self._check_role(place, message)
            case User():
                _check_parts(place, message, model)
            case Assistant():
                self._check_reply(place, message)
            case Tool():
                pass

    def _check_role(self, place: int, message: System) -> None:
        if place:
            raise Refusal("System messages must be at the beginning.")
        if message.role == "developer" and not self._endpoint.takes_developer:
            raise Refusal(
                "developer is not one of ['system', 'assistant', 'user', 'tool', 'function'] - "
                "'messages.0.role'"
            )

    def _check_reply(self, place: int, message: Assistant) -> None:
        if not message.content and not message.tool_calls:
            raise Refusal(f"Invalid value for 'content': expected a string, got null. - {place}")
        calls = message.tool_calls or []
        if len(calls) > 1 and not self._endpoint.takes_parallel_calls:
            told = "This model only supports single tool-calls at once!"
            raise Refusal(told, 500, "server_error")
        for call in calls:
            if not isinstance(_loaded(call.function.arguments), dict):
                raise Refusal(f"messages.{place}: arguments must be a JSON object")
        self._check_seals(place, calls)
        self._check_reasoning(place, message)

    def _check_seals(self, place: int, calls: Sequence[Called]) -> None:
        for number, call in enumerate(calls):
            if call.extra_content is None and (number or not self._endpoint.seals_calls):
                continue
            if not self._endpoint.seals_calls:
                raise Refusal(_unexpected("extra_content", place))
            if json.dumps(call.extra_content) not in self.seals:
                told = "Function call is missing a thought_signature in functionCall parts."
                raise Refusal(told)

    def _check_reasoning(self, place: int, message: Assistant) -> None:
        given = {
            "reasoning_content": message.reasoning_content,
            "reasoning": message.reasoning,
            "reasoning_details": message.reasoning_details,
        }
        endpoint = self._endpoint
        for name, value in given.items():
            if value is None:
                continue
            if name != endpoint.reasoning_field or not endpoint.takes_reasoning:
                raise Refusal(_unexpected(name, place))
            if value and value not in self.reasoning:
                raise Refusal(f"messages.{place}.{name}: is not what was thought")
        if endpoint.wants_reasoning and message.tool_calls and given["reasoning_content"] is None:
            raise Refusal(
                f"Missing `reasoning_content` field in the assistant message at message index "
                f"{place}"
            )


def model_called(name: str, endpoint: Endpoint) -> Listed:
    """Return the model with this id.

    Raises:
        OpenAiRefusal: The endpoint has no such model.
    """
    found = next((model for model in endpoint.models if model.id == name), None)
    if found is None:
        told = f"The model `{name}` does not exist or you do not have access to it."
        raise Refusal(told, 404, code="model_not_found")
    return found


def check_schema(schema: Object, name: str) -> None:
    """Refuse a schema whose root is not an object with properties."""
    if schema.get("type") != "object" or not isinstance(schema.get("properties"), dict):
        told = "schema must be a JSON Schema of 'type: \"object\"' with properties"
        raise Refusal(f"Invalid schema for function '{name}': {told}")


def _check_tools(names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        raise Refusal("Tool names must be unique.")


def _check_pairs(messages: Sequence[Message]) -> None:
    """Refuse calls that no results follow directly, and results without calls."""
    waiting: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if isinstance(message, Tool):
            if message.tool_call_id not in waiting:
                raise Refusal(
                    "Invalid parameter: messages with role 'tool' must be a response to a "
                    "preceeding message with 'tool_calls'."
                )
            waiting.remove(message.tool_call_id)
            continue
        _check_answered(waiting)
        if isinstance(message, Assistant):
            waiting = [call.id for call in message.tool_calls or []]
            if len(set(waiting)) != len(waiting) or seen & set(waiting):
                raise Refusal("Duplicate value for 'tool_call_id'")
            seen |= set(waiting)
    _check_answered(waiting)


def _check_answered(waiting: Sequence[str]) -> None:
    if waiting:
        raise Refusal(
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            f"{', '.join(waiting)}"
        )


def marks_of(request: ChatRequest) -> list[tuple[int, str]]:
    """Return the cache breakpoints, each as its message index and its lifetime."""
    return [
        (place, part.cache_control.ttl)
        for place, message in enumerate(request.messages)
        if isinstance(message.content, list)
        for part in message.content
        if isinstance(part, TextPart) and part.cache_control is not None
    ]


def _check_parts(place: int, message: User, model: Listed) -> None:
    parts = message.content if isinstance(message.content, list) else []
    for part in parts:
        if isinstance(part, ImagePart):
            if not model.sees:
                raise Refusal(f"messages.{place}: this model does not support image input")
            if not part.image_url.url.startswith(IMAGES):
                raise Refusal("You uploaded an unsupported image.")


def _told(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    path = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden" and len(first["loc"]) == 1:
        return f"Unrecognized request argument supplied: {path}"
    if first["type"] == "extra_forbidden":
        return f"Additional properties are not allowed ('{first['loc'][-1]}') - '{path}'"
    return f"Invalid value for '{path}': {first['msg']}"


def _unexpected(name: str, place: int) -> str:
    return f"Additional properties are not allowed ('{name}' was unexpected) - 'messages.{place}'"


def _loaded(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None
