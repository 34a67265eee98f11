"""Install skills from a source: plan, review, then copy into the user's directory.

The installed bytes are exactly the scanned ones: a plan holds them, and the source is not read
again. The caller asks the user and decides how far a source is trusted.
"""

import hashlib
import secrets
import shutil
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import assert_never

from skills_store.archive import FOLDER_NAME, MAKING_NAME
from skills_store.atomic import write_atomically
from skills_store.discovery import MOST_FOLDERS, MOST_LEVELS, is_never_entered
from skills_store.document import parse
from skills_store.errors import SkillError
from skills_store.guard import (
    Contents,
    Decision,
    TextScan,
    Trust,
    Verdict,
    collect,
    decide,
    examine,
)
from skills_store.home import Home
from skills_store.json_file import Document, DocumentFile, Json
from skills_store.names import check_new_name, checked_category, is_same_name, refuse_links
from skills_store.skill import SKILL_FILE
from skills_store.sources.archives import unpack
from skills_store.sources.errors import InstallError, SourceError
from skills_store.sources.locations import (
    ArchiveSource,
    FolderSource,
    RepositorySource,
    parse_source,
)
from skills_store.sources.repositories import Git

MOST_SKILLS = 100
_FILE_MODE = 0o644
_PROGRAM_MODE = 0o755
_LISTED_KEY = "installed"

IsTaken = Callable[[str], bool]
"""Returns whether any skill has the name. It must not take the skills lock."""


class RefusedError(InstallError):
    """A skill was not installed. `reason` is half a sentence."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"The skill {name!r} was not installed: {reason}.")
        self.name = name
        self.reason = reason


class NotInstalledError(InstallError):
    """No installed skill has the name."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"No skill named {name!r} was installed from a source. "
            "Run `acp-server skills list` to see where each skill comes from."
        )
        self.name = name


@dataclass(frozen=True, slots=True)
class Origin:
    """Source of an installation. `ref` and `commit` are set only for a repository."""

    source: str
    trust: Trust
    ref: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A skill found in a source, with the guard's verdict."""

    name: str
    description: str
    contents: Contents = field(repr=False)
    verdict: Verdict
    decision: Decision
    problems: tuple[str, ...] = ()
    """Reasons, half a sentence each, that prevent installation whatever the verdict."""

    @property
    def is_installable(self) -> bool:
        """Whether it can be installed, possibly after asking the user."""
        return self.decision != "block" and not self.problems


@dataclass(frozen=True, slots=True)
class Plan:
    """Skills found in a source, not installed yet."""

    origin: Origin
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Installer:
    """Installs skills into one agent home. All calls block.

    `text_scan` checks each text for injected instructions; `now` gives the times in records.
    """

    home: Home
    git: Git
    is_taken: IsTaken
    text_scan: TextScan | None = None
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def plan(self, source: str, trust: Trust) -> Plan:
        """Examine a source in a temporary directory.

        Raises:
            SourceError: The source is unavailable, or contains no skill.
            OSError: It cannot be read or unpacked.
        """
        with _staged(source, self.git) as staged:
            found = list(_skill_folders(staged.folder))
            if not found:
                raise SourceError(source, f"there is no {SKILL_FILE} in it")
            if len(found) > MOST_SKILLS:
                raise SourceError(source, f"it holds more than {MOST_SKILLS} skills")
            candidates = tuple(self._candidate(staged, folder, trust) for folder in found)
        for one, other in combinations(candidates, 2):
            if is_same_name(one.name, other.name):
                raise SourceError(source, f"it holds two skills named {one.name!r}")
        return Plan(Origin(staged.source, trust, staged.ref, staged.commit), candidates)

    def commit(
        self, plan: Plan, candidate: Candidate, category: str = "", *, is_approved: bool = False
    ) -> Path:
        """Install a skill of a plan and return its new directory.

        It appears completely or not at all, and is recorded in `acp/installed.json`.

        Raises:
            InstallRefusedError: The policy blocks it, approval is missing, or its name is taken.
            SkillError: The name or the category is not valid.
            OSError: A write failed; nothing remains.
        """
        _check_decision(candidate, is_approved=is_approved)
        folder = self.home.skills / checked_category(category) / candidate.name
        with self.home.locked():
            # Again under the lock: another process may have made a skill of this name since the
            # plan.
            self._check_vacant(candidate.name, folder)
            made = self.home.skills / FOLDER_NAME / MAKING_NAME / secrets.token_hex(8)
            try:
                _write_contents(made, candidate.contents)
                folder.parent.mkdir(parents=True, exist_ok=True)
                # After mkdir and right before the rename: a category that is a symlink would put
                # the skill outside the skills directory.
                refuse_links(self.home.skills, folder)
                made.rename(folder)
            finally:  # no effect after the rename
                shutil.rmtree(made, ignore_errors=True)
            try:
                self._note(plan.origin, candidate, category)
            except OSError:  # without its record the skill would count as the user's own
                shutil.rmtree(folder, ignore_errors=True)
                raise
        return folder

    def uninstall(self, name: str, archive: Callable[[str], None]) -> None:
        """Archive an installed skill and remove its record.

        Args:
            name: The skill.
            archive: Archives a skill by name, or raises. It takes the skills lock itself.

        Raises:
            NotInstalledError: It was not installed from a source.
            SkillError: It was not archived; the record stays.
            OSError: The record cannot be written.
        """
        if name not in self.installed():
            raise NotInstalledError(name)
        archive(name)
        DocumentFile(self.home.installed).change(lambda document: _forget(document, name))

    def installed(self) -> Mapping[str, Json]:
        """Return the records of installed skills by name."""
        listed = DocumentFile(self.home.installed).read().get(_LISTED_KEY)
        return listed if isinstance(listed, dict) else {}

    def _candidate(self, staged: "_Staged", folder: Path, trust: Trust) -> Candidate:
        contents = collect(folder)
        text = contents.files.get(SKILL_FILE, b"").decode("utf-8-sig", errors="replace")
        document = parse(text)
        is_nameless = folder == staged.folder and not staged.has_name
        name = document.name if is_nameless else folder.name
        verdict = examine(contents, self.text_scan)
        problems = [f"line {each.line}: {each.text}" for each in document.problems if each.is_fatal]
        try:
            check_new_name(name)
        except SkillError as error:
            problems.append(str(error))
        if self.is_taken(name):
            problems.append("there is a skill of this name")
        decision = decide(trust, verdict.level)
        return Candidate(name, document.description, contents, verdict, decision, tuple(problems))

    def _check_vacant(self, name: str, folder: Path) -> None:
        if self.is_taken(name) or folder.exists() or folder.is_symlink():
            raise RefusedError(name, "there is a skill of this name")
        if any((parent / SKILL_FILE).exists() for parent in _between(self.home.skills, folder)):
            raise RefusedError(name, "its category is itself a skill")

    def _note(self, origin: Origin, candidate: Candidate, category: str) -> None:
        record: Document = {
            "name": candidate.name,
            "category": category,
            "source": origin.source,
            "trust": origin.trust,
            "ref": origin.ref,
            "commit": origin.commit,
            "files": {
                path: hashlib.sha256(data).hexdigest()
                for path, data in sorted(candidate.contents.files.items())
            },
            "installed_at": self.now().isoformat(timespec="seconds"),
            "verdict": _written_verdict(candidate.verdict),
        }
        DocumentFile(self.home.installed).change(
            lambda document: _remember(document, candidate.name, record)
        )


@dataclass(frozen=True, slots=True)
class _Staged:
    """A source as a directory."""

    folder: Path
    source: str
    """Path or URL for the record."""
    ref: str = ""
    commit: str = ""
    has_name: bool = True
    """Whether the directory's name is the skill's name; if not, the frontmatter has it."""


@contextmanager
def _staged(source: str, git: Git) -> Generator[_Staged]:
    """Provide a source as a directory; a temporary one is deleted at the end."""
    parsed = parse_source(source)
    with TemporaryDirectory(prefix="skills-", ignore_cleanup_errors=True) as temporary:
        staging = Path(temporary).resolve() / "source"
        match parsed:
            case FolderSource():
                yield _Staged(parsed.path, str(parsed.path))
            case ArchiveSource():
                staging.mkdir()
                unpack(parsed.path, staging)
                yield _Staged(staging, str(parsed.path), has_name=False)
            case RepositorySource():
                commit = git.clone(parsed, staging)
                address = f"{parsed.url}#{parsed.folder}" if parsed.folder else parsed.url
                folder = _subfolder(staging, parsed)
                yield _Staged(folder, address, parsed.ref, commit, has_name=folder != staging)
            case _:
                assert_never(parsed)


def _subfolder(staging: Path, source: RepositorySource) -> Path:
    folder = (staging / source.folder).resolve()
    # `folder` is resolved: a symlink in the repository must not lead out of it.
    if not folder.is_dir() or not folder.is_relative_to(staging):
        raise SourceError(source.url, f"there is no folder {source.folder!r} in it")
    return folder


def _skill_folders(folder: Path) -> Iterator[Path]:
    """Yield directories with a SKILL.md, not nested ones, without following symlinks."""
    waiting = [(folder, 0)]
    seen = 0
    while waiting and seen < MOST_FOLDERS:
        current, level = waiting.pop()
        seen += 1
        if (current / SKILL_FILE).is_file():
            yield current
        elif level < MOST_LEVELS:
            inside = [path for path in current.iterdir() if path.is_dir() and not path.is_symlink()]
            kept = (path for path in inside if not is_never_entered(path.name))
            waiting += [(path, level + 1) for path in sorted(kept, reverse=True)]


def _check_decision(candidate: Candidate, *, is_approved: bool) -> None:
    if candidate.problems:
        raise RefusedError(candidate.name, "; ".join(candidate.problems))
    if candidate.decision == "block":
        raise RefusedError(candidate.name, f"the scan rated it {candidate.verdict.level}")
    if candidate.decision == "ask" and not is_approved:
        raise RefusedError(candidate.name, "it needs your approval first")


def _between(root: Path, folder: Path) -> Sequence[Path]:
    """Return the directories between a root and a directory, both excluded."""
    return [parent for parent in folder.parents if parent.is_relative_to(root) and parent != root]


def _write_contents(folder: Path, contents: Contents) -> None:
    for name, data in contents.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = _PROGRAM_MODE if name in contents.executables else _FILE_MODE
        write_atomically(path, data, mode=mode)


def _remember(document: Document, name: str, record: Document) -> None:
    listed = document.get(_LISTED_KEY)
    document[_LISTED_KEY] = {**(listed if isinstance(listed, dict) else {}), name: record}


def _forget(document: Document, name: str) -> None:
    listed = document.get(_LISTED_KEY)
    if isinstance(listed, dict):
        listed.pop(name, None)


def _written_verdict(verdict: Verdict) -> Document:
    findings: list[Json] = [str(finding) for finding in verdict.findings]
    return {"level": verdict.level, "findings": findings}
