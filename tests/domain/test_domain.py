"""What a domain is and what it refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hedgerow.domain import Attribute, Binned, Categorical, Domain, IntegerRange, value_text
from hedgerow.errors import DomainError

A, B, C = IntegerRange("a", 0, 1), IntegerRange("b", 0, 2), Categorical("c", ("x", "y"), missing="?", other="o")


def test_codes_are_ordinary_then_missing_then_other() -> None:
    assert C.labels == ("x", "y", "?", "o")
    assert (C.size, C.ordinary, C.missing_code, C.other_code) == (4, 2, 2, 3)
    assert (A.missing_code, A.other_code) == (None, None)
    assert IntegerRange("d", 5, 6, other="o").other_code == 2
    assert Categorical("c", ("x", "?", "o", "y"), missing="?", other="o") == C


def test_labels() -> None:
    assert IntegerRange("a", -1, 1).labels == ("-1", "0", "1")
    assert Binned("a", (0, 0.5, 1), missing="?").labels == ("[0, 0.5)", "[0.5, 1]", "?")
    for code in (-1, 4):
        with pytest.raises(DomainError, match=f"no code {code}"):
            C.label(code)


def test_bins() -> None:
    assert Binned.equal_width("a", 0, 1, 3).edges == (0, 1 / 3, 2 / 3, 1)
    whole = Binned("a", (0.5, 3, 4.5), whole=True)
    assert [whole.whole_bounds(code) for code in range(2)] == [(1, 2), (3, 4)]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Categorical("a", ()), "0 values"),
        (lambda: Categorical("a", ("x",)), "has 1 value;"),
        (lambda: IntegerRange("a", 3, 3), "has 1 value;"),
        (lambda: Binned("a", (0, 1)), "has 1 value;"),
        (lambda: Binned("a", ()), "0 values"),
        (lambda: Categorical("a", ("x", "x", "y")), "'x' more than once"),
        (lambda: Categorical("a", (1, "1", 2)), "'1' more than once"),
        (lambda: Categorical("a", (1, 1.0, 2)), "'1' more than once"),
        (lambda: Categorical("a", (float("nan"), 1.0)), "lists nan"),
        (lambda: Categorical("a", (None, "x")), "neither text nor a number"),  # type: ignore[arg-type]
        (lambda: Categorical("", ("x", "y")), "needs a name"),
        (lambda: Categorical("a", ("x", "y"), missing="?", other="?"), "both '?'"),
        (lambda: IntegerRange("a", 3, 1), "min 3 is above max 1"),
        (lambda: IntegerRange("a", 0, 1.5), "1.5 is not a whole number"),  # type: ignore[arg-type]
        (lambda: IntegerRange("a", False, True), "not a whole number"),
        (lambda: IntegerRange("a", 0, 9, missing="5"), "'5' is the text of a declared value and a number"),
        (lambda: Binned("a", (0, 5, 9), other="9.0"), "'9.0' is the text"),
        (lambda: Binned("a", (0, 2, 1)), "strictly increasing"),
        (lambda: Binned("a", (0, 1, float("inf"))), "finite"),
        (lambda: Binned("a", (0, 0.2, 0.8), whole=True), r"\[0.2, 0.8\] holds no whole number"),
        (lambda: Binned.equal_width("a", 0, 1, 0), "0 bins"),
        (lambda: Binned.equal_width("a", 1, 1, 2), "2 bins between 1 and 1"),
        (lambda: Binned.equal_width("a", 0, 1, 10**12), "1,000,000,000,000 bins are more"),
    ],
)
def test_attributes_that_are_refused(make: Callable[[], Attribute], words: str) -> None:
    with pytest.raises(DomainError, match=words) as caught:
        make()
    assert caught.value.remedy


def test_a_missing_text_outside_the_range_is_fine() -> None:
    assert IntegerRange("a", 0, 9, missing="-1", other="none").size == 12


def test_domains() -> None:
    domain = Domain([A, B, C])
    assert (domain.names, domain.shape, domain.size, len(domain)) == (("a", "b", "c"), (2, 3, 4), 24, 3)
    assert ("b" in domain, "z" in domain, domain["b"], list(domain)) == (True, False, B, [A, B, C])
    assert domain.clique(["c", "a", "c"]) == ("a", "c")
    assert (domain.axes(("c", "a")), domain.shape_of(("c", "a"))) == ((2, 0), (4, 2))
    assert domain.project(["c", "a"]) == Domain([C, A])
    assert Domain([A, B]).merge(Domain([B, C])) == domain
    assert hash(domain) == hash(Domain([A, B, C]))


def test_the_size_is_exact_however_large() -> None:
    assert Domain(IntegerRange(f"a{i}", 0, 9) for i in range(400)).size == 10**400


def test_domains_that_are_refused() -> None:
    with pytest.raises(DomainError, match="at least one attribute"):
        Domain([])
    with pytest.raises(DomainError, match="'a' is declared twice"):
        Domain([A, IntegerRange("a", 0, 5)])
    with pytest.raises(DomainError, match="there is no attribute 'z'") as caught:
        Domain([A, B]).index("z")
    assert "a, b" in caught.value.remedy
    with pytest.raises(DomainError, match="'a' differs"):
        Domain([A]).merge(Domain([IntegerRange("a", 0, 5)]))


def test_texts_by_which_values_are_told_apart() -> None:
    assert [value_text(value) for value in (3, 3.0, 3.5, "3", True, 1e300)] == ["3", "3", "3.5", "3", "True", "1e+300"]
