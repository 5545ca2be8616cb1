"""A release: the public outcome of a run, and the one file that holds it."""

from hedgerow.release.answer import Answer
from hedgerow.release.provenance import Provenance
from hedgerow.release.release import Release

__all__ = ["Answer", "Provenance", "Release"]
