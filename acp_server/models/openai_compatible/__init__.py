"""Adapter of the OpenAI API formats, chat completions and Responses, which most endpoints speak.

Uses `httpx2` instead of the `openai` SDK: the SDK takes a second and 50 MB to import, validates
fields that half of these endpoints send differently, and adds nothing over a POST request. Events
are decoded by `models/sse`, as for the Messages API: library decoders took a large part of the
time per chunk and buffer events of unlimited size. `adapter`, `endpoint` and `entry_point` import
httpx2: only `models/lazy_imports` may import them, in a thread.
"""
