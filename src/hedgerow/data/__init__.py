"""Records, and exact counts over them (private)."""
