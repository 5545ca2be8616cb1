from .conjunction import Boxes as Boxes, Conjunctions as Conjunctions
from .explicit import MAX_CELLS as MAX_CELLS, ExplicitMatrix as ExplicitMatrix
from .marginal import Cells as Cells, Marginals as Marginals, cliques_of_target as cliques_of_target
from .parity import Parities as Parities
from .registry import add_family as add_family, known_families as known_families, text_forms as text_forms
