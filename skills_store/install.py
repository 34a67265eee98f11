"""Install skills from a source: plan, review, then copy into the user's directory.

The installed bytes are exactly the scanned ones: a plan holds them, and the source is not read
again. The caller asks the user and decides how far a source is trusted.
"""

import hashlib
import secrets
import shutil
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import assert_never

from skills_store.archive import FOLDER_NAME, STAGING_NAME
from skills_store.atomic import write_atomically
from skills_store.discovery import MAX_DEPTH, MAX_DIRECTORIES, is_ignored_directory
from skills_store.document import parse_document
from skills_store.errors import SkillError
from skills_store.guard.collecting import collect_skill_files
from skills_store.guard.contents import SkillContents
from skills_store.guard.scanning import TextScan, scan_skill
from skills_store.guard.verdict import SkillDecision, SkillTrust, SkillVerdict, decide
from skills_store.home import AgentHome
from skills_store.json_file import Json, JsonFile, JsonObject
from skills_store.names import check_new_name, is_same_name, parse_category, refuse_links
from skills_store.skill import SKILL_FILE
from skills_store.sources.archives import unpack
from skills_store.sources.errors import InstallError, SourceError
from skills_store.sources.locations import (
    ArchiveSource,
    FolderSource,
    RepositorySource,
    parse_source,
)
from skills_store.sources.repositories import GitCloner

MAX_SKILLS = 100
_FILE_MODE = 0o644
_EXECUTABLE_MODE = 0o755
_INSTALLED_KEY = "installed"

IsNameTaken = Callable[[str], bool]
"""Returns whether any skill has the name. It must not take the skills lock."""


class InstallRefusedError(InstallError):
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
class InstallOrigin:
    """Source of an installation. `ref` and `commit` are set only for a repository."""

    source: str
    trust: SkillTrust
    ref: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True)
class InstallCandidate:
    """A skill found in a source, with the guard's verdict."""

    name: str
    description: str
    contents: SkillContents = field(repr=False)
    verdict: SkillVerdict
    decision: SkillDecision
    problems: tuple[str, ...] = ()
    """Reasons, half a sentence each, that prevent installation whatever the verdict."""

    @property
    def is_installable(self) -> bool:
        """Whether it can be installed, possibly after asking the user."""
        return self.decision != "block" and not self.problems


@dataclass(frozen=True, slots=True)
class InstallPlan:
    """Skills found in a source, not installed yet."""

    origin: InstallOrigin
    candidates: tuple[InstallCandidate, ...]


@dataclass(frozen=True, slots=True)
class Installer:
    """Installs skills into one agent home. All calls block.

    `text_scan` checks each text for harm; `now` gives the times in records.
    """

    home: AgentHome
    git: GitCloner
    is_name_taken: IsNameTaken
    text_scan: TextScan
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def plan(self, source: str, trust: SkillTrust, updates: str = "") -> InstallPlan:
        """Examine a source in a temporary directory; `updates` names an installed skill to replace.

        Raises:
            SourceError: The source is unavailable, or contains no skill.
            OSError: It cannot be read or unpacked.
        """
        with _stage(source, self.git) as staged:
            found = list(find_skill_folders(staged.folder))
            if not found:
                raise SourceError(source, f"there is no {SKILL_FILE} in it")
            if len(found) > MAX_SKILLS:
                raise SourceError(source, f"it holds more than {MAX_SKILLS} skills")
            candidates = tuple(self._candidate(staged, folder, trust, updates) for folder in found)
        for one, other in combinations(candidates, 2):
            if is_same_name(one.name, other.name):
                raise SourceError(source, f"it holds two skills named {one.name!r}")
        return InstallPlan(
            InstallOrigin(staged.source, trust, staged.ref, staged.commit), candidates
        )

    def commit(
        self,
        plan: InstallPlan,
        candidate: InstallCandidate,
        category: str = "",
        *,
        is_approved: bool = False,
    ) -> Path:
        """Install a skill of a plan and return its new directory.

        It appears completely or not at all, and is recorded in `acp/installed.json`.

        Raises:
            InstallRefusedError: The policy blocks it, approval is missing, or its name is taken.
            SkillError: The name or the category is not valid.
            OSError: A write failed; nothing remains.
        """
        _raise_if_refused(candidate, is_approved=is_approved)
        folder = self.home.skills / parse_category(category) / candidate.name
        with self.home.locked():
            # Again under the lock: another process may have made a skill of this name since the
            # plan.
            self._check_target_free(candidate.name, folder)
            self._place(plan, candidate, category, folder)
        return folder

    def update(
        self, plan: InstallPlan, candidate: InstallCandidate, *, is_approved: bool = False
    ) -> Path:
        """Replace an installed skill by a candidate of its name; return its directory.

        The old directory is kept in `acp/skill_updates/NAME` until the next update. If the process
        dies in between, `recover_updates` finishes the update or takes it back.

        Raises:
            NotInstalledError: It was not installed from a source.
            InstallRefusedError: The policy blocks it, or approval is missing.
            OSError: A write failed; the old skill is in place.
        """
        _raise_if_refused(candidate, is_approved=is_approved)
        name = candidate.name
        record = self.installed().get(name)
        if not isinstance(record, dict):
            raise NotInstalledError(name)
        category = record.get("category")
        category = category if isinstance(category, str) else ""
        folder = self.home.skills / parse_category(category) / name
        aside, kept = self.home.running_updates / name, self.home.replaced_skills / name
        # One lock for all steps: a process that recovers must not see a running update.
        with self.home.locked():
            refuse_links(self.home.skills, folder)
            if was_there := folder.is_dir():
                aside.parent.mkdir(parents=True, exist_ok=True)
                shutil.rmtree(aside, ignore_errors=True)
                folder.rename(aside)
            with ExitStack() as undo:
                if was_there:
                    undo.callback(aside.rename, folder)
                self._place(plan, candidate, category, folder)
                undo.pop_all()
            if was_there:
                kept.parent.mkdir(parents=True, exist_ok=True)
                shutil.rmtree(kept, ignore_errors=True)
                aside.rename(kept)
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
        self._update_installed(lambda installed: installed.pop(name, None))

    def installed(self) -> Mapping[str, Json]:
        """Return the records of installed skills by name."""
        return read_installed(self.home)

    def changed_files(self, candidate: InstallCandidate) -> Sequence[str]:
        """Return the files of a candidate that differ from those that were installed."""
        record = self.installed().get(candidate.name)
        recorded = record.get("files") if isinstance(record, dict) else None
        before = recorded if isinstance(recorded, dict) else {}
        after = {
            path: hashlib.sha256(data).hexdigest()
            for path, data in candidate.contents.files.items()
        }
        names = before.keys() | after.keys()
        return sorted(name for name in names if before.get(name) != after.get(name))

    def locally_changed_files(self, name: str) -> Sequence[str]:
        """Return the files of an installed skill that were changed or removed here. Blocks."""
        folder = self.home.skills / _recorded_category(self.home, name) / name
        return _differing_files(self.home, name, folder)

    def _candidate(
        self, staged: "_StagedSource", folder: Path, trust: SkillTrust, updates: str
    ) -> InstallCandidate:
        contents = collect_skill_files(folder)
        text = contents.files.get(SKILL_FILE, b"").decode("utf-8-sig", errors="replace")
        document = parse_document(text)
        is_nameless = folder == staged.folder and not staged.has_meaningful_name
        name = document.name if is_nameless else folder.name
        verdict = scan_skill(contents, self.text_scan)
        problems = [f"line {each.line}: {each.text}" for each in document.problems if each.is_fatal]
        try:
            check_new_name(name)
        except SkillError as error:
            problems.append(str(error))
        if name != updates and self.is_name_taken(name):
            problems.append("there is a skill of this name")
        decision = decide(trust, verdict.level)
        return InstallCandidate(
            name, document.description, contents, verdict, decision, tuple(problems)
        )

    def _place(
        self, plan: InstallPlan, candidate: InstallCandidate, category: str, folder: Path
    ) -> None:
        """Write a skill next to its place, move it there and record it, under the skills lock.

        Raises:
            SkillError: A category is a symlink.
            OSError: A write failed; nothing remains.
        """
        staged_folder = self.home.skills / FOLDER_NAME / STAGING_NAME / secrets.token_hex(8)
        try:
            for name, data in candidate.contents.files.items():
                path = staged_folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                is_executable = name in candidate.contents.executables
                mode = _EXECUTABLE_MODE if is_executable else _FILE_MODE
                write_atomically(path, data, mode=mode)
            # Right before the rename: a category that is a symlink would put the skill, and the
            # missing directories above it, outside the skills directory.
            refuse_links(self.home.skills, folder)
            folder.parent.mkdir(parents=True, exist_ok=True)
            staged_folder.rename(folder)
        finally:  # no effect after the rename
            shutil.rmtree(staged_folder, ignore_errors=True)
        try:
            self._record(plan.origin, candidate, category)
        except OSError:  # without its record the skill would count as the user's own
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _check_target_free(self, name: str, folder: Path) -> None:
        if self.is_name_taken(name) or folder.exists() or folder.is_symlink():
            raise InstallRefusedError(name, "there is a skill of this name")
        root = self.home.skills
        categories = [each for each in folder.parents if each.is_relative_to(root) and each != root]
        if any((category / SKILL_FILE).exists() for category in categories):
            raise InstallRefusedError(name, "its category is itself a skill")

    def _record(self, origin: InstallOrigin, candidate: InstallCandidate, category: str) -> None:
        record: JsonObject = {
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
            "verdict": {
                "level": candidate.verdict.level,
                "findings": [str(finding) for finding in candidate.verdict.findings],
            },
        }
        self._update_installed(lambda installed: installed.update({candidate.name: record}))

    def _update_installed(self, change: Callable[[JsonObject], object]) -> None:
        def change_records(document: JsonObject) -> None:
            listed = document.get(_INSTALLED_KEY)
            installed = listed if isinstance(listed, dict) else {}
            change(installed)
            document[_INSTALLED_KEY] = installed

        JsonFile(self.home.installed).update(change_records)


def recover_updates(home: AgentHome) -> tuple[str, ...]:
    """Finish or take back updates whose process died; return the names of their skills.

    Costs one look at a directory that hardly ever exists. Blocks.

    Raises:
        OSError: The skills are locked, or cannot be moved.
    """
    if not _list_names(home.running_updates):
        return ()
    with home.locked():
        names = _list_names(home.running_updates)  # again: an update may have ended meanwhile
        for name in names:
            aside, kept = home.running_updates / name, home.replaced_skills / name
            folder = home.skills / _recorded_category(home, name) / name
            kept.parent.mkdir(parents=True, exist_ok=True)
            if folder.is_dir():
                shutil.rmtree(kept, ignore_errors=True)
                # The record is written last: that of the old version means an unfinished update.
                if not _differing_files(home, name, aside):
                    folder.rename(kept)
                    aside.rename(folder)
                else:
                    aside.rename(kept)
            else:
                folder.parent.mkdir(parents=True, exist_ok=True)
                aside.rename(folder)
    return names


def _differing_files(home: AgentHome, name: str, folder: Path) -> Sequence[str]:
    """Return the files of a directory that differ from the record of an installed skill."""
    record = read_installed(home).get(name)
    recorded = record.get("files") if isinstance(record, dict) else None
    if not isinstance(recorded, dict) or not folder.is_dir():
        return ()
    contents = collect_skill_files(folder)
    return sorted(
        path
        for path, digest in recorded.items()
        if hashlib.sha256(contents.files.get(path, b"")).hexdigest() != digest
    )


def read_installed(home: AgentHome) -> Mapping[str, Json]:
    """Return the records of installed skills by name."""
    listed = JsonFile(home.installed).read().get(_INSTALLED_KEY)
    return listed if isinstance(listed, dict) else {}


def _recorded_category(home: AgentHome, name: str) -> PurePosixPath:
    record = read_installed(home).get(name)
    category = record.get("category") if isinstance(record, dict) else None
    return parse_category(category if isinstance(category, str) else "")


def _list_names(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(sorted(each.name for each in folder.iterdir()))
    except (FileNotFoundError, NotADirectoryError):
        return ()


def _raise_if_refused(candidate: InstallCandidate, *, is_approved: bool) -> None:
    if candidate.problems:
        raise InstallRefusedError(candidate.name, "; ".join(candidate.problems))
    if candidate.decision == "block":
        reason = f"the scan rated it {candidate.verdict.level}"
        raise InstallRefusedError(candidate.name, reason)
    if candidate.decision == "ask" and not is_approved:
        raise InstallRefusedError(candidate.name, "it needs your approval first")


@dataclass(frozen=True, slots=True)
class _StagedSource:
    """A source as a directory."""

    folder: Path
    source: str
    """Path or URL for the record."""
    ref: str = ""
    commit: str = ""
    has_meaningful_name: bool = True
    """Whether the directory's name is the skill's name; if not, the frontmatter has it."""


@contextmanager
def _stage(source: str, git: GitCloner) -> Generator[_StagedSource]:
    """Provide a source as a directory; a temporary one is deleted at the end."""
    parsed = parse_source(source)
    with TemporaryDirectory(prefix="skills-", ignore_cleanup_errors=True) as temporary:
        staging = Path(temporary).resolve() / "source"
        match parsed:
            case FolderSource():
                yield _StagedSource(parsed.path, str(parsed.path))
            case ArchiveSource():
                staging.mkdir()
                unpack(parsed.path, staging)
                yield _StagedSource(staging, str(parsed.path), has_meaningful_name=False)
            case RepositorySource():
                commit = git.clone(parsed, staging)
                address = f"{parsed.url}#{parsed.folder}" if parsed.folder else parsed.url
                folder = (staging / parsed.folder).resolve()
                # It is resolved: a symlink in the repository must not lead out of it.
                if not folder.is_dir() or not folder.is_relative_to(staging):
                    reason = f"there is no folder {parsed.folder!r} in it"
                    raise SourceError(parsed.url, reason)
                yield _StagedSource(
                    folder, address, parsed.ref, commit, has_meaningful_name=folder != staging
                )
            case _:
                assert_never(parsed)


def find_skill_folders(folder: Path) -> Iterator[Path]:
    """Yield directories with a SKILL.md, not nested ones, without following symlinks."""
    waiting = [(folder, 0)]
    seen = 0
    while waiting and seen < MAX_DIRECTORIES:
        current, level = waiting.pop()
        seen += 1
        if (current / SKILL_FILE).is_file():
            yield current
        elif level < MAX_DEPTH:
            children = [
                path for path in current.iterdir() if path.is_dir() and not path.is_symlink()
            ]
            searchable = (path for path in children if not is_ignored_directory(path.name))
            waiting += [(path, level + 1) for path in sorted(searchable, reverse=True)]
