"""Tiered, cache-stable system prompt. Pure; independent of the server.

>>> from datetime import date
>>> from prompt_engine.assemble import build
>>> from prompt_engine.facts import Facts
>>> build(Facts(day=date(2026, 11, 21), model="")).volatile
'Today is Saturday, November 21, 2026.'
"""
