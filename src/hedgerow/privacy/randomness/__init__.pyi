from .draws import SLACK as SLACK, RandomBytes as RandomBytes, pieces as pieces, uniform_below as uniform_below
from .source import (
    NoiseSource as NoiseSource,
    OpenDPNoise as OpenDPNoise,
    is_secure as is_secure,
    name_of_source as name_of_source,
)
