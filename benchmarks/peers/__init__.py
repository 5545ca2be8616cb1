"""Other people's software for the same tasks: its figures, and what it takes to run it beside ours."""
