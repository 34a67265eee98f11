"""Parser of V4A, a patch format for several files. `hunk_application` applies the hunks.

*** Begin Patch
*** Update File: path          (*** Move to: path may follow)
@@ a line above the change, such as the head of its function
a line that stays
-a line that goes
+a line that comes
*** End of File                (the change is at the end of the file)
*** Add File: path             (lines with +)
*** Delete File: path
*** End Patch
"""

from dataclasses import replace

from skills_store.patching.changes import AddFile, DeleteFile, FileChange, UpdateFile, join_lines
from skills_store.patching.errors import EmptyPatchError, MalformedPatchError, RepeatedPathError
from skills_store.patching.sections import PatchReader, PatchSection


def parse_patch(text: str) -> tuple[FileChange, ...]:
    """Parse a patch into one change per file, in order of first mention.

    Raises:
        EmptyPatchError: the patch names no file.
        RepeatedPathError: a file is named twice, other than for two updates.
        MalformedPatchError: a line is invalid.
    """
    reader = PatchReader()
    for line in text.replace("\r\n", "\n").split("\n"):
        reader.read(line)
    if reader.problems:
        problem = reader.problems[0]
        raise MalformedPatchError(problem.reason, problem.line)
    if not reader.sections:
        raise EmptyPatchError
    changes: dict[str, FileChange] = {}
    for section in reader.sections:
        change = _build_change(section)
        known = changes.get(section.path)
        if known is None:
            changes[section.path] = change
            continue
        if not (isinstance(known, UpdateFile) and isinstance(change, UpdateFile)):
            raise RepeatedPathError(section.path, section.line)
        targets = {known.move_to, change.move_to} - {None}
        if len(targets) > 1:
            raise RepeatedPathError(section.path, section.line)
        hunks, move_to = known.hunks + change.hunks, next(iter(targets), None)
        changes[section.path] = replace(known, hunks=hunks, move_to=move_to)
    return tuple(changes.values())


def _build_change(section: PatchSection) -> FileChange:
    match section.kind:
        case "add":
            return AddFile(section.path, join_lines(tuple(section.added)))
        case "delete":
            return DeleteFile(section.path)
        case "update":
            hunks = tuple(draft.build() for draft in section.hunks if draft.lines)
            if not hunks and section.move_to is None:
                hint = "Give lines that begin with -, + or a blank."
                reason = f"nothing is said of {section.path}. {hint}"
                raise MalformedPatchError(reason, section.line)
            return UpdateFile(section.path, hunks, section.move_to)
