"""Hooks of the documentation's site: a build fails on a public name without a docstring, or without a place in it.

`mkdocs.yml` names this file; tests/test_docs.py runs the same check without mkdocs.
"""

from __future__ import annotations

import inspect
import json
import re
import runpy
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from types import ModuleType
from typing import Any

DOCS = Path(__file__).resolve().parent
DRAWINGS = "experiments/"
"""Folder of the experiments' drawings, which stand outside of docs/."""
PLAIN = {"__version__", "errors"}
"""Public names that are no object with a docstring of its own on a page."""
DISPLAYED = re.compile(r'<div class="arithmatex">\\\[\s*(.*?)\s*\\\]</div>', flags=re.DOTALL)
"""A formula of its own, in LaTeX, as pymdownx.arithmatex leaves it."""
NAMED = re.compile(r"\\(ln|cosh|coth|sinh|tanh)(?=[\\ ])")
SPACED = r"\\\1\,"
"""Functions in LaTeX, and a thin space behind them, which MathML's converter leaves out."""
UNSET = re.compile(r"<(code|pre|math|script|style)\b.*?</\1>|<[^>]*>", flags=re.DOTALL)
"""Tags, and what stands as it is."""
RAISED = re.compile(r"\^(?:\{([^{}]*)\}|([-\u2212]?[A-Za-z\u03b1-\u03c90-9]+|\*))")
LOWERED = re.compile(
    r"(?<=[\w)\]|\u0302\u0303'])_\{([^{}]*)\}"
    r"|(?:(?<=[^A-Za-z0-9_][^\W_])|(?<=^[^\W_])|(?<=[\u0302\u0303'])|(?<=max|min|sup|inf))"
    r"_([A-Za-z\u03b1-\u03c9]|[0-9]+)(?![A-Za-z0-9_])"
    r"|(?<=[\u03a3\u2211])_(\w+)"
)
"""Powers and indices in formulas of a line, as ``e^{-ay}`` and ``D_a``."""
VARIABLE = re.compile(
    r"(?<![\w'\u2019.&/#-])([A-Za-z\u03b1-\u03c9])"
    r"(?=<su[bp]>|\(|\u0302| (?:[=≤≥≈∝∈·\u00d7+\u2212~]|&[lg]t;) )"
    r"|(?<=[=≤≥≈∝∈·\u00d7+\u2212~] )([A-Za-z\u03b1-\u03c9])(?![\w'\u2019.-])"
)
LONE = re.compile(
    r"(?<![\w'\u2019.&/#<>-])(?<!\d )(?<!\()([b-zB-HJ-Z\u03b1-\u03c9])(?=['\u00b2\u207b]*(?:[ ,;:)]|[A-Z]'|$))"
)
"""Variables in the words of a page of formulas: a letter alone is one there, but for articles, initials and seconds."""
ARGUMENT = re.compile(r"(</var>\(|<var>\w</var>, )([A-Za-z\u03b1-\u03c9])(?=[,)])")
"""Variables: single letters beside operators, indices and brackets, and those in brackets behind one."""


def undocumented(module: ModuleType) -> Iterator[str]:
    """Public names of a module, and public members of its own classes, that have no docstring."""
    for name in sorted(set(module.__all__) - PLAIN):
        value = getattr(module, name)
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        if not (value.__doc__ or "").strip():
            yield f"{module.__name__}.{name}"
        if inspect.isclass(value) and value.__module__.startswith("hedgerow"):
            yield from (f"{module.__name__}.{name}.{each}" for each in _bare_members(value))


def _bare_members(kind: type) -> Iterator[str]:
    for name, member in vars(kind).items():
        described: Any = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if not name.startswith("_") and (inspect.isfunction(described) or isinstance(described, property)):
            inherited = inspect.getdoc(getattr(kind, name))  # an override says what it overrides
            if not (inherited or "").strip():
                yield name


def not_shown(module: ModuleType) -> list[str]:
    """Public names of a module that no page of the reference shows."""
    text = "".join(page.read_text(encoding="utf-8") for page in sorted((DOCS / "reference").glob("*.md")))
    shown = set(re.findall(rf"^::: {re.escape(module.__name__)}\.(\w+)", text, flags=re.MULTILINE))
    return sorted(set(module.__all__) - PLAIN - shown)


def broken_tables(markdown: str) -> list[str]:
    r"""First lines of what looks like rows of a table and belongs to none, as where a blank line splits one.

    Example:
        >>> broken_tables("| a | b |\n|---|---|\n| 1 | 2 |\n\n| 3 | 4 |\n")
        ['| 3 | 4 |']
    """
    text = re.sub(r"^ *```.*?^ *```", "", markdown, flags=re.DOTALL | re.MULTILINE)
    blocks = re.findall(r"(?:^\|.*\n?)+", text, flags=re.MULTILINE)
    rows = [block.splitlines() for block in blocks]
    return [lines[0] for lines in rows if len(lines) < 2 or not re.fullmatch(r"\|(?: *:?-+:? *\|)+ *", lines[1])]


def on_pre_build(config: Any) -> None:
    """Fail on a public name that is undocumented or not shown."""
    from mkdocs.exceptions import PluginError

    import hedgerow
    import hedgerow.extending

    for module in (hedgerow, hedgerow.extending):
        bare, missing = list(undocumented(module)), not_shown(module)
        if bare:
            raise PluginError(f"without a docstring: {', '.join(bare)}")
        if missing:
            raise PluginError(f"on no page of docs/reference: {module.__name__}: {', '.join(missing)}")


def on_files(files: Any, config: Any) -> Any:
    """Take into the site drawings, schemas, notebooks, references that are made, and the page to move epsilon on."""
    from mkdocs.structure.files import File

    for folder in (DOCS.parent / "experiments", DOCS.parent / "benchmarks" / "performance"):
        for drawing in sorted(folder.rglob("*.svg")):
            place = DRAWINGS + drawing.relative_to(folder).as_posix()
            files.append(File.generated(config, place, abs_src_path=str(drawing)))
    for schema in sorted((DOCS.parent / "src").rglob("*.schema.json")):
        files.append(File.generated(config, f"schemas/{schema.name}", abs_src_path=str(schema)))
    kept = runpy.run_path(str(DOCS / "site_notebooks.py"))
    for notebook in kept["notebooks"]():
        text = kept["page"](kept["read"](notebook))
        files.append(File.generated(config, f"notebooks/{notebook.stem}.md", content=text))
    for place, text in runpy.run_path(str(DOCS / "site_reference.py"))["pages"]():
        files.append(File.generated(config, place, content=text))
    moved = config.extra.get("moved", {})
    for place in sorted({old.partition("#")[0] for old in moved}):
        files.append(File.generated(config, f"{place}.html", content=leading_on(place, moved)))
    teaching = runpy.run_path(str(DOCS.parent / "examples" / "teaching" / "make_page.py"))
    files.append(File.generated(config, "move-epsilon.html", content=teaching["page"](teaching["content"]())))
    return files


def leading_on(place: str, moved: Mapping[str, str]) -> str:
    """A page in the place of one that moved, which leads on to where it or one of its sections is now.

    Example:
        >>> leading_on("a/b", {"a/b": "c", "a/b#d": "e/f#g"})
        '<!DOCTYPE html><script>const moved = {"": "../c.html", "#d": "../e/f.html#g"};
        location.replace(moved[location.hash] || moved[""])</script><a href="../c.html">This page moved.</a>'
    """
    up = "../" * place.count("/")
    to = {}
    for old, new in moved.items():
        if old.partition("#")[0] == place:
            page, mark, anchor = new.partition("#")
            to[old.removeprefix(place)] = f"{up}{page}.html{mark}{anchor}"
    script = f'const moved = {json.dumps(to)}; location.replace(moved[location.hash] || moved[""])'
    return f'<!DOCTYPE html><script>{script}</script><a href="{to[""]}">This page moved.</a>'


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fail on a broken table; lead links to drawings to their place; ``a[1:][0]`` in code is no link."""
    from mkdocs.exceptions import PluginError

    if broken := broken_tables(markdown):
        raise PluginError(f"rows without a table in {page.file.src_uri}: {'; '.join(broken)}")
    for folder in ("experiments", "benchmarks/performance"):
        markdown = markdown.replace(f"](../{folder}/", f"]({DRAWINGS}")
    return markdown.replace("][", "]\\[")


def typeset(html: str, *, formulas: bool = False) -> str:
    """The formulas of a page: those of their own as MathML; in those of a line raised and lowered text, and variables.

    Example:
        >>> typeset("<p>a size n ≤ D_β <code>a_b</code></p>")
        '<p>a size <var>n</var> ≤ <var>D</var><sub>β</sub> <code>a_b</code></p>'
        >>> typeset("f(x, y) = e^{ay}, (a) J. P. Reiter")
        '<var>f</var>(<var>x</var>, <var>y</var>) = <var>e</var><sup>ay</sup>, (a) J. P. Reiter'
        >>> typeset("a function of y with k cells in 7 s (b)", formulas=True)
        'a function of <var>y</var> with <var>k</var> cells in 7 s (b)'
    """
    from latex2mathml.converter import convert

    html = DISPLAYED.sub(
        lambda found: f'<div class="formula">{convert(NAMED.sub(SPACED, unescape(found[1])), display="block")}</div>',
        html,
    )
    done, place = [], 0
    for kept in UNSET.finditer(html):
        done += [_raised(html[place : kept.start()], formulas), kept[0]]
        place = kept.end()
    return "".join([*done, _raised(html[place:], formulas)])


def _raised(text: str, formulas: bool) -> str:
    before = ""
    while before != text:  # from the innermost braces outward
        before = text
        text = LOWERED.sub(lambda found: f"<sub>{found[found.lastindex]}</sub>", text)
        text = RAISED.sub(lambda found: f"<sup>{found[found.lastindex]}</sup>", text)
    text = LONE.sub(r"<var>\1</var>", text) if formulas else text
    text, before = VARIABLE.sub(lambda found: f"<var>{found[found.lastindex]}</var>", text), ""
    while before != text:
        before = text
        text = ARGUMENT.sub(r"\1<var>\2</var>", text)
    return text


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Typeset formulas, without a script that a reader's browser would have to fetch."""
    return typeset(html, formulas=page.file.src_uri == "theory.md")
