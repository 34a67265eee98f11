"""Settings that a project's .hermes.md frontmatter changes for sessions in a directory.

Applies the same rules as a session does, but a session may know more models and MCP servers. Asks
no endpoint and starts no server.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
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
from acp_server.session.project.settings import (
    ProjectSettings,
    parse_project_settings,
    stricter_mode,
)
from acp_server.tools.factory import offered_tool_names
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
    project = _ProjectSettingsCheck(configuration, root, anyio.run(_known_model_ids, configuration))
    accepted, unused = [*project.accepted_rows()], [*project.unused_settings()]
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


class _ProjectSettingsCheck:
    """A project's frontmatter, checked against the configuration."""

    def __init__(self, configuration: Configuration, root: Path, models: Collection[str]) -> None:
        self._current = configuration.settings
        self._models = models
        self._values, self._origins = _frontmatter_values(configuration, root)
        self._servers, self._server_problems = parse_workspace_servers(
            self._values.pop(SERVERS, None)
        )
        names = server_name_parts([*self._current.mcp_servers, *self._servers]).values()
        self._prefixes = tuple(name + SEPARATOR for name in names)
        self._tools = offered_tool_names(self._current.memory)
        self._requested = self._parse(self._values)

    def accepted_rows(self) -> Iterator[SettingRow]:
        """Yield the settings that the project may change, as rows."""
        requested = self._requested
        values: dict[str, JsonValue] = {
            "mode": None if self._widens_mode else requested.mode,
            "model": requested.model,
            "tools": [*requested.tools],
            "skills": [*requested.skills],
        }
        for name, value in values.items():
            if value:
                yield SettingRow(name, value, self._origins[name], "", "", name)
        for name, server in self._servers.items():
            if name not in self._current.mcp_servers:
                key = f"{SERVERS}.{name}"
                yield SettingRow(key, displayable(server), self._origins[SERVERS], "", "", key)

    def unused_settings(self) -> Iterator[UnusedSetting]:
        """Yield the settings that would not be used even if the project is trusted."""
        for name, value in self._values.items():
            for refused in self._parse({name: value}).refused:
                yield UnusedSetting(self._origins[name], refused)
        if self._widens_mode:
            yield UnusedSetting(
                self._origins["mode"], f"mode: {self._requested.mode} ({SETTINGS_ARE_STRICTER})"
            )
        for problem in self._server_problems:
            yield UnusedSetting(self._origins[SERVERS], problem)
        for name in self._servers:
            if name in self._current.mcp_servers:
                yield UnusedSetting(
                    self._origins[SERVERS], f"{SERVERS}.{name} ({SERVER_NAME_TAKEN})"
                )

    @property
    def _widens_mode(self) -> bool:
        mode = self._requested.mode
        return mode is not None and stricter_mode(self._current.mode, mode) != mode

    def _parse(self, values: Mapping[str, JsonValue]) -> ProjectSettings:
        return parse_project_settings(values, self._models, self._tools, self._prefixes)


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
