"""Symbols of source code: outlines, definitions, references and previews of renames."""
