"""Benchmark groups. Each yields the figures of one agent as they are measured."""
