from .beliefs import Beliefs as Beliefs
from .forest import Forest as Forest
from .junction_tree import JunctionTree as JunctionTree
from .markov import Markov as Markov, cells_bytes as cells_bytes, markov_bytes as markov_bytes
from .structure_kernels import rooted as rooted
from .support import support_of as support_of
