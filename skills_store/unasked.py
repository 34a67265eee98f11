"""A keeper for passes that nobody asked for: whatever they ask, it is changed in their name.

Who makes a change is settled when the keeper is made, and no call can say otherwise: so the rules
for passes hold (`ownership`), and all that one pass changed is undone together.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from skills_store.calls import Done, ManageCall
from skills_store.changes import Change
from skills_store.manage import Keeper
from skills_store.ownership import Origin
from skills_store.skill import Root
from skills_store.usage import Clock, current_time


class UnaskedKeeper(Keeper):
    """The skills of one home, as one pass in the background may change them. All calls block."""

    origin: Origin = "review"

    def __init__(
        self, home: Path, roots: Callable[[], Sequence[Root]], now: Clock = current_time
    ) -> None:
        """Begin a pass."""
        super().__init__(home, roots, now)
        self.undo_id = self.new_undo_id()
        """The id under which all changes of the pass can be undone."""
        self.made: list[Change] = []
        """What the pass has changed, in order."""

    def plan(self, call: ManageCall) -> Change:
        """Return what a call would do, made by this pass.

        Raises:
            SkillError: it cannot be done, or not by a pass.
            OSError: something cannot be read.
        """
        return super().plan(replace(call, origin=self.origin))

    def commit(self, change: Change, undo_id: str | None = None) -> Done:
        """Make a change as part of the pass; an id that is given is not heeded.

        Raises:
            SkillError: it may not be made any more; nothing was changed.
            LockedError: another process is changing skills and does not end.
            OSError: the disk refuses; every file is as it was.
        """
        del undo_id
        own = replace(change, origin=self.origin)
        done = super().commit(own, self.undo_id)
        self.made.append(own)
        return done
