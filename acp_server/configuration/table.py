"""The table of settings: what each means, what it may be, and where it can be given.

A new setting is one entry here. Its key, variable and option, its line in the help, in the template
and in the schema follow from it. Knows no source's content.
"""

from collections.abc import Mapping
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

from acp_server.configuration.provider_settings import ProviderSettings, Source
from acp_server.configuration.values import (
    CommandWords,
    CuratorMode,
    DefaultMode,
    LogLevel,
    McpServer,
    Names,
    Paths,
    PlatformHint,
    PrivatePlaces,
    ReviewWrites,
    SandboxMode,
    ToolHook,
    TurnHook,
    UserPath,
    WebSearch,
)

MODEL_KEY = "model.default"
"""May also be written short: `model: NAME`."""
MODEL_ALIAS = "model.model"
"""What some homes have in its place."""
MOST_DIAGNOSTICS_SECONDS = 2.0
UNRELATED_CATEGORIES = (
    *("apple", "communication", "cooking", "creative", "email", "finance", "gaming", "gifs"),
    *("health", "media", "music", "note-taking", "productivity", "shopping", "smart-home"),
    *("social-media", "travel"),
)
"""What has seldom to do with code."""


class Settings(ProviderSettings):
    """The values that hold."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    model: Annotated[
        str | None,
        Source("The model to ask", MODEL_KEY, "ACP_SERVER_MODEL", "--model"),
    ] = None
    provider: Annotated[
        str,
        Source("Who provides the model", "model.provider", "ACP_SERVER_PROVIDER"),
    ] = ""
    base_url: Annotated[
        str | None,
        Source("The endpoint of the Messages API", "anthropic.base_url", "ANTHROPIC_BASE_URL"),
    ] = None
    api_key: Annotated[SecretStr | None, Source("The key", variable="ANTHROPIC_API_KEY")] = None
    auth_token: Annotated[
        SecretStr | None, Source("A token in place of a key", variable="ANTHROPIC_AUTH_TOKEN")
    ] = None
    idle_seconds: Annotated[
        PositiveFloat,
        Source(
            "How long the endpoint may be silent",
            "anthropic.idle_seconds",
            "ACP_SERVER_IDLE_SECONDS",
        ),
    ] = 120.0
    connect_seconds: Annotated[
        PositiveFloat,
        Source(
            "How long a connection to the endpoint may take",
            "anthropic.connect_seconds",
            "ACP_SERVER_CONNECT_SECONDS",
        ),
    ] = 10.0
    retries: Annotated[
        NonNegativeInt,
        Source("How often a failed request is repeated", "anthropic.retries", "ACP_SERVER_RETRIES"),
    ] = 5
    cache_ttl: Annotated[
        Literal["5m", "1h"],
        Source(
            "How long the endpoint's cache keeps a prompt (an hour costs more to write)",
            "anthropic.cache_ttl",
            "ACP_SERVER_CACHE_TTL",
        ),
    ] = "5m"
    max_turn_requests: Annotated[
        PositiveInt,
        Source(
            "The most model calls in one turn",
            "max_turn_requests",
            "ACP_SERVER_MAX_TURN_REQUESTS",
        ),
    ] = 100
    delegation_max_parallel: Annotated[
        PositiveInt,
        Source("How many sub-agents of a session work at once", "delegation.max_parallel"),
    ] = 5
    delegation_max_turn_requests: Annotated[
        PositiveInt,
        Source("The most model calls of one sub-agent", "delegation.max_turn_requests"),
    ] = 50
    delegation_max_tokens: Annotated[
        PositiveInt,
        Source(
            "The most tokens of one sub-agent, those read from a cache left out",
            "delegation.max_tokens",
        ),
    ] = 1_000_000
    mode: Annotated[
        DefaultMode,
        Source("The mode that a session begins in", "default_mode", "ACP_SERVER_MODE", "--mode"),
    ] = "ask"
    tool_use_enforcement: Annotated[
        bool | Literal["auto"] | tuple[str, ...],
        Source(
            "Whether the model is told to act: by its family, always, never, or for these ids",
            "agent.tool_use_enforcement",
        ),
    ] = "auto"
    environment_probe: Annotated[
        bool, Source("Whether an unusual Python is looked for", "agent.environment_probe")
    ] = True
    environment_hint: Annotated[
        str, Source("What the model is told of this machine", "agent.environment_hint")
    ] = ""
    system_message: Annotated[
        str, Source("What the model is told besides", "agent.system_prompt")
    ] = ""
    context_file_max_chars: Annotated[
        PositiveInt | None,
        Source("The most characters of one file of instructions", "context_file_max_chars"),
    ] = None
    agents_md_scope: Annotated[
        Literal["chain", "cwd"],
        Source("Whether AGENTS.md files above the session's folder count", "agents_md_scope"),
    ] = "chain"
    platform_hints: Annotated[
        Mapping[str, PlatformHint],
        Source("Changes of the hints for a surface, such as `acp`", "platform_hints"),
    ] = {}
    memory_enabled: Annotated[
        bool, Source("Whether MEMORY.md is shown to the model", "memory.memory_enabled")
    ] = True
    user_profile_enabled: Annotated[
        bool, Source("Whether USER.md is shown to the model", "memory.user_profile_enabled")
    ] = True
    memory_char_limit: Annotated[
        PositiveInt, Source("The size of MEMORY.md in characters", "memory.memory_char_limit")
    ] = 2_200
    user_char_limit: Annotated[
        PositiveInt, Source("The size of USER.md in characters", "memory.user_char_limit")
    ] = 1_375
    memory_ask: Annotated[
        bool, Source("Whether you are asked about each change of the memory", "memory.ask")
    ] = False
    memory_provider: Annotated[
        str, Source("The external memory that is used besides", "memory.provider")
    ] = ""
    memory_nudge_interval: Annotated[
        NonNegativeInt,
        Source(
            "After how many prompts the conversation is reviewed for memory; 0: never",
            "memory.nudge_interval",
        ),
    ] = 10
    skills_external_dirs: Annotated[
        Paths, Source("Folders of skills besides your own, read only", "skills.external_dirs")
    ] = ()
    skills_disabled: Annotated[Names, Source("Skills that are not offered", "skills.disabled")] = ()
    skills_platform_disabled: Annotated[
        Mapping[str, Names],
        Source("Skills that a surface such as `acp` does not offer", "skills.platform_disabled"),
    ] = {}
    skills_creation_nudge_interval: Annotated[
        NonNegativeInt,
        Source(
            "After how many steps of work the conversation is reviewed for skills; 0: never",
            "skills.creation_nudge_interval",
        ),
    ] = 10
    skills_index_char_limit: Annotated[
        PositiveInt,
        Source("The most characters of the list of skills", "skills.index_char_limit"),
    ] = 12_000
    skills_review_writes: Annotated[
        ReviewWrites,
        Source(
            "What becomes of the changes that a review wants: made, proposed, or no reviews",
            "skills.review_writes",
        ),
    ] = "apply"
    skills_review_wait_seconds: Annotated[
        NonNegativeFloat,
        Source("How long nobody prompts before a review begins", "skills.review_wait_seconds"),
    ] = 5.0
    skills_curator: Annotated[
        CuratorMode,
        Source("Whether skills are put in order while you are away", "skills.curator"),
    ] = "off"
    skills_trusted_sources: Annotated[
        Names,
        Source(
            "Where skills may be installed from with fewer doubts: addresses or folders",
            "skills.trusted_sources",
        ),
    ] = ()
    skills_unrelated_categories: Annotated[
        Names,
        Source(
            "Categories of skills that are listed by name only in a workspace of code",
            "skills.unrelated_categories",
        ),
    ] = UNRELATED_CATEGORIES
    busy_prompt: Annotated[
        Literal["steer", "queue", "interrupt"],
        Source(
            "What a prompt does that comes while another is worked on",
            "busy_prompt",
            "ACP_SERVER_BUSY_PROMPT",
        ),
    ] = "steer"
    sandbox_mode: Annotated[
        SandboxMode,
        Source(
            "How far commands are confined: they write in the workspace; strict: read there too",
            "sandbox.mode",
            "ACP_SERVER_SANDBOX",
            "--sandbox",
        ),
    ] = "workspace"
    sandbox_network: Annotated[
        bool,
        Source(
            "Whether confined commands may use the network",
            "sandbox.network",
            "ACP_SERVER_SANDBOX_NETWORK",
        ),
    ] = False
    sandbox_writable: Annotated[
        Paths,
        Source("More folders that they may write, such as caches", "sandbox.writable"),
    ] = ()
    mcp_servers: Annotated[
        Mapping[str, McpServer],
        Source("Servers of the Model Context Protocol, by name", "mcp_servers"),
    ] = {}
    mcp_wait_seconds: Annotated[
        NonNegativeFloat,
        Source("How long the first model call waits for these servers", "mcp.wait_seconds"),
    ] = 3.0
    web_search: Annotated[
        WebSearch,
        Source(
            "Whether the provider may search the web by itself, unasked, where a model has that",
            "web.search",
        ),
    ] = "off"
    web_allow_private: Annotated[
        PrivatePlaces,
        Source(
            "Hosts, addresses or networks that pages may be fetched from though not public",
            "web.allow_private",
        ),
    ] = ()
    web_timeout_seconds: Annotated[
        PositiveFloat, Source("How long fetching a page may take", "web.timeout_seconds")
    ] = 30.0
    web_max_bytes: Annotated[PositiveInt, Source("How much of a page is read", "web.max_bytes")] = (
        5_000_000
    )
    checkpoints_enabled: Annotated[
        bool,
        Source("Whether files are kept before a turn changes them", "checkpoints.enabled"),
    ] = True
    checkpoints_include: Annotated[
        Names,
        Source("Ignored files that are kept too: patterns as in .gitignore", "checkpoints.include"),
    ] = ()
    checkpoints_max_file_mb: Annotated[
        PositiveFloat,
        Source("The largest file that is kept, in MB", "checkpoints.max_file_mb"),
    ] = 10.0
    checkpoints_max_total_mb: Annotated[
        PositiveFloat,
        Source("How much is kept of one workspace, in MB", "checkpoints.max_total_mb"),
    ] = 1024.0
    checkpoints_keep_days: Annotated[
        PositiveFloat,
        Source("For how many days it is kept", "checkpoints.keep_days"),
    ] = 30.0
    diagnostics_commands: Annotated[
        Mapping[str, CommandWords],
        Source(
            "What checks a changed file, by language; `{path}` stands for the file",
            "diagnostics.commands",
        ),
    ] = {}
    diagnostics_timeout_seconds: Annotated[
        float,
        Field(gt=0, le=MOST_DIAGNOSTICS_SECONDS),
        Source("How long such a check may take", "diagnostics.timeout_seconds"),
    ] = MOST_DIAGNOSTICS_SECONDS
    hooks_before_tool: Annotated[
        tuple[ToolHook, ...],
        Source("Commands before calls of tools; exit code 2 refuses the call", "hooks.before_tool"),
    ] = ()
    hooks_after_tool: Annotated[
        tuple[ToolHook, ...],
        Source("Commands after calls; the model is told what they print", "hooks.after_tool"),
    ] = ()
    hooks_after_turn: Annotated[
        tuple[TurnHook, ...], Source("Commands after turns", "hooks.after_turn")
    ] = ()
    compaction_threshold: Annotated[
        float,
        Field(gt=0, le=1),
        Source(
            "The share of the window from which on the conversation is summed up",
            "compaction.threshold",
            "ACP_SERVER_COMPACTION_THRESHOLD",
        ),
    ] = 0.75
    unstable: Annotated[
        bool,
        Source("Whether drafts of the protocol are offered: `session/fork`", option="--unstable"),
    ] = False
    log_level: Annotated[
        LogLevel,
        Source("How much is logged", "log.level", "ACP_SERVER_LOG_LEVEL", "--log-level"),
    ] = "warning"
    log_file: Annotated[
        UserPath | None,
        Source("A file to log to, with stderr", "log.file", "ACP_SERVER_LOG_FILE", "--log-file"),
    ] = None


@cache
def sources() -> Mapping[str, Source]:
    """Return where each setting can be given, by field name."""
    return {
        name: next(note for note in field.metadata if isinstance(note, Source))
        for name, field in Settings.model_fields.items()
    }


@cache
def adapter(name: str) -> TypeAdapter[object]:
    """Return what validates a setting by itself; it is built late, for that takes a while."""
    return TypeAdapter[object](_hints()[name])


_hints = cache(partial(get_type_hints, Settings, include_extras=True))


def value_at(document: Mapping[str, object], key: str) -> object:
    """Return the value at a dotted key of a file; None where nothing stands."""
    value = cast("object", document)
    for part in key.split("."):
        if not isinstance(value, dict):
            return value if key == MODEL_KEY else None
        value = cast("Mapping[str, object]", value).get(part)
    if value is None and key == MODEL_KEY:
        return value_at(document, MODEL_ALIAS)
    return value


def secret_variables() -> frozenset[str]:
    """Return the variables that hold secrets of ours, which no child process needs."""
    hints = get_type_hints(Settings)
    names = (source.variable for name, source in sources().items() if _is_secret(hints[name]))
    return frozenset(filter(None, names))


def _is_secret(hint: object) -> bool:
    return SecretStr in get_args(hint)
