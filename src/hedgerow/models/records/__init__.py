"""A hypothesis that is spread over a few records.

``empirical`` is the model, and where its records stand in tables and conditions. Imports ``core``.
"""
