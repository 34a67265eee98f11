"""Saved permission rules by workspace, in one file of the home directory.

Never in the repository: the user decides what is allowed there, not the repository. Unknown content
of the file allows nothing and is preserved.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from acp_server.permissions.rules import PermissionRule
from acp_server.permissions.scopes import (
    CommandPattern,
    CommandScope,
    ConfinedCommandsScope,
    DirectoryScope,
    HostScope,
    McpToolScope,
    NetworkScope,
    PortScope,
    ProjectChecksScope,
    RemoteReadScope,
    Scope,
    SiteScope,
    SkillVariablesScope,
)
from skills_store.json_file import Json, JsonFile, JsonObject

logger = logging.getLogger(__name__)


class _StoredRule(BaseModel):
    allow: bool


class _FolderRule(_StoredRule):
    act: Literal["read", "write"]
    folder: str

    def scope(self) -> Scope:
        return DirectoryScope(self.act, Path(self.folder))


class _CommandRule(_StoredRule):
    act: Literal["run"]
    prefix: Annotated[tuple[str, ...], Field(min_length=1)]
    directory: str
    exact: bool = False

    def scope(self) -> Scope:
        return CommandScope(
            (CommandPattern(self.prefix, Path(self.directory), is_exact=self.exact),)
        )


class _ChecksRule(_StoredRule):
    act: Literal["checks"]

    def scope(self) -> Scope:
        return ProjectChecksScope()


class _RemoteRule(_StoredRule):
    act: Literal["remote"]
    service: str
    """The host; older rules have `GitHub`."""

    def scope(self) -> Scope:
        host = "github.com" if self.service == "GitHub" else self.service
        return RemoteReadScope(host)


class _ServerRule(_StoredRule):
    act: Literal["call"]
    server: str
    identity: str
    tool: str

    def scope(self) -> Scope:
        return McpToolScope(self.server, self.identity, self.tool)


class _SiteRule(_StoredRule):
    act: Literal["fetch"]
    site: str

    def scope(self) -> Scope:
        return SiteScope(self.site)


class _HostRule(_StoredRule):
    act: Literal["connect"]
    site: str
    address: str = ""

    def scope(self) -> Scope:
        return HostScope(self.site, self.address)


class _NetworkRule(_StoredRule):
    act: Literal["network"]

    def scope(self) -> Scope:
        return NetworkScope()


class _PortRule(_StoredRule):
    act: Literal["forward"]
    port: int

    def scope(self) -> Scope:
        return PortScope(self.port)


class _VariablesRule(_StoredRule):
    act: Literal["variables"]
    skill: str
    identity: str
    names: tuple[str, ...]

    def scope(self) -> Scope:
        return SkillVariablesScope(self.skill, self.identity, self.names)


_AnyRule: TypeAlias = (
    _FolderRule
    | _CommandRule
    | _ChecksRule
    | _RemoteRule
    | _ServerRule
    | _SiteRule
    | _HostRule
    | _NetworkRule
    | _PortRule
    | _VariablesRule
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

    def remove(self, root: Path, rule: PermissionRule) -> None:
        """Remove a rule of a workspace, as `load` returns it; without effect if it is not there.

        Raises:
            OSError: the change cannot be saved.
        """

        def change(document: JsonObject) -> None:
            stored = document.get(str(root))
            rules = stored if isinstance(stored, list) else []
            kept = [each for each in rules if rule not in _parse_rules([each], root)]
            if len(kept) < len(rules):
                document[str(root)] = [*kept]

        self._file.update(change)


def _parse_rules(rules: Json, root: Path) -> Sequence[PermissionRule]:
    found: list[PermissionRule] = []
    # Older rules for commands name no directory: they hold in the workspace's own.
    defaults: dict[str, Json] = {"directory": str(root)}
    for each in rules if isinstance(rules, list) else ():
        try:
            # Each rule by itself: one that a newer version wrote must not disable the others.
            stored = _RULE_ADAPTER.validate_python(
                defaults | each if isinstance(each, dict) else each
            )
            found.append(PermissionRule(stored.scope(), stored.allow))
        except ValidationError as error:
            logger.warning("ignoring a saved permission rule that is not valid: %s", error)
    return found


def _rules_as_json(rule: PermissionRule) -> list[Json]:  # noqa: C901, PLR0911, PLR0912  one per kind
    match rule.scope:
        case DirectoryScope(act, folder):
            return [{"act": act, "folder": str(folder), "allow": rule.is_allowed}]
        case CommandScope(patterns, hosts):
            # One entry each: an older version reads those without `exact` as it always did.
            return [
                *(_pattern_as_json(each, is_allowed=rule.is_allowed) for each in patterns),
                *(_host_as_json(each, is_allowed=rule.is_allowed) for each in hosts),
            ]
        case ConfinedCommandsScope():
            # For one session at most: what commands may do changes with the sandbox's settings.
            return []
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
        case SkillVariablesScope(skill, identity, names):
            consent: dict[str, Json] = {"skill": skill, "identity": identity, "names": [*names]}
            return [{"act": "variables", **consent, "allow": rule.is_allowed}]
        case PortScope(port):
            return [{"act": "forward", "port": port, "allow": rule.is_allowed}]


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
