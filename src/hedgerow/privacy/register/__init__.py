"""Register."""
