"""Benchmarks whose figures decide something are tested."""
