"""Parsing of requests: body, headers and model.

`parse_request` returns a `ParsedRequest` or refuses. It validates each field by itself; `rules`
validates combinations. Like the API, validation errors name the path of the field.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

from tests.support.messages_api.endpoint import BETAS, VERSION, VERSIONS, MessagesServerConfig
from tests.support.messages_api.model_specs import Display, Effort, ModelSpec, find_model_spec
from tests.support.messages_api.refusals import MessagesApiRefusal
from tests.support.messages_api.shapes import (
    AdaptiveThinking,
    CountRequest,
    EnabledThinking,
    MessagesRequest,
    Thinking,
)

Object = dict[str, JsonValue]
Request = TypeVar("Request", bound=CountRequest)

SAMPLING_FIELDS = ("temperature", "top_p", "top_k")


@dataclass(frozen=True, slots=True)
class ParsedHeaders:
    """Parsed request headers, without the key."""

    version: str
    betas: frozenset[str]


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """Request to a model with its model spec, endpoint and headers."""

    request: CountRequest
    model_spec: ModelSpec
    endpoint: MessagesServerConfig
    headers: ParsedHeaders
    is_continuation: bool = False
    """Whether the last message is a paused answer."""

    @property
    def messages_request(self) -> MessagesRequest | None:
        """The request, or None for a token count."""
        return self.request if isinstance(self.request, MessagesRequest) else None

    @property
    def thinking(self) -> Thinking | None:
        """The `thinking` field."""
        return self.request.thinking

    @property
    def is_thinking_enabled(self) -> bool:
        """Whether thinking is on, by the request or by default."""
        if self.thinking is None:
            return self.model_spec.thinks_by_default
        return isinstance(self.thinking, AdaptiveThinking | EnabledThinking)

    @property
    def display(self) -> Display:
        """Display of thinking, from the request or the model's default."""
        wanted = None
        if isinstance(self.thinking, AdaptiveThinking | EnabledThinking):
            wanted = self.thinking.display
        return wanted or self.model_spec.default_display

    @property
    def effort(self) -> Effort:
        """Effort, from the request or the model's default."""
        wanted = self.request.output_config and self.request.output_config.effort
        return wanted or self.model_spec.default_effort

    @property
    def last_text(self) -> str:
        """Text of the last message, including tool results."""
        parts: list[str] = []
        for block in self.request.messages[-1].content if self.request.messages else []:
            if block.type == "text":
                parts.append(block.text)
            elif block.type == "tool_result":
                parts += [inner.text for inner in block.content if inner.type == "text"]
        return "\n".join(parts)


def parse_headers(headers: Mapping[str, str], endpoint: MessagesServerConfig) -> ParsedHeaders:
    """Check the key, the version and the beta names.

    Raises:
        MessagesApiRefusal: One of them is missing or unknown.
    """
    _check_key(headers, endpoint)
    version = headers.get("anthropic-version")
    if version is None:
        raise MessagesApiRefusal("anthropic-version: header is required")
    if version not in VERSIONS:
        raise MessagesApiRefusal(f'anthropic-version: "{version}" is not a valid version')
    names = (name.strip() for name in headers.get("anthropic-beta", "").split(","))
    betas = frozenset(name for name in names if name)
    if betas - BETAS:
        raise MessagesApiRefusal(
            f"Unexpected value(s) `{', '.join(sorted(betas - BETAS))}` for the `anthropic-beta` "
            "header. Please consult our documentation at docs.claude.com or try again without the "
            "header."
        )
    return ParsedHeaders(version, betas)


def _check_key(headers: Mapping[str, str], endpoint: MessagesServerConfig) -> None:
    key, bearer = headers.get("x-api-key"), headers.get("authorization")
    if key is None and bearer is None:
        raise MessagesApiRefusal("x-api-key header is required", 401, "authentication_error")
    if key is not None and key not in endpoint.keys:
        raise MessagesApiRefusal("invalid x-api-key", 401, "authentication_error")
    if bearer is not None and bearer.removeprefix("Bearer ") not in endpoint.keys:
        raise MessagesApiRefusal("Invalid bearer token", 401, "authentication_error")


def parse_json(body: bytes) -> Object:
    """Parse a body that must be a JSON object.

    Raises:
        MessagesApiRefusal: It is not valid JSON or not an object.
    """
    try:
        value: JsonValue = json.loads(body, parse_constant=_refuse_constant)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise MessagesApiRefusal(
            "The request body is not valid JSON: no low surrogate in string"
        ) from None
    except (ValueError, RecursionError) as error:
        raise MessagesApiRefusal(f"The request body is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise MessagesApiRefusal("Input should be a valid dictionary or object")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def parse_request(
    body: Object, shape: type[CountRequest], headers: ParsedHeaders, endpoint: MessagesServerConfig
) -> ParsedRequest:
    """Parse a request.

    Raises:
        MessagesApiRefusal: A field is invalid, or the model is unknown or retired.
    """
    request = _validate_shape(body, shape, headers)
    family = find_model_spec(request.model, endpoint.served_specs)
    if family is None:
        raise MessagesApiRefusal(f"model: {request.model}", 404, "not_found_error")
    return ParsedRequest(request, family, endpoint, headers)


def _validate_shape(body: Object, shape: type[Request], headers: ParsedHeaders) -> Request:
    removed = [name for name in SAMPLING_FIELDS if name in body]
    if headers.version == VERSION and removed:
        raise MessagesApiRefusal(f"{removed[0]}: Extra inputs are not permitted")
    try:
        return shape.model_validate(body)
    except ValidationError as error:
        raise MessagesApiRefusal(_describe_error(error.errors(include_url=False)[0])) from None


def _describe_error(error: ErrorDetails) -> str:
    path = list(error["loc"])
    if error["type"] == "union_tag_not_found":
        return f"{_join_path([*path, 'type'])}: Field required"
    return f"{_join_path(path)}: {error['msg']}"


def _join_path(path: list[int | str]) -> str:
    return ".".join(map(str, path))
