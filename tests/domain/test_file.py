"""Domain files: what is read, what is refused, and that writing and reading give the same domain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from hedgerow import write_domain
from hedgerow.domain import (
    Attribute,
    Binned,
    Categorical,
    Domain,
    IntegerRange,
    domain_from_mapping,
    domain_to_mapping,
    parsed_text,
    read_domain,
    yaml_text,
)
from hedgerow.errors import DomainError

DATA = Path(__file__).parents[2] / "examples" / "data"


def read(folder: Path, text: str, name: str = "d.yaml") -> Domain:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_domain(path)


def refused(folder: Path, text: str, words: str, name: str = "d.yaml") -> DomainError:
    with pytest.raises(DomainError, match=words) as caught:
        read(folder, text, name)
    assert str(folder / name) in str(caught.value)
    assert caught.value.remedy
    return caught.value


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("mildew", (2,) * 6),
        ("czech", (2,) * 6),
        ("rochdale", (2,) * 8),
        ("nltcs", (2,) * 16),
        ("adult", (74, 9, 1478116, 16, 16, 7, 15, 6, 5, 2, 100000, 4357, 99, 42, 2)),
        ("adult8_mwem", (41, 2, 5, 6, 14, 7, 16, 7)),
        ("transfusion", (75, 50, 12251, 97, 2)),
    ],
)
def test_shipped_files(name: str, shape: tuple[int, ...]) -> None:
    domain = read_domain(DATA / f"{name}.domain.json")
    assert domain.shape == shape
    assert domain.names == tuple(json.loads((DATA / f"{name}.domain.json").read_text()))


def test_plain_words_are_texts(tmp_path: Path) -> None:
    words = "no, yes, on, off, y, n, 007, 1_000, 12:30, 2020-01-31, <=50K, .inf, .nan, 0x1F, 0o7, N/A, ?"
    values = read(tmp_path, f"a: [{words}]")["a"]
    assert isinstance(values, Categorical)
    assert values.values == tuple(words.split(", "))


def test_a_lone_question_mark_is_text(tmp_path: Path) -> None:
    for text in ("a: [x, y, ?]", "a:\n  values:\n  - x\n  - y\n  - ?\n"):
        assert read(tmp_path, text)["a"].labels == ("x", "y", "?")


def test_numbers_and_booleans_keep_their_type(tmp_path: Path) -> None:
    domain = read(tmp_path, "a: [0, -1, +2, 2.5, 1e3, .5, 1.]\nb: [true, False]\nc: ['1', \"true\", 'null']")
    a, b, c = domain
    assert isinstance(a, Categorical)
    assert [(type(value), value) for value in a.values] == [
        (int, 0), (int, -1), (int, 2), (float, 2.5), (float, 1000.0), (float, 0.5), (float, 1.0)
    ]  # fmt: skip
    assert isinstance(b, Categorical)
    assert isinstance(c, Categorical)
    assert (b.values, c.values) == ((True, False), ("1", "true", "null"))


def test_every_option(tmp_path: Path) -> None:
    text = """
    attributes:
      2020: {min: 0, max: 9, missing: true}
      no: {min: 0, max: 10, bins: 4, whole: true, other: true}
      e: {edges: [0, 0.5, 2], missing: -9, other: far}
      f:
        values:
          - a
          - b
        missing: NA
        other: no
      g: 3
      h: [x, y]
    """
    assert read(tmp_path, text) == Domain(
        [
            IntegerRange("2020", 0, 9, missing="?"),
            Binned("no", (0, 2, 5, 8, 10), whole=True, other="other"),
            Binned("e", (0, 0.5, 2), missing="-9", other="far"),
            Categorical("f", ("a", "b"), missing="NA", other="no"),
            IntegerRange("g", 0, 2),
            Categorical("h", ("x", "y")),
        ]
    )


def test_an_attribute_may_be_called_attributes(tmp_path: Path) -> None:
    assert read(tmp_path, "attributes: [a, b]\nx: 2").names == ("attributes", "x")
    assert read(tmp_path, "attributes: {min: 0, max: 1}\nx: 2").names == ("attributes", "x")


def test_attributes_may_be_called_like_options(tmp_path: Path) -> None:
    assert read(tmp_path, "attributes: {min: [a, b], max: {values: [a, b]}}").names == ("min", "max")
    assert read(tmp_path, "attributes: {values: {values: [a, b]}}").names == ("values",)
    assert read(tmp_path, "attributes: {other: [a, b]}").names == ("other",)
    assert read(tmp_path, "min: [a, b]\nmissing: 2").names == ("min", "missing")


def test_a_target_is_kept_with_its_column(tmp_path: Path) -> None:
    domain = read(tmp_path, "attributes: {sex: [F, M], ill: [no, yes]}\ntarget: ill")
    assert domain.target == "ill"
    assert domain_from_mapping(domain_to_mapping(domain)).target == "ill"
    assert (domain.project(["ill"]).target, domain.project(["sex"]).target) == ("ill", None)
    assert "target" not in domain_to_mapping(domain.project(["sex"]))
    other = read(tmp_path, "attributes: {age: 9}")
    assert (other.merge(domain).target, domain.merge(other).target) == ("ill", "ill")


def test_json_with_tabs_and_a_byte_order_mark(tmp_path: Path) -> None:
    assert read(tmp_path, '\ufeff{\n\t"a":\t["x", "y"]\n}', "d.json").shape == (2,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "does not map attributes"),
        ("- a\n- b", "does not map attributes"),
        ("attributes: {sex: [F, M]}\ntarget: ill", "the target 'ill' is no column"),
        ("a: [x, y]\na: [u, v]", "'a' is given twice"),
        ("a: {min: 0, max: 1, min: 2}", "'min' is given twice"),
        ("a: [x\n", "line 2 is not YAML"),
        ("a: *b", "line 1 is not YAML"),
        ("a: !!python/object:os.system [x]", "line 1 is not YAML"),
        ("a: \x00", "not YAML"),
        ("a: [x, null, y]", "'a' lists an empty value"),
        ("a: [x, ~, y]", "'a' lists an empty value"),
        ("a: [x, [y], z]", "'a'.*neither text nor a number"),
        ("a: [x]", "'a' has 1 value"),
        ("a: []", "'a' has 0 values"),
        ("a: 1", "'a' has 1 value"),
        ("a: 0", "'a' has 0 values"),
        ("a: -3", "'a' has -3 values"),
        ("a: x", "'a': 'x' is neither"),
        ("a:", "'a': None is neither"),
        ("a: true", "'a': True is neither"),
        ("a: {values: x}", "'a': 'values' is not a list"),
        ("a: {}", "'a' is not fully described"),
        ("a: {min: 0}", "'a' is not fully described .found: min"),
        ("a: {min: 0, max: 1, values: [x, y]}", "'a' is not fully described"),
        ("a: {min: 0, max: 9, edges: [0, 1, 2]}", "'a' is not fully described"),
        ("a: {mim: 0, max: 1}", "'a' has an unknown option 'mim'"),
        ("a: {min: x, max: 1}", "'a': 'x' is neither a number nor a date, time or duration"),
        ("a: {min: 0, max: 1.5}", "'a': the bound 1.5"),
        ("a: {min: 0, max: 1, bins: 1.5}", "'a': 'bins' is not a whole number"),
        ("a: {min: 0, max: 1, bins: 0}", "'a': 0 bins"),
        ("a: {edges: 3}", "'a': 'edges' is not a list"),
        ("a: {edges: [0, x]}", "'a': 'x' is neither a number nor a date, time or duration"),
        ("a: {edges: [0, 2, 1]}", "'a': bin edges"),
        ("a: {edges: [0, 1, 2], whole: maybe}", "'a': 'whole' is neither"),
        ("a: {values: [x, y], whole: true}", "'a': 'whole' has no meaning"),
        ("a: {values: [x, y], missing: {z: 1}}", "'a': 'missing' is neither"),
        ("a: {values: [x, y], missing: []}", "'a': 'missing' lists no texts"),
        ("a: {min: 0, max: 9, pattern: cm}", "is no pattern of a number"),
        ("a: {values: [x, y], pattern: '# cm'}", "'a': 'pattern' has no meaning"),
        ("format: {separator: ';;'}\nattributes: {a: 2}", "is not one character"),
        ("format: {encoding: klingon}\nattributes: {a: 2}", "'klingon' is unknown"),
        ("format: {comma: ','}\nattributes: {a: 2}", "has no option 'comma'"),
        ("a: {values: [x, y], missing: true, other: '?'}", "'a': the missing and the other value are both"),
        ("a: {min: 0, max: 9, missing: 5}", "'a': '5' is the text"),
        ("attributes: {a: 2}\nb: 2", "'b' is given beside"),
        ("attributes: {}", "at least one attribute"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str, words: str) -> None:
    refused(tmp_path, text, words)


def test_json_that_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, '{"a": ["x", "y"], "a": 2}', "'a' is given twice", "d.json")
    refused(tmp_path, '{"a": ["x",\n "y"}', "line 2 is not JSON", "d.json")
    refused(tmp_path, '{"a": ["x", NaN]}', "lists nan", "d.json")


def test_a_misspelt_option_is_guessed(tmp_path: Path) -> None:
    assert "did you mean 'missing'" in refused(tmp_path, "a: {values: [x, y], mising: true}", "mising").remedy


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DomainError, match=r"nowhere\.yaml.*No such file"):
        read_domain(tmp_path / "nowhere.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"a: [x, \xfc]")
    with pytest.raises(DomainError, match=r"latin\.yaml.*not UTF-8"):
        read_domain(tmp_path / "latin.yaml")


def test_writing_refuses_other_endings_and_leaves_no_file(tmp_path: Path) -> None:
    domain = Domain([IntegerRange("a", 0, 1)])
    with pytest.raises(DomainError, match=r"d\.toml.*'\.toml'"):
        write_domain(domain, tmp_path / "d.toml")
    assert not list(tmp_path.iterdir())
    (tmp_path / "d.yaml").write_text("old")
    write_domain(domain, tmp_path / "d.yaml")
    assert read_domain(tmp_path / "d.yaml") == domain
    assert [path.name for path in tmp_path.iterdir()] == ["d.yaml"]


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
values = st.one_of(
    names,
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.sampled_from(
        ["no", "yes", "null", "~", "007", "1e5", "1_0", "2020-01-31", "-", ":", "#a", "\x85", "\u2028", "😀"]
    ),
)
declared = st.sampled_from([{}, {"missing": "?"}, {"other": "no"}, {"missing": "NA", "other": "007x"}])


@st.composite
def attributes(draw: st.DrawFn) -> Attribute:
    name = draw(st.one_of(names, st.sampled_from(["attributes", "values", "min", "max", "edges", "missing", "other"])))
    options: dict[str, Any] = draw(declared)
    kind = draw(st.integers(0, 2))
    if kind == 0:
        listed = draw(st.lists(values, min_size=2, max_size=6))
        unique = {
            str(float(v)) if isinstance(v, int | float) and not isinstance(v, bool) else str(v): v for v in listed
        }
        return Categorical(
            name, [f"{i} {v}" if isinstance(v, str) else v for i, v in enumerate(unique.values())] + ["z"]
        )
    if kind == 1:
        low = draw(st.integers(-(10**6), 10**6))
        return IntegerRange(name, low, low + draw(st.integers(1, 10**6)), **options)
    edges = draw(st.lists(st.floats(-1e300, 1e300), min_size=3, max_size=6, unique=True))
    return Binned(name, sorted(edges), **options)


@given(st.lists(attributes(), min_size=1, max_size=4, unique_by=lambda attribute: attribute.name))
def test_writing_and_reading_give_the_same_domain(listed: list[Attribute]) -> None:
    domain = Domain(listed)
    mapping = domain_to_mapping(domain)
    assert domain_from_mapping(mapping) == domain
    assert domain_from_mapping(json.loads(json.dumps(mapping))) == domain


@given(st.lists(values, min_size=1, max_size=8))
def test_yaml_text_keeps_every_value_in_our_reader_and_in_others(listed: list[Any]) -> None:
    from hedgerow.domain.entries.yaml_text import _Loader

    text = yaml_text({"a": listed})
    for loader in (_Loader, yaml.SafeLoader):
        assert repr(yaml.load(text, Loader=loader)) == repr({"a": listed})


@pytest.mark.parametrize("name", ["d.yaml", "d.yml", "d.json"])
def test_files_are_read_back(tmp_path: Path, name: str) -> None:
    for path in DATA.glob("*.domain.json"):
        domain = read_domain(path)
        write_domain(domain, tmp_path / name)
        assert read_domain(tmp_path / name) == domain


def test_logarithmic_bins_of_fractions() -> None:
    edges = domain_from_mapping({"x": {"min": 0.01, "max": 100, "bins": {"log": 4}}})["x"].edges  # type: ignore[attr-defined]
    assert edges == pytest.approx([0.01, 0.1, 1.0, 10.0, 100.0])


@pytest.mark.parametrize("opening", ["[", "{", "- ", "? "])
def test_a_text_that_is_nested_too_deeply_is_not_read_to_its_end(opening: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, fetch = list[int](), yaml.SafeLoader.fetch_more_tokens
    monkeypatch.setattr(yaml.SafeLoader, "fetch_more_tokens", lambda loader: (tokens.append(1), fetch(loader)))
    with pytest.raises(DomainError, match="nested too deeply"):
        parsed_text(opening * 30_000)
    assert 0 < len(tokens) < 200
