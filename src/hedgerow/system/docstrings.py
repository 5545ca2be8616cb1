"""What docstrings say of fields, for those who describe a class to people: OpenAPI, and the help of commands."""

import inspect
import re

_FIELD = re.compile(r"^ {4}(\w+): (.*?)(?=^ {4}\w|\Z)", re.MULTILINE | re.DOTALL)


def explained(text: str | None) -> tuple[str, dict[str, str]]:
    """The parts of a class' docstring: what it is, and what each field under ``Attributes:`` is.

    Example:
        >>> explained('''A person.
        ...
        ...     Attributes:
        ...         name: Unique in
        ...             the store.
        ... ''')
        ('A person.', {'name': 'Unique in the store.'})
    """
    head, _, fields = inspect.cleandoc(text or "").partition("\n\nAttributes:\n")
    return head, {name: " ".join(said.split()) for name, said in _FIELD.findall(fields.partition("\n\n")[0])}


def explained_class(kind: type) -> tuple[str, dict[str, str]]:
    """The same of a class, with the fields of the classes that it extends.

    Example:
        >>> class Person:
        ...     '''A person.
        ...
        ...     Attributes:
        ...         name: Unique in the store.
        ...     '''
        >>> class Analyst(Person):
        ...     '''One who asks.'''
        >>> explained_class(Analyst)
        ('One who asks.', {'name': 'Unique in the store.'})
    """
    head, fields = "", dict[str, str]()
    for each in reversed(kind.__mro__):
        head, own = explained(each.__dict__.get("__doc__"))
        fields |= own
    return head, fields
