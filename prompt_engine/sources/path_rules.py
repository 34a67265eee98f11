"""Rules for certain paths, as several editors keep them in a repository, and when each applies.

Formats: https://cursor.com/docs/context/rules, https://docs.windsurf.com/windsurf/cascade/memories,
https://docs.cline.bot/customization/cline-rules,
https://code.visualstudio.com/docs/copilot/customization/custom-instructions
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from prompt_engine.context_file_types import ContextFileNote
from prompt_engine.sources.file_reading import resolve
from prompt_engine.sources.ignore_rules import IgnorePatterns, compile_patterns, match_patterns
from prompt_engine.sources.instruction_files import InstructionSource, read_instruction_source
from prompt_engine.sources.paths import path_label, posix_relative

MAX_RULES = 200
"""Maximum number of rules read per root; enforced by the callers."""
MAX_GLOBS = 50
MAX_GLOB_CHARACTERS = 2_000
MAX_ALTERNATIVES = 64
MAX_DESCRIPTION_CHARACTERS = 300

_COMMA = re.compile(r",(?![^{}]*\})")
_BRACES = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class RuleFormat:
    """Where the rules of an editor are, and how their frontmatter says when they apply."""

    directory: Path
    """Relative to the root that the rules belong to."""
    suffix: str
    globs_key: str
    default: Literal["always", "always without frontmatter", "never"]
    """When a rule applies whose frontmatter does not say."""
    is_of_repository: bool = False
    """Whether they belong to the root of the repository rather than of the workspace."""

    def owner(self, root: Path, repository: Path) -> Path:
        """Return the root that the rules belong to."""
        return repository if self.is_of_repository else root


CURSOR_RULES = RuleFormat(Path(".cursor", "rules"), ".mdc", "globs", "always without frontmatter")
COPILOT_RULES = RuleFormat(
    Path(".github", "instructions"), ".instructions.md", "applyTo", "never", is_of_repository=True
)
WINDSURF_RULES = RuleFormat(Path(".windsurf", "rules"), ".md", "globs", "always")
CLINE_RULES = RuleFormat(Path(".clinerules"), ".md", "paths", "always")
RULE_FORMATS = (CURSOR_RULES, COPILOT_RULES, WINDSURF_RULES, CLINE_RULES)


@dataclass(frozen=True, slots=True)
class PathRule:
    """Rule with its conditions."""

    source: InstructionSource
    root: Path
    """Resolved directory that the globs are relative to."""
    is_always: bool
    globs: tuple[str, ...]
    description: str
    patterns: IgnorePatterns

    def applies_to(self, path: Path) -> bool:
        """Return whether the globs match a resolved path."""
        if not path.is_relative_to(self.root):
            return False
        return match_patterns(self.patterns, posix_relative(path, self.root)) is True


def list_rule_paths(root: Path, rules: RuleFormat) -> tuple[Path, ...]:
    """Return the rule paths of a resolved root, sorted by name; none if they are outside it."""
    folder = root / rules.directory
    if not resolve(folder).is_relative_to(root):
        return ()
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(rules.suffix))
    except OSError:
        return ()
    return tuple(folder / name for name in names)


def may_be_rule(path: Path) -> bool:
    """Return whether a path is named as a rule of any format. Reads nothing."""
    return any(
        path.name.endswith(rules.suffix)
        and path.parent.parts[-len(rules.directory.parts) :] == rules.directory.parts
        for rules in RULE_FORMATS
    )


def read_rule(
    path: Path, rules: RuleFormat, root: Path, home: Path
) -> PathRule | ContextFileNote | None:
    """Read a rule of a resolved root; return a note if unreadable, None if it does not exist."""
    source = read_instruction_source(path, path_label(path, home), root)
    return parse_rule(source, rules, root) if isinstance(source, InstructionSource) else source


def parse_rule(source: InstructionSource, rules: RuleFormat, root: Path) -> PathRule:
    """Parse the conditions of a rule."""
    values = source.values
    # Windsurf names the condition; each other editor infers it from the keys that are set.
    trigger = values.get("trigger")
    globs = () if trigger == "manual" else _parse_globs(values.get(rules.globs_key))
    description = values.get("description")
    line = " ".join(description.split()) if isinstance(description, str) else ""
    if trigger is not None:
        is_always = trigger == "always_on"
    elif not source.has_frontmatter:
        is_always = rules.default != "never"
    else:
        is_always = values.get("alwaysApply") is True or (rules.default == "always" and not globs)
    return PathRule(
        source=source,
        root=root,
        is_always=is_always,
        globs=globs,
        description="" if trigger == "manual" else line[:MAX_DESCRIPTION_CHARACTERS],
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
