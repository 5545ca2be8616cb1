"""A package outside of hedgerow that adds a mechanism, a query family, a source and a model, by public names alone."""
