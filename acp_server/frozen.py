"""The server's door to frozen dataclasses that cost little to define; knows no classes."""

from frozen_classes import frozen

__all__ = ["frozen"]
