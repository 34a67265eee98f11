"""Mapping from the settings to each subsystem's config objects. Builds no services."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from acp_server.config import settings
from acp_server.config.credentials import Credential
from acp_server.config.settings import Configuration, Settings
from acp_server.learning.review_counters import Intervals
from acp_server.learning.service import EvolutionRules
from acp_server.mcp.lazy_imports import McpPremises
from acp_server.permissions.trust import ContentTrust
from acp_server.session.prompting.prompt_config import PromptSettings
from acp_server.skills.config import SkillRules
from acp_server.tools.lazy_imports import MemoryPremises
from prompt_engine.memory_entries import StoreName

PLATFORM = "acp"
"""The name of this server's surface in settings such as `platform_hints`."""
TASK_PLATFORM = "task"
"""The surface of a sub-agent: its output is read by the agent that delegated the task."""


def skill_rules(configuration: Configuration) -> SkillRules:
    """Return the skill rules of a configuration."""
    current = configuration.settings
    here = current.skills_platform_disabled.get(PLATFORM, ())
    return SkillRules(
        external=tuple(path.absolute() for path in current.skills_external_dirs),
        disabled=frozenset((*current.skills_disabled, *here)),
        most_characters=current.skills_index_char_limit,
        unrelated=frozenset(current.skills_unrelated_categories),
    )


def evolution_rules(configuration: Configuration) -> EvolutionRules:
    """Return the rules for reviews and the skill curator."""
    current = configuration.settings
    return EvolutionRules(
        home=configuration.home,
        memory=memory_premises(current),
        review_writes=current.skills_review_writes,
        intervals=Intervals(current.skills_creation_nudge_interval, current.memory_nudge_interval),
        review_wait_seconds=current.skills_review_wait_seconds,
        curates_unasked=current.skills_curator == "auto",
    )


def memory_premises(current: Settings) -> MemoryPremises:
    """Return the memory config: character limits of the enabled stores."""
    limits: dict[StoreName, int] = {}
    if current.memory_enabled:
        limits["memory"] = current.memory_char_limit
    if current.user_profile_enabled:
        limits["user"] = current.user_char_limit
    return MemoryPremises(limits, asks_first=current.memory_ask)


def mcp_premises(current: Settings) -> McpPremises:
    """Return the MCP config: servers, child environment, secret variable names."""
    variables, secrets = settings.child_environment({}), settings.secret_variables()
    return McpPremises(variables, secrets, current.mcp_servers, current.mcp_wait_seconds)


def configured_credential(configuration: Configuration) -> Credential | None:
    """Return the configured Anthropic credential, if any; an API key wins over a token."""
    current, origins = configuration.settings, configuration.origins
    if current.api_key is not None:
        return Credential(origins["api_key"], api_key=current.api_key.get_secret_value())
    if current.auth_token is not None:
        return Credential(origins["auth_token"], auth_token=current.auth_token.get_secret_value())
    return None


def prompt_settings(configuration: Configuration) -> PromptSettings:
    """Return the config of the system prompt, with secrets removed from its environment."""
    current, home = configuration.settings, configuration.home
    hidden: Mapping[str, str | None] = dict.fromkeys(settings.secret_variables())
    return PromptSettings(
        home=home,
        variables=settings.child_environment(hidden),
        provider=current.provider,
        enforcement=current.tool_use_enforcement,
        environment_hint=current.environment_hint,
        probes_python=current.environment_probe,
        max_characters=current.context_file_max_chars,
        agents_md_scope=current.agents_md_scope,
        hint_overrides={
            name: (hint.replace, hint.append) for name, hint in current.platform_hints.items()
        },
        system_message=current.system_message,
        has_memory=current.memory_enabled,
        has_user_profile=current.user_profile_enabled,
        memory_limit=current.memory_char_limit,
        user_limit=current.user_char_limit,
        is_trusted=content_trust(home).is_given,
    )


def content_trust(home: Path) -> ContentTrust:
    """Return the store of blocked instruction files that the user has allowed anyway."""
    return ContentTrust(home / "acp" / "context_trust.json")


def task_settings(configuration: Configuration) -> PromptSettings:
    """Return the prompt config for sub-agents: no context files and no memory."""
    return replace(
        prompt_settings(configuration),
        platform=TASK_PLATFORM,
        skips_context_files=True,
        has_memory=False,
        has_user_profile=False,
    )
