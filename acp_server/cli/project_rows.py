"""Settings that a project's .hermes.md frontmatter changes for sessions in a directory.

Applies the same rules as a session does, but a session may know more models and MCP servers. Asks
no endpoint and starts no server.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
from pydantic import JsonValue

from acp_server.cli.setting_rows import SettingRow, displayable, setting_rows
from acp_server.config.settings import Configuration
from acp_server.mcp.server_configs import parse_workspace_servers
from acp_server.mcp.tool_names import SEPARATOR, server_name_parts
from acp_server.permissions.trust import TrustStore
from acp_server.server.app import open_model_catalog
from acp_server.server.config_mapping import prompt_config
from acp_server.session.project.requests import NOT_TRUSTED, SERVERS
from acp_server.session.project.settings import parse_project_settings, stricter_mode
from acp_server.tools.tool_names import offered_tool_names
from prompt_engine.sources.context_files import ContextRequest, find_project_context
from prompt_engine.threats import scan

SETTINGS_ARE_STRICTER = "your settings allow less"
SERVER_NAME_TAKEN = "your settings already have a server of this name"


@dataclass(frozen=True, slots=True)
class UnusedSetting:
    """A project setting that is not used, with the reason."""

    origin: str
    what: str

    def __str__(self) -> str:
        return f"{self.origin}: {self.what}: not used"


@dataclass(frozen=True, slots=True)
class ProjectRows:
    """The settings in effect in a directory, and the project settings that are not used."""

    root: Path
    rows: Sequence[SettingRow]
    unused: Sequence[UnusedSetting]
    is_trusted: bool


def project_rows(configuration: Configuration, root: Path) -> ProjectRows:
    """Return the settings of sessions in a directory; `root` must be resolved."""
    accepted, unused = _check_project_settings(configuration, root)
    rows = {row.name: row for row in setting_rows(configuration)}
    store = TrustStore(configuration.home / "acp" / "trust.json")
    is_trusted = store.verdict(root) == "trusted"
    if not is_trusted:
        waiting = [
            UnusedSetting(row.origin, f"{row.name}: {row.text} ({NOT_TRUSTED})") for row in accepted
        ]
        return ProjectRows(root, [*rows.values()], [*waiting, *unused], is_trusted)
    for row in accepted:
        own_row = rows.get(row.name, row)
        rows[row.name] = replace(own_row, value=row.value, origin=row.origin)
    return ProjectRows(root, [*rows.values()], unused, is_trusted)


def _check_project_settings(
    configuration: Configuration, root: Path
) -> tuple[Sequence[SettingRow], Sequence[UnusedSetting]]:
    """Return the settings that a project may change, and those not used even if it is trusted."""
    current = configuration.settings
    models = anyio.run(_known_model_ids, configuration)
    values, origins = _frontmatter_values(configuration, root)
    servers, server_problems = parse_workspace_servers(values.pop(SERVERS, None))
    names = server_name_parts([*current.mcp_servers, *servers]).values()
    prefixes = tuple(name + SEPARATOR for name in names)
    tools = offered_tool_names(current.memory, current.toolsets)
    requested = parse_project_settings(values, models, tools, prefixes)
    mode = requested.mode
    widens_mode = mode is not None and stricter_mode(current.mode, mode) != mode
    wanted: dict[str, JsonValue] = {
        "mode": None if widens_mode else mode,
        "model": requested.model,
        "tools": [*requested.tools],
        "skills": [*requested.skills],
    }
    accepted = [
        SettingRow(name, value, origins[name], "", "", name)
        for name, value in wanted.items()
        if value
    ]
    unused = [
        UnusedSetting(origins[name], refused)
        for name, value in values.items()
        for refused in parse_project_settings({name: value}, models, tools, prefixes).refused
    ]
    if widens_mode:
        unused.append(UnusedSetting(origins["mode"], f"mode: {mode} ({SETTINGS_ARE_STRICTER})"))
    unused += [UnusedSetting(origins[SERVERS], problem) for problem in server_problems]
    for name, server in servers.items():
        key = f"{SERVERS}.{name}"
        if name in current.mcp_servers:
            unused.append(UnusedSetting(origins[SERVERS], f"{key} ({SERVER_NAME_TAKEN})"))
        else:
            accepted.append(SettingRow(key, displayable(server), origins[SERVERS], "", "", key))
    return accepted, unused


async def _known_model_ids(configuration: Configuration) -> Collection[str]:
    """Return the ids of the models that are known without a request to an endpoint."""
    async with open_model_catalog(configuration) as catalog:
        return [choice.id for choice in catalog.choices()]


def _frontmatter_values(
    configuration: Configuration, root: Path
) -> tuple[dict[str, JsonValue], dict[str, str]]:
    """Return the values and the file that sets each; the nearest file wins."""
    config = prompt_config(configuration)
    request = ContextRequest(root, agents_md_scope=config.settings.agents_md_scope)
    values: dict[str, JsonValue] = {}
    origins: dict[str, str] = {}
    for found in reversed(find_project_context(request, scan, config.is_trusted).settings):
        values |= found.values
        origins |= dict.fromkeys(found.values, str(root / found.path))
    return values, origins
