"""Adapters of the model port: each one file, none of them imported before it is needed."""
