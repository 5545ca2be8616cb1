from .fourier import FourierMeasurement as FourierMeasurement
from .independent_noise import IndependentNoise as IndependentNoise, noisy_answers as noisy_answers
