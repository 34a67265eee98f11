r"""Agent Skills library: finds, renders, edits and installs directories with a SKILL.md.

>>> import tempfile
>>> from pathlib import Path
>>> from skills_store import IndexRequest, Library, Root
>>> home = tempfile.TemporaryDirectory()
>>> root = Root("home", Path(home.name), is_writable=True)
>>> folder = root.path / "coding" / "release"
>>> folder.mkdir(parents=True)
>>> text = "---\nname: release\ndescription: Use when a version is released.\n---\n1. Tag it.\n"
>>> _ = (folder / "SKILL.md").write_text(text)
>>> library = Library(lambda: [root])
>>> print(library.index(IndexRequest()).partition("<available_skills>\n")[2])
coding:
  - release: Use when a version is released.
</available_skills>
>>> library.view("release").content == text
True
>>> library.find("releas")
Traceback (most recent call last):
skills_store.errors.SkillNotFoundError: There is no skill named 'releas'. Did you mean ...
>>> home.cleanup()

Names are imported lazily on first access. Other packages import only the atomic writes and locks
during start-up, and that must not load the whole library.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skills_store.document import SkillDocument, check_created, is_standard_name, parse
    from skills_store.errors import (
        AmbiguousSkillError,
        ArchivedSkillError,
        HiddenSkillError,
        InvalidSkillError,
        SkillError,
        SkillFileError,
        SkillNotFoundError,
        UnreadableSkillError,
    )
    from skills_store.index import UNRELATED_CATEGORIES, IndexRequest
    from skills_store.index_cache import IndexCache
    from skills_store.invocation import (
        SkillCommand,
        SkillInvocation,
        invocation_text,
        parse_invocation,
        skill_commands,
    )
    from skills_store.library import Library, Listed, Listing
    from skills_store.roots import Places, roots_of
    from skills_store.skill import Archived, LoadProblem, Problem, Root, Shadowed, Skill
    from skills_store.viewing import BinaryFileView, SkillView, TextFileView, Viewer
    from skills_store.visibility import Circumstances, circumstances_of, reason_hidden

__all__ = [
    "UNRELATED_CATEGORIES",
    "AmbiguousSkillError",
    "Archived",
    "ArchivedSkillError",
    "BinaryFileView",
    "Circumstances",
    "HiddenSkillError",
    "IndexCache",
    "IndexRequest",
    "InvalidSkillError",
    "Library",
    "Listed",
    "Listing",
    "LoadProblem",
    "Places",
    "Problem",
    "Root",
    "Shadowed",
    "Skill",
    "SkillCommand",
    "SkillDocument",
    "SkillError",
    "SkillFileError",
    "SkillInvocation",
    "SkillNotFoundError",
    "SkillView",
    "TextFileView",
    "UnreadableSkillError",
    "Viewer",
    "check_created",
    "circumstances_of",
    "invocation_text",
    "is_standard_name",
    "parse",
    "parse_invocation",
    "reason_hidden",
    "roots_of",
    "skill_commands",
]

_HOMES = {
    "skills_store.document": (
        "SkillDocument",
        "check_created",
        "is_standard_name",
        "parse",
    ),
    "skills_store.errors": (
        "AmbiguousSkillError",
        "ArchivedSkillError",
        "HiddenSkillError",
        "InvalidSkillError",
        "SkillError",
        "SkillFileError",
        "SkillNotFoundError",
        "UnreadableSkillError",
    ),
    "skills_store.index": (
        "IndexRequest",
        "UNRELATED_CATEGORIES",
    ),
    "skills_store.index_cache": ("IndexCache",),
    "skills_store.invocation": (
        "SkillCommand",
        "SkillInvocation",
        "invocation_text",
        "parse_invocation",
        "skill_commands",
    ),
    "skills_store.library": (
        "Library",
        "Listed",
        "Listing",
    ),
    "skills_store.roots": (
        "Places",
        "roots_of",
    ),
    "skills_store.skill": (
        "Archived",
        "LoadProblem",
        "Problem",
        "Root",
        "Shadowed",
        "Skill",
    ),
    "skills_store.viewing": (
        "BinaryFileView",
        "SkillView",
        "TextFileView",
        "Viewer",
    ),
    "skills_store.visibility": (
        "Circumstances",
        "circumstances_of",
        "reason_hidden",
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import an exported name from its module on first access (PEP 562)."""
    if name not in _HOME_OF:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(_HOME_OF[name]), name)
