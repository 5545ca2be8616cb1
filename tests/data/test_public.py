"""Public tables: those columns of a domain that they have."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hedgerow.data import read_public
from hedgerow.domain import Categorical, Domain, IntegerRange, domain_from_mapping, impossible
from hedgerow.errors import ColumnError, UnknownValueError

DOMAIN = Domain([IntegerRange("age", 0, 99), Categorical("sex", ("F", "M"))])


def test_other_columns_are_left_out_and_missing_ones_may_be() -> None:
    table = read_public(pa.table({"height": [1, 2], "sex": ["F", "M"]}), DOMAIN)
    assert table.domain.names == ("sex",)
    assert read_public(pa.table({"sex": ["M"], "age": [3]}), DOMAIN).domain == DOMAIN


def test_counts_are_used_where_there_are_some() -> None:
    weighted = pa.table({"sex": ["F", "M"], "n": [3, 4]})
    assert read_public(weighted, DOMAIN, count_column="n").total == 7
    assert read_public(weighted.drop_columns("n"), DOMAIN, count_column="n").total == 2


def test_records_that_break_a_rule_are_left_out() -> None:
    ruled = Domain(DOMAIN.attributes, constraints=[impossible(DOMAIN, "age < 10 and sex = 'M'")])
    assert read_public(pa.table({"age": [5, 50], "sex": ["M", "M"]}), ruled).total == 1


def test_what_does_not_fit_is_refused_and_shown() -> None:
    with pytest.raises(UnknownValueError, match="x"):
        read_public(pa.table({"sex": ["x"]}), DOMAIN)
    with pytest.raises(ColumnError, match="no column of the domain"):
        read_public(pa.table({"height": [1]}), DOMAIN)


@pytest.mark.parametrize("column", [False, True])
def test_a_duration_is_there_where_the_columns_that_it_lies_between_are(*, column: bool) -> None:
    stay = {"from": "day", "to": "left", "min": 0, "max": 9, "unit": "d", "column": column}
    domain = domain_from_mapping({"day": {"min": "2020-01-01", "max": "2020-12-31"}, "stay": stay, "sex": ["F", "M"]})
    day = pa.array([18_300], pa.date32())
    cells = {"sex": ["F"], "day": day, "left": pa.array([18_302], pa.date32()), "stay": [2]}
    public = read_public(pa.table(cells), domain)
    assert public.marginals([("stay",)])[0].tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    for gone, names in (("left", ("day", "sex")), ("day", ("sex",)), ("sex", ("day", "stay"))):
        table = pa.table({name: each for name, each in cells.items() if name != gone})
        assert read_public(table, domain).domain.names == names
    without = pa.table({name: each for name, each in cells.items() if name != "stay"})
    assert ("stay" in read_public(without, domain).domain.names) is not column
    coded = pa.table({"day": [3], "stay": [2]})
    assert read_public(coded, domain, coded=True).domain.names == ("day", "stay")
