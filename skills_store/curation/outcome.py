"""Compare the archived skills of a curator run with the curator's summary."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
    return tuple(_describe_differences(_claimed_outcomes(summary), Counter(actual)))


def _claimed_outcomes(block: CuratorSummary) -> Counter[ArchiveOutcome]:
    merged = (
        ArchiveOutcome(_without_category(each.source), _without_category(each.into))
        for each in block.consolidations
    )
    pruned = (ArchiveOutcome(_without_category(each.name)) for each in block.prunings)
    return Counter([*merged, *pruned])


def _describe_differences(
    claimed: Counter[ArchiveOutcome], actual: Counter[ArchiveOutcome]
) -> Iterator[str]:
    names = Counter(each.name for each in claimed.elements())
    for each in actual:
        if each in claimed:
            continue
        discrepancy = "stands otherwise in the block" if each.name in names else "stands in no list"
        yield f"{_describe(each)} and {discrepancy}."
    archived = {each.name for each in actual}
    for each in claimed:
        if each.name not in archived:
            yield f"{each.name!r} stands in the block and was not archived."
    for name, count in names.items():
        if count > 1:
            yield f"{name!r} stands in the block {count} times; once is right."


def _describe(archival: ArchiveOutcome) -> str:
    into = f"into {archival.into!r}" if archival.into else "as a plain pruning"
    return f"{archival.name!r} was archived {into}"


def _without_category(name: str) -> str:
    """Return a name without its category."""
    return name.rsplit("/", 1)[-1]
