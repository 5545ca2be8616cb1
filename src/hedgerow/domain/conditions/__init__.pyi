from .classes import as_condition as as_condition, over_classes as over_classes
from .code_set import CodeSet as CodeSet
from .comparison import Truth as Truth
from .parser import parse_condition as parse_condition
from .sql_tokens import Kind as Kind, tokens_of as tokens_of, unsupported as unsupported
from .text import (
    condition as condition,
    did_you_mean as did_you_mean,
    in_condition as in_condition,
    shortened as shortened,
    shown as shown,
)
from .tree import (
    MAX_DEPTH as MAX_DEPTH,
    SIGNS as SIGNS,
    Condition as Condition,
    Constant as Constant,
    Flat as Flat,
    Join as Join,
    Leaf as Leaf,
    Negation as Negation,
    Sign as Sign,
    condition_sql as condition_sql,
    leaves_in as leaves_in,
    negation as negation,
    simplified as simplified,
    true_where as true_where,
)
