"""Rules that outlive their session, by workspace, in one file of the home folder.

Never in the repository: what is allowed there is the user's to say, not the repository's. What the
file holds and we do not understand allows nothing, and is kept as it is.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from acp_server.permissions.rules import Rule
from acp_server.permissions.scopes import CommandScope, FolderScope, ServerScope, SiteScope
from skills_store.documents import Document, DocumentFile, Json

logger = logging.getLogger(__name__)


class _FolderRule(BaseModel):
    model_config = ConfigDict(extra="ignore")

    act: Literal["read", "write"]
    folder: str
    allow: bool

    def rule(self) -> Rule:
        return Rule(FolderScope(self.act, Path(self.folder)), self.allow)


class _CommandRule(BaseModel):
    model_config = ConfigDict(extra="ignore")

    act: Literal["run"]
    prefix: Annotated[tuple[str, ...], Field(min_length=1)]
    allow: bool

    def rule(self) -> Rule:
        return Rule(CommandScope(self.prefix), self.allow)


class _ServerRule(BaseModel):
    model_config = ConfigDict(extra="ignore")

    act: Literal["call"]
    server: str
    identity: str
    tool: str
    allow: bool

    def rule(self) -> Rule:
        return Rule(ServerScope(self.server, self.identity, self.tool), self.allow)


class _SiteRule(BaseModel):
    model_config = ConfigDict(extra="ignore")

    act: Literal["fetch"]
    site: str
    allow: bool

    def rule(self) -> Rule:
        return Rule(SiteScope(self.site), self.allow)


_AnyRule: TypeAlias = _FolderRule | _CommandRule | _ServerRule | _SiteRule
_RULE: TypeAdapter[_AnyRule] = TypeAdapter(Annotated[_AnyRule, Field(discriminator="act")])


class RuleStore:
    """The file. All calls block; what was read is understood again only when it is another."""

    def __init__(self, file: Path) -> None:
        self._file = DocumentFile(file)
        self._known: tuple[Mapping[str, Json], Mapping[str, Sequence[Rule]]] = ({}, {})

    def load(self, root: Path) -> Sequence[Rule]:
        """Return the rules of a workspace; none when the file cannot be read."""
        document = self._file.read()
        if self._known[0] is not document:
            rules = {each: tuple(_understood(stored)) for each, stored in document.items()}
            self._known = (document, rules)
        return self._known[1].get(str(root), ())

    def add(self, root: Path, rule: Rule) -> None:
        """Keep one more rule for a workspace. A file that cannot be understood is put aside.

        Raises:
            OSError: it cannot be kept.
        """
        stored = _stored(rule)

        def change(document: Document) -> None:
            kept = document.get(str(root))
            rules = kept if isinstance(kept, list) else []
            if stored not in rules:
                document[str(root)] = [*rules, stored]

        self._file.change(change)


def _understood(rules: Json) -> Sequence[Rule]:
    found: list[Rule] = []
    for each in rules if isinstance(rules, list) else ():
        try:
            found.append(_RULE.validate_python(each).rule())
        except ValidationError as error:
            logger.warning("a rule is not understood, so what it allows is asked: %s", error)
    return found


def _stored(rule: Rule) -> Json:
    match rule.scope:
        case FolderScope(act, folder):
            return {"act": act, "folder": str(folder), "allow": rule.is_allowed}
        case CommandScope(prefix):
            return {"act": "run", "prefix": list(prefix), "allow": rule.is_allowed}
        case ServerScope(server, identity, tool):
            named: dict[str, Json] = {"server": server, "identity": identity, "tool": tool}
            return {"act": "call", **named, "allow": rule.is_allowed}
        case SiteScope(site):
            return {"act": "fetch", "site": site, "allow": rule.is_allowed}
