"""Render the system prompt section that lists the skills. Deterministic: same skills, same bytes.

A list that is too long is shortened in steps: descriptions of the least recently used skills are
dropped, then categories are collapsed to a count, then category descriptions are dropped, and last
a single line gives the total. Each step tells the model how to get the omitted part.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from skills_store.collection import Collection, call_name, category_name
from skills_store.model_texts import prose
from skills_store.skill import Skill
from skills_store.visibility import Circumstances, is_visible

MOST_CHARACTERS = 12_000
MOST_DESCRIPTION_CHARACTERS = 60
MOST_CATEGORY_CHARACTERS = 120

UNRELATED_CATEGORIES = frozenset(
    {
        *("apple", "communication", "cooking", "creative", "email", "finance", "gaming", "gifs"),
        *("health", "media", "music", "note-taking", "productivity", "shopping", "smart-home"),
        *("social-media", "travel"),
    }
)
"""Categories that rarely concern code; in a code workspace only their skill names are listed."""

_WRITER = "skill_manage"
_ELLIPSIS = "..."


@dataclass(frozen=True, slots=True)
class IndexRequest:
    """Inputs for rendering the skill index, besides the skills."""

    circumstances: Circumstances = field(default_factory=Circumstances)
    names_only: frozenset[str] = frozenset()
    """Categories (with subcategories) whose skills are listed without descriptions."""
    most_characters: int = MOST_CHARACTERS
    """Limit for the whole section. The line with the total is shown even beyond it."""
    recent: tuple[str, ...] = ()
    """Full names of skills, most recently used first. Only used if the list is too long."""
    setup_skill: str = ""
    """The skill for questions about configuring this server."""


@dataclass(frozen=True, slots=True)
class Index:
    """The rendered section. Recent use affected it only if `is_shortened`."""

    text: str
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class _Line:
    """A skill in the list."""

    name: str
    description: str
    age: int
    """0 for the most recently used skill; equal for all that were never used."""

    def __str__(self) -> str:
        return f"  - {self.name}: {self.description}" if self.description else f"  - {self.name}"


@dataclass(frozen=True, slots=True)
class _Group:
    """A category in the list."""

    name: str
    description: str
    lines: tuple[_Line, ...]
    is_counted: bool = False

    @property
    def age(self) -> int:
        return min(line.age for line in self.lines)

    def __str__(self) -> str:
        title = f"{self.name}: {self.description}" if self.description else f"{self.name}:"
        if self.is_counted:
            return f'{title} ({len(self.lines)} skills: skills_list with category "{self.name}")'
        return "\n".join([title, *map(str, self.lines)])


def render(collection: Collection, request: IndexRequest) -> Index:
    """Render the section; empty if no skill is visible."""
    groups = tuple(_groups(collection, request))
    if not groups:
        return Index("")
    names = {line.name for group in groups for line in group.lines}
    head = "\n\n".join(_head(names, request))
    whole = _listed(groups)
    body = _fitted(groups, request.most_characters - len(_section(head, "")))
    return Index(_section(head, body), is_cut=body != whole)


def _head(names: set[str], request: IndexRequest) -> Iterator[str]:
    yield prose("index")
    if request.setup_skill in names:
        yield prose("index_setup").format(skill=request.setup_skill)
    tools = request.circumstances.tools
    if tools is None or _WRITER in tools:
        yield prose("index_writing")


def _section(head: str, body: str) -> str:
    return f"{head}\n\n<available_skills>\n{body}\n</available_skills>"


def _groups(collection: Collection, request: IndexRequest) -> Iterator[_Group]:
    """Yield the categories with visible skills. Skills of plugins are not listed."""
    ages = {name: age for age, name in reversed(list(enumerate(request.recent)))}
    seen = (
        skill
        for skill in collection.skills
        if not skill.root.plugin and is_visible(skill, request.circumstances)
    )
    for name, skills in groupby(sorted(seen, key=_place), key=category_name):
        is_bare = not {name, name.split("/")[0]}.isdisjoint(request.names_only)
        lines = tuple(
            _Line(
                _plain(call_name(skill, collection)),
                "" if is_bare else _plain(skill.description, MOST_DESCRIPTION_CHARACTERS),
                ages.get(skill.full_name, len(request.recent)),
            )
            for skill in skills
        )
        told = _plain(collection.category_descriptions.get(name, ""), MOST_CATEGORY_CHARACTERS)
        yield _Group(_plain(name), told, lines)


def _place(skill: Skill) -> tuple[str, str, str]:
    return (category_name(skill), skill.full_name, skill.place_name)


def _fitted(groups: tuple[_Group, ...], room: int) -> str:
    """Shorten the list step by step until it fits the limit."""
    for shorten in (_without_old_descriptions, _counted, _untold):
        if len(body := _listed(groups)) <= room:
            return body
        groups = shorten(groups, room)
    if len(body := _listed(groups)) <= room:
        return body
    total = sum(len(group.lines) for group in groups)
    return f"{total} skills in {len(groups)} categories: skills_list names them"


def _without_old_descriptions(groups: tuple[_Group, ...], room: int) -> tuple[_Group, ...]:
    """Drop as many descriptions as needed, least recently used skills first."""
    excess = len(_listed(groups)) - room
    bare: set[str] = set()
    lines = (line for group in groups for line in group.lines if line.description)
    for line in sorted(lines, key=lambda line: (-line.age, line.name)):
        if excess <= 0:
            break
        bare.add(line.name)
        excess -= len(line.description) + len(": ")
    return tuple(
        replace(
            group,
            lines=tuple(
                _Line(line.name, "", line.age) if line.name in bare else line
                for line in group.lines
            ),
        )
        for group in groups
    )


def _counted(groups: tuple[_Group, ...], room: int) -> tuple[_Group, ...]:
    """Collapse as many categories to a count as needed, least recently used first."""
    excess = len(_listed(groups)) - room
    counted: set[str] = set()
    for group in sorted(groups, key=lambda group: (-group.age, group.name)):
        gain = len(str(group)) - len(str(replace(group, is_counted=True)))
        if excess > 0 and gain > 0:
            counted.add(group.name)
            excess -= gain
    return tuple(replace(group, is_counted=group.name in counted) for group in groups)


def _untold(groups: tuple[_Group, ...], _room: int) -> tuple[_Group, ...]:
    """Drop the descriptions of categories."""
    return tuple(replace(group, description="") for group in groups)


def _listed(groups: Sequence[_Group]) -> str:
    return "\n".join(map(str, groups))


def _plain(text: str, most_characters: int | None = None) -> str:
    """Return a text as one safe line, cut to `max_characters`."""
    line = " ".join(text.split())
    if not line.isprintable():
        line = "".join(each for each in line if each.isprintable())
    # Descriptions are untrusted text: `</available_skills>` in one must not end the list.
    line = line.replace("<", "\u2039").replace(">", "\u203a")
    if most_characters is None or len(line) <= most_characters:
        return line
    return line[: most_characters - len(_ELLIPSIS)].rstrip() + _ELLIPSIS
