"""Statistics of pass rates and paired runs: exact where the counts are small. Pure."""

import math
from collections.abc import Sequence

CONFIDENCE_Z = 1.959963984540054
"""Quantile of the normal distribution for a confidence of 95 %."""


def wilson_interval(passed: int, total: int, z: float = CONFIDENCE_Z) -> tuple[float, float]:
    """Return the Wilson score interval of a rate; (0, 1) if nothing was tried.

    Source: E. B. Wilson, "Probable Inference", JASA 22 (1927).

    >>> [round(each, 4) for each in wilson_interval(8, 10)]
    [0.4902, 0.9433]
    >>> [round(each, 4) for each in wilson_interval(0, 10)]
    [0.0, 0.2775]
    """
    if total == 0:
        return 0.0, 1.0
    rate, square = passed / total, z * z
    center = rate + square / (2 * total)
    margin = z * math.sqrt(rate * (1 - rate) / total + square / (4 * total * total))
    divisor = 1 + square / total
    return max(0.0, (center - margin) / divisor), min(1.0, (center + margin) / divisor)


def pass_at_k(tries: int, passed: int, k: int) -> float:
    """Return the chance that at least one of `k` tries passes, estimated from more tries.

    Source: M. Chen and others, "Evaluating Large Language Models Trained on Code" (2021).

    >>> round(pass_at_k(10, 3, 1), 4), round(pass_at_k(10, 3, 5), 4), pass_at_k(5, 5, 2)
    (0.3, 0.9167, 1.0)
    """
    return 1.0 - math.comb(tries - passed, k) / math.comb(tries, k)


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return a percentile, interpolated between the two nearest values; None without values.

    >>> percentile([1, 2, 3, 4], 0.5), round(percentile([1, 2, 3, 4], 0.9) or 0, 2)
    (2.5, 3.7)
    """
    if not values:
        return None
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def exact_sign_test(first: int, second: int) -> float:
    """Return the two-sided p-value of a sign test; ties are not counted.

    For pairs of a pass and a failure this is McNemar's exact test.

    >>> round(exact_sign_test(1, 9), 5), exact_sign_test(5, 5), exact_sign_test(0, 0)
    (0.02148, 1.0, 1.0)
    """
    total, smaller = first + second, min(first, second)
    # In integers: a power of two exceeds what a float holds from about a thousand pairs on.
    # Each binomial coefficient from the last: `math.comb` for each takes minutes for thousands.
    tail = coefficient = 1
    for count in range(smaller):
        coefficient = coefficient * (total - count) // (count + 1)
        tail += coefficient
    return min(1.0, 2 * tail / 2**total)
