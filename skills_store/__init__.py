r"""Agent Skills library: finds, renders, edits and installs directories with a SKILL.md.

>>> import tempfile
>>> from pathlib import Path
>>> from skills_store import IndexRequest, SkillLibrary, SkillRoot
>>> home = tempfile.TemporaryDirectory()
>>> root = SkillRoot("home", Path(home.name), is_writable=True)
>>> folder = root.path / "coding" / "release"
>>> folder.mkdir(parents=True)
>>> text = "---\nname: release\ndescription: Use when a version is released.\n---\n1. Tag it.\n"
>>> _ = (folder / "SKILL.md").write_text(text)
>>> library = SkillLibrary(lambda: [root])
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
    from skills_store.document import (
        SkillDocument,
        is_standard_name,
        parse_document,
        validate_new_document,
    )
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
    from skills_store.index import NON_CODING_CATEGORIES, IndexRequest
    from skills_store.index_cache import IndexCache
    from skills_store.invocation import (
        SkillCommand,
        SkillInvocation,
        list_skill_commands,
        parse_invocation,
        render_invocation,
    )
    from skills_store.library import ListedSkill, SkillLibrary, SkillListing
    from skills_store.roots import SkillLocations, resolve_roots
    from skills_store.skill import (
        ArchivedSkill,
        DocumentProblem,
        LoadProblem,
        ShadowedSkill,
        Skill,
        SkillRoot,
    )
    from skills_store.viewing import BinaryFileView, SkillView, TextFileView, ViewContext
    from skills_store.visibility import VisibilityFacts, reason_hidden, visibility_facts

__all__ = [
    "NON_CODING_CATEGORIES",
    "AmbiguousSkillError",
    "ArchivedSkill",
    "ArchivedSkillError",
    "BinaryFileView",
    "DocumentProblem",
    "HiddenSkillError",
    "IndexCache",
    "IndexRequest",
    "InvalidSkillError",
    "ListedSkill",
    "LoadProblem",
    "ShadowedSkill",
    "Skill",
    "SkillCommand",
    "SkillDocument",
    "SkillError",
    "SkillFileError",
    "SkillInvocation",
    "SkillLibrary",
    "SkillListing",
    "SkillLocations",
    "SkillNotFoundError",
    "SkillRoot",
    "SkillView",
    "TextFileView",
    "UnreadableSkillError",
    "ViewContext",
    "VisibilityFacts",
    "is_standard_name",
    "list_skill_commands",
    "parse_document",
    "parse_invocation",
    "reason_hidden",
    "render_invocation",
    "resolve_roots",
    "validate_new_document",
    "visibility_facts",
]

_EXPORTS = {
    "skills_store.document": (
        "SkillDocument",
        "validate_new_document",
        "is_standard_name",
        "parse_document",
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
    "skills_store.index": ("IndexRequest", "NON_CODING_CATEGORIES"),
    "skills_store.index_cache": ("IndexCache",),
    "skills_store.invocation": (
        "SkillCommand",
        "SkillInvocation",
        "render_invocation",
        "parse_invocation",
        "list_skill_commands",
    ),
    "skills_store.library": ("SkillLibrary", "ListedSkill", "SkillListing"),
    "skills_store.roots": ("SkillLocations", "resolve_roots"),
    "skills_store.skill": (
        "ArchivedSkill",
        "LoadProblem",
        "DocumentProblem",
        "SkillRoot",
        "ShadowedSkill",
        "Skill",
    ),
    "skills_store.viewing": ("BinaryFileView", "SkillView", "TextFileView", "ViewContext"),
    "skills_store.visibility": ("VisibilityFacts", "visibility_facts", "reason_hidden"),
}
_MODULE_BY_NAME = {name: module for module, names in _EXPORTS.items() for name in names}


def __getattr__(name: str) -> object:
    """Import an exported name from its module on first access (PEP 562)."""
    if name not in _MODULE_BY_NAME:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(_MODULE_BY_NAME[name]), name)
