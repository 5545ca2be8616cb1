"""The codes of a variable that others determine, record by record."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.domain import codes_at
from hedgerow.errors import DomainError
from tests.models.strategies import leveled_domains
from tests.reference.feasible_model import FeasibleModel


@given(st.data())
def test_codes_follow_from_whatever_determines_them(data: st.DataObject) -> None:
    domain = data.draw(leveled_domains(longest=4))
    reference = FeasibleModel(domain, 1.0)
    names = [each.name for each in domain.variables]
    known = data.draw(st.sets(st.sampled_from(names), min_size=1, max_size=4))
    columns = {name: reference.column(name) for name in known}
    for name in names:
        if domain.determines(known, name):
            assert np.array_equal(codes_at(domain, name, columns), reference.column(name))
        else:
            with pytest.raises(DomainError, match="does not determine"):
                codes_at(domain, name, columns)
