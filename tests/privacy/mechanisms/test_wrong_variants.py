"""The replay accepts the published sparse vectors that are private, and finds the loss of those that are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.privacy.mechanisms.wrong_variants import RIGHT, WRONG, Question, Variant, loss


@pytest.mark.parametrize("variant", RIGHT, ids=str)
def test_right_variants_reach_their_bound_and_do_not_pass_it(variant: Variant) -> None:
    assert loss(variant) == pytest.approx(variant.loss, rel=1e-6)
    assert loss(variant) <= 1.0 + 1e-9


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("variant", RIGHT, ids=str)
def test_right_variants_lose_at_most_epsilon_on_any_story(variant: Variant) -> None:
    generator = np.random.default_rng(5)
    stories = [other.story for other in (*RIGHT, *WRONG) if not other.tells_value]
    for _ in range(60):
        cells, levels = generator.integers(0, 2, size=12), generator.integers(-20, 30, size=12)
        told = generator.random(12) < 0.4
        asked = zip(cells.tolist(), levels.tolist(), told.tolist(), strict=True)
        stories.append(tuple(Question(*question) for question in asked))
    assert max(abs(loss(replace(variant, story=story))) for story in stories) <= 1.0 + 1e-9


@pytest.mark.parametrize("variant", WRONG, ids=str)
def test_wrong_variants_are_caught(variant: Variant) -> None:
    assert loss(variant) > 1.2
    if variant.loss is not None:
        assert loss(variant) == pytest.approx(variant.loss, rel=1e-6)


@pytest.mark.parametrize("variant", [variant for variant in WRONG if variant.fires is None], ids=str)
def test_without_an_end_the_loss_grows_with_every_yes(variant: Variant) -> None:
    quiet = tuple(question for question in variant.story if question.told is False)
    loud = [question for question in variant.story if question.told is True][:1]
    losses = [loss(replace(variant, story=(*quiet, *loud * count))) for count in (1, 5, 50)]
    assert losses[0] <= losses[1] <= losses[2]
    assert losses[2] > 5.0


def test_the_tested_value_tells_more_with_every_no_before_it() -> None:
    (variant,) = (variant for variant in WRONG if variant.tells_value)
    quiet, (last,) = variant.story[:-1], variant.story[-1:]
    losses = [loss(replace(variant, story=(*quiet[:count], last))) for count in (1, 10, 40)]
    assert losses[0] < losses[1] < losses[2]
    assert losses[2] > 10.0
