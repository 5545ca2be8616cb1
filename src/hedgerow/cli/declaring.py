"""Options of commands as fields of dataclasses: the help of each is what the docstring says of the field."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from typing import Annotated, Any, ClassVar, cast, get_args, get_origin, get_type_hints

import typer
from rich.markup import escape
from typer.models import ArgumentInfo

from hedgerow.cli.console import Output
from hedgerow.system import explained_class, when_compiling


@dataclass(frozen=True)
class Option:
    """What an option is beside its type and its default; see `option`."""

    names: tuple[str, ...]
    settings: dict[str, Any]


def option(*names: str, **settings: Any) -> Any:
    """Beside the type of a field in `Annotated`: how its option differs from what follows from the field.

    Args:
        names: Names of the option; without a long one it is called as the field.
        settings: Arguments of `typer.Option`; ``panel`` is the heading that its help stands under.
    """
    return Option(names, settings)


class Options:
    """Options of a command, as the fields of a dataclass; `spelled_out` makes parameters of them.

    The help of an option is what the docstring says of its field under ``Attributes:``.

    Attributes:
        panel: The heading that the help stands under; an argument of the class.
        environment: Whether the environment can set the options too, ``--store`` by ``HEDGEROW_STORE``; the same.
    """

    panel: ClassVar[str | None] = None
    environment: ClassVar[bool] = False

    def __init_subclass__(cls, *, panel: str | None = None, environment: bool = False) -> None:
        """Keep what holds for all fields."""
        cls.panel, cls.environment = panel or cls.panel, environment or cls.environment


@dataclass(frozen=True)
class _OutputOptions(Options, panel="Output"):
    """What is printed.

    Attributes:
        quiet: Print errors and warnings only.
        as_json: Print one JSON object on standard output.
    """

    quiet: Annotated[bool, option("-q")] = False
    as_json: Annotated[bool, option("--json")] = False

    def prepared(self, ctx: typer.Context) -> Output:
        """The output of this call, with its options set."""
        output = ctx.ensure_object(Output)
        output.quiet, output.as_json = self.quiet, self.as_json
        when_compiling(lambda: output.note("compiling, which happens once; 'hedgerow warm' does it ahead"))
        return output


def spelled_out(command: Callable[..., None]) -> Callable[..., None]:
    """A command as typer wants it: in place of a parameter of a class of `Options`, one for each of its fields.

    In place of an `Output` stand its options, ``--quiet`` and ``--json``.

    Args:
        command: The command.
    """
    parameters, groups = list[inspect.Parameter](), dict[str, Any]()
    hints = get_type_hints(command, include_extras=True)
    for parameter in inspect.signature(command).parameters.values():
        kind = _OutputOptions if hints[parameter.name] is Output else hints[parameter.name]
        if isinstance(kind, type) and issubclass(kind, Options):
            groups[parameter.name] = kind
            parameters += _parameters_of(kind)
        else:
            parameters.append(parameter.replace(annotation=_declared(parameter.name, kind)))
    if "ctx" not in hints:
        parameters.insert(0, inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context))

    @wraps(command)
    def called(**given: Any) -> None:
        for name, kind in groups.items():
            group = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
            given[name] = group.prepared(given["ctx"]) if isinstance(group, _OutputOptions) else group
        if "ctx" not in hints:
            del given["ctx"]
        command(**given)

    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    cast("Any", called).__signature__ = inspect.Signature(parameters)
    return called


def _parameters_of(kind: Any) -> list[inspect.Parameter]:
    """The fields of a class of options, as parameters."""
    hints, (_, meanings) = get_type_hints(kind, include_extras=True), explained_class(kind)
    return [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if one.default is MISSING else one.default,
            annotation=_declared(one.name, hints[one.name], kind, meanings.get(one.name)),
        )
        for one in fields(kind)
    ]


def _declared(name: str, hint: Any, kind: type[Options] = Options, meaning: str | None = None) -> Any:
    """The type of a parameter with its option or argument, as typer wants it."""
    plain, given = get_args(hint) if get_origin(hint) is Annotated else (hint, option())
    if isinstance(given, ArgumentInfo) and given.help is None:
        given = copy(given)
        given.help = meaning
    if plain is typer.Context:
        return plain
    if not isinstance(given, Option):
        return Annotated[plain, given]
    settings = {"help": meaning, "panel": kind.panel, **given.settings}
    if kind.environment:
        settings.setdefault("envvar", f"HEDGEROW_{name.upper()}")
    long = () if any(each.startswith("--") for each in given.names) else (f"--{name.replace('_', '-')}",)
    return Annotated[plain, typer.Option(*long, *given.names, rich_help_panel=settings.pop("panel"), **settings)]


def help_of(command: Callable[..., None]) -> str:
    """The docstring as the help text: paragraphs are wrapped to the terminal, examples are left as they are."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(
        f"\b\n{escape(text)}" if text.startswith("Example") else escape(" ".join(text.split())) for text in paragraphs
    )
