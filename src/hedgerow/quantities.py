"""Numbers as people read them, however large."""


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
