"""Numbers as people read them, however large, and figures that err to one side alone."""

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context
from math import ceil, floor


def at_most(value: float, digits: int = 6) -> str:
    """A figure for what a promise or a charge is at most: rounded up, unless it reads as the number itself.

    Args:
        value: The number.
        digits: Most digits of the figure.

    Example:
        >>> at_most(1.0000004), at_most(1.0049e-6, 3), at_most(1e-06, 3), at_most(0.5)
        ('1.00001', '1.01e-06', '1e-06', '0.5')
    """
    return _figure(value, digits, ROUND_CEILING)


def at_least(value: float, digits: int = 6) -> str:
    """A figure for what is left at least: rounded down, unless it reads as the number itself.

    Example:
        >>> at_least(0.9999999), at_least(0.75)
        ('0.999999', '0.75')
    """
    return _figure(value, digits, ROUND_FLOOR)


def outward(low: float | None, high: float | None, whole: bool) -> tuple[str, str]:
    """The ends of an interval as texts, which hold all that the interval holds; empty where it has none.

    Args:
        low: Lower end.
        high: Upper end.
        whole: Whether the texts are whole numbers; else they have four digits.

    Example:
        >>> outward(38.2361, 1038.5, False), outward(1998.7, 2000.0, True)
        (('38.23', '1039'), ('1,998', '2,000'))
    """
    below = "" if low is None else f"{floor(low):,}" if whole else at_least(low, 4)
    above = "" if high is None else f"{ceil(high):,}" if whole else at_most(high, 4)
    return below, above


def spent_of(spent: float, limit: float, unit: str, digits: int = 6) -> str:
    """The spent part of a budget, and the budget, both rounded up.

    Example:
        >>> spent_of(0.2500001, 1.0, "epsilon", 4)
        '0.2501 of 1 epsilon'
    """
    return f"{at_most(spent, digits)} of {at_most(limit, digits)} {unit}"


def _figure(value: float, digits: int, rounding: str) -> str:
    nearest = f"{value:.{digits}g}"
    off = float(nearest) - value
    if not (off < 0.0 if rounding == ROUND_CEILING else off > 0.0):
        return nearest
    cut = Context(prec=digits, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN).create_decimal_from_float(value)
    return f"{float(cut):.{digits}g}"


def human(number: int) -> str:
    """A number for people, who do not read sixty digits.

    Example:
        >>> human(1_234_567), human(3 * 10**59)
        ('1,234,567', 'about 10^59')
    """
    return f"{number:,}" if number < 10**12 else f"about 10^{len(str(number)) - 1}"


def human_bytes(amount: int) -> str:
    """A number of bytes in a unit that leaves at most four digits before the point.

    Example:
        >>> human_bytes(3 * 2**29), human_bytes(3 * 2**40), human_bytes(2**1200)
        ('1,536.0 MiB', '3,072.0 GiB', 'more than 10,000 TiB')
    """
    for power, unit in ((20, "MiB"), (30, "GiB"), (40, "TiB")):
        if amount < 10_000 * 2**power:
            return f"{amount / 2**power:,.1f} {unit}"
    return "more than 10,000 TiB"


def human_seconds(seconds: float) -> str:
    """A rough time in a unit that people would use.

    Example:
        >>> [human_seconds(each) for each in (0.42, 12.3, 100.0, 1500.0, 20_000.0)]
        ['0.4 s', '12 s', '100 s', '25 minutes', '5.6 hours']
    """
    if seconds < 120.0:
        return f"{seconds:.1f} s" if seconds < 10.0 else f"{seconds:.0f} s"
    minutes = seconds / 60.0
    return f"{minutes:.0f} minutes" if minutes < 120.0 else f"{minutes / 60.0:,.1f} hours"


def count_text(value: float) -> str:
    """A count with separators, and one decimal where it has a fraction.

    Example:
        >>> count_text(1012.25), count_text(48842.0)
        ('1,012.2', '48,842')
    """
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
