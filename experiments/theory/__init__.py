"""The bounds of the theory beside measured errors."""
