"""Make the domain file of an excerpt of the American Community Survey from its public dictionary.

The excerpts (Massachusetts, 2019, 24 columns) and the dictionary are those of NIST's Data Excerpt Benchmarks. Beside
the dictionary go in: the industries of the survey's own dictionary (Bureau of the Census, PUMS Data Dictionary 2019),
bins in round numbers, the density of five areas (figures of areas, which the excerpts publish, and of no person), and
the rules of the questionnaire. Nothing is read off the records::

    python examples/acs/make_domain.py
"""

import csv
import json
from pathlib import Path
from typing import Any

import yaml

BESIDE = Path(__file__).parent
STATE = "25-"
"""Areas of Massachusetts, among all of the dictionary."""
DENSITY = {"25-00503": 2872.7, "25-00703": 2195.3, "25-01000": 2447.1, "25-01300": 1457.2, "25-02800": 3683.9}
"""Persons per square mile."""
INDUSTRIES = {
    0: "170 180 190 270 280 290",
    1: "370 380 390 470 490",
    2: "570 580 590 670 680 690",
    3: "770",
    4: "1070 1080 1090 1170 1180 1190 1270 1280 1290 1370 1390 1470 1480 1490 1570 1590 1670 1691 1770 1790 1870 1880 "
    "1890 1990 2070 2090 2170 2180 2190 2270 2280 2290 2370 2380 2390 2470 2480 2490 2570 2590 2670 2680 2690 2770 "
    "2780 2790 2870 2880 2890 2970 2980 2990 3070 3080 3095 3170 3180 3291 3365 3370 3380 3390 3470 3490 3570 3580 "
    "3590 3670 3680 3690 3770 3780 3790 3875 3895 3960 3970 3980 3990",
    5: "4070 4080 4090 4170 4180 4195 4265 4270 4280 4290 4370 4380 4390 4470 4480 4490 4560 4570 4580 4585 4590",
    6: "4670 4680 4690 4770 4780 4795 4870 4880 4890 4971 4972 4980 4990 5070 5080 5090 5170 5180 5190 5275 5280 5295 "
    "5370 5381 5391 5470 5480 5490 5570 5580 5593 5670 5680 5690 5790",
    7: "6070 6080 6090 6170 6180 6190 6270 6280 6290 6370 6380 6390",
    8: "6470 6480 6490 6570 6590 6670 6672 6680 6690 6695 6770 6780",
    9: "6870 6880 6890 6970 6991 6992 7071 7072 7080 7181 7190",
    10: "7270 7280 7290 7370 7380 7390 7460 7470 7480 7490 7570 7580 7590 7670 7680 7690 7770 7780 7790",
    11: "7860 7870 7880 7890",
    12: "7970 7980 7990 8070 8080 8090 8170 8180 8191 8192 8270 8290",
    13: "8370 8380 8390 8470",
    14: "8561 8562 8563 8564 8570 8580 8590 8660 8670 8680 8690",
    15: "8770 8780 8790 8870 8891 8970 8980 8990 9070 9080 9090 9160 9170 9180 9190 9290",
    16: "9370 9380 9390 9470 9480 9490 9570 9590",
    17: "9670 9680 9690 9770 9780 9790 9870",
    18: "9920",
}
"""Codes of industries by their category in the dictionary, without leading zeros as in the excerpts."""

DOLLARS = [
    *(-9000, 0, 1, 2500),
    *range(5000, 100_000, 5000),
    *range(100_000, 200_000, 20_000),
    *(200_000, 250_000, 300_000, 400_000, 500_000, 750_000, 1_341_000),
]
WEIGHTS = [1, *range(5, 100, 5), *range(100, 200, 10), *range(200, 400, 25), 400, 500, 700, 1000, 2000, 9999]
LEVELS: dict[str, Any] = {
    "AGEP": [5, 15],
    "INDP": {"table": "industries.csv"},
    "PINCP": {
        "band": {
            "edges": [-9000, 0, 1, *range(10_000, 100_000, 10_000), 100_000, 140_000, 200_000, 300_000, 1_341_000]
        },
        "part": {"edges": [-9000, 1, 20_000, 50_000, 100_000, 1_341_000]},
    },
    "POVPIP": {
        "quarter": {"edges": [*range(0, 525, 25), 501, 502]},
        "whole": {"edges": [0, 100, 200, 300, 400, 501, 502]},
    },
    "PWGTP": {"band": {"edges": [1, 25, 50, 75, 100, 150, 200, 300, 500, 9999]}},
    "WGTP": {"band": {"edges": [0, 1, 25, 50, 75, 100, 150, 200, 300, 500, 9999]}},
}
ADULTS = ("MSP", "PINCP", "PINCP_DECILE")
IN_HOUSE = "HOUSING_TYPE = 1"
CONSTRAINTS = [
    *({"if": "AGEP < 15", "then": f"{name} is null"} for name in (*ADULTS, "INDP", "DVET")),
    *({"if": "AGEP >= 15", "then": f"{name} is not null"} for name in (*ADULTS, "EDU", "DPHY", "DREM")),
    {"if": "AGEP < 5", "then": "DPHY is null and DREM is null"},
    {"if": "AGEP < 3", "then": "EDU is null"},
    {"impossible": "AGEP < 5 and EDU >= 9"},
    {"impossible": "AGEP < 15 and EDU >= 12"},
    {"if": IN_HOUSE, "then": "OWN_RENT in (1, 2) and NOC is not null"},
    {"if": f"not {IN_HOUSE}", "then": "OWN_RENT = 0 and NOC is null and NPF is null"},
    {"if": IN_HOUSE, "then": "WGTP >= 1"},
    {"if": f"not {IN_HOUSE}", "then": "WGTP < 1"},
    {
        "impossible": " or ".join(f"(NPF = {size} and NOC >= {size})" for size in range(2, 20)),
        "says": "NPF is larger than NOC",
    },
]


def main(folder: Path) -> None:
    """Write the domain file and the table of industries into a folder."""
    columns = json.loads((BESIDE / "data_dictionary.json").read_text(encoding="utf-8"))
    derived = {
        "DENSITY": {"from": "PUMA", "table": DENSITY},
        "INDP_CAT": {"from": "INDP", "table": "industries.csv", "values": list(INDUSTRIES), "missing": "N"},
    }
    with (folder / "industries.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("INDP", "INDP_CAT"))
        table.writerows((code, number) for number, codes in INDUSTRIES.items() for code in codes.split())
    attributes = {name: attribute(name, column) for name, column in columns.items() if name not in derived}
    content = {"attributes": attributes, "derived": derived, "constraints": CONSTRAINTS}
    text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=118)
    head = "# Made by make_domain.py from the public dictionary of the excerpts.\n"
    (folder / "acs.domain.yaml").write_text(head + text, encoding="utf-8")


def attribute(name: str, column: dict[str, Any]) -> dict[str, Any]:
    """The entry of a column: its bins, its range or its list of values, in this order."""
    values = column.get("values", {})
    listed = [key for key in values if key not in {"N", "min", "max"}]
    if name == "INDP":
        entry: dict[str, Any] = {"values": [int(code) for codes in INDUSTRIES.values() for code in codes.split()]}
    elif name == "PUMA":
        entry = {"values": [area for area in listed if area.startswith(STATE)]}
    elif name == "PINCP":
        entry = {"edges": DOLLARS, "whole": True}
    elif name == "PWGTP":
        entry = {"edges": WEIGHTS, "whole": True}
    elif name == "WGTP":
        entry = {"edges": [0, *WEIGHTS], "whole": True}
    elif "min" in values:
        entry = {"min": min([values["min"], *map(int, listed)]), "max": max([values["max"], *map(int, listed)])}
    else:
        entry = {"values": [int(key) for key in listed]}
    if "N" in values or name == "INDP":
        entry["missing"] = "N"
    if name in LEVELS:
        entry["levels"] = LEVELS[name]
    return entry


if __name__ == "__main__":
    main(BESIDE)
