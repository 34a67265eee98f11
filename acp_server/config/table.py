"""Table of all settings: description, type, default, and names in each source.

To add a setting, add one entry here. Its key, variable and option, and its entries in the help, the
template and the JSON schema are generated from it. Reads no source.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Annotated, Literal, cast, get_args, get_type_hints

from pydantic import (
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    TypeAdapter,
)

from acp_server.config.provider_settings import NameKind, ProviderSettings, SettingSource
from acp_server.config.values import (
    CommandWords,
    CuratorMode,
    DefaultMode,
    LogLevel,
    McpServerSetting,
    Names,
    Paths,
    PlatformHint,
    PrivateHosts,
    ReviewWrites,
    SandboxMode,
    ToolHook,
    TurnHook,
    UserPath,
    WebSearch,
)

MODEL_KEY = "model.default"
"""Has the short form `model: NAME`."""
MAX_DIAGNOSTICS_SECONDS = 2.0
NON_CODING_CATEGORIES = (
    *("apple", "communication", "cooking", "creative", "email", "finance", "gaming", "gifs"),
    *("health", "media", "music", "note-taking", "productivity", "shopping", "smart-home"),
    *("social-media", "travel"),
)
"""Skill categories that are rarely relevant to code."""


class Settings(ProviderSettings):
    """Values of all settings, by field name."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    model: Annotated[
        str | None,
        SettingSource(
            "The model to use",
            MODEL_KEY,
            "ACP_SERVER_MODEL",
            "--model",
            old_keys=("model.model",),  # found in some Hermes configs
        ),
    ] = None
    provider: Annotated[
        str,
        SettingSource("The provider of the model", "model.provider", "ACP_SERVER_PROVIDER"),
    ] = ""
    base_url: Annotated[
        str | None,
        SettingSource(
            "The base URL of the Anthropic API", "anthropic.base_url", "ANTHROPIC_BASE_URL"
        ),
    ] = None
    api_key: Annotated[
        SecretStr | None, SettingSource("The Anthropic API key", variable="ANTHROPIC_API_KEY")
    ] = None
    auth_token: Annotated[
        SecretStr | None, SettingSource("A token instead of a key", variable="ANTHROPIC_AUTH_TOKEN")
    ] = None
    read_timeout_seconds: Annotated[
        PositiveFloat,
        SettingSource(
            "How many seconds the endpoint may send nothing before a request fails",
            "endpoint.read_timeout_seconds",
            "ACP_SERVER_READ_TIMEOUT_SECONDS",
            old_keys=("anthropic.idle_seconds",),
            old_variables=("ACP_SERVER_IDLE_SECONDS",),
        ),
    ] = 120.0
    connect_timeout_seconds: Annotated[
        PositiveFloat,
        SettingSource(
            "How many seconds connecting to the endpoint may take",
            "endpoint.connect_timeout_seconds",
            "ACP_SERVER_CONNECT_TIMEOUT_SECONDS",
            old_keys=("anthropic.connect_seconds",),
            old_variables=("ACP_SERVER_CONNECT_SECONDS",),
        ),
    ] = 10.0
    max_retries: Annotated[
        NonNegativeInt,
        SettingSource(
            "How often a failed request is retried",
            "endpoint.max_retries",
            "ACP_SERVER_MAX_RETRIES",
            old_keys=("anthropic.retries",),
            old_variables=("ACP_SERVER_RETRIES",),
        ),
    ] = 5
    cache_ttl: Annotated[
        Literal["5m", "1h"],
        SettingSource(
            "How long the provider caches a prompt (writing costs more with 1h)",
            "prompt_caching.cache_ttl",
            "ACP_SERVER_PROMPT_CACHE_TTL",
            old_keys=("anthropic.cache_ttl",),
            old_variables=("ACP_SERVER_CACHE_TTL",),
        ),
    ] = "5m"
    max_turn_requests: Annotated[
        PositiveInt,
        SettingSource(
            "The maximum number of model calls in one turn",
            "max_turn_requests",
            "ACP_SERVER_MAX_TURN_REQUESTS",
        ),
    ] = 100
    delegation_max_parallel: Annotated[
        PositiveInt,
        SettingSource("How many sub-agents of a session run at once", "delegation.max_parallel"),
    ] = 5
    delegation_max_turn_requests: Annotated[
        PositiveInt,
        SettingSource(
            "The maximum number of model calls per sub-agent", "delegation.max_turn_requests"
        ),
    ] = 50
    delegation_max_tokens: Annotated[
        PositiveInt,
        SettingSource(
            "The maximum number of tokens per sub-agent, not counting cache reads",
            "delegation.max_tokens",
        ),
    ] = 1_000_000
    mode: Annotated[
        DefaultMode,
        SettingSource("The mode of a new session", "default_mode", "ACP_SERVER_MODE", "--mode"),
    ] = "ask"
    tool_use_enforcement: Annotated[
        bool | Literal["auto"] | tuple[str, ...],
        SettingSource(
            "Whether to urge the model to use tools: by family, always, never, or these ids",
            "agent.tool_use_enforcement",
        ),
    ] = "auto"
    environment_probe: Annotated[
        bool, SettingSource("Whether to detect an unusual Python setup", "agent.environment_probe")
    ] = True
    environment_hint: Annotated[
        str, SettingSource("A note for the model about this machine", "agent.environment_hint")
    ] = ""
    system_message: Annotated[
        str, SettingSource("Additional text for the system prompt", "agent.system_prompt")
    ] = ""
    context_file_max_chars: Annotated[
        PositiveInt | None,
        SettingSource("The maximum characters per instruction file", "context_file_max_chars"),
    ] = None
    agents_md_scope: Annotated[
        Literal["chain", "cwd"],
        SettingSource("Whether AGENTS.md files in parent directories count", "agents_md_scope"),
    ] = "chain"
    platform_hints: Annotated[
        Mapping[str, PlatformHint],
        SettingSource(
            "Changes to the prompt's hint for a surface, such as `acp`", "platform_hints"
        ),
    ] = {}
    memory_enabled: Annotated[
        bool, SettingSource("Whether the model sees MEMORY.md", "memory.memory_enabled")
    ] = True
    user_profile_enabled: Annotated[
        bool, SettingSource("Whether the model sees USER.md", "memory.user_profile_enabled")
    ] = True
    memory_char_limit: Annotated[
        PositiveInt,
        SettingSource("The maximum characters of MEMORY.md", "memory.memory_char_limit"),
    ] = 2_200
    user_char_limit: Annotated[
        PositiveInt, SettingSource("The maximum characters of USER.md", "memory.user_char_limit")
    ] = 1_375
    memory_write_approval: Annotated[
        bool,
        SettingSource(
            "Whether each change to the memory needs your permission",
            "memory.write_approval",
            old_keys=("memory.ask",),
        ),
    ] = False
    memory_provider: Annotated[
        str, SettingSource("An additional, external memory provider", "memory.provider")
    ] = ""
    memory_nudge_interval: Annotated[
        NonNegativeInt,
        SettingSource(
            "After how many prompts a review looks for facts to remember; 0: never",
            "memory.nudge_interval",
        ),
    ] = 10
    skills_external_dirs: Annotated[
        Paths, SettingSource("More skill directories, read only", "skills.external_dirs")
    ] = ()
    skills_disabled: Annotated[Names, SettingSource("Skills to disable", "skills.disabled")] = ()
    skills_platform_disabled: Annotated[
        Mapping[str, Names],
        SettingSource("Skills to disable per surface, such as `acp`", "skills.platform_disabled"),
    ] = {}
    skills_creation_nudge_interval: Annotated[
        NonNegativeInt,
        SettingSource(
            "After how many tool rounds a review looks for skills to save; 0: never",
            "skills.creation_nudge_interval",
        ),
    ] = 10
    skills_index_char_limit: Annotated[
        PositiveInt,
        SettingSource(
            "The maximum characters of the prompt's skill list", "skills.index_char_limit"
        ),
    ] = 12_000
    skills_review_writes: Annotated[
        ReviewWrites,
        SettingSource(
            "Whether skill reviews apply their changes, only propose them, or do not run",
            "skills.review_writes",
        ),
    ] = "apply"
    skills_review_wait_seconds: Annotated[
        NonNegativeFloat,
        SettingSource("How many idle seconds before a review starts", "skills.review_wait_seconds"),
    ] = 5.0
    skills_curator: Annotated[
        CuratorMode,
        SettingSource("Whether skills are tidied up while you are away", "skills.curator"),
    ] = "off"
    skills_trusted_sources: Annotated[
        Names,
        SettingSource(
            "Trusted sources of skills, checked less strictly: URLs or directories",
            "skills.trusted_sources",
        ),
    ] = ()
    skills_name_only_categories: Annotated[
        Names,
        SettingSource(
            "Skill categories that are listed by name only in code workspaces",
            "skills.name_only_categories",
            old_keys=("skills.unrelated_categories",),
        ),
    ] = NON_CODING_CATEGORIES
    busy_input_mode: Annotated[
        Literal["steer", "queue", "interrupt"],
        SettingSource(
            "How a prompt is handled while another one runs",
            "busy_input_mode",
            "ACP_SERVER_BUSY_INPUT_MODE",
            old_keys=("busy_prompt",),
            old_variables=("ACP_SERVER_BUSY_PROMPT",),
        ),
    ] = "steer"
    sandbox_mode: Annotated[
        SandboxMode,
        SettingSource(
            "Sandbox of commands: writes only in the workspace; strict: reads too",
            "sandbox.mode",
            "ACP_SERVER_SANDBOX",
            "--sandbox",
        ),
    ] = "workspace"
    sandbox_network: Annotated[
        bool,
        SettingSource(
            "Whether sandboxed commands may use the network",
            "sandbox.network",
            "ACP_SERVER_SANDBOX_NETWORK",
        ),
    ] = False
    sandbox_writable: Annotated[
        Paths,
        SettingSource("More directories that sandboxed commands may write", "sandbox.writable"),
    ] = ()
    mcp_servers: Annotated[
        Mapping[str, McpServerSetting],
        SettingSource("MCP servers, by name", "mcp_servers"),
    ] = {}
    mcp_startup_wait_seconds: Annotated[
        NonNegativeFloat,
        SettingSource(
            "How many seconds the first model call waits for them",
            "mcp.startup_wait_seconds",
            old_keys=("mcp.wait_seconds",),
        ),
    ] = 3.0
    web_search: Annotated[
        WebSearch,
        SettingSource(
            "Whether the provider's own web search is enabled, which needs no permission",
            "web.search",
        ),
    ] = "off"
    web_allow_private: Annotated[
        PrivateHosts,
        SettingSource(
            "Private hosts, addresses or networks from which pages may be fetched",
            "web.allow_private",
        ),
    ] = ()
    web_timeout_seconds: Annotated[
        PositiveFloat, SettingSource("How many seconds a fetch may take", "web.timeout_seconds")
    ] = 30.0
    web_max_bytes: Annotated[
        PositiveInt, SettingSource("The maximum size of a page", "web.max_bytes")
    ] = 5_000_000
    checkpoints_enabled: Annotated[
        bool,
        SettingSource("Whether files are saved before a turn changes them", "checkpoints.enabled"),
    ] = True
    checkpoints_include: Annotated[
        Names,
        SettingSource(
            "Ignored files to save anyway, as .gitignore patterns", "checkpoints.include"
        ),
    ] = ()
    checkpoints_max_file_mb: Annotated[
        PositiveFloat,
        SettingSource("The largest file to save, in MB", "checkpoints.max_file_mb"),
    ] = 10.0
    checkpoints_max_total_mb: Annotated[
        PositiveFloat,
        SettingSource("The maximum size per workspace, in MB", "checkpoints.max_total_mb"),
    ] = 1024.0
    checkpoints_keep_days: Annotated[
        PositiveFloat,
        SettingSource("For how many days checkpoints are kept", "checkpoints.keep_days"),
    ] = 30.0
    diagnostics_commands: Annotated[
        Mapping[str, CommandWords],
        SettingSource(
            "Commands that check a changed file, by language; `{path}` is the file",
            "diagnostics.commands",
        ),
    ] = {}
    diagnostics_timeout_seconds: Annotated[
        float,
        Field(gt=0, le=MAX_DIAGNOSTICS_SECONDS),
        SettingSource("How many seconds a check may take", "diagnostics.timeout_seconds"),
    ] = MAX_DIAGNOSTICS_SECONDS
    hooks_before_tool: Annotated[
        tuple[ToolHook, ...],
        SettingSource(
            "Commands run before tool calls; exit code 2 blocks the call", "hooks.before_tool"
        ),
    ] = ()
    hooks_after_tool: Annotated[
        tuple[ToolHook, ...],
        SettingSource(
            "Commands run after tool calls; the model sees their output", "hooks.after_tool"
        ),
    ] = ()
    hooks_after_turn: Annotated[
        tuple[TurnHook, ...], SettingSource("Commands run after turns", "hooks.after_turn")
    ] = ()
    compaction_threshold: Annotated[
        float,
        Field(gt=0, le=1),
        SettingSource(
            "The fraction of the context window at which the conversation is compacted",
            "compaction.threshold",
            "ACP_SERVER_COMPACTION_THRESHOLD",
        ),
    ] = 0.75
    unstable: Annotated[
        bool,
        SettingSource(
            "Whether to offer draft protocol methods: `session/fork`", option="--unstable"
        ),
    ] = False
    log_level: Annotated[
        LogLevel,
        SettingSource("The log level", "log.level", "ACP_SERVER_LOG_LEVEL", "--log-level"),
    ] = "warning"
    log_file: Annotated[
        UserPath | None,
        SettingSource(
            "A log file, besides stderr", "log.file", "ACP_SERVER_LOG_FILE", "--log-file"
        ),
    ] = None


@cache
def setting_sources() -> Mapping[str, SettingSource]:
    """Return the source of each setting, by field name."""
    return {
        name: next(note for note in field.metadata if isinstance(note, SettingSource))
        for name, field in Settings.model_fields.items()
    }


@cache
def type_adapter(name: str) -> TypeAdapter[object]:
    """Return the validator of one setting, built on first use: building all takes long."""
    return TypeAdapter[object](_hints()[name])


_hints = cache(partial(get_type_hints, Settings, include_extras=True))


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
    names = {field: source.names(kind) for field, source in setting_sources().items()}
    return {field: each for field, each in names.items() if each}


def find_written(
    kind: NameKind, lookup: Callable[[str], object]
) -> Iterator[tuple[str, Sequence[tuple[str, object]]]]:
    """Yield the settings that a source has, each with its written names and their values.

    The first of several names counts: a current name has precedence over an old one.
    """
    for field, names in names_by_setting(kind).items():
        written = [(name, value) for name in names if (value := lookup(name)) is not None]
        if written:
            yield field, written


def secret_variables() -> frozenset[str]:
    """Return the environment variables with secrets, which no child process may inherit."""
    hints = get_type_hints(Settings)
    return frozenset(
        variable
        for field, variables in names_by_setting("variable").items()
        if _is_secret(hints[field])
        for variable in variables
    )


def _is_secret(hint: object) -> bool:
    return SecretStr in get_args(hint)
