"""Averages of numbers."""


def mean(numbers: list[float]) -> float:
    """Return the sum over the count."""
    return sum(numbers) / len(numbers)


def median(numbers: list[float]) -> float:
    """Return the number in the middle."""
    ordered = sorted(numbers)
    return ordered[len(ordered) // 2]
