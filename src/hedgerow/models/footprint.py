"""What a hypothesis would take, before it is made: cells and memory, from public quantities alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from hedgerow.domain import Clique, Domain
from hedgerow.models.choice import cheaper_trees
from hedgerow.models.classes import domain_of_classes, wants_classes
from hedgerow.models.core import check_cells, required_bytes
from hedgerow.models.trees import JunctionTree, cells_bytes, markov_bytes
from hedgerow.quantities import human
from hedgerow.queries import Workload


@final
@dataclass(frozen=True)
class Footprint:
    """Cells and memory of a hypothesis in the form that costs less (see ``choice.py``).

    Attributes:
        cells: Cells of the domain.
        tree_cells: Cells that the cliques of junction trees may have, or None where a histogram holds the domain.
        required_bytes: Memory of the hypothesis and the work on it.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30))
        >>> Footprint.of(domain, [("x0", "x1"), ("x1", "x2")]).words
        'junction trees of up to 200 cells; the domain has about 10^30'
    """

    cells: int
    tree_cells: int | None
    required_bytes: int

    @classmethod
    def of(cls, domain: Domain, scopes: Iterable[Clique], copies: int = 2) -> Footprint:
        """Of a hypothesis whose updates connect some scopes.

        Args:
            domain: The domain.
            scopes: All of them.
            copies: Arrays over all cells that are held at once, where it is a histogram.
        """
        trees = cheaper_trees(domain, scopes)
        return cls._histogram(domain, copies) if trees is None else cls._trees(domain, trees)

    @classmethod
    def of_workload(cls, workload: Workload, copies: int = 2) -> Footprint:
        """Of a hypothesis that is corrected by answers to all candidates of a workload, over classes of values too."""
        if not wants_classes(workload):
            return cls.of(workload.domain, workload.scopes, copies)
        coarse = domain_of_classes(workload, {}, workload.n_candidates)
        return cls._trees(workload.domain, JunctionTree.of(coarse, workload.scopes))

    @classmethod
    def up_to(cls, domain: Domain, tree_cells: int | None, copies: int = 2) -> Footprint:
        """Of a hypothesis that is kept below a number of cells, whatever it will be asked.

        Args:
            domain: The domain.
            tree_cells: Of all cliques; None for a histogram.
            copies: Arrays over all cells that are held at once, where it is a histogram.
        """
        if tree_cells is None:
            return cls._histogram(domain, copies)
        return cls(domain.size, tree_cells, cells_bytes(tree_cells))

    @classmethod
    def _histogram(cls, domain: Domain, copies: int) -> Footprint:
        return cls(domain.size, None, required_bytes(domain, copies))

    @classmethod
    def _trees(cls, domain: Domain, trees: JunctionTree) -> Footprint:
        return cls(domain.size, trees.cells, markov_bytes([trees]))

    @property
    def words(self) -> str:
        """What is held, in words."""
        if self.tree_cells is None:
            return f"{human(self.cells)} cells"
        return f"junction trees of up to {human(self.tree_cells)} cells; the domain has {human(self.cells)}"

    def check(self) -> None:
        """Refuse what does not fit, before anything is allocated.

        Raises:
            ModelTooLargeError: More than may be used is required.
        """
        cells = self.cells if self.tree_cells is None else self.tree_cells
        check_cells(cells, self.required_bytes, tree=self.tree_cells is not None)
