"""Table of all settings: description, type, default, and names in each source.

To add a setting, add one entry here or in the config class of its subsystem. Its key, variable and
option, and its entries in the help, the template and the JSON schema are generated from it. Reads
no source.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from functools import cache
from typing import Annotated, Literal, cast, get_args, get_type_hints

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    TypeAdapter,
)

from acp_server.checkpoints.config import CheckpointConfig
from acp_server.config.named_providers import ListedProviders, NamedProvider, NamedProviders
from acp_server.config.provider_keys import ProviderKeys
from acp_server.config.setting import SOURCE, NameKind, SettingSource, setting
from acp_server.config.values import (
    ApiMode,
    DefaultMode,
    Fallbacks,
    FastModeSetting,
    LogLevel,
    McpServerSetting,
    Names,
    UserPath,
    WebSearch,
)
from acp_server.hooks.rules import HookRules
from acp_server.memory.config import MemoryConfig
from acp_server.permissions.config import ApprovalConfig
from acp_server.session.prompting.prompt_config import PromptSettings
from acp_server.skills.config import SkillConfig
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.shell.confinement.config import SandboxConfig
from acp_server.tools.tool_settings import (
    CheckConfig,
    TerminalConfig,
    ToolsetConfig,
    WebConfig,
)

MODEL_KEY = "model.default"
"""Has the short form `model: NAME`."""


@frozen_dataclass
class Settings:
    """Values of all settings. The fields without a source are config classes with settings."""

    model_base_url: str | None = setting(
        None, "The base URL of the provider, if not its default", "model.base_url"
    )
    model_api_key: SecretStr | None = setting(
        None,
        "The API key for `model.base_url`; prefer `acp-server setup`, which stores it",
        "model.api_key",
    )
    model_key_env: str = setting(
        "",
        "The environment variable with the key for `model.base_url`, which may then be sent there",
        "model.key_env",
        hermes_keys=("model.api_key_env",),
    )
    api_mode: ApiMode = setting("", "The API of the provider, if not its default", "model.api_mode")
    context_length: PositiveInt | None = setting(
        None, "The size of the model's context window, in tokens", "model.context_length"
    )
    max_output_tokens: PositiveInt | None = setting(
        None, "The maximum length of an answer, in tokens", "model.max_tokens"
    )
    fast_mode: FastModeSetting = setting(
        False,
        "Whether sessions begin in fast mode, at a higher price, if their model has it",
        "model.fast_mode",
        "ACP_SERVER_FAST_MODE",
        hermes_keys=("agent.service_tier",),
    )
    additional_providers: Names = setting(
        (),
        "More providers whose models are offered; most are as soon as they have a key",
        "model.additional_providers",
        old_keys=("model.others",),
    )
    fallbacks: Fallbacks = setting(
        (),
        "Models to use for the rest of a turn when the chosen one is out of service: "
        "`MODEL`, `PROVIDER:MODEL`, or a mapping of provider, model, base_url and key_env",
        "model.fallbacks",
    )
    fallback_providers: Fallbacks = setting(
        (),
        "Fallback models as Hermes writes them; used if `model.fallbacks` is empty",
        "fallback_providers",
    )
    fallback_model: Fallbacks = setting(
        (), "More fallback models as Hermes writes them, tried after those", "fallback_model"
    )
    named_providers: NamedProviders = setting(
        {}, "Model endpoints of your own, by name: base_url, key_env, model", "providers"
    )
    custom_providers: ListedProviders = setting(
        {}, "Model endpoints of your own, as a list with names", "custom_providers"
    )
    bedrock_region: str = setting("", "The AWS region of Amazon Bedrock", "bedrock.region")
    vertex_region: str = setting("", "The region of Google Vertex AI", "vertex.region")
    vertex_project: str = setting(
        "", "The Google Cloud project, if it is not that of the sign-in", "vertex.project_id"
    )
    provider_keys: ProviderKeys = field(default_factory=ProviderKeys)
    model: str | None = setting(
        None,
        "The model to use",
        MODEL_KEY,
        "ACP_SERVER_MODEL",
        "--model",
        old_keys=("model.model",),
    )
    provider: str = setting(
        "", "The provider of the model", "model.provider", "ACP_SERVER_PROVIDER"
    )
    base_url: str | None = setting(
        None, "The base URL of the Anthropic API", "anthropic.base_url", "ANTHROPIC_BASE_URL"
    )
    api_key: SecretStr | None = setting(None, "The Anthropic API key", variable="ANTHROPIC_API_KEY")
    auth_token: SecretStr | None = setting(
        None, "A token instead of a key", variable="ANTHROPIC_AUTH_TOKEN"
    )
    token: SecretStr | None = setting(
        None, "The token of a sign-in at Anthropic", variable="ANTHROPIC_TOKEN"
    )
    claude_code_token: SecretStr | None = setting(
        None, "The token that `claude setup-token` prints", variable="CLAUDE_CODE_OAUTH_TOKEN"
    )
    read_timeout_seconds: PositiveFloat = setting(
        120.0,
        "How many seconds the endpoint may send nothing before a request fails",
        "endpoint.read_timeout_seconds",
        "ACP_SERVER_READ_TIMEOUT_SECONDS",
        old_keys=("anthropic.idle_seconds",),
        old_variables=("ACP_SERVER_IDLE_SECONDS",),
    )
    connect_timeout_seconds: PositiveFloat = setting(
        10.0,
        "How many seconds connecting to the endpoint may take",
        "endpoint.connect_timeout_seconds",
        "ACP_SERVER_CONNECT_TIMEOUT_SECONDS",
        old_keys=("anthropic.connect_seconds",),
        old_variables=("ACP_SERVER_CONNECT_SECONDS",),
    )
    max_retries: NonNegativeInt = setting(
        5,
        "How often a failed request is retried",
        "endpoint.max_retries",
        "ACP_SERVER_MAX_RETRIES",
        old_keys=("anthropic.retries",),
        old_variables=("ACP_SERVER_RETRIES",),
        hermes_keys=("agent.api_max_retries",),
    )
    cache_ttl: Literal["5m", "1h"] = setting(
        "5m",
        "How long the provider caches a prompt (writing costs more with 1h)",
        "prompt_caching.cache_ttl",
        "ACP_SERVER_PROMPT_CACHE_TTL",
        old_keys=("anthropic.cache_ttl",),
        old_variables=("ACP_SERVER_CACHE_TTL",),
    )
    max_turn_requests: PositiveInt = setting(
        100,
        "The maximum number of model calls in one turn",
        "max_turn_requests",
        "ACP_SERVER_MAX_TURN_REQUESTS",
        hermes_keys=("agent.max_turns",),
    )
    max_cost_usd: PositiveFloat | None = setting(
        None,
        "The cost of a session, in US dollars, at which you are asked whether to continue",
        "max_cost",
        "ACP_SERVER_MAX_COST",
    )
    delegation_max_parallel: PositiveInt = setting(
        5,
        "How many sub-agents of a session run at once",
        "delegation.max_parallel",
        hermes_keys=("delegation.max_concurrent_children",),
    )
    delegation_max_turn_requests: PositiveInt = setting(
        50,
        "The maximum number of model calls per sub-agent",
        "delegation.max_turn_requests",
        hermes_keys=("delegation.max_iterations",),
    )
    delegation_max_tokens: PositiveInt = setting(
        1_000_000,
        "The maximum number of tokens per sub-agent, not counting cache reads",
        "delegation.max_tokens",
    )
    auxiliary_model: str | None = setting(
        None,
        "A cheap model for work that needs no large one, such as that of the agent `explore`",
        "auxiliary.model",
        "ACP_SERVER_AUXILIARY_MODEL",
    )
    mode: DefaultMode = setting(
        "ask", "The mode of a new session", "default_mode", "ACP_SERVER_MODE", "--mode"
    )
    approvals: ApprovalConfig = field(default_factory=ApprovalConfig)
    prompt: PromptSettings = field(default_factory=PromptSettings)
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    skills: SkillConfig = field(default_factory=SkillConfig)
    busy_input_mode: Literal["steer", "queue", "interrupt"] = setting(
        "steer",
        "How a prompt is handled while another one runs",
        "busy_input_mode",
        "ACP_SERVER_BUSY_INPUT_MODE",
        old_keys=("busy_prompt",),
        hermes_keys=("display.busy_input_mode",),
        old_variables=("ACP_SERVER_BUSY_PROMPT",),
    )
    sandbox: SandboxConfig = field(default_factory=SandboxConfig)
    mcp_servers: Mapping[str, McpServerSetting] = setting({}, "MCP servers, by name", "mcp_servers")
    mcp_startup_wait_seconds: NonNegativeFloat = setting(
        3.0,
        "How many seconds the first model call waits for MCP servers",
        "mcp.startup_wait_seconds",
        old_keys=("mcp.wait_seconds",),
        hermes_keys=("mcp_discovery_timeout",),
    )
    web_search: WebSearch = setting(
        "off",
        "Whether the provider's own web search is enabled, which needs no permission",
        "web.search",
    )
    web: WebConfig = field(default_factory=WebConfig)
    terminal: TerminalConfig = field(default_factory=TerminalConfig)
    toolsets: ToolsetConfig = field(default_factory=ToolsetConfig)
    checkpoints: CheckpointConfig = field(default_factory=CheckpointConfig)
    diagnostics: CheckConfig = field(default_factory=CheckConfig)
    hooks: HookRules = field(default_factory=HookRules)
    compaction_threshold: Annotated[float, Field(gt=0, le=1)] = setting(
        0.75,
        "The fraction of the context window at which the conversation is compacted",
        "compaction.threshold",
        "ACP_SERVER_COMPACTION_THRESHOLD",
        hermes_keys=("compression.threshold",),
    )
    compaction_removes_old_results: bool = setting(
        True,
        "Whether old tool results are removed once sending them again has cost more than it is "
        "worth; what was removed can be read again",
        "compaction.removes_old_results",
        "ACP_SERVER_COMPACTION_REMOVES_OLD_RESULTS",
    )
    record: UserPath | None = setting(
        None,
        "A directory to record the requests to models and their answers in, without secrets",
        variable="ACP_SERVER_RECORD",
        option="--record",
    )
    replay: UserPath | None = setting(
        None,
        "A recorded directory that answers in place of the model's endpoint, without a key",
        variable="ACP_SERVER_REPLAY",
        option="--replay",
    )
    strict: bool = setting(
        False,
        "Whether to refuse requests that are not exactly as in the replayed recording",
        option="--strict",
    )
    unstable: bool = setting(
        False,
        "Whether to send draft parts of the protocol that the client has not asked for",
        option="--unstable",
    )
    log_level: LogLevel = setting(
        "warning",
        "The log level",
        "log.level",
        "ACP_SERVER_LOG_LEVEL",
        "--log-level",
    )
    log_file: UserPath | None = setting(
        None, "A log file, besides stderr", "log.file", "ACP_SERVER_LOG_FILE", "--log-file"
    )

    @property
    def all_named_providers(self) -> Mapping[str, NamedProvider]:
        """The endpoints with names of both lists; the first one with a name counts."""
        return {
            name: each
            for name, each in {**self.custom_providers, **self.named_providers}.items()
            if each.enabled
        }


@frozen_dataclass
class SettingField:
    """Where a setting is declared."""

    source: SettingSource
    config_class: type
    attribute: str
    section: str = ""
    """The field of `Settings` with the config class; empty for a field of `Settings` itself."""

    @property
    def hint(self) -> object:
        """The type of the values, with its validators."""
        return _type_hints(self.config_class)[self.attribute]

    @property
    def plain_hint(self) -> object:
        """The type of the values."""
        return get_type_hints(self.config_class)[self.attribute]

    def value(self, settings: Settings) -> object:
        """Return the value of the setting."""
        config = getattr(settings, self.section) if self.section else settings
        return getattr(config, self.attribute)


@cache
def setting_fields() -> Mapping[str, SettingField]:
    """Return the declaration of each setting, by its name, in the order of the table."""
    found: dict[str, SettingField] = {}
    for outer in fields(Settings):
        if SOURCE in outer.metadata:
            found[outer.name] = SettingField(outer.metadata[SOURCE], Settings, outer.name)
            continue
        config_class = cast("type[Settings]", outer.default_factory)
        for inner in fields(config_class):
            if SOURCE in inner.metadata:
                source: SettingSource = inner.metadata[SOURCE]
                name = source.name or source.key.replace(".", "_")
                found[name] = SettingField(source, config_class, inner.name, outer.name)
    return found


@cache
def setting_sources() -> Mapping[str, SettingSource]:
    """Return the source of each setting, by name."""
    return {name: each.source for name, each in setting_fields().items()}


def setting_values(settings: Settings) -> dict[str, object]:
    """Return the value of each setting, by name."""
    return {name: each.value(settings) for name, each in setting_fields().items()}


def build_settings(values: Mapping[str, object]) -> Settings:
    """Return the settings with validated values, by name; the others have their defaults."""
    arguments: dict[str, dict[str, object]] = {}
    for name, value in values.items():
        place = setting_fields()[name]
        arguments.setdefault(place.section, {})[place.attribute] = value
    own = arguments.pop("", {})
    classes = {each.section: each.config_class for each in setting_fields().values()}
    sections = {section: classes[section](**given) for section, given in arguments.items()}
    return cast("Callable[..., Settings]", Settings)(**own, **sections)


@cache
def type_adapter(name: str) -> TypeAdapter[object]:
    """Return the validator of one setting, built on first use: building all takes long."""
    return TypeAdapter[object](cast("type", setting_fields()[name].hint))


@cache
def _type_hints(config_class: type) -> Mapping[str, object]:
    return get_type_hints(config_class, include_extras=True)


def value_at(document: Mapping[str, object], key: str) -> object:
    """Return the value at a dotted key of a parsed file; None if there is none."""
    value = cast("object", document)
    for part in key.split("."):
        if not isinstance(value, dict):
            return value if key == MODEL_KEY else None
        value = cast("Mapping[str, object]", value).get(part)
    return value


@cache
def names_by_setting(kind: NameKind) -> Mapping[str, tuple[str, ...]]:
    """Return the names of one kind by setting, the current one first; settings with any."""
    names = {name: source.names(kind) for name, source in setting_sources().items()}
    return {name: each for name, each in names.items() if each}


def find_written(
    kind: NameKind, lookup: Callable[[str], object]
) -> Iterator[tuple[str, Sequence[tuple[str, object]]]]:
    """Yield the settings that a source has, each with its written names and their values.

    The first of several names counts: a current name has precedence over an old one.
    """
    for setting_name, names in names_by_setting(kind).items():
        written = [(name, value) for name in names if (value := lookup(name)) is not None]
        if written:
            yield setting_name, written


def secret_variables() -> frozenset[str]:
    """Return the environment variables with secrets, which no child process may inherit."""
    return frozenset(
        variable
        for name, variables in names_by_setting("variable").items()
        if SecretStr in get_args(setting_fields()[name].hint)
        for variable in variables
    )
