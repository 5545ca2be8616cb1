"""Every exception that Hedgerow raises on purpose, as one tree.

Each error states the problem and a remedy, and carries the objects concerned, so that a program can
act on it. No message holds a value of the private table unless the caller asked to see
such values.
"""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import ClassVar, NoReturn

from hedgerow.quantities import at_least, at_most, human, human_bytes, spent_of


class HedgerowError(Exception):
    """Root of the tree.

    Attributes:
        message: The problem.
        remedy: Advice to the user; empty when nothing helps.
    """

    def __init__(self, message: str, *, remedy: str = "") -> None:
        """Join the message and the remedy into the text of the exception."""
        self.message = message
        self.remedy = remedy
        super().__init__(f"{message}\n  Remedy: {remedy}" if remedy else message)


class DomainError(HedgerowError, ValueError):
    """A domain, an attribute or a domain file is not well-formed."""


class QueryError(HedgerowError, ValueError):
    """A query, a workload or its text does not fit the domain or the grammar.

    Attributes:
        attribute: The attribute that a condition compares with what it does not hold; None for other problems.
    """

    attribute: str | None = None


class ConfigError(HedgerowError, ValueError):
    """A parameter of an algorithm, a budget or a command is out of its range."""


class ImpossibleRowError(ConfigError):
    """No record of the domain has the values of a row that was to be completed.

    Attributes:
        row: Its number, from 1.
    """

    def __init__(self, row: int) -> None:
        """Keep the number."""
        super().__init__(f"no record has the values of row {row:,}", remedy="leave it out, or give fewer values")
        self.row = row


class PlugInError(ConfigError):
    """An installed plug-in cannot be loaded, or has a name that is taken."""


class DataError(HedgerowError, ValueError):
    """The private table cannot be read or does not fit its domain.

    Attributes:
        file: Path or description of the table.
        column: Offending column, if one is known.
        rows: First few offending row numbers, 1-based, the header not counted.
        n_rows: Number of offending rows.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str = "",
        column: str | None = None,
        rows: Sequence[int] = (),
        n_rows: int = 0,
        remedy: str = "",
    ) -> None:
        """Prefix the message with file, column and rows."""
        self.file = file
        self.column = column
        self.rows = tuple(rows)
        self.n_rows = n_rows
        where = [f"{file}"] if file else []
        if column is not None:
            where.append(f"column {column!r}")
        if rows:
            shown = ", ".join(str(row) for row in rows)
            where.append(f"{n_rows} row{'s' if n_rows != 1 else ''} (first: {shown})")
        super().__init__(f"{', '.join(where)}: {message}" if where else message, remedy=remedy)


class UnknownValueError(DataError):
    """A cell holds a value that the domain does not list."""


class OutOfRangeError(DataError):
    """A number lies outside the range or the bin edges that the domain declares."""


class MissingValueError(DataError):
    """A cell is empty and the domain declares no "missing" value for its column."""


class BrokenRuleError(DataError):
    """Records break rules of the domain: constraints, or functions that derived columns follow.

    Attributes:
        broken: Number of rows that break each rule, by its text; ``n_rows`` counts a row that breaks several once.
    """

    def __init__(
        self, message: str, *, file: str, rows: Sequence[int], n_rows: int, broken: Mapping[str, int], remedy: str
    ) -> None:
        """Keep the rules beside the rows."""
        super().__init__(message, file=file, rows=rows, n_rows=n_rows, remedy=remedy)
        self.broken = dict(broken)


class ColumnError(DataError):
    """A column is missing, occurs twice, or is not in the domain."""


class UndeclaredColumnError(ColumnError):
    """The table has columns that the domain does not declare.

    Attributes:
        looks_like_counts: Whether the name of the column suggests that it holds numbers of records.
    """

    looks_like_counts: bool = False
    looks_like_weights: bool = False


class CountColumnError(DataError):
    """The column of counts, or of weights, holds something other than whole numbers that are not negative."""


class PersonColumnError(DataError):
    """A record does not say who it belongs to."""


class KeyColumnError(DataError):
    """The key of two linked tables does not name exactly one parent of each child."""


class UnreadableTableError(DataError):
    """The file is empty, truncated, of an unknown kind or missing."""


class BudgetError(HedgerowError):
    """Something about a privacy budget is wrong."""


class BudgetExceededError(BudgetError):
    """The ledger refused a charge; nothing was drawn and nothing was spent.

    Attributes:
        requested: The charge that was refused (epsilon or rho, as ``unit`` says).
        spent: Sum of the charges that the ledger held before.
        limit: Largest sum of charges that the ledger may hold.
        unit: ``"epsilon"`` or ``"rho"``.
    """

    _payer: ClassVar[str] = "the privacy budget"
    _spender: ClassVar[str] = ""
    _remedy: ClassVar[str] = "ask for less, or start a new release with its own budget"

    def __init__(self, *, requested: float, spent: float, limit: float, unit: str, place: str = "") -> None:
        """State the three amounts, and the ways out."""
        self.requested = requested
        self.spent = spent
        self.limit = limit
        self.unit = unit
        super().__init__(
            f"{place and f'{place}: '}{self._payer} does not cover this: {at_most(requested)} {unit} requested, "
            f"{spent_of(spent, limit, 'spent')}{self._spender}, {at_least(max(0.0, limit - spent))} left",
            remedy=self._remedy,
        )


class UnpaidNoiseError(BudgetError):
    """Noise was requested that no event of the ledger paid for; nothing was drawn."""


class RegisterExceededError(BudgetExceededError):
    """The register of a table refused a release; nothing was read and nothing was charged.

    Attributes:
        place: Path of the register; part of the message.
    """

    _payer = "the register"
    _spender = " by what is in it"
    _remedy = "give this release a smaller budget; the limit of a register cannot be raised"

    def __init__(self, *, place: str, requested: float, spent: float, limit: float, unit: str) -> None:
        """Keep the place."""
        self.place = place
        super().__init__(requested=requested, spent=spent, limit=limit, unit=unit, place=place)


class RegisterError(HedgerowError):
    """The register of a table cannot be made, read or written; its contents are unchanged.

    Attributes:
        place: Path of the register; the beginning of the message.
    """

    def __init__(self, message: str, *, place: str, remedy: str = "") -> None:
        """Begin the message with the place."""
        self.place = place
        super().__init__(f"{place}: {message}", remedy=remedy)


class DamagedRegisterError(RegisterError):
    """The file is not a register, or something other than Hedgerow changed it."""


class RegisterBusyError(RegisterError):
    """Other processes kept the register busy for longer than the waiting time."""


class UnregisteredWarning(UserWarning):
    """A table was released before, and no register adds up the budgets of its releases."""


class WeakGuaranteeWarning(UserWarning):
    """The epsilon or delta is so large that the guarantee protects the people in the table hardly at all."""


class LooseKeyWarning(UserWarning):
    """Users other than its owner can read a private key."""


class WatchClosedError(BudgetError):
    """A sparse vector was asked more than it was charged for; nothing was read."""


class ModelTooLargeError(HedgerowError, MemoryError):
    """The hypothesis would not fit into memory; nothing was allocated.

    Attributes:
        cells: Number of cells of the domain, or of the cliques of a junction tree (exact).
        required_bytes: Estimate of the memory that the run would need.
        available_bytes: Memory that may be used.
    """

    def __init__(
        self, *, cells: int, required_bytes: int, available_bytes: int, tree: bool = False, averaged: bool = False
    ) -> None:
        """State the estimate and the ways out.

        Args:
            cells: Number of cells of the domain, or of the cliques.
            required_bytes: Estimate of the memory that the run would need.
            available_bytes: Memory that may be used.
            tree: Whether the cells are those of cliques.
            averaged: Whether hypotheses are averaged, cell by cell.
        """
        self.cells = cells
        self.required_bytes = required_bytes
        self.available_bytes = available_bytes
        held = "the cliques of all that is measured have" if tree else "the domain has"
        ways = (
            "measure marginals of fewer attributes, or fewer that overlap, give these attributes fewer bins, or take "
            "MWEM (--mechanism mwem), which measures only what fits"
            if tree
            else "select fewer columns (--columns), give numeric attributes fewer bins in the domain file, "
            "merge rare values into a declared 'other' value, or take DualQuery (--mechanism dual-query), which holds "
            "no cells"
        )
        super().__init__(
            f"{held} {human(cells)} cells; a hypothesis over all of them needs "
            f"{human_bytes(required_bytes)}, and {human_bytes(available_bytes)} may be used",
            remedy=f"take the last hypothesis in place of the average (output='last'), or {ways}" if averaged else ways,
        )


class _LearningTooLargeError(ModelTooLargeError):
    """The hypothesis would grow beyond its limit if it learnt something.

    Attributes:
        cells: Number of cells of the smallest hypothesis that could learn it (exact).
        largest_cells: Number of cells that the hypothesis may have.
        attributes: The attributes that would have to be measured.
    """

    _message: ClassVar[str]
    _remedy: ClassVar[str]

    def __init__(
        self, *, attributes: tuple[str, ...], cells: int, largest_cells: int, required_bytes: int, available_bytes: int
    ) -> None:
        """State the estimate and the ways out."""
        super().__init__(cells=cells, required_bytes=required_bytes, available_bytes=available_bytes)
        self.largest_cells = largest_cells
        self.attributes = attributes
        message = self._message.format(
            attributes=" * ".join(attributes),
            size=f"{human(cells)} cells (about {human_bytes(required_bytes)})",
            largest=human(largest_cells),
        )
        HedgerowError.__init__(self, message, remedy=self._remedy)


class CandidatesTooLargeError(_LearningTooLargeError):
    """No candidate of a workload may be measured: the hypothesis would become larger than it may."""

    _message = (
        "nothing of the workload can be measured: the least, {attributes}, has {size}, and a hypothesis may have "
        "{largest}"
    )
    _remedy = (
        "ask for marginals of fewer attributes, give these attributes fewer bins in the domain file, or allow a larger "
        "hypothesis (in Python: MWEM(largest_tree=...))"
    )


class QuestionTooLargeError(_LearningTooLargeError):
    """A session's hypothesis cannot learn the answer to a question, so that it answers alone, without an interval."""

    _message = (
        "to learn an answer about {attributes} beside what it learnt before, the hypothesis would need {size}, and it "
        "may have {largest}"
    )
    _remedy = (
        "ask about fewer attributes, or about ones that were asked about together before; give them fewer bins in the "
        "domain file; or start a session that allows a larger hypothesis (--mechanism online-pmw:largest_tree=N, in "
        "Python OnlinePMW(largest_tree=...))"
    )


class MarginalTooLargeError(HedgerowError, MemoryError):
    """Marginals of the records would not fit into memory; nothing was allocated.

    Attributes:
        attributes: Names of the attributes of the (largest) marginal.
        cells: Its number of cells (exact).
        required_bytes: Estimate of the memory that counting would need.
        available_bytes: Memory that may be used.
        n_marginals: Number of marginals that were asked for together.
    """

    def __init__(
        self,
        *,
        attributes: tuple[str, ...],
        cells: int,
        required_bytes: int,
        available_bytes: int,
        n_marginals: int = 1,
    ) -> None:
        """State the estimate and the ways out."""
        self.attributes = attributes
        self.cells = cells
        self.required_bytes = required_bytes
        self.available_bytes = available_bytes
        self.n_marginals = n_marginals
        others = "it" if n_marginals == 1 else f"{n_marginals:,} of at most that size"
        super().__init__(
            f"the marginal of {' * '.join(attributes)} has {human(cells)} cells; counting {others} needs about "
            f"{human_bytes(required_bytes)} and {human_bytes(available_bytes)} may be used",
            remedy="ask for marginals of fewer attributes, or give these attributes fewer values or bins",
        )


class ReleaseError(HedgerowError):
    """A release cannot be saved, loaded or used as asked."""


class DamagedReleaseError(ReleaseError):
    """The file is not a release, is truncated, or was changed after it was written."""


class ReleaseVersionError(ReleaseError):
    """The file was written in a format that this version does not read."""


class AuditError(HedgerowError):
    """A file cannot be audited: it is missing, unreadable, or not a file that Hedgerow wrote."""


class SigningError(HedgerowError):
    """A key cannot be read or written, or is of another kind."""


class RecordsError(HedgerowError):
    """Synthetic records cannot be written to their target, which is as it was."""


class SessionError(HedgerowError):
    """A session cannot be saved, or cannot be continued as asked."""


class DamagedSessionError(SessionError):
    """The file is not a session, is truncated, or was changed after it was written."""


class MissingExtraError(HedgerowError, ImportError):
    """An optional part of Hedgerow is not installed."""


class ServiceError(HedgerowError):
    """The server cannot do what a request asks for."""


class UnreachableError(ServiceError):
    """A server does not answer, or what answers is no Hedgerow server."""


class InvalidRequestError(ServiceError):
    """A request is not well-formed."""


class MalformedRequestError(ServiceError):
    """A request states something twice that may be stated only once, so a proxy could read it differently."""


class NotSignedInError(ServiceError):
    """There is no token, or it is wrong, has expired or was revoked."""


class NotAllowedError(ServiceError):
    """The token is valid but not allowed here: another role, another data set, or a limit that is used up."""


class NotThereError(ServiceError):
    """There is no such data set, person, token or file, or the token may not see it."""


class ConflictError(ServiceError):
    """The request conflicts with the store: the name is taken, the data set closed, or the key used otherwise."""


class TooMuchError(ServiceError):
    """The request is larger than the server accepts."""


class QuotaError(NotAllowedError):
    """The questions of a person about a data set have filled their share of the store; nothing was read.

    Attributes:
        stored: Number of bytes that they take.
        room: Number of bytes that are left.
        needed: Largest number of bytes that the question may take.
    """

    def __init__(self, *, stored: int, room: int, needed: int) -> None:
        """State the three amounts."""
        self.stored = stored
        self.room = max(0, room)
        self.needed = needed
        super().__init__(
            f"your questions about this data set have taken {stored:,} bytes of the store, and this one may take "
            f"{needed:,} of the {self.room:,} left",
            remedy="ask its custodian for more room; the hypothesis (pictures, synthetic records) stays free",
        )


class RateError(ServiceError):
    """Too many requests in a short time.

    Attributes:
        seconds: Number of seconds to wait before another try.
    """

    def __init__(self, message: str, *, seconds: float, remedy: str = "") -> None:
        """Keep the waiting time."""
        self.seconds = seconds
        super().__init__(message, remedy=remedy)


class StoreError(ServiceError):
    """The store cannot be read or written; earlier answers are kept, and no new one was given.

    Attributes:
        place: The address of the store, if it is known; part of the message.
    """

    def __init__(self, message: str, *, remedy: str = "", place: str = "") -> None:
        """Begin the message with the place."""
        self.place = place
        super().__init__(f"{place}: {message}" if place else message, remedy=remedy)


class DamagedStoreError(StoreError):
    """Rows of the store were changed, removed or moved after they were written: a hash chain does not match."""


class OlderStoreError(StoreError):
    """The store is older than its anchor says, or has another history: a copy was restored.

    Attributes:
        data_sets: Names of the data sets concerned.
    """

    def __init__(self, message: str, *, data_sets: Sequence[str], remedy: str = "") -> None:
        """Keep the names."""
        self.data_sets = tuple(data_sets)
        super().__init__(message, remedy=remedy)


class StoreBusyError(StoreError):
    """Another process kept the store or the data set busy for longer than the waiting time."""


class ElsewhereError(StoreBusyError):
    """Another server works for the data set.

    Attributes:
        address: Its address, as servers reach each other.
    """

    def __init__(self, address: str) -> None:
        """Say where it is."""
        super().__init__("another server works for this data set", remedy="try again in a moment")
        self.address = address


class OutdatedError(StoreError):
    """Another process has meanwhile changed a data set; the result of this process is discarded."""


class TableError(ServiceError):
    """The private table of a data set cannot be read now; nothing was spent."""


def require(module: str, message: str, remedy: str) -> None:
    """Check that a module of an optional part is installed.

    Args:
        module: Name of the module.
        message: The message of the error.
        remedy: The command that installs it.

    Raises:
        MissingExtraError: The module is not installed.

    Example:
        >>> require("json", "JSON is not installed", "install Python")
    """
    if find_spec(module) is None:
        raise MissingExtraError(message, remedy=remedy)


def raise_alone(error: Exception) -> NoReturn:
    """Raise an error without a trace of the one being handled, which ``from None`` would only hide.

    Example:
        >>> try:
        ...     try:
        ...         raise ValueError("a cell")
        ...     except ValueError:
        ...         raise_alone(OSError("it cannot be read"))
        ... except OSError as error:
        ...     print(error.__context__, error.__cause__)
        None None
    """
    try:
        raise error from None
    finally:
        error.__context__ = None
