"""What a skill needs besides its text: settings, files, variables and tools, as they are now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from skills_store import hermes_fields
from skills_store.hermes_tools import describe_tools
from skills_store.json_file import Json
from skills_store.skill import Frontmatter

HIDDEN_PARTS = frozenset({"", ".", ".."})


@dataclass(frozen=True, slots=True)
class SkillNeeds:
    """What a skill needs that its text does not hold."""

    settings: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Values of the settings it declares: those of config.yaml, else its defaults."""
    unset_settings: tuple[str, ...] = ()
    """Declared settings without a value, with their descriptions."""
    credential_files: tuple[str, ...] = ()
    """Absolute paths of files with credentials that are there."""
    missing_credential_files: tuple[str, ...] = ()
    variable_help: Mapping[str, str] = field(default_factory=dict[str, str])
    """How to get the missing variables, in the author's words, by variable."""
    setup_help: str = ""
    """The author's words on setting it up; empty if nothing is missing."""
    tool_notes: Mapping[str, str] = field(default_factory=dict[str, str])
    """What to do about tools of Hermes that it names, by name."""
    variable_notes: Mapping[str, str] = field(default_factory=dict[str, str])
    """What holds for variables that are set, by name: whether commands have them."""


@dataclass(frozen=True, slots=True)
class NeedsContext:
    """Facts that needs are checked against."""

    home: Path | None = None
    """HERMES_HOME; None: files are not checked."""
    settings: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """`skills.config` of config.yaml."""
    tools: frozenset[str] | None = None
    """The session's tools; None if unknown."""


def find_needs(
    frontmatter: Frontmatter, text: str, missing_variables: Sequence[str], context: NeedsContext
) -> SkillNeeds:
    """Return the needs of a skill. Looks for files."""
    settings, unset = _resolve_settings(frontmatter, context.settings)
    there, missing = _find_credentials(frontmatter, context.home)
    declared = {each.name: each.help for each in hermes_fields.declared_variables(frontmatter)}
    helps = {name: declared.get(name, "") for name in missing_variables}
    setup_help = hermes_fields.read_setup_help(frontmatter)
    return SkillNeeds(
        settings,
        unset,
        there,
        missing,
        {name: text for name, text in helps.items() if text},
        setup_help if missing_variables or missing or unset else "",
        describe_tools(
            text, hermes_fields.read_words(frontmatter, "requires_tools"), context.tools
        ),
    )


def _resolve_settings(
    frontmatter: Frontmatter, configured: Mapping[str, Json]
) -> tuple[Mapping[str, Json], tuple[str, ...]]:
    """Return the values of declared settings, and those without a value."""
    values: dict[str, Json] = {}
    unset: list[str] = []
    for setting in hermes_fields.declared_settings(frontmatter):
        value = _value_at(configured, setting.key)
        if value in (None, ""):
            value = setting.default
        if value in (None, ""):
            described = f"{setting.key}: {setting.description}"
            unset.append(described if setting.description else setting.key)
            continue
        values[setting.key] = _expand(value) if isinstance(value, str) else value
    return values, tuple(unset)


def _value_at(settings: Mapping[str, Json], key: str) -> Json:
    current: Json = dict(settings)
    for part in key.split("."):
        if not isinstance(current, dict) or part not in current:
            return settings.get(key)  # the whole key may be one name
        current = current[part]
    return current


def _expand(value: str) -> str:
    try:
        return str(Path(value).expanduser()) if value.startswith("~") else value
    except RuntimeError:  # no such user
        return value


def _find_credentials(
    frontmatter: Frontmatter, home: Path | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the credential files that are there, and those that are missing.

    Security: a skill may name files of HERMES_HOME only, whatever links lead elsewhere.
    """
    there: list[str] = []
    missing: list[str] = []
    if home is None:
        return (), ()
    root = home.resolve()
    for name in hermes_fields.credential_files(frontmatter):
        path = PurePosixPath(name.removeprefix("~/.hermes/"))
        is_inside = not path.is_absolute() and HIDDEN_PARTS.isdisjoint(path.parts)
        file = (root / path).resolve() if is_inside else root
        if is_inside and file.is_relative_to(root) and file.is_file():
            there.append(str(file))
        else:
            missing.append(name)
    return tuple(there), tuple(missing)
