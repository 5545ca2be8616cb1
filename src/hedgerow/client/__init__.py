"""A client of a Hedgerow server: data sets, questions, tables, records, registration."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
