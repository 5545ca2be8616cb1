"""Values that are learnt: those of a public list that many records have, in the same ledger and without a delta."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from hedgerow import ApproxDP, Domain, PureDP, SeededNoise
from hedgerow.algorithms import frequent_noise, learn_domain, learning_charges, learning_share
from hedgerow.data import read_table
from hedgerow.domain import Categorical, OpenDomain, domain_from_mapping, domain_to_mapping, open_domain
from hedgerow.errors import DomainError
from hedgerow.privacy import Curator

NAMES = [f"v{i}" for i in range(40)]
ODD = ["\u0130", "\u017f", "\u0149", "\u1fb3", "\u0345", " ?", "OTHER", "x ", "\u01c6"]
"""Letters whose forms are unlike them, and texts that are nearly declared."""
WANTED = OpenDomain({"job": {"values": {"learn": 10, "of": NAMES}}, "sex": ["F", "M"]})


def table(counts: dict[str, int]) -> pa.Table:
    jobs = [name for name, count in counts.items() for _ in range(count)]
    return pa.table({"job": jobs, "sex": ["F", "M"] * (len(jobs) // 2) + ["F"] * (len(jobs) % 2)})


def learnt(counts: dict[str, int], wanted: OpenDomain = WANTED, seed: int = 0) -> tuple[Domain, Curator]:
    rows = table(counts)
    curator = Curator(read_table(rows, wanted.fine), PureDP(10.0), noise=SeededNoise(seed))
    return learn_domain(curator, wanted), curator


def test_frequent_values_of_a_list_are_kept_and_the_others_are_one() -> None:
    counts = {"v3": 4000, "v1": 3000, **{name: 2 for name in NAMES[5:]}}
    domain, curator = learnt(counts, seed=3)
    job = domain["job"]
    assert isinstance(job, Categorical)
    assert (job.values, job.other, job.learnt) == (("v1", "v3"), "other", True)
    (event,) = curator.ledger.events
    assert (event.label, event.target, event.values) == ("learn", "job", 41)
    assert event.charge == pytest.approx(0.5)
    assert event.delta == 0.0
    assert read_table(table(counts), domain).marginals([("job",)])[0].tolist() == [3000, 4000, 70]


def test_the_ten_most_frequent_are_kept_and_never_none() -> None:
    domain, _ = learnt({name: 500 + 50 * i for i, name in enumerate(NAMES)})
    assert domain["job"].labels[:-1] == tuple(NAMES[30:])
    domain, _ = learnt({"v0": 1, "v1": 1})
    assert domain["job"].ordinary == 1


class Still(SeededNoise):
    """Noise of nothing, of which no more than its scale is told."""

    def laplace(self, values: Any, scale: float) -> Any:
        return values


def test_a_level_is_split_where_counts_allow() -> None:
    """Bound 8.49 for one value, and the square root of their number as much for several together."""
    codes = [f"{letter}{i:02d}" for letter in "AB" for i in range(30)]
    values = {"learn": 20, "of": codes, "prefix": [2, 1]}
    entry = {"values": values, "case": "fold", "synonyms": {"x": "B29"}}
    wanted = OpenDomain({"code": entry, "sex": ["F", "M"]})
    counts = {"A00": 3000, "A01": 9, "A02": 8, "b05": 2000, "x": 8}
    counts |= {f"A1{i}": 5 for i in range(10)} | {f"B{i:02d}": 2 for i in range(29) if i != 5}
    cells = [name for name, count in counts.items() for _ in range(count)]
    rows = pa.table({"code": cells, "sex": ["F"] * len(cells)})
    domain = learn_domain(Curator(read_table(rows, wanted.fine), PureDP(10.0), noise=Still(0)), wanted)
    code = domain["code"]
    assert isinstance(code, Categorical)
    assert code.values == ("A00", "A01", "B05", "a1*", "b*")
    alike = dict(code.spelling.synonyms)
    assert (alike["A15"], alike["B13"], alike["x"], alike.get("A02")) == ("a1*", "b*", "b*", None)
    found = read_table(rows, domain).marginals([("code",)])[0]
    assert found.tolist() == [3000, 9, 2000, 50, 2 * 28 + 8, 8]
    assert domain_from_mapping(json.loads(json.dumps(domain_to_mapping(domain)))) == domain


def test_what_is_kept_is_that_far_above_the_noise() -> None:
    """Exactly: the same run with noise of nothing keeps counts from the bound on."""
    budget = PureDP(10.0)
    least = frequent_noise(budget, WANTED, "job")
    charge = learning_charges(WANTED, learning_share(WANTED) * budget.limit)["job"][0]
    assert least == pytest.approx(3.0 * 2**0.5 / charge, rel=0.02)

    above = int(np.ceil(3.0 * 2**0.5 / charge))
    rows = table({"v0": 1000, "v7": above, "v8": above - 1})
    curator = Curator(read_table(rows, WANTED.fine), budget, noise=Still(0))
    assert learn_domain(curator, WANTED)["job"].labels == ("v0", "v7", "other")


def test_lists_bins_and_unlisted_values_share_the_budget() -> None:
    wanted = OpenDomain(
        {
            "job": {"values": {"learn": 5, "of": NAMES}},
            "tag": {"values": {"learn": 5}},
            "age": {"min": 0, "max": 99, "whole": True, "bins": {"learn": 4}},
        }
    )
    assert (wanted.bins, wanted.values, wanted.listed) == ({"age": 4}, {"tag": 5}, {"job": 5})
    assert wanted.outline.shape == (6, 7, 4)
    assert learning_share(wanted) == pytest.approx(0.15)
    charges = learning_charges(wanted, 0.15)
    assert {name: round(sum(each), 9) for name, each in charges.items()} == {"age": 0.05, "tag": 0.05, "job": 0.05}
    assert frequent_noise(ApproxDP(1.0, 1e-9), wanted, "job") < 100


def test_the_learnt_domain_is_written_and_read(tmp_path: Path) -> None:
    domain, _ = learnt({"v3": 4000, "v1": 3000})
    again = domain_from_mapping(json.loads(json.dumps(domain_to_mapping(domain))))
    assert again == domain
    (tmp_path / "d.yaml").write_text("job: {values: {learn: 2, of: [a, b, c]}, missing: '-', case: fold}\nsex: [F, M]")
    found = open_domain(tmp_path / "d.yaml")
    assert isinstance(found, OpenDomain)
    assert found.fine["job"].labels == ("a", "b", "c", "-", "other")
    assert open_domain(tmp_path / "d.yaml", ["sex"]) == Domain([Categorical("sex", ("F", "M"))])


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"values": {"learn": 0, "of": NAMES}}, "0 values to be learnt"),
        ({"values": {"learn": True}}, "True values to be learnt"),
        ({"values": {"learn": 10**6}}, "values to be learnt"),
        ({"values": {"learn": 3, "off": NAMES}}, "other options"),
        ({"values": {"learn": 3, "of": "abc"}}, "not a list"),
        ({"values": {"learn": 3, "prefix": 2}}, "other options"),
        ({"values": {"learn": 3, "of": NAMES, "prefix": 0}}, "'prefix' is 0"),
        ({"values": {"learn": 3, "of": ["a1", "a2", "a*"], "prefix": 1}}, "named like a group"),
        ({"values": {"learn": 3}, "levels": {"prefix": [1]}}, "'levels' of values"),
        ({"values": {"learn": 3}, "synonyms": {"a": "x", "b": "X"}, "case": "fold"}, "read alike"),
    ],
)
def test_wrong_wishes_are_refused(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(DomainError, match=message):
        OpenDomain({"job": entry, "sex": ["F", "M"]})


@given(
    texts=st.lists(st.text(max_size=4) | st.sampled_from(ODD), max_size=12),
    rules=st.fixed_dictionaries(
        {}, optional={"trim": st.just(True), "case": st.just("fold"), "unicode": st.sampled_from(["NFC", "NFKC"])}
    ),
)
def test_labels_of_any_letters_make_a_domain(texts: list[str], rules: dict[str, Any]) -> None:
    """No label that occurs makes a domain fail, before anything is spent or after; and each cell has one code."""
    wanted = OpenDomain({"tag": {"values": {"learn": 50}, **rules, "synonyms": {"q": "x"}}, "sex": ["F", "M"]})
    rule = wanted.label_of("tag")
    labels = sorted({label for text in texts if (label := rule(text)) is not None})
    domain = wanted.labelled({"tag": labels})
    assert wanted.with_bins({}, {"tag": labels})["tag"].labels == domain["tag"].labels
    assert domain_from_mapping(json.loads(json.dumps(domain_to_mapping(domain)))) == domain
    rows = pa.table({"tag": pa.array(texts, pa.string()), "sex": pa.array(["F"] * len(texts), pa.string())})
    if texts:
        counts = read_table(rows, domain).marginals([("tag",)])[0]
        expected = [sum(rule(text) == label for text in texts) for label in labels]
        assert counts[: len(labels)].tolist() == expected


def test_rules_about_values_that_are_not_known_are_refused() -> None:
    content = {
        "attributes": {"job": {"values": {"learn": 5}}, "sex": ["F", "M"]},
        "constraints": [{"impossible": "job = 'nurse' and sex = 'M'"}],
    }
    with pytest.raises(DomainError):
        OpenDomain(content)
    with pytest.raises(DomainError, match="to be learnt from the data"):
        domain_from_mapping({"job": {"values": {"learn": 5}}, "sex": ["F", "M"]})
