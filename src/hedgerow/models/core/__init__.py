"""Common ground of all forms of a hypothesis: their base class, log-factors, steps, memory and sampling.

``model`` is the base class; ``terms`` holds log-factors per scope; ``steps`` takes the steps that
suit any model; ``memory`` says how much a model may use; ``records`` and ``sampling_kernels`` draw records in blocks;
``conditional`` is one link of a hypothesis that is drawn link by link, ``fixed_columns`` and ``completion`` draw what
rows do not say, and ``conditions`` restricts a hypothesis to the records that meet a condition.
Imports ``queries``, ``domain`` and ``system``, and no other room of models.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
