"""The settings of providers beside the one of the Messages API; a part of the table."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, PositiveInt, SecretStr

from acp_server.configuration.values import ApiMode, Names
from acp_server.frozen import frozen

Key = SecretStr | None


@frozen
class Source:
    """What a setting means and where it can be given: a dotted key, a variable, an option."""

    meaning: str
    key: str = ""
    variable: str = ""
    option: str = ""


class ProviderSettings(BaseModel):
    """What holds for providers."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    model_base_url: Annotated[
        str | None,
        Source("Where the provider is, if not where it usually is", "model.base_url"),
    ] = None
    model_api_key: Annotated[
        SecretStr | None,
        Source("The key for it; `acp-server setup` keeps one better", "model.api_key"),
    ] = None
    api_mode: Annotated[
        ApiMode, Source("The form that it speaks, if not the usual one", "model.api_mode")
    ] = ""
    context_length: Annotated[
        PositiveInt | None,
        Source("How many tokens the model holds, prompt and answer", "model.context_length"),
    ] = None
    max_output_tokens: Annotated[
        PositiveInt | None,
        Source("The longest answer, in tokens, where that is asked for", "model.max_tokens"),
    ] = None
    other_providers: Annotated[
        Names,
        Source(
            "Providers whose models are offered besides; one with a key is anyway", "model.others"
        ),
    ] = ()
    openai_api_key: Annotated[Key, Source("The key for OpenAI", variable="OPENAI_API_KEY")] = None
    openrouter_api_key: Annotated[
        Key, Source("The key for OpenRouter", variable="OPENROUTER_API_KEY")
    ] = None
    gemini_api_key: Annotated[Key, Source("The key for Gemini", variable="GEMINI_API_KEY")] = None
    google_api_key: Annotated[
        Key, Source("Another name of the same", variable="GOOGLE_API_KEY")
    ] = None
    dashscope_api_key: Annotated[
        Key, Source("The key for Alibaba Cloud", variable="DASHSCOPE_API_KEY")
    ] = None
    deepseek_api_key: Annotated[
        Key, Source("The key for DeepSeek", variable="DEEPSEEK_API_KEY")
    ] = None
