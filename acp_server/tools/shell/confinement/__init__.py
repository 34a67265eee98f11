"""Commands kept within bounds by the system itself: what they may write, read and reach."""
