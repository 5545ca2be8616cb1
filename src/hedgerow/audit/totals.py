"""Sums over several releases of one table."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hedgerow.audit.exact import tanh_of_half
from hedgerow.audit.gaussian import cost_of_pure, epsilon_of_half_square, epsilon_of_rho
from hedgerow.audit.relations import REPLACE_FILTERED, of_whole_tables
from hedgerow.audit.sentences import upwards


@dataclass(frozen=True)
class Share:
    """The part of one file in a sum.

    Attributes:
        path: The file.
        digest: Digest of its content: content that is given twice counts once.
        relation: Its neighbouring relation.
        domain: SHA-256 of its domain; empty where the file has none.
        unit: ``"epsilon"``, ``"rho"`` or ``"mu^2/2"``.
        limit: Limit of its ledger, which is its promise: what is left unspent makes the promise no smaller.
        holds: Whether its own audit found nothing wrong.
        thresholds: The delta that its ledger may spend on thresholds.
    """

    path: str
    digest: str
    relation: str
    domain: str
    unit: str
    limit: Fraction
    holds: bool = True
    thresholds: Fraction = Fraction(0)

    @property
    def rho(self) -> Fraction:
        """The limit in zCDP: an epsilon costs ``epsilon tanh(epsilon / 2)``, mu^2 / 2 as much as it is."""
        return self.limit * tanh_of_half(self.limit).high if self.unit == "epsilon" else self.limit


@dataclass(frozen=True)
class Total:
    """The sum over the files of one neighbouring relation.

    Attributes:
        relation: The neighbouring relation between whole tables.
        files: The files in the sum, each content once.
        epsilon: Sum of pure epsilons; None unless all are pure.
        rho: Sum in zCDP.
        delta: The conversion's delta; None if no conversion is asked for.
        converted: The epsilon at that delta: the smallest of what zCDP gives for all, and what it gives for those that
            are not pure, with the pure epsilons added; where none is in rho, also of what GDP gives for the same.
        remarks: Remarks needed to read the sum.
        thresholds: Sum of the deltas of thresholds. They are a part of delta where one is given; a rho or an epsilon
            holds but for them.
    """

    relation: str
    files: tuple[str, ...]
    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction | None
    converted: Fraction | None
    remarks: tuple[str, ...]
    thresholds: Fraction = Fraction(0)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        names = ("epsilon", "rho", "delta", "converted", *(["thresholds"] if self.thresholds else []))
        numbers = {name: getattr(self, name) for name in names}
        return {
            "neighbours": self.relation,
            "files": list(self.files),
            **{name: None if number is None else float(number) for name, number in numbers.items()},
            "remarks": list(self.remarks),
        }

    def __str__(self) -> str:
        """A line for people."""
        amounts = [] if self.epsilon is None else [f"epsilon = {upwards(self.epsilon, 6)}"]
        amounts.append(f"rho = {upwards(self.rho, 6)}")
        if self.converted is not None and self.delta is not None:
            amounts.append(f"epsilon = {upwards(self.converted, 6)} at delta = {upwards(self.delta, 3)}")
        if self.thresholds:
            amounts.append(f"{upwards(self.thresholds, 3)} of delta for thresholds")
        counted = f"{len(self.files)} file{'' if len(self.files) == 1 else 's'}"
        return f"{counted} under {self.relation!r}: {', '.join(amounts)}"


def totals_of(shares: Sequence[Share], delta: Fraction | None) -> list[Total]:
    """The sum for each neighbouring relation between whole tables: amounts under different ones do not add up.

    Example:
        >>> one = Share("a", "1", "replace", "d", "epsilon", Fraction(1))
        >>> other = Share("b", "2", "replace", "d", "epsilon", Fraction(2))
        >>> print(*totals_of([one, other, one], None))
        2 files under 'replace': epsilon = 3, rho = 1.98531
    """
    by_relation: dict[str, dict[str, Share]] = {}
    for share in shares:
        by_relation.setdefault(of_whole_tables(share.relation), {})[share.digest] = share
    return [_total(relation, list(by_digest.values()), shares, delta) for relation, by_digest in by_relation.items()]


def _total(relation: str, added: Sequence[Share], shares: Sequence[Share], delta: Fraction | None) -> Total:
    epsilon = sum((share.limit for share in added if share.unit == "epsilon"), Fraction(0))
    rest = sum((share.limit for share in added if share.unit != "epsilon"), Fraction(0))
    rho = sum((share.rho for share in added), Fraction(0))
    thresholds = sum((share.thresholds for share in added), Fraction(0))
    left = None if delta is None else delta - thresholds
    converted = None
    if left is not None and left > 0:
        converted = min(epsilon_of_rho(rho, left), epsilon + epsilon_of_rho(rest, left))
        if all(share.unit != "rho" for share in added):
            pure = sum((cost_of_pure(share.limit).high for share in added if share.unit == "epsilon"), Fraction(0))
            converted = min(converted, epsilon_of_half_square(pure + rest, left))
            converted = min(converted, epsilon + epsilon_of_half_square(rest, left))
    paths, remarks = tuple(share.path for share in added), tuple(_remarks(relation, added, shares))
    return Total(relation, paths, None if rest else epsilon, rho, delta, converted, remarks, thresholds)


def _remarks(relation: str, added: Sequence[Share], shares: Sequence[Share]) -> list[str]:
    remarks = []
    if others := sorted({of_whole_tables(share.relation) for share in shares} - {relation}):
        remarks.append(f"files under {' and '.join(map(repr, others))} are not in this sum: such amounts do not add up")
    if wrong := [share.path for share in added if not share.holds]:
        remarks.append(f"{', '.join(wrong)}: counted with what is promised, although the audit fails")
    if len({share.domain for share in added}) > 1:
        remarks.append("the domains differ: the sum is right for files that were made from the same people's records")
    if any(share.relation.startswith(REPLACE_FILTERED) for share in added):
        remarks.append("those with a filter count too: their guarantees are about the whole table as well")
    if len([share for share in shares if of_whole_tables(share.relation) == relation]) > len(added):
        remarks.append("some of the files are copies of others, and count once")
    return remarks
