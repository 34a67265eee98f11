"""Rules for parameters outside the conversation: limits, sampling, thinking, effort."""

from typing import NoReturn

from tests.support.messages_api.endpoint import BINDING_BETA, FAST_MODE_BETA
from tests.support.messages_api.model_specs import EFFORTS_WITHOUT_THINKING
from tests.support.messages_api.parsed_request import ParsedRequest
from tests.support.messages_api.refusals import MessagesApiRefusal
from tests.support.messages_api.shapes import (
    AdaptiveThinking,
    AnyChoice,
    EnabledThinking,
    MessagesRequest,
    ToolChoice,
)

GUIDE = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
MIN_TOP_P_WHEN_THINKING = 0.95


def check_parameters(ask: ParsedRequest) -> None:
    """Refuse parameters that the model does not accept.

    Raises:
        MessagesApiRefusal: A parameter is not accepted.
    """
    _check_thinking_type(ask)
    _check_binding(ask)
    _check_effort(ask)
    _check_speed(ask)
    _check_forced_choice(ask)
    if (request := ask.messages_request) is not None:
        _check_output_limit(ask, request)
        _check_cache_warm_up(request)
        _check_budget(request)
        _check_sampling(ask, request)
        _check_container(request)


def _check_thinking_type(ask: ParsedRequest) -> None:
    if ask.thinking is None or ask.thinking.type in ask.model_spec.thinking_types:
        return
    match ask.thinking.type:
        case "adaptive":
            raise MessagesApiRefusal("adaptive thinking is not supported on this model")
        case "disabled" if "between_tools" in ask.model_spec.thinking_types:
            raise MessagesApiRefusal(
                'To turn thinking off on this model, send "thinking": {"type": "between_tools"} '
                'instead of {"type": "disabled"}. The model does not think before responding. The '
                "short updates it writes between tool calls come back as thinking blocks."
            )
        case refused:
            raise MessagesApiRefusal(
                f'"thinking.type.{refused}" is not supported for this model. Use '
                '"thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
            )


def _check_binding(ask: ParsedRequest) -> None:
    if not isinstance(ask.thinking, AdaptiveThinking) or ask.thinking.block_binding is None:
        return
    if BINDING_BETA not in ask.headers.betas:
        raise MessagesApiRefusal("thinking.adaptive.block_binding: Extra inputs are not permitted")


def _check_effort(ask: ParsedRequest) -> None:
    config = ask.request.output_config
    if config is None or config.effort is None:
        return
    if not ask.model_spec.efforts:
        raise MessagesApiRefusal("This model does not support the effort parameter.")
    if config.effort not in ask.model_spec.efforts:
        raise MessagesApiRefusal(
            f"output_config.effort: effort '{config.effort}' is not supported on this model"
        )
    _check_effort_without_thinking(ask)


def _check_effort_without_thinking(ask: ParsedRequest) -> None:
    if ask.thinking is None or ask.is_thinking_enabled:
        return
    is_taken = ask.effort in EFFORTS_WITHOUT_THINKING
    if not is_taken and not ask.model_spec.takes_every_effort_without_thinking:
        raise MessagesApiRefusal(
            f'"thinking.type.{ask.thinking.type}" is not supported with effort "{ask.effort}" on '
            'this model. Use effort "high" or lower.'
        )


def _check_speed(ask: ParsedRequest) -> None:
    speed, spec = ask.request.speed, ask.model_spec
    if speed is None:
        return
    has_header = FAST_MODE_BETA in ask.headers.betas
    if not ask.endpoint.knows_fast_mode or (spec.fast_mode != "field" and not has_header):
        raise MessagesApiRefusal("speed: Extra inputs are not permitted")
    if speed == "fast" and spec.fast_mode is None:
        raise MessagesApiRefusal(f"'{spec.id}' does not support the `speed` parameter.")


def _check_forced_choice(ask: ParsedRequest) -> None:
    if not isinstance(ask.request.tool_choice, AnyChoice | ToolChoice):
        return
    if not ask.model_spec.takes_forced_tool_choice:
        raise MessagesApiRefusal(
            'tool_choice: type "tool" and "any" are not supported for this model.'
        )
    if isinstance(ask.thinking, EnabledThinking):
        raise MessagesApiRefusal("Thinking may not be enabled when tool_choice forces tool use.")


def _check_output_limit(ask: ParsedRequest, request: MessagesRequest) -> None:
    limit = ask.model_spec.output_limit_tokens
    if request.max_tokens > limit:
        raise MessagesApiRefusal(
            f"max_tokens: {request.max_tokens} > {limit}, which is the maximum allowed number of "
            f"output tokens for {request.model}"
        )


def _check_cache_warm_up(request: MessagesRequest) -> None:
    """Refuse `max_tokens: 0`, which only fills the cache, with options that imply output."""
    if request.max_tokens > 0:
        return
    config = request.output_config
    implies_output = (
        request.stream
        or isinstance(request.thinking, EnabledThinking)
        or (config is not None and config.format is not None)
        or isinstance(request.tool_choice, AnyChoice | ToolChoice)
    )
    if implies_output:
        raise MessagesApiRefusal("max_tokens: Input should be greater than or equal to 1")


def _check_budget(request: MessagesRequest) -> None:
    thinking = request.thinking
    if isinstance(thinking, EnabledThinking) and thinking.budget_tokens >= request.max_tokens:
        raise MessagesApiRefusal(
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our "
            f"documentation at {GUIDE}#max-tokens-and-context-window-size"
        )


def _check_sampling(ask: ParsedRequest, request: MessagesRequest) -> None:
    if not ask.model_spec.takes_sampling:
        _check_only_defaults(request)
    if ask.is_thinking_enabled:
        _check_sampling_when_thinking(request)
    if request.temperature is not None and request.top_p is not None:
        raise MessagesApiRefusal(
            "`temperature` and `top_p` cannot both be specified for this model. Please use only "
            "one."
        )


def _check_only_defaults(request: MessagesRequest) -> None:
    if request.temperature not in {None, 1}:
        _refuse_as_deprecated("temperature")
    if request.top_p is not None:
        _refuse_as_deprecated("top_p")
    if request.top_k is not None:
        _refuse_as_deprecated("top_k")


def _refuse_as_deprecated(name: str) -> NoReturn:
    raise MessagesApiRefusal(f"`{name}` is deprecated for this model.")


def _check_sampling_when_thinking(request: MessagesRequest) -> None:
    message = "when thinking is enabled or in adaptive mode. Please consult our documentation at"
    if request.temperature not in {None, 1}:
        raise MessagesApiRefusal(
            f"`temperature` may only be set to 1 {message} "
            f"{GUIDE}#important-considerations-when-using-extended-thinking"
        )
    if request.top_k is not None:
        raise MessagesApiRefusal(f"`top_k` must be unset {message} {GUIDE}")
    if request.top_p is not None and request.top_p < MIN_TOP_P_WHEN_THINKING:
        raise MessagesApiRefusal(
            f"`top_p` must be greater than or equal to 0.95 or unset {message} {GUIDE}"
        )


def _check_container(request: MessagesRequest) -> None:
    if request.container is not None:
        raise MessagesApiRefusal(
            "container: Container identifier can only be provided when using the code execution "
            "tool"
        )
