"""M. Hardt, G. Rothblum 2010: online private multiplicative weights."""
