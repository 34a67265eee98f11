"""Mapping from the settings to each subsystem's config objects. Builds no services."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from acp_server.config import settings
from acp_server.config.credentials import Credential
from acp_server.config.hermes_auth import anthropic_credential
from acp_server.config.settings import Configuration
from acp_server.mcp.config import McpConfig
from acp_server.memory.config import MemoryConfig
from acp_server.permissions.trust import ContentTrust
from acp_server.session.prompting.old_results import CompactionConfig
from acp_server.session.prompting.prompt_config import PromptConfig

WAIT_SETTING = "mcp_startup_wait_seconds"
SUB_AGENT_PLATFORM = "task"
"""The surface of a sub-agent: its output is read by the agent that delegated the task."""


def mcp_config(configuration: Configuration, *, is_unattended: bool = False) -> McpConfig:
    """Return the MCP config: servers, child environment, secret variable names.

    An unattended run has one prompt, so it waits for each server until that is connected or has
    failed, unless the user has set how long.
    """
    current, secrets = configuration.settings, configuration.secret_variables
    variables = settings.child_environment({})
    waits_for_all = is_unattended and configuration.origins[WAIT_SETTING] == "default"
    return McpConfig(
        variables,
        secrets,
        configuration.home,
        current.mcp_servers,
        math.inf if waits_for_all else current.mcp_startup_wait_seconds,
        is_unattended,
    )


def compaction_config(configuration: Configuration) -> CompactionConfig:
    """Return the config of how conversations are kept short."""
    current = configuration.settings
    return CompactionConfig(
        current.compaction_threshold, current.compaction_removes_old_results, current.cache_ttl
    )


def configured_credential(configuration: Configuration) -> Credential | None:
    """Return the configured Anthropic credential, if any; an API key wins over a token."""
    current, origins = configuration.settings, configuration.origins
    if current.api_key is not None:
        return Credential(origins["api_key"], api_key=current.api_key.get_secret_value())
    if current.auth_token is not None:
        return Credential(origins["auth_token"], auth_token=current.auth_token.get_secret_value())
    for secret, variable in (
        (current.token, "ANTHROPIC_TOKEN"),
        (current.claude_code_token, "CLAUDE_CODE_OAUTH_TOKEN"),
    ):
        if secret is not None:
            return anthropic_credential(variable, secret.get_secret_value())
    return None


def prompt_config(configuration: Configuration) -> PromptConfig:
    """Return the config of the system prompt, with secrets removed from its environment."""
    current, home = configuration.settings, configuration.home
    hidden: Mapping[str, str | None] = dict.fromkeys(configuration.secret_variables)
    return PromptConfig(
        home=home,
        variables=settings.child_environment(hidden),
        settings=current.prompt,
        memory=current.memory,
        provider=current.provider,
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
        memory=MemoryConfig(is_enabled=False, has_user_profile=False),
    )
