from .bins import (
    SHARE as SHARE,
    budget_after as budget_after,
    learn_bins as learn_bins,
    learning_charges as learning_charges,
)
