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

from prompt_engine.context_file_types import ContextFileNote
from prompt_engine.sources.file_reading import resolve
from prompt_engine.sources.ignore_rules import IgnorePatterns, compile_patterns, match_patterns
from prompt_engine.sources.instruction_files import InstructionSource, read_instruction_source
from prompt_engine.sources.paths import path_label

RULES_DIRECTORY = Path(".cursor", "rules")
MAX_RULES = 200
"""Maximum number of rules read per root; enforced by the callers."""
MAX_GLOBS = 50
MAX_GLOB_CHARACTERS = 2_000
MAX_ALTERNATIVES = 64
MAX_DESCRIPTION_CHARACTERS = 300

_COMMA = re.compile(r",(?![^{}]*\})")
_BRACES = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class CursorRule:
    """Cursor rule with its conditions."""

    source: InstructionSource
    is_always: bool
    globs: tuple[str, ...]
    description: str
    patterns: IgnorePatterns

    def applies_to(self, relative: str) -> bool:
        """Return whether the globs match a path, relative to the root and with `/`."""
        return match_patterns(self.patterns, relative) is True


def list_rule_paths(root: Path) -> tuple[Path, ...]:
    """Return the rule paths of a resolved root, sorted by name; none if they are outside it."""
    folder = root / RULES_DIRECTORY
    if not resolve(folder).is_relative_to(root):
        return ()
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(".mdc"))
    except OSError:
        return ()
    return tuple(folder / name for name in names)


def read_rule(path: Path, root: Path, home: Path) -> CursorRule | ContextFileNote | None:
    """Read a rule of a resolved root; return a note if unreadable, None if it does not exist."""
    source = read_instruction_source(path, path_label(path, home), root)
    return parse_rule(source) if isinstance(source, InstructionSource) else source


def parse_rule(source: InstructionSource) -> CursorRule:
    """Parse the conditions of a rule; without frontmatter it always applies."""
    globs = _parse_globs(source.values.get("globs"))
    description = source.values.get("description")
    line = " ".join(description.split()) if isinstance(description, str) else ""
    return CursorRule(
        source=source,
        is_always=not source.has_frontmatter or source.values.get("alwaysApply") is True,
        globs=globs,
        description=line[:MAX_DESCRIPTION_CHARACTERS],
        patterns=compile_patterns([each for glob in globs for each in _expand_braces(glob)]),
    )


def _parse_globs(value: JsonValue) -> tuple[str, ...]:
    """Return the globs of a list, or of a comma-separated line."""
    items: Sequence[JsonValue] = value if isinstance(value, list) else [value]
    lines = [item[:MAX_GLOB_CHARACTERS] for item in items if isinstance(item, str)]
    texts = (text for line in lines for text in _COMMA.split(line))
    globs = (text.strip().strip("\"'[]").removeprefix("./") for text in texts)
    return tuple(islice((glob for glob in globs if glob), MAX_GLOBS))


def _expand_braces(glob: str) -> list[str]:
    """Expand the braces of a glob; beyond `MAX_ALTERNATIVES` the rest is left unexpanded."""
    expanded: list[str] = []
    pending = [glob]
    # Bounded: a repository could otherwise write braces that expand exponentially.
    while pending and len(pending) + len(expanded) <= MAX_ALTERNATIVES:
        first = pending.pop(0)
        match = _BRACES.search(first)
        if match is None:
            expanded.append(first)
            continue
        prefix, suffix = first[: match.start()], first[match.end() :]
        pending += [f"{prefix}{choice.strip()}{suffix}" for choice in match[1].split(",")]
    return expanded + pending
