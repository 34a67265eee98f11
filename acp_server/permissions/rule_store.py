"""Rules that outlive their session, by workspace, in one file of the home folder.

Never in the repository: what is allowed there is the user's to say, not the repository's.
"""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from acp_server.permissions.rules import Rule
from acp_server.permissions.scopes import CommandScope, FolderScope
from skills_store.atomic import write_atomically
from skills_store.locks import locked

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


_StoredRule = Annotated[_FolderRule | _CommandRule, Field(discriminator="act")]
_RULES: TypeAdapter[dict[str, list[_StoredRule]]] = TypeAdapter(dict[str, list[_StoredRule]])


class RuleStore:
    """The file. All calls block."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def load(self, root: Path) -> Sequence[Rule]:
        """Return the rules of a workspace; none when the file cannot be read."""
        return tuple(stored.rule() for stored in self._read().get(str(root), []))

    def add(self, root: Path, rule: Rule) -> None:
        """Keep one more rule for a workspace.

        Raises:
            OSError: it cannot be kept.
        """
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(self._file):
            everything = self._read()
            rules = everything.setdefault(str(root), [])
            stored = _stored(rule)
            if stored not in rules:
                rules.append(stored)
            document = _RULES.dump_python(everything, mode="json")
            text = json.dumps(document, indent=2, ensure_ascii=False)
            write_atomically(self._file, f"{text}\n".encode(), mode=0o600)

    def _read(self) -> dict[str, list[_StoredRule]]:
        try:
            return _RULES.validate_json(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError) as error:
            logger.warning("%s cannot be read, so what it allows is asked: %s", self._file, error)
            return {}


def _stored(rule: Rule) -> _FolderRule | _CommandRule:
    match rule.scope:
        case FolderScope(act, folder):
            return _FolderRule(act=act, folder=str(folder), allow=rule.is_allowed)
        case CommandScope(prefix):
            return _CommandRule(act="run", prefix=prefix, allow=rule.is_allowed)
