"""Rules of `.cursor/rules/*.mdc`: when each of them applies.

Format: https://cursor.com/docs/context/rules
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pydantic import JsonValue

from prompt_engine.inputs import FileNote
from prompt_engine.sources.ignoring import Patterns, compile_patterns, meaning
from prompt_engine.sources.instructions import Source, read_source
from prompt_engine.sources.places import label
from prompt_engine.sources.reading import resolve

FOLDER = Path(".cursor", "rules")
MOST_RULES = 200
"""How many of a root's rules are read; whoever reads them keeps to it."""
MOST_GLOBS = 50
MOST_GLOB_CHARACTERS = 2_000
MOST_ALTERNATIVES = 64
DESCRIPTION_CHARACTERS = 300

_COMMA = re.compile(r",(?![^{}]*\})")
_BRACES = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class CursorRule:
    """A rule and its conditions."""

    source: Source
    is_always: bool
    globs: tuple[str, ...]
    description: str
    patterns: Patterns

    def applies_to(self, relative: str) -> bool:
        """Whether a path, relative to the root and with `/`, is one the globs mean."""
        return meaning(self.patterns, relative) is True


def rule_paths(root: Path) -> tuple[Path, ...]:
    """Return the paths of a resolved root's rules, sorted by name; none if they lie outside."""
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
    """Return a rule of a resolved root; a note if it cannot be read, None if it is gone."""
    source = read_source(path, label(path, home), root)
    return rule_of(source) if isinstance(source, Source) else source


def rule_of(source: Source) -> CursorRule:
    """Return the conditions of a rule; without frontmatter it always applies."""
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
    """Return globs of a list, or of a line with commas between them."""
    items: Sequence[JsonValue] = value if isinstance(value, list) else [value]
    lines = [item[:MOST_GLOB_CHARACTERS] for item in items if isinstance(item, str)]
    texts = (text for line in lines for text in _COMMA.split(line))
    bare = (text.strip().strip("\"'[]").removeprefix("./") for text in texts)
    return tuple(islice((glob for glob in bare if glob), MOST_GLOBS))


def _alternatives(glob: str) -> list[str]:
    """Return a glob once for each choice of its braces; too many choices are left as they are."""
    done: list[str] = []
    open_globs = [glob]
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
