from .chain import canonical_json as canonical_json, head_of as head_of, link as link, start_of as start_of
from .compiling import (
    compile_at_once as compile_at_once,
    compiled_folder as compiled_folder,
    device_function as device_function,
    inlined as inlined,
    kernel as kernel,
    late as late,
    when_compiling as when_compiling,
)
from .docstrings import explained as explained, explained_class as explained_class
from .files import (
    alone_with as alone_with,
    creating as creating,
    remove_leftovers as remove_leftovers,
    replacing as replacing,
    replacing_folder as replacing_folder,
)
from .frames import Tabular as Tabular
from .machine import (
    Tasks as Tasks,
    ahead as ahead,
    available_bytes as available_bytes,
    done_by as done_by,
    each_done as each_done,
    in_slices as in_slices,
    slowness as slowness,
    usable_cores as usable_cores,
)
from .plug_ins import load_plug_in as load_plug_in, plug_in_names as plug_in_names
from .randomness import Seed as Seed, generator as generator, numbered as numbered
from .signing import SigningKey as SigningKey, VerifyingKey as VerifyingKey
