from . import errors as errors
from .algorithms.dual_query.dual_query import DualQuery as DualQuery
from .algorithms.independent.fourier import FourierMeasurement as FourierMeasurement
from .algorithms.independent.independent_noise import IndependentNoise as IndependentNoise
from .algorithms.mwem.mwem import MWEM as MWEM
from .algorithms.offline_pmw.offline_pmw import OfflinePMW as OfflinePMW
from .algorithms.online_pmw.file import SessionFile as SessionFile
from .algorithms.online_pmw.online_pmw import OnlinePMW as OnlinePMW
from .algorithms.online_pmw.session import OnlineSession as OnlineSession
from .algorithms.shared.linked import release_linked as release_linked
from .algorithms.shared.prior import Prior as Prior
from .algorithms.small_db.small_db import SmallDB as SmallDB
from .algorithms.yardsticks.game import GameSolution as GameSolution, solve_game as solve_game
from .algorithms.yardsticks.matrix_bound import svd_bound as svd_bound
from .algorithms.yardsticks.multiplicative_weights import MultiplicativeWeights as MultiplicativeWeights
from .client import connect as connect
from .comparison import Comparison as Comparison, compare as compare
from .data.draft import draft_domain as draft_domain
from .data.linked import read_linked as read_linked
from .data.public import read_public as read_public
from .data.scanning.chunks import scan_table as scan_table
from .data.scanning.scan import ScannedTable as ScannedTable
from .data.table import Table as Table, read_table as read_table
from .domain.attribute import Binned as Binned, Categorical as Categorical, IntegerRange as IntegerRange
from .domain.constraint import Constraint as Constraint
from .domain.derived import Derived as Derived
from .domain.domain import Domain as Domain
from .domain.feasible import feasible_records as feasible_records
from .domain.file import read_domain as read_domain, write_domain as write_domain
from .domain.linked import Children as Children, Linked as Linked
from .domain.rules import determines as determines, if_then as if_then, impossible as impossible
from .domain.schemas import domain_from as domain_from
from .evaluation import Evaluation as Evaluation, evaluate as evaluate
from .inference.association import test as test
from .inference.regression import regress as regress
from .models.dense.histogram import Histogram as Histogram
from .models.fit.rules import Proximal as Proximal, Sweeps as Sweeps
from .privacy.budgets.limits import GDP as GDP, ZCDP as ZCDP, ApproxDP as ApproxDP, PureDP as PureDP
from .privacy.budgets.subsampling import Subsampled as Subsampled
from .privacy.curator import Curator as Curator
from .privacy.randomness.source import SeededNoise as SeededNoise
from .privacy.register.register import Register as Register
from .queries.conditions.predicate import parse_predicate as parse_predicate
from .queries.core.public import PublicData as PublicData
from .queries.core.sensitivity import Neighbours as Neighbours
from .queries.workload import Workload as Workload
from .release import Release as Release
from .release.linked import LinkedRelease as LinkedRelease
from .release.records import Records as Records
from .simulation import (
    SimulatedErrors as SimulatedErrors,
    replicate as replicate,
    simulate_errors as simulate_errors,
)
from .synthesis import Synthesis as Synthesis, synthesize as synthesize
from .synthesizer import Synthesizer as Synthesizer
from .version import __version__ as __version__
