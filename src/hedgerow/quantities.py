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
