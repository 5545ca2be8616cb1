from .bins import SHARE as SHARE, learn_bins as learn_bins, learning_charges as learning_charges
