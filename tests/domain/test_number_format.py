"""Patterns and marks of numbers: what is written is read back, and what is not written so is no number."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from hedgerow.domain import NumberFormat, read_domain
from hedgerow.errors import DomainError
from hedgerow.release import Records

MARKS = [(".", None), (".", ","), (",", None), (",", "."), (".", " "), (".", "'"), (",", " ")]
PATTERNS = [None, "#,##0.00", "$#,##0.00;($#,##0.00)", "0 cm", "0.0#%", "EUR #,##0", "#.##;-#.##", "€ 0,00;(€ 0,00)"]


@given(
    st.sampled_from(PATTERNS),
    st.sampled_from(MARKS),
    st.lists(st.decimals(-(10**12), 10**12, places=3), min_size=1, max_size=20),
)
def test_what_is_written_is_read_back(
    pattern: str | None, marks: tuple[str, str | None], numbers: list[object]
) -> None:
    found = NumberFormat.of(pattern, *marks)
    texts = pa.array([f"{number:f}" for number in numbers])
    plain = found.plain(found.written(texts)).to_pylist()
    assert [float(text) for text in plain if text is not None] == [float(text) for text in texts.to_pylist() if text]


@pytest.mark.parametrize(
    ("pattern", "marks", "cells", "plain"),
    [
        ("$#,##0.00", (".", None), ["$1,234.50", "-$5.00", "$ 7", " $1234.5 "], ["1234.50", "-5.00", "7", "1234.5"]),
        ("#,##0.00;(#,##0.00)", (".", None), ["(3.00)", "4.00", "-5.00"], ["-3.00", "4.00", "-5.00"]),
        (None, (",", "."), ["2.865,07", "12,5", "1000", "1e3"], ["2865.07", "12.5", "1000", "1e3"]),
        ("# cm", (".", None), ["170 cm", "170cm", "-1.5 cm"], ["170", "170", "-1.5"]),
        ("0", (".", " "), ["1\u202f234", "1\u00a0234", "1 234"], ["1234", "1234", "1234"]),
        ("0", (".", "'"), ["1'234", "1\u2019234"], ["1234", "1234"]),
    ],
)
def test_cells_that_are_written_so_are_numbers(
    pattern: str | None, marks: tuple[str, str | None], cells: list[str], plain: list[str]
) -> None:
    found = NumberFormat.of(pattern, *marks)
    assert found.plain(pa.array(cells)).to_pylist() == plain
    words = pa.array(cells).dictionary_encode()
    assert found.plain(words).dictionary_decode().to_pylist() == plain


@pytest.mark.parametrize(
    ("pattern", "marks", "cell"),
    [
        ("$#,##0.00", (".", None), "1234.5"),  # no sign before it
        ("$#,##0.00", (".", None), "$1,23"),  # no group of three
        ("$#,##0.00", (".", None), "$-5.00"),
        ("$#,##0.00", (".", None), "$"),
        (None, (",", None), "2.5"),  # of another mark
        (None, (",", "."), "2.5"),
        ("# cm", (".", None), "170 mm"),
        ("# cm", (".", None), "(170 cm)"),
    ],
)
def test_cells_that_are_not_written_so_are_none(pattern: str | None, marks: tuple[str, str | None], cell: str) -> None:
    (plain,) = NumberFormat.of(pattern, *marks).plain(pa.array([cell])).to_pylist()
    with pytest.raises(ValueError, match="could not convert"):
        float(plain)


def test_numbers_that_are_no_texts_are_left_as_they_are() -> None:
    numbers = pa.array([1.5, None])
    assert NumberFormat.of("# cm").plain(numbers) is numbers
    assert NumberFormat().is_plain


@pytest.mark.parametrize("pattern", ["cm", "", "#.#.#", "0 0"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(DomainError, match="is no pattern"):
        NumberFormat.of(pattern)


def test_numbers_with_and_without_a_step_are_written_by_their_pattern(tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text(
        "attributes:\n"
        '  share: {edges: [0, 10, 100], pattern: "0.0%"}\n'
        '  pay: {min: 0, max: 5, step: 0.25, pattern: "$0.0#"}\n'
        '  fee: {min: 0, max: 9, pattern: "$0.00"}\n'
    )
    domain = read_domain(tmp_path / "d.yaml")
    Records(np.array([[0, 4, 3], [1, 5, 0], [1, 6, 9]]), domain, seed=0).write(tmp_path / "o.csv")
    lines = [line.split(",") for line in (tmp_path / "o.csv").read_text().splitlines()[1:]]
    assert all(re.fullmatch(r"\d+\.\d+%", share) for share, _, _ in lines), "no step: as many digits as were drawn"
    assert [(pay, fee) for _, pay, fee in lines] == [("$1.0", "$3.00"), ("$1.25", "$0.00"), ("$1.5", "$9.00")]
