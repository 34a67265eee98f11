"""Settings of model providers other than Anthropic; part of the settings table."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, PositiveInt, SecretStr

from acp_server.config.values import ApiMode, Names
from acp_server.startup.fast_dataclass import frozen_dataclass

OptionalSecret = SecretStr | None


@frozen_dataclass
class SettingSource:
    """A setting's description, and its names in files, in the environment and as an option."""

    description: str
    key: str = ""
    variable: str = ""
    option: str = ""


class ProviderSettings(BaseModel):
    """Settings of model providers."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    model_base_url: Annotated[
        str | None,
        SettingSource("The base URL of the provider, if not its default", "model.base_url"),
    ] = None
    model_api_key: Annotated[
        SecretStr | None,
        SettingSource(
            "The API key for it; prefer `acp-server setup`, which stores it", "model.api_key"
        ),
    ] = None
    api_mode: Annotated[
        ApiMode, SettingSource("The API that it speaks, if not its default", "model.api_mode")
    ] = ""
    context_length: Annotated[
        PositiveInt | None,
        SettingSource("The size of the model's context window, in tokens", "model.context_length"),
    ] = None
    max_output_tokens: Annotated[
        PositiveInt | None,
        SettingSource("The maximum length of an answer, in tokens", "model.max_tokens"),
    ] = None
    other_providers: Annotated[
        Names,
        SettingSource(
            "More providers whose models are offered; those with a key always are", "model.others"
        ),
    ] = ()
    openai_api_key: Annotated[
        OptionalSecret, SettingSource("The OpenAI API key", variable="OPENAI_API_KEY")
    ] = None
    openrouter_api_key: Annotated[
        OptionalSecret, SettingSource("The OpenRouter API key", variable="OPENROUTER_API_KEY")
    ] = None
    gemini_api_key: Annotated[
        OptionalSecret, SettingSource("The Gemini API key", variable="GEMINI_API_KEY")
    ] = None
    google_api_key: Annotated[
        OptionalSecret,
        SettingSource("The Gemini API key, alternative name", variable="GOOGLE_API_KEY"),
    ] = None
    dashscope_api_key: Annotated[
        OptionalSecret, SettingSource("The Alibaba Cloud API key", variable="DASHSCOPE_API_KEY")
    ] = None
    deepseek_api_key: Annotated[
        OptionalSecret, SettingSource("The DeepSeek API key", variable="DEEPSEEK_API_KEY")
    ] = None
