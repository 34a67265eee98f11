"""Render the system prompt section that lists the skills. Deterministic: same skills, same bytes.

A list that is too long is shortened in steps: descriptions are cut, those of the least recently
used skills are dropped, then categories are collapsed to a count, then category descriptions are
dropped, and last a single line gives the total. Each step tells the model how to get the omitted
part.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from skills_store.collection import SkillCollection, call_name, category_name
from skills_store.model_texts import load_model_text
from skills_store.visibility import VisibilityFacts, is_offered

MAX_CHARACTERS = 12_000
MAX_DESCRIPTION_CHARACTERS = 200
CUT_DESCRIPTION_CHARACTERS = 60
"""The length of descriptions in a list that is too long otherwise."""
MAX_CATEGORY_CHARACTERS = 120

_WRITE_TOOL = "skill_manage"
_ELLIPSIS = "..."


@dataclass(frozen=True, slots=True)
class IndexRequest:
    """Inputs for rendering the skill index, besides the skills."""

    facts: VisibilityFacts = field(default_factory=VisibilityFacts)
    names_only: frozenset[str] = frozenset()
    """Categories (with subcategories) whose skills are listed without descriptions."""
    max_characters: int = MAX_CHARACTERS
    """Limit for the whole section. The line with the total is shown even beyond it."""
    recent: tuple[str, ...] = ()
    """Full names of skills, most recently used first. Only used if the list is too long."""
    setup_skill: str = ""
    """The skill for questions about configuring this server."""


@dataclass(frozen=True, slots=True)
class RenderedIndex:
    """The rendered section. Recent use affected it only if `is_shortened`."""

    text: str
    is_shortened: bool = False


@dataclass(slots=True)  # not frozen: a first prompt may make thousands
class _SkillLine:
    """A skill in the list."""

    name: str
    description: str
    recency_rank: int
    """0 for the most recently used skill; equal for all that were never used."""
    author_text: str = ""
    """The description as the author wrote it; empty if the name alone is to be listed."""

    def __str__(self) -> str:
        return f"  - {self.name}: {self.description}" if self.description else f"  - {self.name}"


@dataclass(frozen=True, slots=True)
class _CategoryGroup:
    """A category in the list."""

    name: str
    description: str
    lines: tuple[_SkillLine, ...]
    is_collapsed: bool = False

    @property
    def recency_rank(self) -> int:
        return min(line.recency_rank for line in self.lines)

    def __str__(self) -> str:
        title = f"{self.name}: {self.description}" if self.description else f"{self.name}:"
        if self.is_collapsed:
            return f'{title} ({len(self.lines)} skills: skills_list with category "{self.name}")'
        return "\n".join([title, *map(str, self.lines)])


def render_index(collection: SkillCollection, request: IndexRequest) -> RenderedIndex:
    """Render the section; empty if no skill is visible."""
    groups = tuple(_groups(collection, request))
    if not groups:
        return RenderedIndex("")
    introduction = [load_model_text("index")]
    if any(line.name == request.setup_skill for group in groups for line in group.lines):
        introduction.append(load_model_text("index_setup").format(skill=request.setup_skill))
    if request.facts.tools is None or _WRITE_TOOL in request.facts.tools:
        introduction.append(load_model_text("index_writing"))
    head = "\n\n".join([*introduction, "<available_skills>\n"])
    end = "\n</available_skills>"
    room = request.max_characters - len(head) - len(end)
    # Of thousands of skills not even the names fit, and no description is worth looking at.
    if len(_join_groups(groups)) > room:
        return RenderedIndex(f"{head}{_fit_names(groups, room)}{end}", is_shortened=True)
    groups = _replace_lines(groups, _describe)
    body = _fit_descriptions(groups, room)
    return RenderedIndex(f"{head}{body}{end}", is_shortened=body != _join_groups(groups))


def _groups(collection: SkillCollection, request: IndexRequest) -> Iterator[_CategoryGroup]:
    """Yield the categories with visible skills, by name. Skills of plugins are not listed."""
    ages = {name: age for age, name in reversed(list(enumerate(request.recent)))}
    seen = [
        skill
        for skill in collection.skills
        if not skill.root.plugin and is_offered(skill, request.facts)
    ]
    seen.sort(key=lambda skill: (category_name(skill), skill.full_name, skill.qualified_name))
    for name, skills in groupby(seen, key=category_name):
        is_name_only = not {name, name.split("/")[0]}.isdisjoint(request.names_only)
        lines = tuple(
            _SkillLine(
                _sanitize_line(call_name(skill, collection)),
                "",
                ages.get(skill.full_name, len(request.recent)),
                "" if is_name_only else skill.description,
            )
            for skill in skills
        )
        category_description = _sanitize_line(
            collection.category_descriptions.get(name, ""), MAX_CATEGORY_CHARACTERS
        )
        yield _CategoryGroup(_sanitize_line(name), category_description, lines)


def _describe(line: _SkillLine) -> _SkillLine:
    description = _sanitize_line(line.author_text, MAX_DESCRIPTION_CHARACTERS)
    return replace(line, description=description)


def _fit_descriptions(groups: tuple[_CategoryGroup, ...], max_characters: int) -> str:
    """Shorten the descriptions step by step until the list fits; without any, it does."""
    for shorten in (_cut_descriptions, _drop_old_descriptions):
        if len(body := _join_groups(groups)) <= max_characters:
            return body
        groups = shorten(groups, max_characters)
    return _join_groups(groups)


def _fit_names(groups: tuple[_CategoryGroup, ...], max_characters: int) -> str:
    """Shorten a list without descriptions step by step until it fits the limit."""
    groups = _collapse_categories(groups, max_characters)
    if len(body := _join_groups(groups)) <= max_characters:
        return body
    groups = tuple(replace(group, description="") for group in groups)
    if len(body := _join_groups(groups)) <= max_characters:
        return body
    total = sum(len(group.lines) for group in groups)
    return f"{total} skills in {len(groups)} categories: skills_list names them"


def _cut_descriptions(
    groups: tuple[_CategoryGroup, ...], max_characters: int
) -> tuple[_CategoryGroup, ...]:
    """Cut all descriptions: a list in which only some are cut would favor the others."""
    del max_characters
    return _replace_lines(
        groups,
        lambda line: replace(
            line, description=_sanitize_line(line.description, CUT_DESCRIPTION_CHARACTERS)
        ),
    )


def _drop_old_descriptions(
    groups: tuple[_CategoryGroup, ...], max_characters: int
) -> tuple[_CategoryGroup, ...]:
    """Drop as many descriptions as needed, least recently used skills first."""
    excess = len(_join_groups(groups)) - max_characters
    shortened_names: set[str] = set()
    lines = (line for group in groups for line in group.lines if line.description)
    for line in sorted(lines, key=lambda line: (-line.recency_rank, line.name)):
        if excess <= 0:
            break
        shortened_names.add(line.name)
        excess -= len(line.description) + len(": ")
    return _replace_lines(
        groups,
        lambda line: replace(line, description="") if line.name in shortened_names else line,
    )


def _replace_lines(
    groups: tuple[_CategoryGroup, ...], change: Callable[[_SkillLine], _SkillLine]
) -> tuple[_CategoryGroup, ...]:
    return tuple(
        replace(group, lines=tuple(change(line) for line in group.lines)) for group in groups
    )


def _collapse_categories(
    groups: tuple[_CategoryGroup, ...], max_characters: int
) -> tuple[_CategoryGroup, ...]:
    """Collapse as many categories to a count as needed, least recently used first."""
    excess = len(_join_groups(groups)) - max_characters
    collapsed_names: set[str] = set()
    for group in sorted(groups, key=lambda group: (-group.recency_rank, group.name)):
        saving = len(str(group)) - len(str(replace(group, is_collapsed=True)))
        if excess > 0 and saving > 0:
            collapsed_names.add(group.name)
            excess -= saving
    return tuple(replace(group, is_collapsed=group.name in collapsed_names) for group in groups)


def _join_groups(groups: Sequence[_CategoryGroup]) -> str:
    return "\n".join(map(str, groups))


def _sanitize_line(text: str, max_characters: int | None = None) -> str:
    """Return a text as one safe line, cut to `max_characters`."""
    line = " ".join(text.split())
    if not line.isprintable():
        line = "".join(each for each in line if each.isprintable())
    # Descriptions are untrusted text: `</available_skills>` in one must not end the list.
    line = line.replace("<", "\u2039").replace(">", "\u203a")
    if max_characters is None or len(line) <= max_characters:
        return line
    return line[: max_characters - len(_ELLIPSIS)].rstrip() + _ELLIPSIS
