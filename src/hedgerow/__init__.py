"""Differentially private query release and synthetic data with multiplicative weights."""

__version__ = "0.1.0"
