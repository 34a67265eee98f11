"""Regions of a patch that can be shown while the model is still writing it. Never raises."""

from dataclasses import dataclass, replace

from skills_store.patching.changes import join_lines
from skills_store.patching.sections import PatchReader, PatchSection


@dataclass(frozen=True, slots=True)
class PatchRegion:
    """Contiguous change so far, in the patch's own lines; `old` is None for an added file."""

    path: str
    old: str | None
    new: str


def partial_patch_regions(patch_so_far: str) -> tuple[PatchRegion, ...]:
    """Return the changes of a V4A patch that may end anywhere, in order.

    Only complete lines count, plus the text after the `+` of an incomplete last line.
    """
    *lines, last = patch_so_far.replace("\r\n", "\n").split("\n")
    reader = PatchReader()
    for line in lines:
        reader.read(line)
    is_cut = last.startswith("+") and reader.is_open and reader.sections[-1].kind != "delete"
    if is_cut:
        reader.read(last.removesuffix("\r"))
    found = [region for section in reader.sections for region in _section_regions(section)]
    if is_cut:
        found[-1] = replace(found[-1], new=found[-1].new.removesuffix("\n"))
    return tuple(found)


def _section_regions(section: PatchSection) -> list[PatchRegion]:
    if section.kind == "add":
        return [PatchRegion(section.path, None, join_lines(tuple(section.added)))]
    hunks = [draft.build() for draft in section.hunks if draft.lines]
    return [
        PatchRegion(section.path, join_lines(hunk.old_lines), join_lines(hunk.new_lines))
        for hunk in hunks
    ]
