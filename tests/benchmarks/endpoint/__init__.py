"""Instant, lenient model endpoint on loopback, in its own process.

Supports four API formats (`messages`, `chat`, `responses`, `gemini`), answers as the prompt
commands, and records the requests. The strict servers of `tests/support` are for tests. This one is
for third-party agents, whose fields it does not validate, and for benchmarks, which its own work
must not distort.
"""
