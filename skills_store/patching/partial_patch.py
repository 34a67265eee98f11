"""Regions of a patch that can be shown while the model is still writing it. Never raises."""

from dataclasses import dataclass, replace

from skills_store.patching.changes import join_lines
from skills_store.patching.sections import PatchReader


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
    found: list[PatchRegion] = []
    for section in reader.sections:
        if section.kind == "add":
            found.append(PatchRegion(section.path, None, join_lines(tuple(section.added))))
            continue
        for draft in section.hunks:
            if draft.lines:
                old, new = draft.build().old_lines, draft.build().new_lines
                found.append(PatchRegion(section.path, join_lines(old), join_lines(new)))
    if is_cut:
        found[-1] = replace(found[-1], new=found[-1].new.removesuffix("\n"))
    return tuple(found)
