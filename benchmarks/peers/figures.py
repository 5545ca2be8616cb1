"""What other software reached on the tasks of `tasks.py`: our own measurements of November 2026.

Measured on a contended machine with 2 cores and 24 GiB: errors can be compared, times only roughly. delta = 1e-9 where
a mechanism is not pure; one to three seeds; records as the mechanism gives them. Runs that crashed, ran out of memory
or were stopped are left out: on W1 mbi's AIM and MWEM, on W2 dp-query-release's RAP, on W2s dpmm's AIM, on W3 mbi's
AIM and MWEM and smartnoise's MWEM. smartnoise's MWEM is not epsilon-DP as written and reads domain and number of
records off the data, which flatters its figures.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    """One mechanism on one task.

    Attributes:
        name: Package and mechanism.
        errors: By epsilon the mean and the largest total variation distance over the workload.
        seconds: Of a run at epsilon 1.
        megabytes: Peak memory.
    """

    name: str
    errors: dict[float, tuple[float, float]]
    seconds: float
    megabytes: float

    @property
    def is_mwem(self) -> bool:
        """Whether it is a form of MWEM."""
        return "mwem" in self.name


def best(task: str, epsilon: float, *, mwem: bool = False) -> Peer | None:
    """The mechanism with the least mean error, of those that finished; None where none did.

    Args:
        task: Its name.
        epsilon: One of those measured.
        mwem: Of the forms of MWEM only.
    """
    finished = [peer for peer in FIGURES[task] if epsilon in peer.errors and (peer.is_mwem or not mwem)]
    return min(finished, key=lambda peer: peer.errors[epsilon][0], default=None)


SCALE = {
    "W1": {"resampled": (0.0239, 0.0867), "independent": 0.187, "uniform": 0.830},
    "W2": {"resampled": (0.0068, 0.0132), "independent": 0.103, "uniform": 0.656},
    "W2s": {"resampled": (0.0048, 0.0084), "independent": 0.123, "uniform": 0.595},
    "W3": {"resampled": (0.0053, 0.0114), "independent": 0.253, "uniform": 0.438},
    "ACS": {"resampled": (0.0403, 0.1994), "independent": 0.121, "uniform": 0.684},
}
"""The same without privacy, by the evaluator that gave the figures: the records resampled (mean and largest), and as
many records with independent or uniform attributes (mean)."""

FIGURES: dict[str, tuple[Peer, ...]] = {
    "W1": (
        Peer("mbi 2.0.0 mst", {0.1: (0.2043, 0.567), 1.0: (0.0937, 0.227), 10.0: (0.0962, 0.255)}, 136, 2286),
        Peer("smartnoise-synth 1.0.8 mst", {1.0: (0.271, 0.608)}, 162, 3554),
    ),
    "W2": (
        Peer("dp-query-release gem", {1.0: (0.0619, 0.177)}, 320, 918),
        Peer("dp-query-release mwem", {1.0: (0.0896, 0.232)}, 750, 4751),
        Peer("dpmm 0.1.9 mst", {1.0: (0.0327, 0.127)}, 76, 192),
        Peer("dpmm 0.1.9 privbayes", {1.0: (0.0325, 0.123)}, 165, 194),
        Peer("mbi 2.0.0 aim", {1.0: (0.0127, 0.039)}, 438, 2710),
        Peer("mbi 2.0.0 mst", {0.1: (0.0531, 0.127), 1.0: (0.0326, 0.124), 10.0: (0.0258, 0.106)}, 41, 1176),
        Peer("mbi 2.0.0 mwem+pgm", {0.1: (0.0545, 0.126), 1.0: (0.026, 0.078), 10.0: (0.0248, 0.078)}, 114, 1223),
        Peer(
            "private-pgm (2021 scripts) dualquery",
            {0.1: (0.4942, 0.863), 1.0: (0.2171, 0.472), 10.0: (0.0853, 0.192)},
            9,
            159,
        ),
        Peer("private_gsd gsd", {1.0: (0.0144, 0.055)}, 809, 1663),
        Peer("relaxed-adaptive-projection rap", {1.0: (0.0534, 0.107)}, 744, 1469),
        Peer("smartnoise-synth 1.0.8 mst", {1.0: (0.0848, 0.257)}, 129, 1375),
    ),
    "W2s": (
        Peer("dp-query-release gem", {1.0: (0.0789, 0.199)}, 105, 565),
        Peer("dp-query-release mwem", {0.1: (0.0826, 0.173), 1.0: (0.0901, 0.171), 10.0: (0.0532, 0.111)}, 14, 342),
        Peer("dp-query-release rap", {1.0: (0.007, 0.016)}, 208, 565),
        Peer("dpmm 0.1.9 mst", {1.0: (0.0129, 0.029)}, 126, 187),
        Peer("mbi 2.0.0 aim", {0.1: (0.0323, 0.07), 1.0: (0.0042, 0.009), 10.0: (0.0008, 0.002)}, 203, 2014),
        Peer("mbi 2.0.0 mst", {0.1: (0.0252, 0.048), 1.0: (0.0138, 0.032), 10.0: (0.0121, 0.03)}, 30, 897),
        Peer("mbi 2.0.0 mwem+pgm", {0.1: (0.0342, 0.055), 1.0: (0.0174, 0.049), 10.0: (0.014, 0.038)}, 68, 995),
        Peer(
            "private-pgm (2021 scripts) dualquery",
            {0.1: (0.3847, 0.647), 1.0: (0.1286, 0.252), 10.0: (0.0488, 0.112)},
            10,
            127,
        ),
        Peer("private_gsd gsd", {1.0: (0.0054, 0.011)}, 157, 1486),
        Peer("relaxed-adaptive-projection rap", {1.0: (0.0147, 0.026)}, 133, 504),
        Peer("smartnoise-synth 1.0.8 aim", {1.0: (0.0049, 0.011)}, 138, 2540),
        Peer("smartnoise-synth 1.0.8 mst", {1.0: (0.0479, 0.119)}, 59, 981),
        Peer(
            "smartnoise-synth 1.0.8 mwem", {0.1: (0.0744, 0.119), 1.0: (0.0126, 0.027), 10.0: (0.0063, 0.012)}, 152, 167
        ),
    ),
    "W3": (
        Peer("dp-query-release gem", {0.1: (0.0551, 0.098), 1.0: (0.009, 0.021), 10.0: (0.0079, 0.019)}, 116, 673),
        Peer("dp-query-release mwem", {0.1: (0.0631, 0.134), 1.0: (0.2996, 0.398), 10.0: (0.3431, 0.462)}, 57, 463),
        Peer("dp-query-release rap", {0.1: (0.0539, 0.111), 1.0: (0.0103, 0.031), 10.0: (0.0069, 0.025)}, 228, 672),
        Peer("dpmm 0.1.9 mst", {1.0: (0.1413, 0.256)}, 541, 186),
        Peer("mbi 2.0.0 mst", {0.1: (0.1511, 0.269), 1.0: (0.1437, 0.253), 10.0: (0.1421, 0.253)}, 37, 925),
        Peer(
            "private-pgm (2021 scripts) dualquery",
            {0.1: (0.3718, 0.675), 1.0: (0.1329, 0.304), 10.0: (0.0396, 0.082)},
            36,
            132,
        ),
        Peer(
            "relaxed-adaptive-projection rap",
            {0.1: (0.051, 0.116), 1.0: (0.0183, 0.049), 10.0: (0.0145, 0.044)},
            88,
            612,
        ),
        Peer("smartnoise-synth 1.0.8 mst", {1.0: (0.1332, 0.291)}, 48, 629),
    ),
    "ACS": (),
}
"""By task; ACS came later, and `peers_acs.py` runs a peer on it."""
