"""The command line as tests call it: the one place that knows where it is put together."""

from hedgerow.cli.app import app

__all__ = ["app"]
