r"""Applies a model's edits and patches to a text. Pure: no I/O; expects line-feed endings.

>>> from skills_store.patching import apply_hunks, parse_patch, replace
>>> replace("def f():\n    return 1\n", "return 1", "return 2").text
'def f():\n    return 2\n'
>>> (change,) = parse_patch("*** Update File: a.py\n@@ def f():\n-    return 1\n+    return 2")
>>> apply_hunks("def f():\n    return 1\n", change.hunks)
HunksApplied(text='def f():\n    return 2\n', lines=(2,))
"""

from skills_store.patching.changes import (
    AddFile,
    DeleteFile,
    FileChange,
    Hunk,
    HunkLine,
    UpdateFile,
)
from skills_store.patching.errors import (
    AmbiguousError,
    EmptyPatchError,
    MalformedPatchError,
    NearestText,
    NotFoundError,
    NothingToChangeError,
    NothingToFindError,
    PatchError,
    RepeatedPathError,
    UnplacedInsertionError,
)
from skills_store.patching.matching import Replacement, replace
from skills_store.patching.partial_patch import PatchRegion, partial_patch_regions
from skills_store.patching.v4a import HunksApplied, apply_hunks, parse_patch

__all__ = [
    "AddFile",
    "AmbiguousError",
    "DeleteFile",
    "EmptyPatchError",
    "FileChange",
    "Hunk",
    "HunkLine",
    "HunksApplied",
    "MalformedPatchError",
    "NearestText",
    "NotFoundError",
    "NothingToChangeError",
    "NothingToFindError",
    "PatchError",
    "PatchRegion",
    "RepeatedPathError",
    "Replacement",
    "UnplacedInsertionError",
    "UpdateFile",
    "apply_hunks",
    "parse_patch",
    "partial_patch_regions",
    "replace",
]
