"""M. Hardt, K. Ligett, F. McSherry 2012: the figures of MWEM."""
