"""Tiered, cache-stable system prompt. Pure; independent of the server.

>>> from datetime import date
>>> from prompt_engine.assemble import build_prompt
>>> from prompt_engine.facts import PromptFacts
>>> build_prompt(PromptFacts(day=date(2026, 11, 21), model="")).volatile
'Today is Saturday, November 21, 2026.'
"""
