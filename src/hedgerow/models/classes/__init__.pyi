from .choice import domain_of_classes as domain_of_classes, wants_classes as wants_classes
from .value_classes import ValueClasses as ValueClasses
