"""Hypotheses: distributions over the domain, built from noisy answers alone (public)."""
