"""Settings of model providers other than Anthropic; part of the settings table."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, PositiveInt, SecretStr

from acp_server.config.values import ApiMode, Names
from acp_server.startup.fast_dataclass import frozen_dataclass

OptionalSecret = SecretStr | None
NameKind = Literal["key", "variable", "option"]


@frozen_dataclass
class SettingSource:
    """A setting's description, and its names in files, in the environment and as an option.

    Old names still work: `config check` reports them, nothing else shows them.
    """

    description: str
    key: str = ""
    variable: str = ""
    option: str = ""
    old_keys: tuple[str, ...] = ()
    old_variables: tuple[str, ...] = ()

    def names(self, kind: NameKind) -> tuple[str, ...]:
        """Return the names of one kind, the current one first; empty if there is none."""
        names = {
            "key": (self.key, *self.old_keys),
            "variable": (self.variable, *self.old_variables),
            "option": (self.option,),
        }
        return tuple(filter(None, names[kind]))


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
    additional_providers: Annotated[
        Names,
        SettingSource(
            "More providers whose models are offered; those with a key always are",
            "model.additional_providers",
            old_keys=("model.others",),
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
