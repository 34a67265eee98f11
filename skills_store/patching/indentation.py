"""Derives a text's indentation from the indentation that the model wrote."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

_USUAL_WIDTH = 4
_WIDTHS = (2, 3, 4, 8)
_SCALES = {
    (" ", " "): {Fraction(2), Fraction(4), Fraction(1, 2), Fraction(1, 4)},
    ("\t", " "): {Fraction(width) for width in _WIDTHS},
    (" ", "\t"): {Fraction(1, width) for width in _WIDTHS},
}
"""Plausible numbers of own blanks per written blank, by (written kind, own kind)."""


def indent_of(line: str) -> str:
    """Return the leading blanks of a line."""
    return line[: len(line) - len(line.lstrip(" \t"))]


@dataclass(frozen=True, slots=True)
class Indentation:
    """Mapping from written to own indentation; unknown ones derive from the nearest known one."""

    known: Mapping[str, str]
    fill: str = ""
    scales: Mapping[str, Fraction] = field(default_factory=dict[str, Fraction])

    def translate(self, indent: str) -> str:
        """Return the text's own indentation for a written one."""
        if indent in self.known or not self.known:
            return self.known.get(indent, indent)
        shallower = [known for known in self.known if indent.startswith(known)]
        if shallower:
            nearest = max(shallower, key=len)
            return self.known[nearest] + self._scaled(indent[len(nearest) :])
        nearest = min(self.known, key=len)
        own_indent = self.known[nearest]
        missing = self._scaled(nearest[len(indent) :]) if nearest.startswith(indent) else ""
        return own_indent[: max(0, len(own_indent) - len(missing))] if missing else indent

    def _scaled(self, extra: str) -> str:
        """Convert the excess over a known indentation to the text's own kind of blanks."""
        scale = self.scales.get(extra[:1])
        if scale is None or len(set(extra)) != 1:
            return extra
        return self.fill * round(len(extra) * scale)


UNCHANGED = Indentation({})


def derive_indentation(
    written: Sequence[str], own: Sequence[str], added: Iterable[str]
) -> Indentation | None:
    """Return the rule that maps the indentation of the `written` lines to that of the `own` lines.

    None if no single rule fits all lines: the two are then different code. The `added` lines show
    the width of one written indentation step.
    """
    pairs: dict[str, str] = {}
    for line, own_line in zip(written, own, strict=True):
        if line.strip() and pairs.setdefault(indent_of(line), indent_of(own_line)) != indent_of(
            own_line
        ):
            return None
    if all(indent == own_indent for indent, own_indent in pairs.items()):
        return UNCHANGED
    # A shift: all lines gain, or all lose, the same leading blanks.
    is_shift = _has_common_prefix(pairs.items()) or _has_common_prefix(
        (own_indent, indent) for indent, own_indent in pairs.items()
    )
    scale = Fraction(1) if is_shift else _common_scale(pairs)
    if scale is None:
        return None
    fill = next((indent[-1] for indent in pairs.values() if indent), "")
    return Indentation(pairs, fill, _blank_scales(pairs, fill, scale, (*written, *added)))


def _has_common_prefix(pairs: Iterable[tuple[str, str]]) -> bool:
    prefixes = {
        longer.removesuffix(shorter) if longer.endswith(shorter) else None
        for shorter, longer in pairs
    }
    return len(prefixes) == 1 and None not in prefixes


def _common_scale(pairs: Mapping[str, str]) -> Fraction | None:
    """Return the number of own blanks per written blank; None if it varies."""
    kinds = {_blank_kind(pairs), _blank_kind(pairs.values())}
    if None in kinds:
        return None
    kind, own_kind = _blank_kind(pairs) or " ", _blank_kind(pairs.values()) or " "
    allowed = _SCALES.get((kind, own_kind), set[Fraction]())
    depths = sorted((len(indent), len(own)) for indent, own in pairs.items())
    if len(depths) == 1:
        ((depth, own_depth),) = depths
        scale = Fraction(own_depth, depth) if depth else None
        default_scale = Fraction(_USUAL_WIDTH) if kind == "\t" else Fraction(1, _USUAL_WIDTH)
        return scale if scale in allowed else default_scale
    found = {
        Fraction(own_next - own, following - depth)
        for (depth, own), (following, own_next) in pairwise(depths)
    }
    return found.pop() if len(found) == 1 and found <= allowed else None


def _blank_kind(indents: Iterable[str]) -> str | None:
    """Return the kind of blank in use, "" if there is none, None if they are mixed."""
    kinds = set("".join(indents))
    if len(kinds) > 1:
        return None
    return kinds.pop() if kinds else ""


def _blank_scales(
    pairs: Mapping[str, str], fill: str, scale: Fraction, lines: Iterable[str]
) -> dict[str, Fraction]:
    """Return the number of own blanks for each kind of written blank."""
    if not fill:
        return {}
    kind = _blank_kind(pairs) or fill
    default_scales = (
        {" ": Fraction(1), "\t": Fraction(_USUAL_WIDTH)}
        if fill == " "
        else {"\t": Fraction(1), " ": Fraction(1, _step_width(lines))}
    )
    return default_scales if scale == 1 else default_scales | {kind: scale}


def _step_width(lines: Iterable[str]) -> int:
    """Return the number of blanks per indentation step in the written lines."""
    depths = sorted({len(indent_of(line)) for line in lines if line.strip()})
    return min((deeper - depth for depth, deeper in pairwise(depths)), default=_USUAL_WIDTH)
