from .attribute import (
    Attribute as Attribute,
    Binned as Binned,
    Categorical as Categorical,
    IntegerRange as IntegerRange,
    value_text as value_text,
)
from .domain import Clique as Clique, Domain as Domain
from .file import (
    domain_from_mapping as domain_from_mapping,
    domain_to_mapping as domain_to_mapping,
    read_domain as read_domain,
)
from .values import arrow_schema as arrow_schema
