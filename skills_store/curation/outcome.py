"""Compare the archived skills of a curator run with the curator's summary."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skills_store.changes import SkillChange, SkillMove
from skills_store.curation.summary import CuratorSummary


@dataclass(frozen=True, slots=True)
class ArchiveOutcome:
    """An archived skill; `into` is its successor, if any."""

    name: str
    into: str = ""


def archive_outcomes(changes: Iterable[SkillChange]) -> tuple[ArchiveOutcome, ...]:
    """Return the skills archived by changes, in order."""
    moves = (change.effect for change in changes if isinstance(change.effect, SkillMove))
    return tuple(ArchiveOutcome(effect.entry.name, effect.entry.absorbed_into) for effect in moves)


def find_discrepancies(
    summary: CuratorSummary, actual: Sequence[ArchiveOutcome]
) -> tuple[str, ...]:
    """Return the differences between a summary and the archived skills, as sentences for the model.

    >>> find_discrepancies(CuratorSummary(), [ArchiveOutcome("pdf-read", "pdf")])
    ("'pdf-read' was archived into 'pdf' and stands in no list.",)
    """
    claimed = Counter(
        ArchiveOutcome(_without_category(each.source), _without_category(each.into))
        for each in summary.consolidations
    )
    claimed.update(ArchiveOutcome(_without_category(each.name)) for each in summary.prunings)
    names = Counter(each.name for each in claimed.elements())
    sentences: list[str] = []
    for each in dict.fromkeys(actual):
        if each not in claimed:
            into = f"into {each.into!r}" if each.into else "as a plain pruning"
            place = "otherwise in the block" if each.name in names else "in no list"
            sentences.append(f"{each.name!r} was archived {into} and stands {place}.")
    archived = {each.name for each in actual}
    sentences += [
        f"{each.name!r} stands in the block and was not archived."
        for each in claimed
        if each.name not in archived
    ]
    sentences += [
        f"{name!r} stands in the block {count} times; once is right."
        for name, count in names.items()
        if count > 1
    ]
    return tuple(sentences)


def _without_category(name: str) -> str:
    """Return a name without its category."""
    return name.rsplit("/", 1)[-1]
