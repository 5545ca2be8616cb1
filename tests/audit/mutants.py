"""Mistakes planted in the auditor's own code, each killed by a check of what the auditor then says."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from itertools import combinations, product
from types import ModuleType
from typing import Any

import mpmath

PACKAGE = "hedgerow.audit"


@dataclass(frozen=True)
class Mistake:
    """A text of a module's source that stands there once, and what stands in its place."""

    module: str
    text: str
    other: str

    def __str__(self) -> str:
        return f"{self.module}: {self.text!r} -> {self.other!r}"


class _Changed(SourceFileLoader):
    """Reads a module's source with the mistake in it, and no compiled copy."""

    mutant: Mistake

    def get_code(self, fullname: str) -> Any:
        source = self.get_data(self.get_filename(fullname)).decode()
        if source.count(self.mutant.text) != 1:
            raise LookupError(f"{self.mutant} does not fit: its text does not stand there once")
        return compile(source.replace(self.mutant.text, self.mutant.other), self.get_filename(fullname), "exec")


@dataclass
class _Finder(MetaPathFinder):
    mutant: Mistake

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != f"{PACKAGE}.{self.mutant.module}":
            return None
        spec = PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.origin is not None
        loader = _Changed(fullname, spec.origin)
        loader.mutant = self.mutant
        spec.loader = loader
        return spec


@contextmanager
def planted(mutant: Mistake | None) -> Iterator[Callable[[str], ModuleType]]:
    """The auditor's package anew, with a mistake in it; gives what imports one of its modules."""
    names = [name for name in sys.modules if name == PACKAGE or name.startswith(f"{PACKAGE}.")]
    kept = {name: sys.modules.pop(name) for name in names}
    finder = None if mutant is None else _Finder(mutant)
    if finder is not None:
        sys.meta_path.insert(0, finder)
    try:
        yield lambda name: importlib.import_module(f"{PACKAGE}.{name}")
    finally:
        if finder is not None:
            sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name == PACKAGE or name.startswith(f"{PACKAGE}.")]:
            del sys.modules[name]
        sys.modules.update(kept)


PLANTED: Mistake | None = None
"""The one that is planted now."""

MISTAKES = [
    Mistake("composition", "math.exp(epsilon) * total", "total"),
    Mistake("composition", "math.comb(count, yes) * ", ""),
    Mistake("composition", "means.append(_mass(low - mu / 2.0, high - mu / 2.0))", "means.append(_mass(low, high))"),
    Mistake("composition", "loss = 2 * entry.sensitivity", "loss = entry.sensitivity"),
    Mistake("composition", "if amount > exact(fixed[name])", "if amount > 2 * exact(fixed[name])"),
    Mistake(
        "costs",
        "_of_any_pure(_ratio(entry.sensitivity, entry.scale), entry.unit)",
        "Bounds.of(_ratio(entry.sensitivity, entry.scale) / 2)",
    ),
    Mistake("costs", "Bounds.of(ratio**2 / 2)", "Bounds.of(ratio**2 / 4)"),
    Mistake("costs", "Bounds.of(ratio**2 / 2)", "Bounds.of(ratio / 2)"),
    Mistake("costs", "cost_of_noise(entry.sensitivity, entry.scale)", "Bounds.of(ratio**2 / 2)"),
    Mistake("costs", "cost_of_pure(loss / 2)", "Bounds.of(loss * loss / 8)"),
    Mistake("costs", "cost_of_pure(loss)", "cost_of_pure(loss / 2)"),
    Mistake("gaussian", "1 - 1 / (3 * sigma**2)", "1 - 1 / (4 * sigma**2)"),
    Mistake("gaussian", "Bounds.of(2 * squared)", "Bounds.of(squared)"),
    Mistake("gaussian", "wanted = 1 / (1 + x.exp())", "wanted = 1 / (2 + x.exp())"),
    Mistake("gaussian", "near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2", "near = far = epsilon / mu"),
    Mistake("gaussian", "beyond = epsilon.exp() * _tail(far)", "beyond = 2 * epsilon.exp() * _tail(far)"),
    Mistake("gaussian", "power *= -half / n", "power *= half / n"),
    Mistake("ledger_checks", 'exact(inner["mu"]) ** 2 / 2 if', 'exact(inner["mu"]) ** 2 if'),
    Mistake("gaussian", 'epsilon_of_half_square(amount, delta) if unit == "mu^2/2"', "amount if not unit"),
    Mistake("totals", "epsilon + epsilon_of_half_square(rest, left)", "epsilon_of_half_square(rest, left)"),
    Mistake("totals", 'all(share.unit != "rho" for share in added)', "added"),
    Mistake(
        "costs",
        "_of_bounded_range(2 * _ratio(entry.sensitivity, entry.scale), entry.unit, entry.bound)",
        "_of_bounded_range(_ratio(entry.sensitivity, entry.scale), entry.unit, entry.bound)",
    ),
    Mistake(
        "costs",
        "_of_any_pure(2 * _ratio(entry.sensitivity, entry.scale), entry.unit)",
        "_of_any_pure(_ratio(entry.sensitivity, entry.scale), entry.unit)",
    ),
    Mistake(
        "costs",
        "loss = 2 * _ratio(entry.sensitivity, entry.scale) + _ROUNDING_OF_WEIGHTS",
        "loss = 2 * _ratio(entry.sensitivity, entry.scale)",
    ),
    Mistake("costs", "Bounds.of(Fraction(entry.values)).times", "Bounds.of(Fraction(1)).times"),
    Mistake("costs", "threshold + 2 * entry.values * _ratio", "threshold + 2 * _ratio"),
    Mistake("costs", "threshold + 2 * entry.values * _ratio", "threshold + entry.values * _ratio"),
    Mistake("costs", "threshold + 2 * entry.values * _ratio", "2 * entry.values * _ratio"),
    Mistake("costs", "entry.values * of_test**2", "of_test**2"),
    Mistake("costs", "Fraction(3, 4) * of_threshold**2", "Fraction(3, 8) * of_threshold**2"),
    Mistake("costs", "math.ceil(entry.sensitivity * _STEPS) + 1", "math.ceil(entry.sensitivity * _STEPS)"),
    Mistake("costs", 'mapping["unit"] != "rho" or ', ""),
    Mistake("costs", 'or mapping["mechanism"] not in _BOUNDS.get(bound, ())', ""),
    Mistake("costs", "Bounds.of(Fraction(2)).times(half)", "half"),
    Mistake("costs", 'question.fields.get("form") in _TABLES and moves_two', "moves_two"),
    Mistake("costs", 'and moves_two(mapping["neighbours"])', ""),
    Mistake("costs", "if bound == EXACT:", "if bound != EXACT:"),
    Mistake("costs", 'case "selection among runs" if entry.unit == "epsilon":', 'case "selection among runs":'),
    Mistake("exact", "(tries + each) / (tries * each + 1)", "(tries + each) / (tries * each + 2)"),
    Mistake("exact", "tries >= 2 and tries.denominator == 1", "tries >= 2"),
    Mistake("ledger_checks", "if left > entry.sensitivity:", "if left > 2 * entry.sensitivity:"),
    Mistake("ledger_checks", "left -= entry.charge", "left -= 2 * entry.charge"),
    Mistake("measurement_checks", 'if each.get("tries", 1) < tries:', "if tries < 1:"),
    Mistake("exact", "low - 1 + x - max", "low - 2 + x - max"),
    Mistake("exact", "x * power.low / (1 - power.low), x", "x * power.low / (2 - power.low), x"),
    Mistake("relations", "change != ADD_REMOVE and records_of_person(relation) == 1", "change != ADD_REMOVE"),
    Mistake("costs", "most = min(Fraction(2), entry.sensitivity)", "most = Fraction(2)"),
    Mistake("costs", "Bounds.of(entry.sensitivity / most).times(each)", "each"),
    Mistake("costs", 'records_of_person(mapping["neighbours"]) == 1):', "True):"),
    Mistake("questions", "not in (0, parities):", "not in (0, 1, parities):"),
    Mistake("questions", "1.0 <= unit < math.inf", "0.0 <= unit < math.inf"),
    Mistake("questions", 'values != len(question.fields["scopes"])', 'values < len(question.fields["scopes"])'),
    Mistake("relations", "(signed[0] - min(signed)) // 2", "(signed[0] - min(signed)) // 3"),
    Mistake("relations", "unit**2 if gaussian else unit", "unit"),
    Mistake("relations", "moved if gaussian else moved**2", "moved"),
    Mistake("relations", "range(1, min(size, changed) + 1, 2)", "range(1, min(size, changed), 2)"),
    Mistake("relations", "dearest[len(each)] = max(dearest[len(each)], price)", "dearest[len(each)] = 1"),
    Mistake("relations", "each = 2 if replaced else 1", "each = 2"),
    Mistake("measurement_checks", "exact(float(entry.scale) * unit)", "entry.scale"),
    Mistake("measurement_checks", "used.add((entry.number, place))", "used.add((entry.number, -1))"),
    Mistake("composition", 'made["pure"] += 2 if in_halves else 1', 'made["pure"] += 1'),
    Mistake("composition", "entry.bound == HALVES and loss > most", "loss > most"),
    Mistake("costs", "loss * loss / 8", "loss * loss / 16"),
    Mistake("costs", ".times(tanh_of_half(loss))", ".times(tanh_of_half(loss / 2))"),
    Mistake("costs", "Bounds.of(loss).times(tanh_of_half(loss))", "Bounds.of(loss * loss / 4)"),
    Mistake(
        "costs", 'raise ValueError(f"{entry.mechanism} has no cost in {entry.unit}")', "return Bounds.of(ratio**2)"
    ),
    Mistake("costs", "if not (sensitivity > 0 and scale > 0):", "if not scale > 0:"),
    Mistake("costs", "if entry.sensitivity or entry.scale or entry.charge:", "if entry.charge:"),
    Mistake("exact", "(1 - power.high) / (1 + power.high)", "(1 - power.high) / 2"),
    Mistake("exact", "(1 - power.low) / (1 + power.low)", "(1 - power.high) / (1 + power.low)"),
    Mistake("exact", "if isinstance(value, bool) or not", "if not"),
    Mistake("gaussian", "-log_delta / excess", "-log_delta / order"),
    Mistake("gaussian", "-log_order / excess)", "-log_order / excess, -excess * rho)"),
    Mistake("gaussian", "-log_order, -log_delta", "-log_order, -log_order, -log_delta"),
    Mistake("gaussian", "(1 + _decimal(share) * growth)", "(1 + _decimal(share) ** 2 * growth)"),
    Mistake("ledger_checks", "if entry.charge < needed.high:", "if entry.charge < needed.high / 2:"),
    Mistake("ledger_checks", "if spent > limit:", "if spent > limit * 2:"),
    Mistake("ledger_checks", "if limit <= promised else", "if limit <= promised * 2 else"),
    Mistake("ledger_checks", "if epsilon <= promised else", "if epsilon <= promised * 2 else"),
    Mistake("ledger_checks", "if stated != head:", "if stated is None:"),
    Mistake("ledger_checks", 'if entry.unit != ledger["unit"]:', "if not entry.unit:"),
    Mistake("ledger_checks", "if entry.neighbours != (relation or entries[0].neighbours):", "if not entry.neighbours:"),
    Mistake("ledger_checks", "if not is_public(entry.neighbours)", "if not entry.neighbours"),
    Mistake("ledger_checks", '*ledger["events"]):', '*ledger["events"][1:]):'),
    Mistake("relations", "_records_of_weights(relation, column, cap) * (possible - cap)", "(possible - cap)"),
    Mistake("relations", "cap) * (possible - cap)", "cap) * (cap)"),
    Mistake("relations", "* cap**power) ** 2", "* cap) ** 2"),
    Mistake("relations", "(parts.weight, parts.largest) != (column, cap)", "parts.weight != column"),
    Mistake("relations", "return (2 if gaussian else 4) *", "return 2 *"),
    Mistake("relations", "return (2 if gaussian else 4) *", "return (1 if gaussian else 4) *"),
    Mistake("relations", "else max(one, other)\n", "else other\n"),
    Mistake("relations", "one = other if is_public", "one = one if is_public"),
    Mistake("relations", "return (2 if gaussian else 4) * squared_of_persons(relation)", "return 2 if gaussian else 4"),
    Mistake("relations", "return one * one * squared_of_persons(relation)", "return one * one"),
    Mistake(
        "relations", "return Fraction(records_of_person(relation)) ** 2", "return Fraction(records_of_person(relation))"
    ),
    Mistake("relations", "return parts.most * parts.largest", "return parts.most"),
    Mistake("relations", "return parts.most * parts.largest", "return parts.largest"),
    Mistake("relations", "return change == REPLACE and most == 1 and weight", "return change == REPLACE and weight"),
    Mistake("relations", "most == 1 and weight is None", "most == 1"),
    Mistake("relations", "halved = _fields_of(relation).change == ADD_REMOVE and not counts", "halved = not counts"),
    Mistake("relations", "halved = _fields_of(relation).change == ADD_REMOVE and not counts", "halved = True"),
    Mistake("relations", "return squared_of_persons(relation) / (4 if", "return Fraction(1) / (4 if"),
    Mistake("relations", 'f"{whole} of persons ({column})"', "whole"),
    Mistake(
        "measurement_checks",
        '        needed = squared_of_persons(relation)\n    elif kind == "error"',
        '        needed = Fraction(1)\n    elif kind == "error"',
    ),
    Mistake("measurement_checks", "counts=any(map(_is_of_counts, families))", "counts=False"),
    Mistake("measurement_checks", "counts=any(map(_is_of_counts, families))", "counts=True"),
    Mistake("measurement_checks", "* _TEN_BITS) ** 2 * squared_of_persons(relation)", "* _TEN_BITS) ** 2"),
    Mistake(
        "measurement_checks", 'squared_of_marginal(relation, gaussian="Gaussian" in entry.mechanism)', "Fraction(1)"
    ),
    Mistake("measurement_checks", "(records_of_person(relation) + _GRID) ** 2", "(1 + _GRID) ** 2"),
    Mistake(
        "measurement_checks", "while free[key] and (free[key][0][0].number, free[key][0][1]) in used:", "while False:"
    ),
    Mistake("measurement_checks", 'exact(measured["scale"]), _values_of', "exact(0), _values_of"),
    Mistake("trace_checks", "if noise != SECURE_SOURCE:", "if not noise:"),
    Mistake("trace_checks", "if not secure:", "if secure is None:"),
    Mistake("measurement_checks", "(records_of_person(relation) + _GRID) ** 2", "Fraction(0)"),
    Mistake("measurement_checks", "if entry.sensitivity**2 < least:", "if entry.sensitivity < least:"),
    Mistake("totals", "rho = sum((share.rho for share in added), Fraction(0))", "rho = rest"),
    Mistake("totals", "epsilon + epsilon_of_rho(rest, left)", "epsilon_of_rho(rest, left)"),
    Mistake("totals", "else delta - thresholds", "else delta"),
    Mistake(
        "costs",
        "together, alone = (tail(float(entry.scale), int(threshold) - count)",
        "together, alone = (tail(float(entry.scale), int(threshold) + 1 - count)",
    ),
    Mistake("costs", "max(together, most * alone, _SMALLEST)", "max(together, _SMALLEST)"),
    Mistake("costs", "max(together, most * alone, _SMALLEST)", "max(most * alone, _SMALLEST)"),
    Mistake("costs", "max(together, most * alone, _SMALLEST)", "max(together, alone, _SMALLEST)"),
    Mistake("costs", "max(together, most * alone, _SMALLEST)", "max(together, most * alone)"),
    Mistake("costs", "if threshold < most:", "if threshold < 0:"),
    Mistake("costs", "return Fraction(above) / Fraction(whole)", "return Fraction(2 * above) / Fraction(whole)"),
    Mistake("costs", "/ (1.0 + math.exp(-1.0 / scale)))", ")"),
    Mistake("ledger_checks", "if deltas > most:", "if deltas > 2 * most:"),
    Mistake("ledger_checks", "if budget is not None and most > allowed:", "if budget is None and most > allowed:"),
    Mistake("ledger_checks", "not (deltas or wrong or allowed or most)", "not (allowed or most)"),
    Mistake("ledger_checks", 'exact(inner["delta"]) - kept', 'exact(inner["delta"])'),
    Mistake("ledger_checks", '{"thresholds": kept} if kept else {}', "{}"),
    Mistake("ledger_checks", "0 <= kept <= delta:", "0 <= kept <= 1:"),
    Mistake("ledger_checks", "kept and kept == delta and", "kept > delta and"),
    Mistake("ledger_checks", "sorted(set(each) - known)", "sorted(set())"),
    Mistake("ledger_checks", "for each in (budget, inner):", "for each in (inner,):"),
    Mistake("measurement_checks", "_learns(entry, name) and entry.charge", "_learns(entry, name)"),
    Mistake("measurement_checks", 'and all(entry.question.kind == "query" for entry in paying)', ""),
    Mistake("measurement_checks", 'question.kind != "query" or entry.label != LEARN', 'question.kind != "query"'),
    Mistake(
        "measurement_checks", 'question.fields["attribute"] == name', 'question.fields["attribute"] in (name, "jobs")'
    ),
    Mistake("measurement_checks", 'entry.get("learnt")}', 'entry.get("learned")}'),
    Mistake("measurement_checks", 'elif kind in ("labels", "quantiles"):', 'elif kind == "quantiles":'),
    Mistake("measurement_checks", "elif needed > cuts:", "elif needed > 2 * cuts:"),
    Mistake("measurement_checks", "cuts = sum(entry.values for", "cuts = sum(9 for"),
    Mistake("measurement_checks", "entry.question.fields == asked", 'entry.question.fields["figure"] == figure'),
    Mistake("measurement_checks", 'entry.asks("error")', 'entry.question.kind == "error"'),
    Mistake("measurement_checks", "(entry.label == CRITERION) == criteria", "entry"),
    Mistake("measurement_checks", "if free[paid] < 1:", "if not free:"),
    Mistake("measurement_checks", "free[paid] -= 1", "free[paid] -= 0"),
    Mistake("measurement_checks", "if len(tested) != len(criteria):", "if len(tested) < len(criteria):"),
    Mistake(
        "measurement_checks", 'entry.asks("query", PARITIES) and entry.label != LEARN', 'entry.asks("query", PARITIES)'
    ),
    Mistake("measurement_checks", 'words if form in ("explicit", "blocks", "lost", "weights") else ""', '""'),
    Mistake("measurement_checks", "high - low <= 1 for", "high - low <= 5 for"),
    Mistake("measurement_checks", "not (before or after)", "not (before and after)"),
    Mistake("questions", "if mechanism not in kind.mechanisms:", "if not mechanism:"),
    Mistake("questions", "if values > 1 and not kind.many:", "if not values:"),
    Mistake("questions", 'or "1") != values:', 'or "1") < values:'),
    Mistake("questions", 'if kind == "tests" and scale != f"{event[\'threshold_scale\']:.6g}":', "if not kind:"),
    Mistake("questions", "if set(fields) != set(wanted):", "if set(fields) > set(wanted):"),
    Mistake("trace_checks", '_fewer("epochs", content["epochs"], len(tests))', "[]"),
    Mistake("trace_checks", 'if content["tests"] and not tests:', "if not content:"),
    Mistake("trace_checks", 'if content["tests"] < content["known"]:', "if not content:"),
    Mistake(
        "trace_checks",
        '_numbers(tests[-1]) != [*running, fires, watch.get("bound") or ""]',
        "_numbers(tests[-1])[:3] != running",
    ),
    Mistake("trace_checks", 'fires, watch.get("bound") or ""]', "fires, tests[-1].bound]"),
    Mistake("trace_checks", '[*rules["watch"], ""][:5]', '[*rules["watch"][:4], ""]'),
    Mistake("trace_checks", "if not 0 <= left <= fires:", "if not 0 <= left:"),
    Mistake("trace_checks", "answers + lost + left, sum(", "answers + left, sum("),
    Mistake("trace_checks", "answers + lost + left, sum(", "answers + lost, sum("),
    Mistake("trace_checks", "answers + lost + left, sum(", "lost + left, sum("),
    Mistake("trace_checks", "if _numbers(entry) != planned]", "if _numbers(entry)[:3] != planned[:3]]"),
    Mistake("trace_checks", "rounds - 1, len(draws)", "rounds - 2, len(draws)"),
    Mistake(
        "trace_checks", "for entry in draws if entry.values != samples]", "for entry in draws if not entry.values]"
    ),
    Mistake("trace_checks", '_fewer("records", content["model"]["records"], rounds)', "[]"),
    Mistake("trace_checks", '_fewer("choices of a database", 1, _counted(entries, "database"))', "[]"),
    Mistake("trace_checks", 'parameters["updates"] + parameters["stopped"]', 'parameters["updates"]'),
    Mistake("trace_checks", '+ _fewer("measurements", n_measured, n_chosen)', ""),
    Mistake("trace_checks", 'parameters.get("selected", 0), n_chosen', "0, n_chosen"),
    Mistake("trace_checks", "not in noises:", "in () and noises:"),
    Mistake("trace_checks", "and entry.charge > price", "and entry.charge > 2 * price"),
    Mistake("trace_checks", 'entry.label == "answer" and', ""),
    Mistake("trace_checks", 'case "FourierMeasurement" | "IndependentNoise":', "case str():"),
    Mistake("measurement_checks", 'if exact(noise["step"]) != _GRID:', "if not noise:"),
    Mistake("trace_checks", "if stamp:", "if stamp is None:"),
    Mistake("costs", "question.kind in kinds and not self.earlier", "question.kind in kinds"),
    Mistake("totals", "self.limit * tanh_of_half(self.limit).high", "self.limit * self.limit / 8"),
    Mistake(
        "totals",
        "by_relation.setdefault(of_whole_tables(share.relation), {})",
        "by_relation.setdefault(share.relation, {})",
    ),
    Mistake("sentences", "math.ceil(number / unit)", "math.floor(number / unit)"),
    Mistake("sentences", "near if exact(float(near)) >= number else _above(number, digits)", "near"),
    Mistake("sentences", "max(4, 2 - _exponent(growth - 1))", "4"),
]


def asked(kind: str, **fields: object) -> dict[str, Any]:
    """What was asked, as a file holds it."""
    return {"kind": kind, **fields}


def marginal_of(*scope: str) -> dict[str, Any]:
    return asked("query", form="marginal", scope=list(scope), words="")


MEAN = asked("error", figure="mean", candidates=3)
QUESTIONS = {
    "public": asked("records"),
    "exponential mechanism": asked("candidate", candidates=8),
    "permute-and-flip": asked("candidate", candidates=8),
    "exponential mechanism, one draw": asked("candidate", candidates=8),
    "exponential mechanism, independent draws": asked("draws", queries=8),
    "sparse vector": asked("tests"),
    "selection among runs": asked("run", configurations=3),
    "discrete Laplace above a threshold": asked("labels", attribute="job"),
    "discrete Gaussian above a threshold": asked("labels", attribute="job"),
}


def parities(ratios: list[float]) -> dict[str, Any]:
    """Of one column and of two."""
    return asked("parities", scopes=[["sex"], ["sex", "age"]], ratios=ratios)


def of_parities() -> Iterator[tuple[float, dict[str, object]]]:
    """Sensitivities of parities together, worked out by hand, and their events."""
    pairs = [["a"], ["b"], ["c"], ["a", "b"], ["a", "c"], ["b", "c"]]  # of which two changed columns move four
    units = [1.0, 1.0, 1.0, 1.25, 1.25, 1.25]  # in which they move 2 + 2 / 1.25, and 2 + 2 / 1.25^2
    noises = {"discrete Laplace": "epsilon", "discrete Gaussian": "rho"}
    for (mechanism, unit), (ratios, moved) in product(
        noises.items(), (([], (8.0, 4.0)), (units, (7.2, math.nextafter(13.12**0.5, 4.0))))
    ):
        told = {"mechanism": mechanism, "unit": unit, "values": 6}
        least = moved[0] if unit == "epsilon" else moved[1]
        yield least, {**told, "question": asked("parities", scopes=pairs, ratios=ratios)}
        of_two = "replace of persons (id), at most 2 records"
        yield 2.0 * least, {**told, "question": asked("parities", scopes=pairs, ratios=ratios), "neighbours": of_two}
    columns = [f"x{number}" for number in range(20)]
    many = [list(each) for size in (1, 2) for each in combinations(columns, size)]
    question = asked("parities", scopes=many, ratios=[])
    yield 220.0, {"values": 210, "question": question}  # ten changed columns move 110
    yield 210.0, {"values": 210, "question": question, "neighbours": "add-remove"}


def event(**changes: object) -> dict[str, Any]:
    """One of a ledger, as a file holds it: by default a marginal, or what else its mechanism answers."""
    question = QUESTIONS.get(str(changes.get("mechanism")), marginal_of("sex"))
    told = changes.get("question", question)
    many = isinstance(told, dict) and told["kind"] in ("query", "draws", "tests", "quantiles", "parities")
    return {
        "label": "measure",
        "mechanism": "discrete Laplace",
        "question": question,
        "earlier": False,
        "sensitivity": 1.0,
        "scale": 2.0,
        "charge": 0.5,
        "unit": "epsilon",
        "neighbours": "replace",
        "values": 2 if many else 1,
        "threshold_scale": 0.0,
        **changes,
    }


Load = Callable[[str], ModuleType]


def costs_are_right(load: Load) -> None:
    """Each mechanism's cost, beside a figure worked out by hand."""
    costs = load("costs")
    root = Fraction(4621171572600097585, 10**19)  # tanh(1/2)

    def cost(**changes: object) -> tuple[float, float]:
        found = costs.cost(costs.Entry.of(1, event(**changes)))
        assert found.low <= found.high <= found.low * (1 + Fraction(1, 10**40))
        return float(found.low), float(found.high)

    def near(number: float | Fraction) -> tuple[float, float]:
        return float(number), float(number)

    slack = 2.0**-38
    one = {"scale": 1.0, "unit": "rho"}
    assert cost() == near(0.5)
    assert cost(**one) == near(root)
    assert cost(mechanism="discrete Gaussian", unit="rho") == near(0.125)
    assert cost(mechanism="exponential mechanism") == near(1.0)
    assert cost(mechanism="exponential mechanism", unit="rho") == near(0.125)
    assert cost(mechanism="permute-and-flip") == near(1.0)
    assert cost(mechanism="permute-and-flip", unit="rho") == near(root)
    draws = "exponential mechanism, independent draws"
    assert cost(mechanism=draws, values=3) == near(3.0 * (1.0 + slack))
    assert cost(mechanism=draws, values=3, unit="rho") == near(3 * (1 + Fraction(1, 2**38)) ** 2 / 8)
    assert cost(mechanism="sparse vector", scale=8.0, threshold_scale=2.0, values=2) == near(1.0)
    assert cost(mechanism="sparse vector", scale=8.0, threshold_scale=2.0, values=2, unit="rho") == near(root)
    renyi = {"mechanism": "sparse vector", "unit": "rho", "bound": "renyi", "values": 2}
    assert cost(**renyi, scale=8.0, threshold_scale=41.0) == near(Fraction(1025, 1024) ** 2 / 32)
    assert cost(**renyi, scale=80.0, threshold_scale=5.125) == near(Fraction(3, 4) * Fraction(25, 128) ** 2)
    halves = {"bound": "halves", "unit": "rho", "sensitivity": 2.0, "scale": 1.0}
    assert cost(**halves) == near(2 * root)
    several = {"bound": "parities", "unit": "rho", "scale": 2.0, "values": 2, "question": parities([])}
    assert cost(**several, sensitivity=8.0) == near(4 * root)
    assert cost(**several, sensitivity=1.0) == near(0.5 * math.tanh(0.25))
    exact = {"bound": "exact", "unit": "rho", "mechanism": "exponential mechanism"}
    assert cost(**exact) == near(0.12330156148224454)  # by mpmath
    assert cost(**exact | {"mechanism": draws, "values": 1, "scale": 2000.0})[0] < 1.25e-7 * (1 + 1e-8)
    assert cost(mechanism="selection among runs", scale=10.0) == near(0.7956720391595455)  # by mpmath
    # z of Phi(z) = 1 / (1 + exp(-1)) and of 1 / (1 + exp(-1/2)), by mpmath's erfinv
    of_1, of_half = 0.7589555953709793, 0.19462098323769777
    gdp = {"scale": 1.0, "unit": "mu^2/2"}
    assert cost(**gdp) == near(of_1)
    assert cost(mechanism="permute-and-flip", unit="mu^2/2") == near(of_1)
    assert cost(mechanism="exponential mechanism", unit="mu^2/2") == near(of_half)
    assert cost(mechanism="discrete Gaussian", **gdp) == near(0.5505102572168219)
    assert cost(mechanism="discrete Gaussian", unit="mu^2/2", scale=0.5) == near(8.0)


def what_has_no_cost_is_refused(load: Load) -> None:
    """A mechanism in a unit that it has no cost in, no noise at all, or a public number with noise."""
    costs = load("costs")
    free = {"sensitivity": 0.0, "scale": 0.0, "charge": 0.0}
    of_two = "replace of persons (id), at most 2 records"
    for changes in (
        {"mechanism": "discrete Gaussian"},
        {"mechanism": "selection among runs", "scale": 1.0},
        {"mechanism": "selection among runs", "scale": 2.5},
        {"mechanism": "selection among runs", "scale": 10.0, "unit": "rho"},
        {"sensitivity": 0.0},
        {"scale": True},
        {"mechanism": "public", **free, "sensitivity": 1.0},
        {"bound": "renyi", "unit": "rho"},
        {"bound": "renyi", "unit": "epsilon", "mechanism": "sparse vector", "threshold_scale": 4.0},
        {"bound": "other", "unit": "rho", "mechanism": "sparse vector", "threshold_scale": 4.0},
        {"bound": "halves", "unit": "epsilon"},
        {"bound": "halves", "unit": "rho", "mechanism": "discrete Gaussian"},
        {"bound": "halves", "unit": "rho", "neighbours": "add-remove"},
        {"bound": "halves", "unit": "rho", "neighbours": "replace of persons (id), at most 2 records"},
        {"bound": "halves", "unit": "rho", "question": {**marginal_of("sex"), "form": "parity"}},
        {"bound": "parities", "unit": "rho"},
        {"bound": "parities", "unit": "rho", "question": parities([]), "neighbours": of_two},
        {"question": parities([]), "values": 3},
        {"question": parities([1.0])},
        {"question": parities([1.0, 0.5])},
        {"question": asked("parities", scopes=[[], ["sex"]], ratios=[])},
        {"question": asked("parities", scopes=[], ratios=[])},
        {"bound": "exact", "unit": "rho"},
        {"bound": "exact", "unit": "mu^2/2", "mechanism": "exponential mechanism"},
    ):
        try:
            costs.cost(costs.Entry.of(1, event(**changes)))
        except (TypeError, ValueError):
            continue
        raise AssertionError(changes)


def bounds_are_rigorous(load: Load) -> None:
    """At 200 digits, where the bounds have 80."""
    exact = load("exact")
    with mpmath.workdps(200):
        for x in (Fraction(1), Fraction(1, 1000), Fraction(700)):
            bounds, value = exact.tanh_of_half(x), mpmath.tanh(mpmath.mpf(x.numerator) / x.denominator / 2)
            low, high = (mpmath.mpf(each.numerator) / each.denominator for each in (bounds.low, bounds.high))
            assert low <= value <= high


def the_conversion_is_right(load: Load) -> None:
    """The vector of docs/theory.md section 0, and amplification at a half."""
    conversion = load("gaussian")
    assert f"{float(conversion.epsilon_of_rho(Fraction(1, 32), Fraction(1, 1000))):.9f}" == "0.688002455"
    assert f"{float(conversion.amplified(Fraction(1), Fraction(1, 2))):.6f}" == "0.620115"
    found = conversion.epsilon_of(Fraction(1, 32), "mu^2/2", Fraction(1, 10**6))
    assert f"{float(found):.9f}" == "1.060701862"


def ledgers_are_right(load: Load) -> None:
    """A charge, sum, limit, unit, relation, public number or event that is wrong by little is told."""
    checks, costs = load("ledger_checks"), load("costs")
    pure = {"kind": "pure", "epsilon": 1.0, "neighbours": "replace"}
    approximate = {"kind": "approximate", "epsilon": 1.0, "delta": 1e-6, "neighbours": "replace"}

    def read(*changes: dict[str, Any]) -> list[Any]:
        return [costs.Entry.of(i, event(**each)) for i, each in enumerate(changes, start=1)]

    def says(finding: Any, wanted: str) -> None:
        assert finding.severity.value == wanted, finding

    ledger = {"limit": 1.0, "unit": "epsilon", "events": [event(), event(question=marginal_of("age"))]}
    ledger["head"] = "0" * 64
    says(checks.check_head(ledger), "fails")
    ledger["head"] = "110ad2000e38ab39c87e3c9344a7907b1c462e045911706641eca4720c723cdc"  # pinned: files hold such heads
    says(checks.check_head(ledger), "holds")
    told = [{**event(), "target": name} for name in ("sex", "age")]
    of_format_2 = [
        {name: value for name, value in each.items() if name not in ("question", "earlier")} for each in told
    ]
    head = "20e678a882f226d7341f8617c7f8931c563189af491e2a2bd2e16951351ad9e2"  # likewise, of format 2
    says(checks.check_head({"limit": 1.0, "unit": "epsilon", "events": of_format_2, "head": head}), "holds")
    says(
        checks.check_head(
            ledger | {"events": [event(question=marginal_of("job")), event(question=marginal_of("age"))]}
        ),
        "fails",
    )
    says(checks.check_charges(read({"charge": 0.4})), "fails")
    says(checks.check_charges(read({})), "holds")
    says(checks.check_sum(read({}, {}), ledger), "holds")
    says(checks.check_sum(read({}, {}, {}), ledger), "fails")
    says(checks.check_limit(pure, ledger), "holds")
    says(checks.check_limit(pure, ledger | {"limit": 1.5}), "fails")
    says(checks.check_limit(approximate, {"limit": 0.024355, "unit": "rho"}), "holds")
    says(checks.check_limit(approximate, {"limit": 0.03, "unit": "rho"}), "fails")
    gdp = {"kind": "gdp", "mu": 1.0, "neighbours": "replace"}
    says(checks.check_limit(gdp, {"limit": 0.5, "unit": "mu^2/2"}), "holds")
    says(checks.check_limit(gdp, {"limit": 0.51, "unit": "mu^2/2"}), "fails")
    says(checks.check_limit(gdp, {"limit": 0.5, "unit": "rho"}), "fails")
    says(checks.check_limit(approximate | {"regime": "gdp"}, {"limit": 0.02801, "unit": "mu^2/2"}), "holds")
    says(checks.check_limit(approximate | {"regime": "gdp"}, {"limit": 0.02802, "unit": "mu^2/2"}), "fails")
    says(checks.check_limit(approximate | {"regime": "pure"}, {"limit": 1.0, "unit": "epsilon"}), "holds")
    says(checks.check_limit(approximate | {"regime": "pure"}, {"limit": 1.01, "unit": "epsilon"}), "fails")
    says(checks.check_limit(approximate | {"regime": "pure"}, {"limit": 0.01, "unit": "rho"}), "fails")
    says(checks.entries_of(ledger | {"unit": "rho"}, "replace")[1], "fails")
    says(checks.entries_of(ledger, "add-remove")[1], "fails")
    runs = {"mechanism": "selection among runs", "scale": 10.0, "charge": 1.0}
    says(checks.check_runs(read({}, runs, {}), {"limit": 2.5}), "holds")
    says(checks.check_runs(read({}, runs, {}), {"limit": 2.6}), "fails")
    assert checks.check_runs(read({}), {"limit": 2.5}) is None
    free = {"mechanism": "public", "sensitivity": 0.0, "scale": 0.0, "charge": 0.0}
    says(checks.check_public(read(free)), "holds")
    says(checks.check_public(read({**free, "neighbours": "add-remove"})), "fails")


def relations_are_right(load: Load) -> None:
    """The table of sensitivities, written out."""
    relations = load("relations")
    one, minus = Fraction(1), Fraction(-1)
    assert relations.squared_of_marginal("add-remove", gaussian=False) == 1
    assert relations.squared_of_marginal("replace", gaussian=False) == 4
    assert relations.squared_of_marginal("replace-then-filter", gaussian=True) == 2
    assert relations.squared_of_values("replace", minus, one) == 4
    assert relations.squared_of_values("add-remove", minus, one) == 1
    assert relations.squared_of_values("replace-then-filter", Fraction(2), Fraction(3)) == 9
    assert relations.squared_of_values("replace-then-filter", minus, one) == 4
    five, one_each = "{} of persons (id), at most 5 records", "replace of persons (id), at most 1 record"
    assert relations.squared_of_marginal(five.format("add-remove"), gaussian=False) == 25
    assert relations.squared_of_marginal(five.format("replace"), gaussian=False) == 100
    assert relations.squared_of_marginal(five.format("replace"), gaussian=True) == 50
    assert relations.squared_of_values(five.format("add-remove"), minus, one) == 25
    assert relations.squared_of_values(five.format("replace"), Fraction(2), Fraction(3)) == 225
    assert relations.squared_of_values(one_each, Fraction(2), Fraction(3)) == 1
    assert [relations.is_public(each) for each in ("replace", one_each, five.format("replace"))] == [True, True, False]
    weighted, both = "replace of records of weight (w) up to 1", five.format("replace") + ", each of weight (w) up to 3"
    assert [relations.is_public(each) for each in (weighted, both)] == [False, False]
    assert relations.squared_of_persons(both) == 225
    assert relations.squared_of_persons("add-remove of records of weight (w) up to 40") == 1600
    assert relations.squared_of_lost(both, "w", 3, 7) == 400
    assert [relations.squared_of_power(both, "w", 3, power) for power in (0, 2)] == [25, 2025]
    for column, cap in (("v", 3), ("w", 2)):
        try:
            relations.squared_of_lost(both, column, cap, 7)
        except ValueError:
            continue
        raise AssertionError("a sum of other weights was taken for that of the relation's")
    assert [relations.of_whole_tables(each) for each in (weighted, both)] == ["replace", "replace of persons (id)"]
    for relation, counts, wanted in (
        ("add-remove", True, 1),
        ("add-remove", False, Fraction(1, 4)),
        ("replace", False, 1),
        (five.format("add-remove"), False, Fraction(25, 4)),
    ):
        assert relations.squared_of_width(relation, counts=counts) == wanted
    assert relations.of_whole_tables(five.format("replace-then-filter")) == "replace of persons (id)"


def measurements_are_right(load: Load) -> None:
    """One event pays for one measurement, with the same noise, and none for that of an earlier release."""
    module, costs = load("measurement_checks"), load("costs")
    marginal = {"target": {"kind": "marginal", "scope": ["sex"]}, "noise": "laplace", "scale": 2.0}
    condition = {"target": {"kind": "conjunction", "scope": ["sex"]}, "noise": "laplace", "scale": 2.0}
    domain = {"sex": {"values": ["F", "M"]}}

    def says(measured: list[dict[str, Any]], events: list[dict[str, Any]], wanted: str) -> None:
        read = [costs.Entry.of(i, event(**each)) for i, each in enumerate(events, start=1)]
        assert module.check_measurements(measured, read, domain)[1].severity.value == wanted

    says([marginal], [{}], "holds")
    says([marginal, marginal], [{}, {}], "holds")
    says([marginal, marginal], [{}], "fails")
    says([marginal], [{"earlier": True}], "fails")
    says([marginal], [{"label": "learn"}], "fails")
    says([marginal | {"scale": 1.0}], [{}], "fails")
    one = {"values": 1, "question": asked("query", form="conjunction", scope=["sex"], words="sex = 'F'")}
    says([condition], [one], "holds")
    says([condition, condition], [one], "fails")
    single = {**marginal, "target": {"kind": "parity", "scope": ["sex"]}}
    parity = {"values": 1, "question": asked("query", form="parity", scope=["sex"], words="")}
    says([single], [parity], "holds")
    says([single, condition], [parity], "fails")
    other = {**single, "target": {"kind": "parity", "scope": ["sex", "age"]}, "scale": 3.0}
    both = {"question": parities([1.0, 1.5]), "values": 2}
    says([single, other], [both], "holds")
    says([single, other, other], [both], "fails")
    says([single, {**other, "scale": 2.0}], [both], "fails")
    own, named = ({**marginal, "target": {"kind": "explicit", "scope": ["sex"], "name": name}} for name in ("q", "r"))
    query = {"values": 1, "question": asked("query", form="explicit", scope=["sex"], words="q")}
    says([own], [query], "holds")
    says([named], [query], "fails")
    error = {"n_candidates": 3}
    noise = {"kind": "laplace", "scale": 2.0, "sensitivity": 1.0, "step": 2.0**-10}
    error |= {"mean_noise": noise, "maximum_noise": noise}
    figures = [{"question": {**MEAN, "figure": figure}} for figure in ("mean", "largest")]
    for over, changes, wanted in ((3, {}, "holds"), (4, {}, "fails"), (3, {"earlier": True}, "fails")):
        read = [costs.Entry.of(i, event(**each, **changes)) for i, each in enumerate(figures, start=1)]
        assert module.check_error({**error, "n_candidates": over}, read).severity.value == wanted
    read = [costs.Entry.of(i, event(**each)) for i, each in enumerate(figures, start=1)]
    assert module.check_error({**error, "mean_noise": {**noise, "step": 1.0}}, read).severity.value == "fails"


def criteria_are_right(load: Load) -> None:
    """One event pays for one verdict, and of several runs each verdict says how many."""
    module, costs = load("measurement_checks"), load("costs")
    noise = {"kind": "laplace", "scale": 2.0, "sensitivity": 1.0, "step": 2.0**-10}
    tests = [{"question": {**MEAN, "candidates": 1}, "label": label} for label in ("criterion", "criterion", "error")]
    read = [costs.Entry.of(i, event(**each)) for i, each in enumerate(tests, start=1)]
    verdict = {"kind": "table", "about": "sex", "error": {"noise": noise}}
    other = {**verdict, "error": {"noise": {**noise, "scale": 3.0}}}
    coarse = {**verdict, "error": {"noise": {**noise, "step": 1.0}}}
    for verdicts in ([verdict], [verdict] * 3, [verdict, other], [verdict, coarse]):
        assert module.check_criteria(verdicts, read).severity.value == "fails"
    assert module.check_criteria([verdict] * 2, read).severity.value == "holds"
    twice = [costs.Entry.of(1, event(**tests[0])), costs.Entry.of(2, event(**tests[0], scale=4.0, charge=0.25))]
    assert module.check_criteria([verdict] * 2, twice).severity.value == "fails"
    assert module.check_criteria([], []) is None
    chosen = {"mechanism": "selection among runs", "scale": 10.0, "charge": 1.0, "label": "try"}
    read = [costs.Entry.of(i, event(**each)) for i, each in enumerate([chosen, *tests[:2]], start=1)]
    allowing = {**verdict, "tries": 10}
    assert module.check_criteria([allowing] * 2, read).severity.value == "holds"
    assert module.check_criteria([allowing, verdict], read).severity.value == "fails"


def questions_are_right(load: Load) -> None:
    """A mechanism answers its own questions, one value is one value, and what is told twice agrees."""
    questions = load("questions")
    plain = {"mechanism": "discrete Laplace", "values": 1, "threshold_scale": 0.0}
    draws = {**plain, "mechanism": "exponential mechanism, independent draws"}
    tests = {**plain, "mechanism": "sparse vector", "threshold_scale": 4.0}
    test = "whether answers pass a threshold with noise of scale 4, up to {} times"
    for told, kind in (
        ({**plain, "question": MEAN}, "error"),
        ({**draws, "question": asked("draws", queries=8), "values": 3}, "draws"),
        ({**draws, "target": "3 of 36 queries and their complements", "values": 3}, "draws"),
        ({**tests, "target": test.format(3), "values": 3}, "tests"),
        ({**plain, "target": "worst of 3 candidates"}, "query"),
    ):
        assert questions.question_of(told).kind == kind
    for told in (
        {**plain, "question": asked("draws", queries=8)},
        {**plain, "question": asked("labels", attribute="job")},
        {**plain, "question": MEAN, "values": 2},
        {**plain, "question": asked("error", figure="mean")},
        {**plain, "question": asked("error", figure="middle", candidates=3)},
        {**plain, "question": asked("weather")},
        {**draws, "target": "19 of 36 queries and their complements"},
        {**draws, "target": "1 of 36 queries and their complements", "values": 3},
        {**tests, "target": test.format(30)},
        {**tests, "target": test.format(3), "values": 3, "threshold_scale": 2.0},
        {**draws, "mechanism": "exponential mechanism", "target": "a look at the weather"},
    ):
        try:
            questions.question_of(told)
        except ValueError:
            continue
        raise AssertionError(told)


def traces_are_right(load: Load) -> None:
    """What a run leaves in a file, and the events that paid for it."""
    module, costs = load("trace_checks"), load("costs")

    def says(content: dict[str, Any], events: list[dict[str, Any]], wanted: str) -> None:
        read = [costs.Entry.of(i, event(**each)) for i, each in enumerate(events, start=1)]
        found = module.check_traces(content, read)
        assert found.severity.value == wanted, (content, found)

    tests = {"mechanism": "sparse vector", "threshold_scale": 4.0, "scale": 8.0, "values": 3}
    lost = {"question": asked("interrupted", purpose="question")}
    watch = {"threshold_scale": 4.0, "test_scale": 8.0, "sensitivity": 1.0, "fires": 3, "fires_left": 2}
    session = {"epochs": 1, "tests": 5, "known": 4, "measurements": 1, "watch": watch}
    session |= {"rules": {"watch": [4.0, 8.0, 1.0, 3], "answer_charge": 0.6}, "total_noise": None}
    answer, total = {"label": "answer"}, {"question": asked("records")}
    renyi, named = (
        {**tests, "unit": "rho", "bound": "renyi"},
        {"watch": [4.0, 8.0, 1.0, 3, "renyi"], "answer_charge": 0.6},
    )
    quiet = {**session, "epochs": 0, "known": 0, "measurements": 0, "watch": None}
    for change, events, wanted in (
        ({}, [tests], "holds"),
        ({}, [], "fails"),
        ({}, [{**tests, "earlier": True}], "fails"),
        ({"epochs": 2}, [tests], "fails"),
        ({"known": 6}, [tests], "fails"),
        ({"measurements": 2}, [tests], "fails"),
        ({"measurements": 4, "watch": None}, [tests], "fails"),
        ({"watch": {**watch, "fires_left": 1}}, [tests, lost], "holds"),
        ({}, [tests, lost], "fails"),
        ({"watch": {**watch, "fires_left": 4}, "measurements": -1}, [tests], "fails"),
        ({"watch": {**watch, "fires": 30}}, [tests], "fails"),
        ({"rules": {"watch": [4.0, 8.0, 1.0, 30], "answer_charge": 0.6}}, [tests], "fails"),
        ({"rules": {"watch": [8.0, 8.0, 1.0, 3], "answer_charge": 0.6}}, [tests], "fails"),
        ({"rules": named, "watch": {**watch, "bound": "renyi"}}, [renyi], "holds"),
        ({"watch": {**watch, "bound": "renyi"}}, [renyi], "fails"),
        ({"rules": named}, [renyi], "fails"),
        ({"rules": named, "watch": None}, [tests], "fails"),
        ({}, [tests, answer], "holds"),
        ({}, [tests, {**answer, "charge": 0.7}], "fails"),
        ({}, [tests, {"charge": 0.7}], "holds"),
        ({"total_noise": {"kind": "laplace", "scale": 2.0}}, [tests, total], "holds"),
        ({"total_noise": {"kind": "laplace", "scale": 2.0}}, [tests, {**total, "earlier": True}], "fails"),
        ({"total_noise": {"kind": "laplace", "scale": 1.0}}, [tests, total], "fails"),
    ):
        says({**session, **change}, events, wanted)
    says(quiet, [], "fails")
    says({**quiet, "tests": 0}, [], "holds")

    def run(algorithm: str, parameters: dict[str, Any], measured: int = 0, **more: Any) -> dict[str, Any]:
        made = {"algorithm": algorithm, "parameters": parameters}
        return {"provenance": made, "measurements": [{}] * measured, **more}

    draw = {"mechanism": "exponential mechanism, independent draws", "values": 5}
    dual = run("DualQuery", {"chosen": {"rounds": 3, "samples": 5}}, model={"records": 3})
    says(dual, [draw, draw], "holds")
    says(dual, [draw], "fails")
    says(dual, [draw, {**draw, "values": 4}], "fails")
    says({**dual, "model": {"records": 4}}, [draw, draw], "fails")
    chosen = {"mechanism": "exponential mechanism"}
    says(run("MWEM", {"selected": 2}), [chosen, chosen], "holds")
    says(run("MWEM", {"selected": 2}), [chosen], "fails")
    says(run("MWEM", {}), [], "holds")
    says(run("OfflinePMW", {"updates": 1, "stopped": True}, 2), [chosen, chosen], "holds")
    says(run("OfflinePMW", {"updates": 1, "stopped": True}, 1), [chosen], "fails")
    says(run("OfflinePMW", {"updates": 1, "stopped": False}, 2), [chosen], "fails")
    says(run("SmallDB", {}), [{**chosen, "question": asked("database", databases=9)}], "holds")
    says(run("SmallDB", {}), [chosen], "fails")
    says(run("OnlinePMW", {"rules": session["rules"]}, 3), [tests], "holds")
    says(run("OnlinePMW", {"rules": session["rules"]}, 1), [], "fails")
    says(run("IndependentNoise", {}), [], "holds")
    says(run("IndependentNoises", {}), [], "note")


def origins_are_right(load: Load) -> None:
    """Only noise of the one source is secure."""
    origin = load("trace_checks")
    secure_source = origin.SECURE_SOURCE
    wanted = {(True, secure_source): "holds", (True, "mine.Noise"): "fails", (False, secure_source): "fails"}
    for (secure, noise), severity in wanted.items():
        assert origin.check_noise({"secure": secure, "noise": noise}).severity.value == severity
    assert (
        origin.check_noise({"secure": True, "noise": secure_source, "stamp": "NOT PRIVATE"}).severity.value == "fails"
    )


def sensitivities_are_right(load: Load) -> None:
    """Figures just large enough, and a little too small."""
    module, costs = load("measurement_checks"), load("costs")
    marginal = {"target": {"kind": "marginal", "scope": ["sex"]}, "noise": "gaussian", "scale": 2.0}
    of_five = {"neighbours": "add-remove of persons (id), at most 5 records"}
    weighted = {"neighbours": "add-remove of records of weight (w) up to 40"}
    draws = {"mechanism": "exponential mechanism, independent draws", "values": 3}
    chosen = {"mechanism": "exponential mechanism"}
    cut = {"mechanism": "exponential mechanism", "question": asked("quantiles", attribute="age")}
    halves, counts = ([{"weight": 1.0, "kind": "text", "text": each}] for each in ("parities:2", "cells:2"))
    for changes, families, wanted in (
        ({"sensitivity": 2.5, **of_five, **draws}, halves, "holds"),
        ({"sensitivity": 2.4, **of_five, **draws}, halves, "fails"),
        ({"sensitivity": 2.5, **of_five, **draws}, [], "holds"),
        ({"sensitivity": 5.0, **of_five, **draws}, counts, "holds"),
        ({"sensitivity": 2.5, **of_five, **draws}, counts, "fails"),
        ({"sensitivity": 0.5, **draws}, counts, "fails"),
        ({"sensitivity": 40.0, **weighted, **chosen}, counts, "holds"),
        ({"sensitivity": 1.0, **weighted, **chosen}, counts, "fails"),
        ({"sensitivity": 0.5, **chosen}, [{**counts[0], "weight": 0.5}, *counts], "holds"),
        ({"sensitivity": 40.0, **weighted, **cut}, counts, "holds"),
        ({"sensitivity": 39.0, **weighted, **cut}, counts, "fails"),
        ({"sensitivity": 1.0, "neighbours": "replace", **cut}, counts, "fails"),
        *(({"sensitivity": least, **of_all}, [], "holds") for least, of_all in of_parities()),
        *(({"sensitivity": least * 0.999, **of_all}, [], "fails") for least, of_all in of_parities()),
    ):
        read = [costs.Entry.of(1, event(**changes))]
        content = {"workload": {"families": families}}
        assert module.check_sensitivities(read, {}, content).severity.value == wanted, changes
    for changes, backed, wanted in (
        ({"question": MEAN, "sensitivity": 1.0 + 2.0**-10}, {}, "holds"),
        ({"question": MEAN, "sensitivity": 1.0}, {}, "fails"),
        ({"sensitivity": 2.0**0.5}, {1: marginal}, "holds"),
        ({"sensitivity": 1.4}, {1: marginal}, "fails"),
        ({"question": asked("records"), "sensitivity": 5.0, **of_five}, {}, "holds"),
        ({"question": asked("records"), "sensitivity": 4.9, **of_five}, {}, "fails"),
        ({"question": MEAN, "sensitivity": 5.0 + 2.0**-10, **of_five}, {}, "holds"),
        ({"question": MEAN, "sensitivity": 1.0 + 2.0**-10, **of_five}, {}, "fails"),
    ):
        read = [costs.Entry.of(1, event(**changes))]
        found = module.check_sensitivities(read, backed, {})
        assert found.severity.value == wanted, changes


def thresholds_are_right(load: Load) -> None:
    """Deltas of counts above thresholds, worked out by hand for noise of scale 1; what a budget and a ledger keep."""
    checks, costs, module = load("ledger_checks"), load("costs"), load("measurement_checks")
    laplace, gaussian = (f"discrete {kind} above a threshold" for kind in ("Laplace", "Gaussian"))
    of_two = "add-remove of persons (id), at most 2 records"

    def read(threshold: float, mechanism: str = laplace, **changes: object) -> Any:
        told = {"mechanism": mechanism, "scale": 1.0, "charge": 2.0, "sensitivity": 2.0}
        return costs.Entry.of(1, event(**{**told, "threshold_scale": threshold, **changes}))

    def near(found: Fraction, wanted: Any) -> bool:
        return bool(wanted <= mpmath.mpf(found.numerator) / found.denominator <= wanted * (1 + 1e-8))

    base, wide = mpmath.exp(-1), mpmath.exp(mpmath.mpf(-1) / 8)
    assert near(costs.delta_of(read(5.0)), base**4 / (1 + base))
    assert near(costs.delta_of(read(5.0, neighbours=of_two)), base**3 / (1 + base)), "both on one label"
    assert near(costs.delta_of(read(5.0, neighbours=of_two, scale=8.0)), 2 * wide**4 / (1 + wide)), "each on its own"
    whole = mpmath.fsum(mpmath.exp(-mpmath.mpf(k * k) / 2) for k in range(-40, 41))
    above = mpmath.fsum(mpmath.exp(-mpmath.mpf(k * k) / 2) for k in range(4, 41))
    assert near(costs.delta_of(read(5.0, gaussian)), above / whole)
    of_three = "add-remove of persons (id), at most 3 records"
    assert costs.delta_of(read(2.0, gaussian, neighbours=of_three)) == 1, "below the records of a person"
    assert 0 < float(costs.delta_of(read(2.0**14, gaussian, scale=2000.0))) < 1e-15
    assert costs.delta_of(costs.Entry.of(1, event())) == 0
    assert costs.delta_of(read(5000.0)) > 0, "though no float holds it"

    def says(finding: Any, wanted: str) -> None:
        assert finding is not None
        assert finding.severity.value == wanted, finding

    one, delta = read(20.0), float(costs.delta_of(read(20.0)))
    kept = {"kind": "approximate", "epsilon": 3.0, "delta": 1e-6, "neighbours": "replace", "thresholds": delta}
    ledger = {"limit": 0.1, "unit": "rho", "thresholds": delta * 1.001, "events": []}
    says(checks.check_thresholds([one], ledger, None), "holds")
    says(checks.check_thresholds([one], ledger, kept), "fails")
    says(checks.check_thresholds([one], ledger, kept | {"thresholds": delta * 1.01}), "holds")
    says(checks.check_thresholds([one], ledger | {"thresholds": delta * 0.999}, None), "fails")
    says(checks.check_thresholds([one], {}, None), "fails")
    says(checks.check_thresholds([read(2.5)], {}, None), "fails")
    assert checks.check_thresholds([], {}, None) is None
    half = {"kind": "approximate", "epsilon": 1.0, "delta": 1e-6, "neighbours": "replace", "thresholds": 5e-7}
    says(checks.check_limit(half, {"limit": 0.0243, "unit": "rho"}), "fails")
    says(checks.check_limit(half, {"limit": 0.0225, "unit": "rho"}), "holds")
    assert checks.budget_faults(half) == ""
    assert checks.budget_faults(half | {"thresholds": 2e-6})
    heads = {checks.head_of({"limit": 1.0, "unit": "rho", "events": [], **each}) for each in ({}, {"thresholds": 1e-9})}
    assert len(heads) == 2
    for sensitivity, wanted in ((2.0, "holds"), (1.9, "fails")):
        found = [read(20.0, sensitivity=sensitivity)]
        assert module.check_sensitivities(found, {}, {}).severity.value == wanted


def budgets_hold_what_their_kind_has(load: Load) -> None:
    """Other fields could be read where no sentence names them."""
    checks = load("ledger_checks")
    half = {"kind": "approximate", "epsilon": 1.0, "delta": 1e-6, "neighbours": "replace", "thresholds": 5e-7}
    assert "at a delta" in checks.budget_faults(half | {"thresholds": 1e-6})
    assert checks.budget_faults(half | {"thresholds": 1e-6, "regime": "pure"}) == ""
    more = "a budget of the kind 'approximate' has no 'inner'"
    assert checks.budget_faults(half | {"inner": {"thresholds": 0.5}}) == more, "it would be read as that of a sample"
    for kind in ({"kind": "pure", "epsilon": 1.0}, {"kind": "zcdp", "rho": 1.0}, {"kind": "gdp", "mu": 1.0}):
        plain = kind | {"neighbours": "replace"}
        assert checks.budget_faults(plain) == ""
        assert checks.budget_faults(plain | {"delta": 0.9, "thresholds": 0.5}), "a delta that no sentence names"
        sample = {"kind": "subsampled", "inner": plain, "sampled": 10, "population": 100, "delta": None}
        assert checks.budget_faults(sample) == ""
        assert checks.budget_faults(sample | {"thresholds": 0.5})


def what_was_learnt_is_paid_for(load: Load) -> None:
    """Bins, labels and values of a list, each by an event of its own kind, and each edge by a cut."""
    module, costs = load("measurement_checks"), load("costs")
    domain = {"age": {"edges": [0, 9], "learnt": True}, "job": {"values": ["a"], "learnt": True}, "sex": ["F", "M"]}
    cut = {"mechanism": "exponential mechanism", "question": asked("quantiles", attribute="age"), "values": 1}
    told = {"mechanism": "discrete Laplace above a threshold", "threshold_scale": 20.0}
    listed = {"question": marginal_of("job"), "label": "learn"}

    def finding(*events: dict[str, Any], of: dict[str, Any] = domain, **changes: object) -> Any:
        read = [costs.Entry.of(i, event(**{"label": "learn", **each, **changes})) for i, each in enumerate(events, 1)]
        return module.check_learnt(of, read)

    def severity(*events: dict[str, Any], of: dict[str, Any] = domain, **changes: object) -> str:
        return str(finding(*events, of=of, **changes).severity.value)

    assert severity(cut, told) == "holds"
    assert severity(cut, listed) == "holds"
    assert severity(cut, listed, earlier=True) == "holds"
    assert severity(cut, listed, label="measure") == "unknown"
    assert severity(cut, {**told, "question": asked("labels", attribute="jobs")}) == "unknown"
    assert severity({**cut, "question": asked("quantiles", attribute="agent")}, listed) == "unknown"
    assert severity(cut) == "unknown"
    rest = "; that the values of job are some of a public list is not in the file"
    assert finding(cut, listed).text == f"paid for, in 2 columns{rest}"
    assert finding(cut, told).text == "paid for, in 2 columns"
    assert severity(cut, told, charge=0.0) == "unknown"
    three = {"age": {"edges": [0, 20, 40, 60, 99], "whole": True, "learnt": True}}
    assert severity(cut, {**cut, "values": 2}, of=three) == "holds"
    assert severity({**cut, "values": 2}, of=three) == "fails"
    assert severity({**cut, "question": asked("quantiles", attribute="job"), "values": 9}, cut, of=three) == "fails"
    points = {"age": {"edges": [0, 1, 20, 24, 99, 99], "whole": True, "learnt": True}}
    assert severity({**cut, "values": 2}, of=points) == "holds"
    assert severity(cut, of=points) == "fails"
    assert module.check_learnt({"sex": ["F", "M"]}, []) is None


def totals_are_right(load: Load) -> None:
    """Two pure epsilons, one rho, and a table that a filter chose."""
    totals = load("totals")

    def share(path: str, relation: str, unit: str, limit: Fraction) -> Any:
        return totals.Share(path, path, relation, "d", unit, limit)

    one = share("a", "replace", "epsilon", Fraction(1))
    filtered = share("b", "replace-then-filter", "epsilon", Fraction(1))
    other = share("c", "replace", "rho", Fraction(1, 32))
    delta = Fraction(1, 1000)
    (total,) = totals.totals_of([one, filtered, other], delta)
    assert f"{float(total.rho):.6f}" == f"{2 * 0.46211715726 + 1 / 32:.6f}"
    assert f"{float(total.converted):.6f}" == "2.688002"
    gaussian = share("e", "replace", "mu^2/2", Fraction(1, 32))
    (total,) = totals.totals_of([one, gaussian, other], Fraction(1, 10**6))
    assert f"{float(total.rho):.6f}" == f"{0.46211715726 + 1 / 16:.6f}"
    assert f"{float(total.converted):.6f}" == "2.659979"
    (total,) = totals.totals_of([one, gaussian], Fraction(1, 10**6))
    assert f"{float(total.converted):.6f}" == "2.060702"
    kept = [totals.Share(each, each, "replace", "d", "rho", Fraction(1, 32), True, Fraction(1, 4000)) for each in "xy"]
    (total,) = totals.totals_of(kept, delta + Fraction(1, 2000))
    (plain,) = totals.totals_of([share("x", "replace", "rho", Fraction(1, 16))], delta)
    assert total.converted == plain.converted
    assert total.thresholds == Fraction(1, 2000)


def sentences_are_rounded_up(load: Load) -> None:
    sentences = load("sentences")
    told = sentences.sentence_of({"kind": "pure", "epsilon": 1e-4, "neighbours": "add-remove"}, 1e-4)
    assert "at most 1.00011 (" in told
    assert told.endswith("with epsilon = 0.0001).")
    budget = {"kind": "approximate", "epsilon": 1.0000004, "delta": 1.0049e-6, "neighbours": "replace"}
    told = sentences.sentence_of(budget, 0.02)
    assert "at most 2.719, apart from a probability of at most 1.01e-06 " in told
    assert "epsilon = 1.00001 and delta = 1.01e-06, accounted as zCDP with rho = 0.02)" in told


def fixed_steps_are_right(load: Load) -> None:
    module, costs = load("composition"), load("costs")
    steps = {"limit": 0.015, "gaussian": 0.0085, "selections": 5, "selection_epsilon": 0.08}
    steps |= {"pure": 20, "pure_epsilon": 0.03}
    assert 3.37e-8 < module.delta_of(steps, 1.0) < 3.42e-8
    many = [
        event(mechanism=name, unit="rho", scale=scale, values=1, charge=1.0)
        for name, scale, count in (
            ("discrete Laplace", 40.0, 21),
            ("exponential mechanism", 26.0, 6),
            ("exponential mechanism", 20.0, 1),
            ("discrete Gaussian", 7.0, 1),
            ("permute-and-flip", 90.0, 1),
        )
        for _ in range(count)
    ]
    entries = [costs.Entry.of(number, each) for number, each in enumerate(many, 1)]
    ledger, budget = {"composition": steps}, {"composition": steps}
    found = module.check_steps(entries, ledger, budget)
    assert found.severity.value == "fails"
    assert len(found.details) == 5
    assert module.check_steps(entries[:20] + entries[21:26], ledger, budget).severity.value == "holds"
    table = event(unit="rho", sensitivity=2.0, scale=40.0, charge=1.0, bound="halves")
    tables = [costs.Entry.of(number, table) for number in range(1, 12)]
    assert module.check_steps(tables[:10], ledger, budget).severity.value == "holds"
    assert module.check_steps(tables, ledger, budget).severity.value == "fails"
    alone = [costs.Entry.of(1, {name: each for name, each in table.items() if name != "bound"})]
    assert module.check_steps(alone, ledger, budget).severity.value == "fails"


CHECKS = [
    costs_are_right,
    fixed_steps_are_right,
    what_has_no_cost_is_refused,
    bounds_are_rigorous,
    the_conversion_is_right,
    ledgers_are_right,
    relations_are_right,
    measurements_are_right,
    criteria_are_right,
    questions_are_right,
    traces_are_right,
    origins_are_right,
    sensitivities_are_right,
    thresholds_are_right,
    budgets_hold_what_their_kind_has,
    what_was_learnt_is_paid_for,
    totals_are_right,
    sentences_are_rounded_up,
]
