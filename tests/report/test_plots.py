"""Drawings show what they say: bars, ends of intervals, labels of axes. Wrong ones are planted and noticed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from hedgerow.domain import Categorical, Domain, IntegerRange
from hedgerow.privacy import ApproxDP, SeededNoise
from hedgerow.queries import Conjunction, Workload
from hedgerow.release import Knowledge, Release, each_of
from hedgerow.report import curves, plots
from tests.privacy.mutants import Mutant, Patch, killed
from tests.release.made import make_release

MANY = 30
"""Labels, more than there are bars."""


def with_many_labels() -> Release:
    """A release with a column of labels too many to draw, one after the other less frequent."""
    from hedgerow import MWEM, Table

    domain = Domain([Categorical("job", tuple(f"job {code}" for code in range(MANY))), IntegerRange("age", 18, 67)])
    codes = np.repeat(np.arange(MANY), 10 * np.arange(MANY, 0, -1))
    table = Table(domain, [codes, np.arange(len(codes)) ** 2 % 50])
    return MWEM().run(table, Workload.marginals(domain, 1), ApproxDP(1.0, 1e-6), noise=SeededNoise(0))


@contextmanager
def drawn(module: ModuleType) -> Iterator[list[Any]]:
    """The axes that are written as SVG meanwhile, as matplotlib has them."""
    seen, written = list[Any](), module.svg_of

    def keep(axes: Any, description: str) -> str:
        seen.append(axes)
        return str(written(axes, description))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "svg_of", keep)
        yield seen


def column_of(release: Release, name: str) -> tuple[Any, Any]:
    """The drawing of a column, and the counts that it is of."""
    (counts,) = release.model.marginals([(name,)])
    with drawn(plots) as seen:
        plots.marginal_plot(release, release.domain[name], counts, 0.95)
    return seen[0], counts


def ends_of(release: Release, name: str, counts: Any, number: int) -> list[tuple[float, float]]:
    """The intervals of the values of a column that hold together."""
    each = each_of(0.95, number)
    asked = [Conjunction.where(release.domain, {name: range(code, code + 1)}) for code in range(len(counts))]
    found = [release.bound(query, float(count), each) for query, count in zip(asked, counts, strict=True)]
    return [(each.low, each.high) for each in found if each.low is not None and each.high is not None]


def lines_of(axes: Any) -> list[Any]:
    """The lines in the colour of noise."""
    return [line for line in axes.lines if line.get_color() == plots.NOISE]


def bars_are_the_counts_of_their_labels() -> None:
    release = with_many_labels()
    axes, counts = column_of(release, "job")
    lengths = {round(bar.get_y() + bar.get_height() / 2): bar.get_width() for bar in axes.patches}
    shown = {
        label.get_text(): lengths[place] for place, label in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)
    }
    rest = f"{MANY - plots.MOST_BARS} more together"
    assert list(shown)[-1] == rest
    order = np.argsort(-counts, kind="stable")
    wanted = {f"job {code}": counts[code] for code in sorted(order[: plots.MOST_BARS])}
    assert shown == pytest.approx({**wanted, rest: counts[order[plots.MOST_BARS :]].sum()})


def intervals_of_bars_have_their_ends() -> None:
    release = with_many_labels()
    axes, counts = column_of(release, "job")
    ends = ends_of(release, "job", counts, MANY)
    order = np.argsort(-counts, kind="stable")
    wanted = [ends[code] for code in sorted(order[: plots.MOST_BARS])]
    wanted.append(tuple(np.sum([ends[code] for code in order[plots.MOST_BARS :]], axis=0)))
    found = {round(line.get_ydata()[0]): tuple(line.get_xdata()) for line in lines_of(axes)}
    np.testing.assert_allclose([found[place] for place in sorted(found, reverse=True)], wanted)


def steps_stand_at_their_values() -> None:
    release = with_many_labels()
    axes, counts = column_of(release, "age")
    heights, edges, _ = axes.patches[0].get_data()
    np.testing.assert_allclose(heights, counts)
    np.testing.assert_allclose((edges[:-1] + edges[1:]) / 2, range(18, 68))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("age", "records per value")


def intervals_of_steps_have_their_ends() -> None:
    release = with_many_labels()
    axes, counts = column_of(release, "age")
    found = [(line.get_xdata()[0], *line.get_ydata()) for line in lines_of(axes)]
    ends = ends_of(release, "age", counts, 50)
    np.testing.assert_allclose(found, [(18 + code, *each) for code, each in enumerate(ends)])


def charges_add_up_over_looks() -> None:
    release = make_release(ApproxDP(1.0, 1e-6), 0, [("sex", "age"), ("job", "income")])
    with drawn(plots) as seen:
        plots.spending_plot(release.events, release.budget.limit, "rho")
    (axes,) = seen
    charges = [each.charge for each in release.events]
    for steps in axes.patches:
        np.testing.assert_allclose(steps.get_data().values, np.cumsum(charges))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("looks at the data", "rho spent")
    assert set(axes.lines[0].get_ydata()) == {release.budget.limit}


def distances_are_beside_those_of_noise() -> None:
    with drawn(plots) as seen:
        plots.fit_plot([0.5, 3.0])
    (axes,) = seen
    assert [segment[:, 1].tolist() for segment in axes.collections[0].get_segments()] == [[0.0, 0.5], [0.0, 3.0]]
    assert set(axes.lines[0].get_ydata()) == {1.0}
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("measurement", "distance / noise")


def squares_are_those_of_their_pairs() -> None:
    names = ("a", "b", "c")
    known = {("a", "b"): Knowledge.MEASURED, ("a", "c"): Knowledge.UNKNOWN, ("b", "c"): Knowledge.IMPLIED}
    with drawn(plots) as seen:
        plots.pairs_plot(known, names)
    (axes,) = seen
    across = dict(zip(axes.get_xticks(), (each.get_text() for each in axes.get_xticklabels()), strict=True))
    down = dict(zip(axes.get_yticks(), (each.get_text() for each in axes.get_yticklabels()), strict=True))
    found = {}
    for square in axes.patches:
        column, row = (round(low + 0.4) for low in square.get_xy())
        found[across[column], down[row]] = square.get_facecolor()
    legend = {
        text.get_text(): patch.get_facecolor()
        for patch, text in zip(axes.get_legend().get_patches(), axes.get_legend().get_texts(), strict=True)
    }
    assert found == {pair: legend[str(kind)] for pair, kind in known.items()}


def bands_hold_both_ends_of_the_runs() -> None:
    points = [curves.Point(0.1, 0.5, 0.4, 0.7), curves.Point(1.0, 0.2, 0.1, 0.3)]
    alone = [curves.Point(0.1, 5.0, 4.0, 7.0)]
    panel = curves.Panel("mean", "error", {"mwem": points, "laplace": alone}, scales=("linear", "linear"))
    with pytest.MonkeyPatch.context() as patched:
        seen = list[Any]()
        patched.setattr(curves, "svg_file_of", lambda axes, description: seen.append(axes))
        curves.curves_plot([panel], along="epsilon", runs="5 runs")
    (axes,) = seen
    band, line = axes.collections
    assert {tuple(each) for each in band.get_paths()[0].vertices} >= {
        (p.at, end) for p in points for end in (p.low, p.high)
    }
    assert line.get_segments()[0].tolist() == [[0.1, 4.0], [0.1, 7.0]]
    assert [each.get_ydata().tolist() for each in axes.lines] == [[0.5, 0.2], [5.0]]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("epsilon", "error")


def _in_place_of(module: ModuleType, name: str, text: str, other: str) -> Patch:
    """A function whose source has another text in place of one that stands there once."""

    def patch(patched: pytest.MonkeyPatch) -> None:
        source = inspect.getsource(getattr(module, name))
        if source.count(text) != 1:
            raise LookupError(f"{text!r} does not stand once in {name}")
        made: dict[str, Callable[..., Any]] = {}
        code = "from __future__ import annotations\n" + source.replace(text, other)
        exec(compile(code, f"<{name}>", "exec"), vars(module), made)
        patched.setattr(module, name, made[name])

    return patch


MUTANTS = [
    Mutant(
        "bars in another order than their labels",
        _in_place_of(plots, "_bars", "barh(places, heights,", "barh(places, heights[::-1],"),
        bars_are_the_counts_of_their_labels,
    ),
    Mutant(
        "a bar of all the rest without one of them",
        _in_place_of(plots, "_bars", "order[MOST_BARS:]", "order[MOST_BARS + 1 :]"),
        bars_are_the_counts_of_their_labels,
    ),
    Mutant(
        "intervals of bars at half width",
        _in_place_of(plots, "_bars", ".sum(axis=0)\n", ".sum(axis=0) / 2 + np.mean(ends) / 2 * len(ends)\n"),
        intervals_of_bars_have_their_ends,
    ),
    Mutant(
        "intervals of bars without that of a value in the rest",
        _in_place_of(plots, "_bars", "group[:_MOST_ADDED]]", "group[:2]]"),
        intervals_of_bars_have_their_ends,
    ),
    Mutant(
        "intervals of steps at half width",
        _in_place_of(
            plots,
            "_ordered",
            "[estimate.low, estimate.high],",
            "np.mean([[estimate.low, estimate.high], 2 * [(estimate.low + estimate.high) / 2]], axis=0),",
        ),
        intervals_of_steps_have_their_ends,
    ),
    Mutant(
        "steps a value too far up",
        _in_place_of(plots, "_ordered", "attribute.minimum - 0.5", "attribute.minimum + 0.5"),
        steps_stand_at_their_values,
    ),
    Mutant(
        "labels of the axes of steps swapped",
        _in_place_of(plots, "_ordered", "axes.set_ylabel(", "axes.set_xlabel("),
        steps_stand_at_their_values,
    ),
    Mutant(
        "labels of the axes of charges swapped",
        _in_place_of(
            plots,
            "spending_plot",
            'xlabel="looks at the data", ylabel=f"{unit} spent"',
            'ylabel="looks at the data", xlabel=f"{unit} spent"',
        ),
        charges_add_up_over_looks,
    ),
    Mutant(
        "each charge for their sum",
        _in_place_of(
            plots,
            "spending_plot",
            "list(accumulate(event.charge for event in events))",
            "[event.charge for event in events]",
        ),
        charges_add_up_over_looks,
    ),
    Mutant(
        "twice the noise for noise alone",
        _in_place_of(plots, "fit_plot", "axhline(1.0", "axhline(2.0"),
        distances_are_beside_those_of_noise,
    ),
    Mutant(
        "squares of pairs in each other's places",
        _in_place_of(plots, "pairs_plot", "shown[column], shown[row]]", "shown[0], shown[column - row]]"),
        squares_are_those_of_their_pairs,
    ),
    Mutant(
        "bands of runs with half of what is above",
        _in_place_of(curves, "_curve", "[point.high for", "[(point.mean + point.high) / 2 for"),
        bands_hold_both_ends_of_the_runs,
    ),
]


@pytest.mark.many(quick=3)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_wrong_drawing_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
