"""Rules of `.cursor/rules/*.mdc`, and when each applies.

Format: https://cursor.com/docs/context/rules
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pydantic import JsonValue

from prompt_engine.context_file_types import FileNote
from prompt_engine.sources.file_reading import resolve
from prompt_engine.sources.ignore_rules import Patterns, compile_patterns, meaning
from prompt_engine.sources.instruction_files import Source, read_source
from prompt_engine.sources.paths import label

FOLDER = Path(".cursor", "rules")
MOST_RULES = 200
"""Maximum number of rules read per root; enforced by the callers."""
MOST_GLOBS = 50
MOST_GLOB_CHARACTERS = 2_000
MOST_ALTERNATIVES = 64
DESCRIPTION_CHARACTERS = 300

_COMMA = re.compile(r",(?![^{}]*\})")
_BRACES = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class CursorRule:
    """Cursor rule with its conditions."""

    source: Source
    is_always: bool
    globs: tuple[str, ...]
    description: str
    patterns: Patterns

    def applies_to(self, relative: str) -> bool:
        """Return whether the globs match a path, relative to the root and with `/`."""
        return meaning(self.patterns, relative) is True


def rule_paths(root: Path) -> tuple[Path, ...]:
    """Return the rule paths of a resolved root, sorted by name; none if they are outside it."""
    folder = root / FOLDER
    if not resolve(folder).is_relative_to(root):
        return ()
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(".mdc"))
    except OSError:
        return ()
    return tuple(folder / name for name in names)


def read_rule(path: Path, root: Path, home: Path) -> CursorRule | FileNote | None:
    """Read a rule of a resolved root; return a note if unreadable, None if it does not exist."""
    source = read_source(path, label(path, home), root)
    return rule_of(source) if isinstance(source, Source) else source


def rule_of(source: Source) -> CursorRule:
    """Parse the conditions of a rule; without frontmatter it always applies."""
    globs = _globs(source.values.get("globs"))
    description = source.values.get("description")
    return CursorRule(
        source=source,
        is_always=not source.has_frontmatter or source.values.get("alwaysApply") is True,
        globs=globs,
        description=_line(description) if isinstance(description, str) else "",
        patterns=compile_patterns([each for glob in globs for each in _alternatives(glob)]),
    )


def _globs(value: JsonValue) -> tuple[str, ...]:
    """Return the globs of a list, or of a comma-separated line."""
    items: Sequence[JsonValue] = value if isinstance(value, list) else [value]
    lines = [item[:MOST_GLOB_CHARACTERS] for item in items if isinstance(item, str)]
    texts = (text for line in lines for text in _COMMA.split(line))
    bare = (text.strip().strip("\"'[]").removeprefix("./") for text in texts)
    return tuple(islice((glob for glob in bare if glob), MOST_GLOBS))


def _alternatives(glob: str) -> list[str]:
    """Expand the braces of a glob; beyond `MAX_ALTERNATIVES` the rest is left unexpanded."""
    done: list[str] = []
    open_globs = [glob]
    # Bounded: a repository could otherwise write braces that expand exponentially.
    while open_globs and len(open_globs) + len(done) <= MOST_ALTERNATIVES:
        first = open_globs.pop(0)
        braces = _BRACES.search(first)
        if braces is None:
            done.append(first)
            continue
        before, behind = first[: braces.start()], first[braces.end() :]
        open_globs += [f"{before}{choice.strip()}{behind}" for choice in braces[1].split(",")]
    return done + open_globs


def _line(text: str) -> str:
    return " ".join(text.split())[:DESCRIPTION_CHARACTERS]
