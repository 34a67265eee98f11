"""Variables that the commands of one session get by the user's consent, hidden in their outputs."""

from collections.abc import Hashable, Mapping

from acp_server.text.value_redaction import HiddenValues


class CommandVariables:
    """The granted variables of a session and its sub-agents; values are held in memory only."""

    def __init__(self) -> None:
        self.hidden_values = HiddenValues()
        """The values that were ever granted: a command may have kept one in a file."""
        self._lasting: dict[str, str] = {}
        self._until_turn_end: dict[str, str] = {}
        self._granted_for_turn: set[Hashable] = set()
        self._refused: dict[Hashable, str] = {}

    @property
    def current(self) -> Mapping[str, str]:
        """The variables that commands get now, with their values."""
        return self._until_turn_end | self._lasting

    def grant(self, values: Mapping[str, str], use: Hashable, *, is_lasting: bool) -> None:
        """Give variables to the commands of this session, or of this turn only, for a use."""
        for name, value in values.items():
            self.hidden_values.add(name, value)
        self._refused.pop(use, None)
        if is_lasting:
            self._lasting |= values
        else:
            self._until_turn_end |= values
            self._granted_for_turn.add(use)

    def is_granted_for_turn(self, use: Hashable) -> bool:
        """Return whether a use was granted until the end of this turn."""
        return use in self._granted_for_turn

    def refuse(self, use: Hashable, reason: str) -> None:
        """Note that a use was refused, so that the user is not asked about it again."""
        self._refused[use] = reason

    def refusal(self, use: Hashable) -> str:
        """Return why a use was refused in this session; empty if it was not."""
        return self._refused.get(use, "")

    def end_turn(self) -> None:
        """Take back what was granted for the turn."""
        self._until_turn_end.clear()
        self._granted_for_turn.clear()
