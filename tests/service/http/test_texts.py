"""Texts that a server parses: whatever is sent, an error of ours or a value comes back, and soon."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given, strategies as st

from hedgerow.domain import Domain, IntegerRange, domain_from_mapping
from hedgerow.errors import DomainError, HedgerowError
from hedgerow.queries import Workload, parse_json_predicate, parse_predicate, parse_select
from hedgerow.service.http import request_parsing, requests, routes_data_sets

DOMAIN = Domain([IntegerRange("a", 0, 9), IntegerRange("b", 0, 9)])
SECONDS = 5.0
LONG = "9" * 5_000
READERS: dict[str, tuple[Callable[[str], object], str]] = {
    "domain": (
        lambda text: domain_from_mapping(routes_data_sets._content(text)),
        "[ | ] | { | } | : | ? |\n|- |a|\"|'|>|&x |*x |!|%|#|,|{min: 0, max: 9}|\t|~|---|0x|<<: |1e999|.",
    ),
    "json": (
        lambda text: parse_json_predicate(request_parsing.parse_json(text.encode("utf-8", "surrogatepass")), DOMAIN),
        '[|]|{|}|:|,|"a"|1|1e999|null|true|"and":|"or":|"not":|"column":|"in":|"\\u0000"|"\\ud800"| ',
    ),
    "condition": (
        lambda text: parse_predicate(text, DOMAIN),
        "(|)|a|b|=|<| AND | OR | NOT | IN |1|'x'|\"a\"| BETWEEN | IS NULL |-|+|*|%|,|;|--|/*|\\|$$|@|::int|[|{|\0|٣",
    ),
    "workload": (
        lambda text: Workload.parse(text, DOMAIN),
        "marginals:|cells:|ranges:|prefixes:|sums:|means:|where: |2|²|<=|;|,|(|)|a|b|*|a = 1|@|^|-1|1e9|:",
    ),
    "sql": (
        lambda text: parse_select(text, DOMAIN),
        "SELECT |COUNT(*)|a|,| FROM |t| WHERE | GROUP BY |AVG(|MEDIAN(|SUM(|)|(|1|*|=| AND |'|;|--|0.5| AS |DISTINCT ",
    ),
}


@contextmanager
def soon() -> Iterator[None]:
    """Fail after so many seconds of this process's own time, however busy the machine is."""

    def late(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("kind", READERS)
@given(data=st.data())
def test_any_text_is_read_or_refused_soon(kind: str, data: st.DataObject) -> None:
    read, alphabet = READERS[kind]
    pieces = data.draw(st.lists(st.sampled_from([*alphabet.split("|"), LONG]), min_size=1, max_size=4))
    text = "".join(data.draw(st.lists(st.sampled_from(pieces), max_size=30)))
    text *= data.draw(st.sampled_from([1, 1, 1, 3, 40, 5_000]))
    with soon(), suppress(HedgerowError):
        read(text[: requests.LONGEST_DOMAIN])


@pytest.mark.parametrize(
    "piece", ["[", "{", "- ", "? ", "? ? ", "{a: ", "[{", "[\n", "a: [", "!!seq [", "- [", "&a [", "'a': {"]
)
def test_a_domain_that_is_nested_is_refused_at_once(piece: str) -> None:
    with soon(), pytest.raises(DomainError):
        routes_data_sets._content((piece * requests.LONGEST_DOMAIN)[: requests.LONGEST_DOMAIN])


@pytest.mark.parametrize("depth", [2, 10, 24, 40])
def test_keys_of_keys_are_refused(depth: int) -> None:
    """As texts they would double in length at each level."""
    with soon(), pytest.raises(DomainError, match="a key is a list or a mapping"):
        routes_data_sets._content("? " * depth + "a")


def test_a_number_of_thousands_of_digits_is_no_fault_of_the_server() -> None:
    for text in (f"a: {LONG}", f'{{"a": {LONG}}}'):
        with pytest.raises(HedgerowError, match="digits"):
            routes_data_sets._content(text)
    for text in (f"marginals:{LONG}", "marginals:²", f"marginals:1<={LONG}", f"ranges:a:{LONG}"):
        with pytest.raises(HedgerowError):
            Workload.parse(text, DOMAIN)
