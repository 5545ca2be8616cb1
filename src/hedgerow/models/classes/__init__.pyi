from .value_classes import ValueClasses as ValueClasses
