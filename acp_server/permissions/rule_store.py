"""Saved permission rules by workspace, in one file of the home directory.

Never in the repository: the user decides what is allowed there, not the repository. Unknown content
of the file allows nothing and is preserved.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from acp_server.permissions.rules import PermissionRule
from acp_server.permissions.scopes import (
    CommandPattern,
    CommandScope,
    DirectoryScope,
    HostScope,
    McpToolScope,
    NetworkScope,
    ProjectChecksScope,
    RemoteReadScope,
    SiteScope,
)
from skills_store.json_file import Json, JsonFile, JsonObject

logger = logging.getLogger(__name__)


class _FolderRule(BaseModel):
    model_config = ConfigDict(extra="ignore")

    act: Literal["read", "write"]
    folder: str
    allow: bool

    def rule(self, root: Path) -> PermissionRule:
        del root
        return PermissionRule(DirectoryScope(self.act, Path(self.folder)), self.allow)


class _CommandRule(BaseModel):
    model_config = ConfigDict(extra="ignore")

    act: Literal["run"]
    prefix: Annotated[tuple[str, ...], Field(min_length=1)]
    directory: str | None = None
    """Older rules have none; they hold in the workspace's own directory."""
    exact: bool = False
    allow: bool

    def rule(self, root: Path) -> PermissionRule:
        directory = root if self.directory is None else Path(self.directory)
        pattern = CommandPattern(self.prefix, directory, is_exact=self.exact)
        return PermissionRule(CommandScope((pattern,)), self.allow)


class _ChecksRule(BaseModel):
    model_config = ConfigDict(extra="ignore")

    act: Literal["checks"]
    allow: bool

    def rule(self, root: Path) -> PermissionRule:
        del root
        return PermissionRule(ProjectChecksScope(), self.allow)


class _RemoteRule(BaseModel):
    model_config = ConfigDict(extra="ignore")

    act: Literal["remote"]
    service: str
    """The host; older rules have `GitHub`."""
    allow: bool

    def rule(self, root: Path) -> PermissionRule:
        del root
        host = "github.com" if self.service == "GitHub" else self.service
        return PermissionRule(RemoteReadScope(host), self.allow)


class _ServerRule(BaseModel):
    model_config = ConfigDict(extra="ignore")

    act: Literal["call"]
    server: str
    identity: str
    tool: str
    allow: bool

    def rule(self, root: Path) -> PermissionRule:
        del root
        return PermissionRule(McpToolScope(self.server, self.identity, self.tool), self.allow)


class _SiteRule(BaseModel):
    model_config = ConfigDict(extra="ignore")

    act: Literal["fetch"]
    site: str
    allow: bool

    def rule(self, root: Path) -> PermissionRule:
        del root
        return PermissionRule(SiteScope(self.site), self.allow)


class _HostRule(BaseModel):
    model_config = ConfigDict(extra="ignore")

    act: Literal["connect"]
    site: str
    address: str = ""
    allow: bool

    def rule(self, root: Path) -> PermissionRule:
        del root
        return PermissionRule(HostScope(self.site, self.address), self.allow)


class _NetworkRule(BaseModel):
    model_config = ConfigDict(extra="ignore")

    act: Literal["network"]
    allow: bool

    def rule(self, root: Path) -> PermissionRule:
        del root
        return PermissionRule(NetworkScope(), self.allow)


_AnyRule: TypeAlias = (
    _FolderRule
    | _CommandRule
    | _ChecksRule
    | _RemoteRule
    | _ServerRule
    | _SiteRule
    | _HostRule
    | _NetworkRule
)
# The "act" field selects the model, so one kind of rule is never read as another.
_RULE_ADAPTER: TypeAdapter[_AnyRule] = TypeAdapter(Annotated[_AnyRule, Field(discriminator="act")])


class RuleStore:
    """Rules file. All calls block; its content is parsed again only after a change."""

    def __init__(self, file: Path) -> None:
        self._file = JsonFile(file)
        self._cache: tuple[Mapping[str, Json], Mapping[str, Sequence[PermissionRule]]] = ({}, {})

    def load(self, root: Path) -> Sequence[PermissionRule]:
        """Return the rules of a workspace; none if the file cannot be read."""
        document = self._file.read()
        # `read` returns the same object until the file changes, so identity means "unchanged".
        if self._cache[0] is not document:
            rules = {
                each: tuple(_parse_rules(stored, Path(each))) for each, stored in document.items()
            }
            self._cache = (document, rules)
        return self._cache[1].get(str(root), ())

    def add(self, root: Path, rule: PermissionRule) -> None:
        """Save one more rule for a workspace. A file that cannot be parsed is set aside.

        Raises:
            OSError: it cannot be saved.
        """
        new_rules = _rules_as_json(rule)

        def change(document: JsonObject) -> None:
            # Inside `change`, under the file lock: another server may have added rules.
            saved_rules = document.get(str(root))
            rules = saved_rules if isinstance(saved_rules, list) else []
            # Two sessions may give the same answer.
            missing = [each for each in new_rules if each not in rules]
            if missing:
                document[str(root)] = [*rules, *missing]

        self._file.update(change)


def _parse_rules(rules: Json, root: Path) -> Sequence[PermissionRule]:
    found: list[PermissionRule] = []
    for each in rules if isinstance(rules, list) else ():
        try:
            # Each rule by itself: one that a newer version wrote must not disable the others.
            found.append(_RULE_ADAPTER.validate_python(each).rule(root))
        except ValidationError as error:
            logger.warning("ignoring a saved permission rule that is not valid: %s", error)
    return found


def _rules_as_json(rule: PermissionRule) -> list[Json]:  # noqa: PLR0911  one per kind
    match rule.scope:
        case DirectoryScope(act, folder):
            return [{"act": act, "folder": str(folder), "allow": rule.is_allowed}]
        case CommandScope(patterns, hosts):
            # One entry each: an older version reads those without `exact` as it always did.
            return [
                *(_pattern_as_json(each, is_allowed=rule.is_allowed) for each in patterns),
                *(_host_as_json(each, is_allowed=rule.is_allowed) for each in hosts),
            ]
        case ProjectChecksScope():
            return [{"act": "checks", "allow": rule.is_allowed}]
        case RemoteReadScope(host):
            return [_host_as_json(host, is_allowed=rule.is_allowed)]
        case McpToolScope(server, identity, tool):
            fields: dict[str, Json] = {"server": server, "identity": identity, "tool": tool}
            return [{"act": "call", **fields, "allow": rule.is_allowed}]
        case SiteScope(site):
            return [{"act": "fetch", "site": site, "allow": rule.is_allowed}]
        case HostScope(site, address):
            connection: dict[str, Json] = {"site": site, "address": address}
            return [{"act": "connect", **connection, "allow": rule.is_allowed}]
        case NetworkScope():
            return [{"act": "network", "allow": rule.is_allowed}]


def _host_as_json(host: str, *, is_allowed: bool) -> Json:
    return {"act": "remote", "service": host, "allow": is_allowed}


def _pattern_as_json(pattern: CommandPattern, *, is_allowed: bool) -> Json:
    return {
        "act": "run",
        "prefix": list(pattern.words),
        "directory": str(pattern.directory),
        **({"exact": True} if pattern.is_exact else {}),
        "allow": is_allowed,
    }
