"""Adapter of Anthropic's Messages API, also for other endpoints that speak it.

`adapter` and `endpoint` import the SDK, which takes seconds and tens of megabytes. Only
`models/lazy_imports` may import them, in a thread, once a session is open.
"""
