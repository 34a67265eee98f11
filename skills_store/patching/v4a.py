"""Parser of patches: V4A, a format for several files, and unified diffs, those of git included.

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

`hunk_application` applies the hunks.
"""

from dataclasses import replace

from skills_store.patching.changes import (
    AddFile,
    DeleteFile,
    FileChange,
    ReplaceFile,
    UpdateFile,
    join_lines,
)
from skills_store.patching.errors import (
    EmptyPatchError,
    MalformedPatchError,
    PatchError,
    RepeatedPathError,
)
from skills_store.patching.hunk_application import apply_hunks
from skills_store.patching.sections import PatchReader, PatchSection

_ESCAPED_LINE_END = "\\n"


def parse_patch(text: str, path: str | None = None) -> tuple[FileChange, ...]:
    """Parse a patch into one change per file, in order of first mention.

    `path` is the file of a diff that does not name one itself, or only by its last parts.

    Raises:
        EmptyPatchError: the patch names no file.
        RepeatedPathError: a file is named twice in a way that cannot be meant.
        MalformedPatchError: a line is invalid.
        PatchError: a second section about an added file does not fit its text.
    """
    if "\n" not in text and _ESCAPED_LINE_END in text:  # escaped once too often
        text = text.replace(_ESCAPED_LINE_END, "\n").replace("\\t", "\t").replace('\\"', '"')
    sections = _read_sections(text, path)
    changes: dict[str, FileChange] = {}
    for section in sections:
        change = _build_change(section)
        known = changes.get(section.path)
        if known is None:
            changes[section.path] = change
        else:
            changes[section.path] = _merge(known, change, section)
    if all(_says_nothing(change) for change in changes.values()):
        first = sections[0]
        hint = "Give lines that begin with -, + or a blank."
        raise MalformedPatchError(f"it has no changes of {first.path}. {hint}", first.line)
    return tuple(changes.values())


def _says_nothing(change: FileChange) -> bool:
    return isinstance(change, UpdateFile) and not change.hunks and change.move_to is None


def _read_sections(text: str, path: str | None) -> list[PatchSection]:
    reader = _read(text, PatchReader())
    is_named = reader.sections and not (reader.problems and path)
    if path and not is_named and any(line.startswith(("@@", "+", "-")) for line in _lines(text)):
        with_path = PatchReader()
        with_path.open_file(path)
        _read(text, with_path)
        if len(with_path.sections) == 1 and not with_path.problems:
            return with_path.sections
    if reader.problems:
        problem = reader.problems[0]
        raise MalformedPatchError(problem.reason, problem.line)
    if not reader.sections:
        raise EmptyPatchError
    if path and len(reader.sections) == 1 and reader.sections[0].is_diff:
        section = reader.sections[0]
        if path.endswith(f"/{section.path}") and not section.move_to:
            section.path = path
    return reader.sections


def _read(text: str, reader: PatchReader) -> PatchReader:
    for line in _lines(text):
        reader.read(line)
    return reader


def _lines(text: str) -> list[str]:
    """Return the lines of a patch, and an empty one, at which all lines before are decided."""
    return [*text.replace("\r\n", "\n").split("\n"), ""]


def _merge(known: FileChange, change: FileChange, section: PatchSection) -> FileChange:
    """Return what two sections about the same file mean together."""
    match known, change:
        case DeleteFile(), AddFile():
            return ReplaceFile(change.path, change.text)
        case AddFile() | ReplaceFile(), UpdateFile(move_to=None):
            try:
                return replace(known, text=apply_hunks(known.text, change.hunks).text)
            except PatchError as error:
                problem = f"in the text that this patch gives {change.path}: {error}"
                raise MalformedPatchError(problem, section.line) from error
        case UpdateFile(), UpdateFile():
            targets = {known.move_to, change.move_to} - {None}
            if len(targets) <= 1:
                # The sections may be in any order, their hunks are not.
                hunks = (
                    *known.hunks,
                    *(replace(each, starts_section=True) for each in change.hunks[:1]),
                    *change.hunks[1:],
                )
                return replace(known, hunks=hunks, move_to=next(iter(targets), None))
        case _:
            pass
    raise RepeatedPathError(section.path, section.line)


def _build_change(section: PatchSection) -> FileChange:
    match section.kind:
        case "add":
            text = join_lines(tuple(section.added))
            return AddFile(
                section.path, text.removesuffix("\n") if section.lacks_last_newline else text
            )
        case "delete":
            return DeleteFile(section.path)
        case "update":
            hunks = tuple(draft.build() for draft in section.hunks if draft.lines)
            return UpdateFile(section.path, hunks, section.move_to)
