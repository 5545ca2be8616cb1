"""``hedgerow plan``: what a run would cost and promise, before anything is spent."""
