from .of_opendp import opendp_measurement as opendp_measurement
from .of_sdv import SDVSynthesizer as SDVSynthesizer
