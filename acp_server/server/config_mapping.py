"""Mapping from the settings to each subsystem's config objects. Builds no services."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from acp_server.config import settings
from acp_server.config.credentials import Credential
from acp_server.config.settings import Configuration, Settings
from acp_server.learning.review_counters import ReviewIntervals
from acp_server.learning.service import LearningConfig
from acp_server.mcp.config import McpConfig
from acp_server.permissions.trust import ContentTrust
from acp_server.session.prompting.prompt_config import PromptConfig
from acp_server.skills.config import SkillConfig
from acp_server.tools.config import MemoryConfig
from prompt_engine.memory_entries import StoreName

PLATFORM = "acp"
"""The name of this server's surface in settings such as `platform_hints`."""
SUB_AGENT_PLATFORM = "task"
"""The surface of a sub-agent: its output is read by the agent that delegated the task."""


def skill_rules(configuration: Configuration) -> SkillConfig:
    """Return the skill rules of a configuration."""
    current = configuration.settings
    platform_disabled = current.skills_platform_disabled.get(PLATFORM, ())
    return SkillConfig(
        external=tuple(path.absolute() for path in current.skills_external_dirs),
        disabled=frozenset((*current.skills_disabled, *platform_disabled)),
        max_characters=current.skills_index_char_limit,
        name_only_categories=frozenset(current.skills_name_only_categories),
    )


def learning_rules(configuration: Configuration) -> LearningConfig:
    """Return the rules for reviews and the skill curator."""
    current = configuration.settings
    return LearningConfig(
        home=configuration.home,
        memory=memory_config(current),
        review_writes=current.skills_review_writes,
        intervals=ReviewIntervals(
            current.skills_creation_nudge_interval, current.memory_nudge_interval
        ),
        review_wait_seconds=current.skills_review_wait_seconds,
        curates_automatically=current.skills_curator == "auto",
    )


def memory_config(current: Settings) -> MemoryConfig:
    """Return the memory config: character limits of the enabled stores."""
    limits: dict[StoreName, int] = {}
    if current.memory_enabled:
        limits["memory"] = current.memory_char_limit
    if current.user_profile_enabled:
        limits["user"] = current.user_char_limit
    return MemoryConfig(limits, needs_permission=current.memory_write_approval)


def mcp_config(current: Settings) -> McpConfig:
    """Return the MCP config: servers, child environment, secret variable names."""
    variables, secrets = settings.child_environment({}), settings.secret_variables()
    return McpConfig(variables, secrets, current.mcp_servers, current.mcp_startup_wait_seconds)


def configured_credential(configuration: Configuration) -> Credential | None:
    """Return the configured Anthropic credential, if any; an API key wins over a token."""
    current, origins = configuration.settings, configuration.origins
    if current.api_key is not None:
        return Credential(origins["api_key"], api_key=current.api_key.get_secret_value())
    if current.auth_token is not None:
        return Credential(origins["auth_token"], auth_token=current.auth_token.get_secret_value())
    return None


def prompt_config(configuration: Configuration) -> PromptConfig:
    """Return the config of the system prompt, with secrets removed from its environment."""
    current, home = configuration.settings, configuration.home
    hidden: Mapping[str, str | None] = dict.fromkeys(settings.secret_variables())
    return PromptConfig(
        home=home,
        variables=settings.child_environment(hidden),
        provider=current.provider,
        enforcement=current.tool_use_enforcement,
        environment_hint=current.environment_hint,
        should_probe_python=current.environment_probe,
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
        is_trusted=content_trust(home).is_trusted,
    )


def content_trust(home: Path) -> ContentTrust:
    """Return the store of blocked instruction files that the user has allowed anyway."""
    return ContentTrust(home / "acp" / "context_trust.json")


def sub_agent_prompt_config(configuration: Configuration) -> PromptConfig:
    """Return the prompt config for sub-agents: no context files and no memory."""
    return replace(
        prompt_config(configuration),
        platform=SUB_AGENT_PLATFORM,
        should_skip_context_files=True,
        has_memory=False,
        has_user_profile=False,
    )
