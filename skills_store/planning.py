"""Plan the six actions of `skill_manage` as changes, without applying them.

Plans are made without the lock; the commit checks them again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from skills_store import file_contents
from skills_store.archive import ArchiveEntry, SkillArchive
from skills_store.calls import ManageCall, require_argument
from skills_store.catalog import SkillCatalog
from skills_store.changes import (
    FileEdit,
    ManageAction,
    SkillChange,
    SkillCopy,
    SkillMove,
    read_bytes,
)
from skills_store.closest_lines import find_closest_lines
from skills_store.errors import MissingSkillFileError, SkillNotFoundError
from skills_store.home import AgentHome
from skills_store.names import (
    check_new_name,
    is_same_name,
    parse_category,
    refuse_links,
)
from skills_store.own_files import capture_own, own_entries
from skills_store.ownership import (
    check_deletion,
    check_origin,
    owner_of,
    read_installed_names,
    should_change_in_place,
)
from skills_store.patching import matching
from skills_store.patching.errors import NotFoundError, PatchError
from skills_store.paths import is_skill_file_path, parse_support_path
from skills_store.skill import LINKED_FOLDERS, SKILL_FILE, Skill
from skills_store.usage import Clock, SkillUsageStore
from skills_store.write_errors import (
    InvalidCallError,
    InvalidSuccessorError,
    NameTakenError,
    PatchRefusedError,
    StaleChangeError,
    SymlinkRefusedError,
)

_SCRIPT_MODE = 0o755


@dataclass(frozen=True, slots=True)
class _PlannedEdit:
    """A file of a skill before and after; `new` is None for a removal."""

    path: str
    old: bytes | None
    new: bytes | None
    message: str


class SkillChangePlanner:
    """Turns calls into planned changes. All calls block."""

    def __init__(
        self,
        home: AgentHome,
        catalog: SkillCatalog,
        usage: SkillUsageStore,
        archive: SkillArchive,
        now: Clock,
    ) -> None:
        self._home = home
        self._catalog = catalog
        self._usage = usage
        self._archive = archive
        self._now = now
        self._actions: Mapping[ManageAction, Callable[[ManageCall], SkillChange]] = {
            "create": self._create,
            "delete": self._delete,
            "edit": lambda call: self._change_file(call, _rewrite_document),
            "patch": lambda call: self._change_file(call, _patch_file),
            "write_file": lambda call: self._change_file(call, _write_file),
            "remove_file": lambda call: self._change_file(call, _remove_file),
        }

    def plan(self, call: ManageCall) -> SkillChange:
        """Return the change that a call would make.

        Raises:
            SkillError: The call is not possible; the message says why and suggests an alternative.
            OSError: A file cannot be read.
        """
        return self._actions[call.action](call)

    def check_allowed(self, change: SkillChange) -> None:
        """Check at commit time that a change is still allowed: pins and skills may have changed.

        Raises:
            SkillError: It is not allowed any more, or another skill has taken the name.
        """
        if change.skill is None:
            self._refuse_taken(change.name)
            return
        if not self._catalog.is_reachable(change.skill):
            raise StaleChangeError(change.skill.folder)
        if isinstance(change.effect, SkillMove):
            self._resolve_successor(change.skill, change.effect.entry.absorbed_into)
        owner = owner_of(change.skill, read_installed_names(self._home), self._usage)
        check = check_deletion if change.action == "delete" else check_origin
        check(change.skill, owner, change.origin, self._usage)

    def _create(self, call: ManageCall) -> SkillChange:
        check_new_name(call.name)
        category = parse_category(call.category or "")
        self._refuse_taken(call.name)
        data = file_contents.encode_new_document(
            call.name, require_argument("create", "content", call.content)
        )
        folder = self._home.skills / category / call.name
        path = folder / SKILL_FILE
        refuse_links(self._home.skills, path)
        if path.exists():
            raise NameTakenError(call.name, folder)
        message = f"Created the skill {call.name!r} in {folder}."
        return SkillChange(
            "create", call.name, call.origin, folder, FileEdit(path, None, data), message
        )

    def _delete(self, call: ManageCall) -> SkillChange:
        skill = self._catalog.find(call.name)
        for folder in (skill.folder, *skill.folder.parents):
            if folder == skill.root.path:
                break
            if folder.is_symlink():
                raise SymlinkRefusedError(folder)
        owner = owner_of(skill, read_installed_names(self._home), self._usage)
        check_deletion(skill, owner, call.origin, self._usage)
        successor = self._resolve_successor(skill, call.absorbed_into or "")
        entry = ArchiveEntry(
            skill.name,
            self._archive.unused_folder(skill.name),
            PurePosixPath(skill.folder.relative_to(skill.root.path).as_posix()),
            self._now(),
            call.reason or (f"absorbed into {successor}" if successor else "pruned"),
            successor,
            call.origin,
        )
        effect = SkillMove(
            skill.folder, entry.folder, own_entries(skill.folder), capture_own(skill.folder), entry
        )
        message = f"Archived the skill {skill.name!r} in {entry.folder}."
        message += f" Its content is now in {successor!r}." if successor else ""
        message += f" `acp-server skills restore {skill.name}` brings it back."
        same_name = [each for each in self._catalog.list_skills() if each.full_name == skill.name]
        other_folders = [str(each.folder) for each in same_name if each.folder != skill.folder]
        message += f" From now on the one in {other_folders[0]} is used." if other_folders else ""
        return SkillChange("delete", skill.name, call.origin, skill.folder, effect, message, skill)

    def _change_file(
        self, call: ManageCall, edit_of: Callable[[ManageCall, Skill], _PlannedEdit]
    ) -> SkillChange:
        skill = self._catalog.find(call.name)
        owner = owner_of(skill, read_installed_names(self._home), self._usage)
        check_origin(skill, owner, call.origin, self._usage)
        is_in_place = should_change_in_place(skill, owner)
        is_skill_file = call.action == "edit" or (
            call.action == "patch" and is_skill_file_path(call.file_path)
        )
        path = SKILL_FILE if is_skill_file else str(_support_path(call))
        if is_in_place:
            refuse_links(skill.root.path, skill.folder / path)
        else:
            refuse_links(skill.folder, skill.folder / path)
        edit = edit_of(call, skill)
        if edit.old == edit.new:
            message = f"{edit.path} of {skill.name!r} already reads so. Nothing was changed."
            raise InvalidCallError(message)
        if is_in_place:
            effect = _file_edit(skill.folder, edit)
            message = edit.message
            if owner in {"bundled", "hub", "installed"}:
                message += f" It was {owner} and differs from what it came as now."
            return SkillChange(
                call.action, skill.name, call.origin, skill.folder, effect, message, skill
            )
        return self._plan_copy(call, skill, edit)

    def _plan_copy(self, call: ManageCall, skill: Skill, edit: _PlannedEdit) -> SkillChange:
        target = self._home.skills / skill.category / skill.name
        if (
            target.exists()
        ):  # a category of that name exists: nest the copy, so that one rename creates it
            target /= skill.name
        refuse_links(self._home.skills, target)
        if target.exists():
            raise NameTakenError(skill.name, target)
        copied = SkillCopy(
            skill.folder, target, capture_own(skill.folder), _file_edit(target, edit)
        )
        message = (
            f"{edit.message} The skill is not the user's own, so it was copied to {target}, "
            "which is used from now on instead of the original."
        )
        return SkillChange(call.action, skill.name, call.origin, target, copied, message, skill)

    def _refuse_taken(self, name: str) -> None:
        for skill in self._catalog.list_skills():
            if not skill.root.plugin and is_same_name(skill.name, name):
                raise NameTakenError(name, skill.folder)

    def _resolve_successor(self, skill: Skill, name: str) -> str:
        if not name:
            return ""
        try:
            successor = self._catalog.find(name)
        except SkillNotFoundError:
            raise InvalidSuccessorError(skill.name, name) from None
        if is_same_name(successor.name, skill.name):
            raise InvalidSuccessorError(skill.name, skill.name)
        return successor.full_name


def _support_path(call: ManageCall) -> PurePosixPath:
    return parse_support_path(require_argument(call.action, "file_path", call.file_path))


def _rewrite_document(call: ManageCall, skill: Skill) -> _PlannedEdit:
    text = require_argument("edit", "content", call.content)
    old = read_bytes(skill.document) or b""
    data = file_contents.encode_changed_document(skill.name, text, old.decode("utf-8", "replace"))
    return _PlannedEdit(SKILL_FILE, old, data, f"Rewrote {SKILL_FILE} of {skill.name!r}.")


def _patch_file(call: ManageCall, skill: Skill) -> _PlannedEdit:
    path = SKILL_FILE if is_skill_file_path(call.file_path) else str(_support_path(call))
    old_string = require_argument("patch", "old_string", call.old_string)
    new_string = require_argument("patch", "new_string", call.new_string)
    old = read_bytes(skill.folder / path)
    if old is None:
        raise MissingSkillFileError(path, _support_files(skill.folder))
    text = file_contents.decode(path, old)
    try:
        replacement = matching.replace(text, old_string, new_string, replace_all=call.replace_all)
    except PatchError as error:
        raise PatchRefusedError(path, _patch_failure_reason(error, text, old_string)) from error
    if path == SKILL_FILE:
        data = file_contents.encode_changed_document(skill.name, replacement.text, text)
    else:
        data = file_contents.encode_file(path, replacement.text)
    location = (
        f"in {replacement.count} places" if replacement.count > 1 else f"at line {replacement.line}"
    )
    message = (
        f"Patched {path} of {skill.name!r} {location}; old_string matched: {replacement.strategy}."
    )
    return _PlannedEdit(path, old, data, message)


def _patch_failure_reason(error: PatchError, text: str, old_string: str) -> str:
    """Return why a patch failed, with the closest lines if the patcher found no similar place."""
    if not isinstance(error, NotFoundError) or error.nearest or error.applied_line:
        return str(error)
    lines = find_closest_lines(text, old_string)
    if not lines:
        return str(error)
    excerpt = "\n".join(f"{number}|{line}" for number, line in lines)
    return f"The old text is not in the file. Copy it exactly; the closest lines:\n{excerpt}"


def _write_file(call: ManageCall, skill: Skill) -> _PlannedEdit:
    path = str(_support_path(call))
    data = file_contents.encode_file(
        path, require_argument("write_file", "file_content", call.file_content)
    )
    old = read_bytes(skill.folder / path)
    message = f"{'Wrote' if old is None else 'Replaced'} {path} of {skill.name!r}."
    if not _is_mentioned(path, skill):
        message += f" {SKILL_FILE} does not mention it yet: add a one-line pointer with patch."
    return _PlannedEdit(path, old, data, message)


def _remove_file(call: ManageCall, skill: Skill) -> _PlannedEdit:
    path = str(_support_path(call))
    old = read_bytes(skill.folder / path)
    if old is None:
        raise MissingSkillFileError(path, _support_files(skill.folder))
    message = f"Removed {path} of {skill.name!r}."
    if _is_mentioned(path, skill):
        message += f" {SKILL_FILE} still mentions it: take that out with patch."
    return _PlannedEdit(path, old, None, message)


def _is_mentioned(path: str, skill: Skill) -> bool:
    return path.encode() in (read_bytes(skill.document) or b"")


def _support_files(folder: Path) -> tuple[str, ...]:
    tree = capture_own(folder)
    files = (path for path, entry in tree.items() if entry.kind == "file")
    return tuple(path for path in files if path.split("/", 1)[0] in LINKED_FOLDERS)


def _file_edit(folder: Path, edit: _PlannedEdit) -> FileEdit:
    is_script = edit.path.startswith("scripts/") and (edit.new or b"").startswith(b"#!")
    mode = _SCRIPT_MODE if is_script and edit.old is None else None
    return FileEdit(folder / edit.path, edit.old, edit.new, mode)
