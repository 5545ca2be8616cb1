"""Five weeks of questions to a server, from its start to the end of the budget: ``python examples/weeks.py FOLDER``.

A custodian registers a part of the Adult census data. An analyst asks, reads the answers, and asks what they suggest;
a colleague asks hundreds of questions of his own. In the end an evaluator, who holds the table, sets every answer
beside the truth, which no custodian would publish. docs/cases/weeks.md tells the story. The noise is drawn afresh, so
figures differ from run to run.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import duckdb  # finds the truth by code that is not Hedgerow's
import numpy as np
import pyarrow.csv

import hedgerow
from hedgerow.client import Client, RemoteDataSet, ServerAnswer
from hedgerow.errors import ConflictError, NotAllowedError
from hedgerow.system.randomness import generator

ROOT = Path(__file__).resolve().parent.parent
HEDGEROW = (sys.executable, "-c", "from hedgerow.cli import main; main()")
COLUMNS = ("age", "education", "occupation", "marital-status", "sex", "income")
BUDGET = hedgerow.ApproxDP(epsilon=1.0, delta=1e-9)
DECIDED = {"updates": 10, "threshold": 0.008, "queries": 2000}
"""Options of the data set, as the custodian chose them."""
SHARE = 0.25
"""Share of the budget that the colleague's questions may cost."""
RICH = "income = '>50K'"
AGES = ((17, 29), (30, 39), (40, 49), (50, 64))
BATCH = 25
"""Questions of one request."""
SMALL = 500
"""Records of a group that the evaluator calls small."""


def main(folder: Path, questions: int, options: Mapping[str, Any]) -> None:
    """Tell the story.

    Args:
        folder: New folder for all that the server keeps.
        questions: Number of the colleague's questions. He may ask three quarters of them.
        options: Options of the data set.
    """
    (folder / "tables").mkdir(parents=True)
    shutil.copy(ROOT / "examples" / "data" / "adult.csv", folder / "tables")
    domain = hedgerow.read_domain(ROOT / "examples" / "adult.domain.yaml")
    answers: dict[str, list[ServerAnswer]] = {}

    print("Week 1: the custodian registers the table, and the analyst looks around")
    with served(folder, tokens=1) as (url, said):
        token = re.findall(r"hgr_[\w-]+", said)[0]
        register(hedgerow.connect(url, token), "adult", domain, options)
        ada, ben = (invited(url, token, name) for name in ("ada", "ben"))
        grant = {"queries": 3 * questions // 4, "budget": SHARE * BUDGET.limit}
        send(url, token, "PUT", "/datasets/adult/grants/ben", grant)
        people = hedgerow.connect(url, ada)["adult"]
        state = people.summary()
        print(f"  {state['updates']} corrections of at most {state['price'] / state['limit']:.1%} of the budget each;")
        print(f"  the hypothesis answers where it seems closer than {state['threshold']:,.0f} records")
        answers["1"] = asked(people, [f"education = '{each}' and {RICH}" for each in domain["education"].labels])

    print("Week 2: the server was restarted; answers lead to questions")
    with served(folder) as (url, _):
        people = hedgerow.connect(url, ada)["adult"]
        answers["2"] = asked(people, list(follow_up(people, domain)))

    print(f"Week 3: a colleague has {questions} questions, may ask {grant['queries']}, and spend {SHARE:.0%}")
    with served(folder) as (url, _):
        people = hedgerow.connect(url, ben)["adult"]
        answers["3"] = asked(people, conditions(domain, questions, seed=3))

    print("Week 4: the report is written, and the questions of weeks 1 and 2 are asked again")
    with served(folder) as (url, _):
        people = hedgerow.connect(url, ada)["adult"]
        before, old = people.summary()["spent"], answers["1"] + answers["2"]
        again = people.ask_all([each.where for each in old])
        same = sum((a.value, a.low, a.high) == (b.value, b.low, b.high) for a, b in zip(again, old, strict=True))
        print("  women among high incomes:", women(answers["2"], {each.where: each.value for each in answers["2"]}))
        print(f"  {same} of {len(again)} answers are the same; they cost {people.summary()['spent'] - before:g}")

    print(f"Week 5: {2 * questions} questions for what is left, records for those who come later, no second budget")
    with served(folder) as (url, _):
        people = hedgerow.connect(url, ada)["adult"]
        answers["5"] = asked(people, conditions(domain, 2 * questions, seed=5))
        table = people.records()
        pyarrow.csv.write_csv(table, folder / "synthetic.csv")
        print(f"  {table.num_rows:,} synthetic records in {folder / 'synthetic.csv'}, at no cost")
        try:
            register(hedgerow.connect(url, token), "adult-again", domain, options)
        except ConflictError as error:
            print(f"  refused: {error.message}")

    evaluated(answers, folder)


@contextmanager
def served(folder: Path, tokens: int = 0) -> Iterator[tuple[str, str]]:
    """Start a server on the store of a folder: its address, and what it printed up to there."""
    places = ["--store", str(folder / "hedgerow.db"), "--data", str(folder / "tables"), "--host", "127.0.0.1"]
    total = ["--register", str(folder / "adult.register"), "--limit", "1", "--limit-delta", "1e-9"]
    words = [*HEDGEROW, "serve", "--port", "0", *places, *total]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        said = ""
        while "http://" not in said or said.count("hgr_") < tokens:
            line = server.stdout.readline() if server.stdout else ""
            if not line:
                sys.exit("the server did not start")
            said += line
        yield re.findall(r"http://[\d.:]+", said)[0], said
    finally:
        server.terminate()
        server.communicate()


def register(custodian: Client, name: str, domain: hedgerow.Domain, options: Mapping[str, Any]) -> RemoteDataSet:
    """Register six columns of the table under the budget."""
    source = {"columns": list(COLUMNS)}
    return custodian.register(name, place="adult.csv", domain=domain, budget=BUDGET, source=source, **options)


def send(url: str, token: str, method: str, path: str, body: object) -> Any:
    """Send a custodian's request that the client has no name for, and give the answer."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with urlopen(Request(f"{url}/v1{path}", json.dumps(body).encode(), headers, method=method)) as answer:
        return json.load(answer)


def invited(url: str, token: str, name: str) -> str:
    """Let an analyst in, and give the new token."""
    send(url, token, "POST", "/people", {"name": name, "role": "analyst"})
    made = send(url, token, "POST", "/tokens", {"person": name, "datasets": ["adult"], "days": 60})
    return str(made["token"])


def asked(people: RemoteDataSet, questions: Sequence[str]) -> list[ServerAnswer]:
    """Ask some questions, a batch at a time, and print what came and what is left."""
    found: list[ServerAnswer] = []
    refusal = ""
    try:
        for start in range(0, len(questions), BATCH):
            found += people.ask_all(questions[start : start + BATCH])
    except NotAllowedError as error:
        refusal = error.message
    counts = Counter(each.source for each in found)
    print(f"  {len(found)} answers: {', '.join(f'{n} {source}' for source, n in sorted(counts.items()))}")
    if refusal:
        print(f"  refused: {refusal}")
    state = people.summary()
    spent, mine = state["spent"] / state["limit"], state["mine"]["spent"] / state["limit"]
    left = f"{state['updates_left']} corrections left"
    print(f"  budget: {spent:.1%} spent, {mine:.1%} by this analyst; {left}; {state['status']}")
    return found


def follow_up(people: RemoteDataSet, domain: hedgerow.Domain) -> Iterator[str]:
    """Questions about the three occupations with the most high incomes, which an answer shows."""
    rich = sorted(people.group_by("occupation", where=RICH).rows, key=lambda row: -row[1])
    print("  most high incomes:", ", ".join(f"{row[0]} {row[1]:,.0f}" for row in rich[:3]))
    for occupation, *_ in rich[:3]:
        for sex in domain["sex"].labels:
            for low, high in AGES:
                yield f"occupation = '{occupation}' and sex = '{sex}' and age between {low} and {high} and {RICH}"


def conditions(domain: hedgerow.Domain, number: int, seed: int) -> list[str]:
    """Conditions on two or three columns, drawn at random."""
    draw = generator(seed)
    found = []
    for _ in range(number):
        parts = []
        for name in draw.permutation(COLUMNS)[: draw.integers(2, 4)].tolist():
            attribute = domain[name]
            if isinstance(attribute, hedgerow.IntegerRange):
                low, high = sorted(draw.integers(attribute.minimum, attribute.maximum + 1, 2).tolist())
                parts.append(f'"{name}" between {low} and {high}')
            else:
                some = draw.permutation(attribute.labels)[: max(1, attribute.size // 3)].tolist()
                parts.append(f'"{name}" in ({", ".join(repr(each) for each in some)})')
        found.append(" and ".join(parts))
    return found


def women(found: Sequence[ServerAnswer], counts: Mapping[str, float]) -> str:
    """Share of women among the high incomes of each occupation, by some counts of the follow-up's groups."""
    whole: dict[str, float] = defaultdict(float)
    part: dict[str, float] = defaultdict(float)
    for where in (each.where for each in found):
        (occupation,) = re.findall(r"occupation = '(.*?)'", where)
        whole[occupation] += counts[where]
        part[occupation] += counts[where] * ("'Female'" in where)
    return ", ".join(f"{name} {part[name] / whole[name]:.1%}" for name in whole)


def evaluated(answers: Mapping[str, Sequence[ServerAnswer]], folder: Path) -> None:
    """Print what only a holder of the table can know, and judge the records."""
    place = folder / "tables" / "adult.csv"
    print("The evaluator, who holds the table. NOT PRIVATE, and not for the custodian to publish:")
    every = {each.where: each for found in answers.values() for each in found}
    counts = ", ".join(f"COUNT(*) FILTER ({where})" for where in every)
    (row,) = duckdb.connect().execute(f"SELECT {counts} FROM read_csv(?)", [str(place)]).fetchall()
    truth = dict(zip(every, row, strict=True))
    parts = {f"week {week}": found for week, found in answers.items()}
    parts["no interval"] = [each for each in every.values() if each.low is None]
    parts[f"truth below {SMALL}"] = [each for each in every.values() if truth[each.where] < SMALL]
    print(f"{'answers':>25} {'mean error':>11} {'largest':>8} {'half interval':>14} {'intervals that hold':>20}")
    for name, found in parts.items():
        errors = [abs(each.value - truth[each.where]) for each in found] or [0.0]
        ends = [(e.low, truth[e.where], e.high) for e in found if e.low is not None and e.high is not None]
        half = f"{np.median([(high - low) / 2 for low, _, high in ends]):,.0f}" if ends else "-"
        held = f"{sum(low <= n <= high for low, n, high in ends)} of {len(ends)}"
        print(f"  {name:<16} {len(found):>6} {np.mean(errors):>11,.0f} {max(errors):>8,.0f} {half:>14} {held:>20}")
    print("  women among high incomes:", women(answers["2"], truth), flush=True)
    described = ("--columns", ",".join(COLUMNS), "--domain", ROOT / "examples" / "adult.domain.yaml")
    files = (place, folder / "synthetic.csv", "--html", folder / "evaluation.html")
    subprocess.run([*HEDGEROW, "evaluate", *files, *described], check=True)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Five weeks of questions to a server.")
    parser.add_argument("folder", type=Path, help="new folder for what the server keeps and what is published")
    parser.add_argument("--questions", type=int, default=400, help="number of the colleague's questions, from 4")
    parser.add_argument("--automatic", action="store_true", help="let the server choose corrections and threshold")
    found = parser.parse_args()
    if found.folder.exists():
        parser.error(f"{found.folder} is there already: name a new folder, or delete it")
    if found.questions < 4:
        parser.error("there are at least 4 questions")
    return found


if __name__ == "__main__":
    given = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the server ends too
    try:
        main(given.folder, given.questions, {} if given.automatic else DECIDED)
    except KeyboardInterrupt:
        sys.exit(130)
