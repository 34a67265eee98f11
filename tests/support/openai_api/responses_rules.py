"""Validation of Responses API requests: items, calls and outputs, reasoning.

https://developers.openai.com/api/reference/resources/responses
"""

import json
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from tests.support.openai_api.chat_rules import (
    IMAGE_URL_PREFIXES,
    NAME,
    OpenAiShape,
    check_schema,
    find_model,
)
from tests.support.openai_api.endpoint import OpenAiServerConfig, ServedModel
from tests.support.openai_api.refusals import Object, OpenAiRefusal

CALL_ID = Annotated[str, Field(min_length=1, max_length=64)]


class InputText(OpenAiShape):
    type: Literal["input_text"]
    text: Annotated[str, Field(min_length=1)]


class InputImage(OpenAiShape):
    type: Literal["input_image"]
    image_url: str
    detail: Literal["auto", "low", "high"]


class InputFile(OpenAiShape):
    type: Literal["input_file"]
    filename: str
    file_data: str


Part = Annotated[InputText | InputImage | InputFile, Field(discriminator="type")]


class Message(OpenAiShape):
    type: Literal["message"]
    role: Literal["user", "assistant", "system", "developer"]
    content: str | Annotated[list[Part], Field(min_length=1)]


class FunctionCall(OpenAiShape):
    type: Literal["function_call"]
    call_id: CALL_ID
    name: NAME
    arguments: str


class FunctionCallOutput(OpenAiShape):
    type: Literal["function_call_output"]
    call_id: CALL_ID
    output: str


class Summary(OpenAiShape):
    type: Literal["summary_text"]
    text: str


class ReasoningItem(OpenAiShape):
    type: Literal["reasoning"]
    id: str
    summary: list[Summary]
    encrypted_content: str


Item = Annotated[
    Message | FunctionCall | FunctionCallOutput | ReasoningItem, Field(discriminator="type")
]


class FunctionToolSpec(OpenAiShape):
    type: Literal["function"]
    name: NAME
    description: str = ""
    parameters: Object
    strict: bool


class ReasoningOptions(OpenAiShape):
    effort: Literal["minimal", "low", "medium", "high"]
    summary: Literal["auto", "concise", "detailed"] | None = None


class ResponsesRequest(OpenAiShape):
    model: str
    input: Annotated[list[Item], Field(min_length=1)]
    instructions: str | None = None
    stream: bool = False
    store: bool = True
    tools: tuple[FunctionToolSpec, ...] = Field(default=(), strict=False)
    include: tuple[Literal["reasoning.encrypted_content"], ...] = Field(default=(), strict=False)
    reasoning: ReasoningOptions | None = None
    max_output_tokens: Annotated[int, Field(ge=16)] | None = None


class ResponsesRules:
    """Validator of requests to one endpoint, which remembers the reasoning it sent."""

    def __init__(self, endpoint: OpenAiServerConfig) -> None:
        self._endpoint = endpoint
        self.encrypted_reasoning: dict[str, tuple[str, str]] = {}
        """Item id and model id of each reasoning item that was sent, by encrypted content."""

    def check(self, body: Object) -> ResponsesRequest:
        """Parse and validate a request.

        Raises:
            OpenAiRefusal: The endpoint does not accept the request.
        """
        for name in body:
            if name in self._endpoint.refused_fields:
                raise OpenAiRefusal(f"Unknown parameter: '{name}'.", code="unknown_parameter")
        try:
            request = ResponsesRequest.model_validate(body)
        except ValidationError as error:
            raise OpenAiRefusal(_describe_error(error)) from None
        model = find_model(request.model, self._endpoint)
        if request.reasoning is not None and not model.can_reason:
            message = "'reasoning.effort' is not supported with this model."
            raise OpenAiRefusal(f"Unsupported parameter: {message}", code="unsupported_parameter")
        if request.store:
            raise OpenAiRefusal("the test's endpoint stores nothing: store must be false")
        _check_calls(request.input)
        self._check_items(request, model)
        for tool in request.tools:
            check_schema(tool.parameters, tool.name)
        return request

    def _check_items(self, request: ResponsesRequest, model: ServedModel) -> None:
        items = request.input
        for index, item in enumerate(items):
            match item:
                case ReasoningItem():
                    self._check_reasoning(item, model)
                    _check_following(item, items[index + 1 :])
                case Message():
                    _check_content(index, item, model)
                case FunctionCall():
                    _check_arguments(item)
                case FunctionCallOutput():
                    pass

    def _check_reasoning(self, item: ReasoningItem, model: ServedModel) -> None:
        if self.encrypted_reasoning.get(item.encrypted_content) != (item.id, model.id):
            message = f"The encrypted content for item {item.id} could not be verified."
            raise OpenAiRefusal(message, code="invalid_encrypted_content")


def _check_following(item: ReasoningItem, following: Sequence[Item]) -> None:
    then = following[0] if following else None
    is_followed = isinstance(then, FunctionCall | ReasoningItem) or (
        isinstance(then, Message) and then.role == "assistant"
    )
    if not is_followed:
        raise OpenAiRefusal(
            f"Item '{item.id}' of type 'reasoning' was provided without its required following "
            "item."
        )


def _check_calls(items: Sequence[Item]) -> None:
    called: list[str] = []
    for item in items:
        match item:
            case FunctionCall():
                if item.call_id in called:
                    raise OpenAiRefusal(f"Duplicate call_id {item.call_id}")
                called.append(item.call_id)
            case FunctionCallOutput():
                if item.call_id not in called:
                    message = f"function call output with call_id {item.call_id}."
                    raise OpenAiRefusal(f"No tool call found for {message}")
            case _:
                pass
    answered = {item.call_id for item in items if isinstance(item, FunctionCallOutput)}
    for call_id in called:
        if call_id not in answered:
            raise OpenAiRefusal(f"No tool output found for function call {call_id}.")


def _check_content(index: int, item: Message, model: ServedModel) -> None:
    if item.role == "assistant" and not (isinstance(item.content, str) and item.content):
        raise OpenAiRefusal(f"Invalid value for 'input[{index}].content'")
    for part in item.content if isinstance(item.content, list) else []:
        if isinstance(part, InputImage):
            if not model.accepts_images:
                raise OpenAiRefusal("input_image is not supported with this model")
            if not part.image_url.startswith(IMAGE_URL_PREFIXES):
                raise OpenAiRefusal("You uploaded an unsupported image.")


def _check_arguments(item: FunctionCall) -> None:
    try:
        is_object = isinstance(json.loads(item.arguments), dict)
    except ValueError:
        is_object = False
    if not is_object:
        raise OpenAiRefusal(f"Invalid arguments of function call {item.call_id}")


def _describe_error(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    path = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return f"Unknown parameter: '{path}'."
    return f"Invalid value for '{path}': {first['msg']}"
