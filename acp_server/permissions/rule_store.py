"""Rules that outlive their session, by workspace, in one file of the home folder.

Never in the repository: what is allowed there is the user's to say, not the repository's. What the
file holds and we do not understand allows nothing, and is kept as it is.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from acp_server.permissions.rules import Rule
from acp_server.permissions.scopes import CommandScope, FolderScope
from skills_store.atomic import write_atomically
from skills_store.locks import locked

logger = logging.getLogger(__name__)

PRIVATE = 0o600


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
_RULE: TypeAdapter[_FolderRule | _CommandRule] = TypeAdapter(_StoredRule)

_Document = dict[str, JsonValue]
_Stamp = tuple[int, int, int, int]


class _BrokenFileError(ValueError):
    """The file holds no document of ours."""


class RuleStore:
    """The file. All calls block; what was read is read again only when the file is another."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: tuple[_Stamp, Mapping[str, Sequence[Rule]]] | None = None

    def load(self, root: Path) -> Sequence[Rule]:
        """Return the rules of a workspace; none when the file cannot be read."""
        try:
            status = self._file.stat()
        except FileNotFoundError:
            return ()
        except OSError as error:
            logger.warning(_UNREADABLE, self._file, error)
            return ()
        stamp = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        known = self._known
        if known is None or known[0] != stamp:
            known = self._known = (stamp, self._rules())
        return known[1].get(str(root), ())

    def add(self, root: Path, rule: Rule) -> None:
        """Keep one more rule for a workspace. A file that cannot be understood is put aside.

        Raises:
            OSError: it cannot be kept.
        """
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(self._file):
            document = self._document_to_change()
            kept = document.get(str(root))
            rules: list[JsonValue] = kept if isinstance(kept, list) else []
            stored = _stored(rule)
            if stored not in rules:
                document[str(root)] = [*rules, stored]
            text = json.dumps(document, indent=2)  # ASCII: a path may hold what is no text
            write_atomically(self._file, f"{text}\n".encode(), mode=PRIVATE)

    def _rules(self) -> Mapping[str, Sequence[Rule]]:
        try:
            document = self._read()
        except (OSError, _BrokenFileError) as error:
            logger.warning(_UNREADABLE, self._file, error)
            return {}
        return {root: tuple(_understood(rules)) for root, rules in document.items()}

    def _document_to_change(self) -> _Document:
        try:
            return self._read()
        except FileNotFoundError:
            return {}
        except _BrokenFileError as error:
            aside = self._file.with_name(f"{self._file.name}.broken")
            logger.warning("%s is put aside as %s: %s", self._file, aside, error)
            self._file.replace(aside)
            return {}

    def _read(self) -> _Document:
        """Return all that the file holds.

        Raises:
            OSError: it cannot be read, or there is none.
            _BrokenFileError: it holds something else than we write.
        """
        try:
            document: object = json.loads(self._file.read_bytes())
        except (ValueError, RecursionError) as error:
            raise _BrokenFileError(str(error)) from None
        if not isinstance(document, dict):
            reason = "it is not an object"
            raise _BrokenFileError(reason)
        return cast("_Document", document)


_UNREADABLE = "%s cannot be read, so what it allows is asked: %s"


def _understood(rules: JsonValue) -> Sequence[Rule]:
    found: list[Rule] = []
    for each in rules if isinstance(rules, list) else ():
        try:
            found.append(_RULE.validate_python(each).rule())
        except ValidationError as error:
            logger.warning("a rule is not understood, so what it allows is asked: %s", error)
    return found


def _stored(rule: Rule) -> JsonValue:
    match rule.scope:
        case FolderScope(act, folder):
            return {"act": act, "folder": str(folder), "allow": rule.is_allowed}
        case CommandScope(prefix):
            return {"act": "run", "prefix": list(prefix), "allow": rule.is_allowed}
