"""Adapters of the tool port."""
