"""Benchmarks against peers, run by hand: ``python -m tests.perf``. Ratios of medians measured in one run."""
