"""Benchmarks, each started by its own command.

They are not part of the test run: no wall time fails a test.
"""
