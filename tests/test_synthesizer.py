"""``hedgerow.Synthesizer``: fit and sample, with scikit-learn's conventions."""

from __future__ import annotations

import pandas as pd
import pytest
from sklearn.base import clone

import hedgerow
from hedgerow.errors import ConfigError

DOMAIN = {"sex": ["F", "M"], "age": {"min": 20, "max": 23}}
FRAME = pd.DataFrame({"sex": ["F", "M"] * 200, "age": [20, 21, 22, 23] * 100})


def test_a_fit_is_the_one_call() -> None:
    made = hedgerow.Synthesizer(2.0, domain=DOMAIN, seed=1).fit(FRAME)
    other = hedgerow.synthesize(FRAME, 2.0, domain=DOMAIN, seed=1)
    assert made.release_.events == other.release.events
    assert isinstance(made.sample(5), pd.DataFrame)
    pd.testing.assert_frame_equal(made.sample(), other.records)
    assert set(made.sample(9, given="sex = 'F'")["sex"]) == {"F"}


def test_every_argument_reaches_the_call() -> None:
    params = hedgerow.Synthesizer().get_params()
    assert params == {**params, "epsilon": 1.0, "mechanism": "mwem"}
    made = hedgerow.Synthesizer(domain=DOMAIN, columns=["sex"], workload="marginals:1", delta=1e-6, seed=0).fit(FRAME)
    assert made.release_.domain.names == ("sex",)
    assert made.release_.workload.spec == "marginals:1"
    assert "delta = 1e-06" in made.release_.guarantee()


def test_scikit_learn_clones_what_is_not_fitted() -> None:
    made = hedgerow.Synthesizer(2.0, domain=DOMAIN, columns=["sex"], seed=1).fit(FRAME)
    copied = clone(made)
    assert copied is not made
    assert copied.get_params() == made.get_params()
    with pytest.raises(ConfigError, match="not fitted"):
        copied.sample(1)
    with pytest.raises(ConfigError, match="not fitted"):
        _ = copied.release_


def test_arguments_are_set_by_name() -> None:
    made = hedgerow.Synthesizer(domain=DOMAIN)
    assert made.set_params(epsilon=3.0, seed=2) is made
    assert (made.epsilon, made.seed) == (3.0, 2)
    with pytest.raises(ConfigError, match="no argument 'epsilom'"):
        made.set_params(seed=5, epsilom=1.0)
    assert made.seed == 2
    with pytest.raises(ConfigError, match="separate target"):
        made.fit(FRAME, FRAME["sex"])  # type: ignore[arg-type] # which is what is refused
