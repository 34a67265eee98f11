"""Request schema of the Messages API, as far as an agent with client tools needs it.

Only fields, types and literals; `rules` has the constraints that depend on the model or on other
fields. The names and the order of fields match the API. String content is parsed as one text
block, an empty string as none. Web search is the only server tool.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, JsonValue, Tag


class MessagesShape(BaseModel):
    """Object that allows only the declared fields, without type conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _as_blocks(content: JsonValue) -> JsonValue:
    if not isinstance(content, str):
        return content
    return [{"type": "text", "text": content}] if content else []


class CacheControl(MessagesShape):
    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] = "5m"


class TextBlock(MessagesShape):
    type: Literal["text"]
    text: str
    citations: list[JsonValue] | None = None
    cache_control: CacheControl | None = None


class ImageBlock(MessagesShape):
    type: Literal["image"]
    source: dict[str, JsonValue]
    transformations: dict[str, JsonValue] | None = None
    cache_control: CacheControl | None = None


class DocumentBlock(MessagesShape):
    type: Literal["document"]
    source: dict[str, JsonValue]
    title: str | None = None
    context: str | None = None
    citations: dict[str, JsonValue] | None = None
    cache_control: CacheControl | None = None


class SearchResultBlock(MessagesShape):
    type: Literal["search_result"]
    source: str
    title: str
    content: list[TextBlock]
    citations: dict[str, JsonValue] | None = None
    cache_control: CacheControl | None = None


class ThinkingBlock(MessagesShape):
    type: Literal["thinking"]
    thinking: str
    signature: str


class RedactedThinkingBlock(MessagesShape):
    type: Literal["redacted_thinking"]
    data: str


class ToolUseBlock(MessagesShape):
    type: Literal["tool_use"]
    id: str = Field(pattern="^[a-zA-Z0-9_-]+$")
    name: str = Field(pattern="^[a-zA-Z0-9_-]{1,200}$")
    input: dict[str, JsonValue]
    caller: dict[str, JsonValue] | None = None
    cache_control: CacheControl | None = None


ResultContent = Annotated[
    TextBlock | ImageBlock | DocumentBlock | SearchResultBlock, Field(discriminator="type")
]


class ToolResultBlock(MessagesShape):
    type: Literal["tool_result"]
    tool_use_id: str = Field(pattern="^[a-zA-Z0-9_-]+$")
    content: Annotated[list[ResultContent], BeforeValidator(_as_blocks)] = Field(
        default_factory=list[ResultContent]
    )
    is_error: bool | None = None
    cache_control: CacheControl | None = None


class ServerToolUseBlock(MessagesShape):
    type: Literal["server_tool_use"]
    id: str = Field(pattern="^srvtoolu_[a-zA-Z0-9_]+$")
    name: Literal["web_search"]
    input: dict[str, JsonValue]
    caller: dict[str, JsonValue] | None = None
    cache_control: CacheControl | None = None


class WebSearchResult(MessagesShape):
    type: Literal["web_search_result"]
    title: str
    url: str
    encrypted_content: str
    page_age: str | None = None


class WebSearchError(MessagesShape):
    type: Literal["web_search_tool_result_error"]
    error_code: Literal[
        "invalid_tool_input",
        "unavailable",
        "max_uses_exceeded",
        "too_many_requests",
        "query_too_long",
        "request_too_large",
    ]


class WebSearchResultBlock(MessagesShape):
    type: Literal["web_search_tool_result"]
    tool_use_id: str = Field(pattern="^srvtoolu_[a-zA-Z0-9_]+$")
    content: list[WebSearchResult] | WebSearchError
    caller: dict[str, JsonValue] | None = None
    cache_control: CacheControl | None = None


Block = (
    TextBlock
    | ImageBlock
    | DocumentBlock
    | SearchResultBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | ToolUseBlock
    | ToolResultBlock
    | ServerToolUseBlock
    | WebSearchResultBlock
)
AnyThinking = ThinkingBlock | RedactedThinkingBlock


class Message(MessagesShape):
    role: Literal["user", "assistant", "system"]
    content: Annotated[
        list[Annotated[Block, Field(discriminator="type")]], BeforeValidator(_as_blocks)
    ]


class CustomTool(MessagesShape):
    type: Literal["custom"] | None = None
    name: str = Field(pattern="^[a-zA-Z0-9_-]{1,128}$")
    description: str | None = None
    input_schema: dict[str, JsonValue]
    strict: bool | None = None
    input_examples: list[dict[str, JsonValue]] | None = None
    defer_loading: bool | None = None
    allowed_callers: list[str] | None = None
    eager_input_streaming: bool | None = None
    cache_control: CacheControl | None = None


class WebSearchTool(MessagesShape):
    type: Literal["web_search_20250305"]
    name: Literal["web_search"]
    max_uses: int | None = Field(default=None, gt=0)
    allowed_domains: list[str] | None = None
    blocked_domains: list[str] | None = None
    user_location: dict[str, JsonValue] | None = None
    cache_control: CacheControl | None = None


def _tool_type(value: JsonValue | MessagesShape) -> str:
    named = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return str(named) if named == "web_search_20250305" else "custom"


Tool = Annotated[
    Annotated[CustomTool, Tag("custom")] | Annotated[WebSearchTool, Tag("web_search_20250305")],
    Discriminator(_tool_type),
]


class AutoChoice(MessagesShape):
    type: Literal["auto"]
    disable_parallel_tool_use: bool | None = None


class AnyChoice(MessagesShape):
    type: Literal["any"]
    disable_parallel_tool_use: bool | None = None


class ToolChoice(MessagesShape):
    type: Literal["tool"]
    name: str
    disable_parallel_tool_use: bool | None = None


class NoChoice(MessagesShape):
    type: Literal["none"]


class BlockBinding(MessagesShape):
    prefix_mismatch_behavior: Literal["error", "drop_block"] | None = None


class AdaptiveThinking(MessagesShape):
    type: Literal["adaptive"]
    display: Literal["summarized", "omitted"] | None = None
    block_binding: BlockBinding | None = None


class EnabledThinking(MessagesShape):
    type: Literal["enabled"]
    budget_tokens: int = Field(ge=1024)
    display: Literal["summarized", "omitted"] | None = None


class DisabledThinking(MessagesShape):
    type: Literal["disabled"]


class ThinkingBetweenTools(MessagesShape):
    type: Literal["between_tools"]


Thinking = AdaptiveThinking | EnabledThinking | DisabledThinking | ThinkingBetweenTools


class OutputConfig(MessagesShape):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: dict[str, JsonValue] | None = None


class Metadata(MessagesShape):
    user_id: str | None = None


class CountRequest(MessagesShape):
    """Body of `POST /v1/messages/count_tokens`."""

    model: str = Field(min_length=1)
    messages: list[Message]
    system: Annotated[list[TextBlock], BeforeValidator(_as_blocks)] = Field(
        default_factory=list[TextBlock]
    )
    tools: list[Tool] = Field(default_factory=list[Tool])
    tool_choice: (
        Annotated[AutoChoice | AnyChoice | ToolChoice | NoChoice, Field(discriminator="type")]
        | None
    ) = None
    thinking: Annotated[Thinking, Field(discriminator="type")] | None = None
    output_config: OutputConfig | None = None
    cache_control: CacheControl | None = None
    speed: Literal["standard", "fast"] | None = None
    user_profile_id: str | None = None


class MessagesRequest(CountRequest):
    """Body of `POST /v1/messages`."""

    max_tokens: int = Field(ge=0)
    stream: bool = False
    stop_sequences: list[str] | None = None
    temperature: float | None = Field(default=None, ge=0, le=1)
    top_p: float | None = Field(default=None, ge=0, le=1)
    top_k: int | None = Field(default=None, ge=0)
    metadata: Metadata | None = None
    service_tier: Literal["auto", "standard_only"] | None = None
    container: str | None = None
    diagnostics: dict[str, JsonValue] | None = None
    inference_geo: str | None = None
