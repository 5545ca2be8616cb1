"""Metadata hold what a release says, in the shapes that the formats prescribe."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema_rs
import numpy as np
import pytest
import yaml

import hedgerow
from hedgerow import GDP, ZCDP, ApproxDP, PureDP, SeededNoise, Table, Workload
from hedgerow.errors import ConfigError, ReleaseError
from hedgerow.privacy import Budget, NoiseSource
from hedgerow.queries import Neighbours, Persons
from hedgerow.release import Description, Release, StoredModel, left_open, metadata, write_metadata
from tests.release.made import DOMAIN

FORMS = ("ddi", "croissant", "dcat", "registry")
FULL = Description("Jobs & <pay>", "Office", "dp@a.org", "https://a.org", "https://b.org/by", date(2026, 3, 1))

DDI_ORDER = {  # children of the elements of DDI-Codebook 2.5 that are written, in the order of its sequences
    "codeBook": "docDscr stdyDscr fileDscr dataDscr otherMat",
    "stdyDscr": "citation studyAuthorization stdyInfo studyDevelopment method dataAccs othrStdyMat notes",
    "citation": "titlStmt rspStmt prodStmt distStmt serStmt verStmt biblCit holdings notes",
    "titlStmt": "titl subTitl altTitl parTitl IDNo",
    "rspStmt": "AuthEnty othId",
    "prodStmt": "producer copyright prodDate prodPlac software fundAg grantNo",
    "distStmt": "distrbtr contact depositr depDate distDate",
    "stdyInfo": "studyBudget subject abstract sumDscr qualityStatement notes exPostEvaluation",
    "method": "dataColl notes anlyInfo stdyClas dataProcessing codingInstructions",
    "dataAccs": "setAvail useStmt notes",
    "useStmt": "confDec specPerm restrctn contact citReq deposReq conditions disclaimer",
    "fileDscr": "fileTxt locMap notes",
    "fileTxt": "fileName fileCitation dataFingerprint fileCont fileStrc dimensns fileType format filePlac dataChck",
    "dataFingerprint": "digitalFingerprintValue algorithmSpecification algorithmVersion",
    "dataDscr": "varGrp nCubeGrp var nCube notes",
    "var": "location labl imputation security embargo respUnit anlysUnit qstn valrng invalrng undocCod universe "
    "TotlResp sumStat txt stdCatgry catgryGrp catgry codInstr verStmt concept derivation varFormat geoMap catLevel",
    "valrng": "item range key notes",
    "catgry": "catValu labl txt catStat mrow catgry",
}
DDI_NEEDED = {"stdyDscr": ["citation"], "citation": ["titlStmt"], "titlStmt": ["titl"]}

TEXT = {"type": "string"}
REGISTRY = jsonschema_rs.validator_for(
    {
        "type": "object",
        "required": ["url_slug", "deployment"],
        "additionalProperties": False,
        "properties": {
            "url_slug": {"type": "string", "pattern": "^[a-z0-9-]+$"},
            "deployment": {
                "type": "object",
                "additionalProperties": False,
                "required": [
                    *("basic", "dp_variant", "privacy_loss", "deployment_model", "implementation", "administrative"),
                ],
                "properties": {
                    "basic": {
                        "required": [
                            *("name", "data_curators", "description", "intended_use", "data_product_type"),
                            *("data_product_region", "data_product_sector", "publication_date"),
                        ],
                        "properties": {"data_product_type": {"const": "Synthetic data"}, "publication_date": TEXT},
                    },
                    "dp_variant": {"required": ["variant_name", "data_domain", "unprotected_quantities"]},
                    "privacy_loss": {
                        "required": ["privacy_unit", "number_of_privacy_units", "privacy_parameters"],
                        "properties": {
                            "privacy_parameters": {
                                "minProperties": 1,
                                "additionalProperties": False,
                                "properties": {name: {"type": "number"} for name in ("epsilon", "delta", "rho")},
                            }
                        },
                    },
                    "deployment_model": {"properties": {"model_name": {"enum": ["Central", "Local"]}}},
                    "implementation": {"additionalProperties": TEXT, "required": ["mechanisms", "composition"]},
                    "administrative": {"required": ["status", "registry_authors", "tier"]},
                },
            },
        },
    }
)


def made(budget: Budget = PureDP(1.0), noise: NoiseSource | None = None) -> Release:  # noqa: B008 - frozen
    records = np.random.default_rng(3).integers(0, DOMAIN.shape, (500, 4))
    table = Table(DOMAIN, list(records.T))
    return hedgerow.MWEM(rounds=1).run(table, Workload.marginals(DOMAIN, 2), budget, noise=noise)


def of_file(folder: Path, release: Release) -> Description:
    release.save(folder / "a.release")
    return replace(FULL, file=folder / "a.release")


def test_a_codebook_has_the_elements_of_the_schema_in_their_order(tmp_path: Path) -> None:
    release = made()
    root = ET.fromstring(metadata(release, "ddi", of_file(tmp_path, release)))
    prefix = "{ddi:codebook:2_5}"
    for element in root.iter():
        name = element.tag.removeprefix(prefix)
        children = [child.tag.removeprefix(prefix) for child in element]
        order = DDI_ORDER[name].split() if children else []
        places = [order.index(child) for child in children]
        assert places == sorted(places), name
        assert set(DDI_NEEDED.get(name, [])) <= set(children), name
    variables = root.findall(f".//{prefix}var")
    assert [each.get("name") for each in variables] == [column.name for column in DOMAIN.columns]
    kinds = [each.find(f"{prefix}varFormat") for each in variables]
    assert [kind.get("type") for kind in kinds if kind is not None] == ["character", "numeric", "character", "numeric"]
    values = [value.text for value in variables[2].iter(f"{prefix}catValu")]
    assert values == ["clerk", "nurse", "teacher", "?"]
    assert [each.get("missing") for each in variables[2].iter(f"{prefix}catgry")] == [None, None, None, "Y"]
    assert root.findtext(f".//{prefix}titl") == "Jobs & <pay>"
    assert [dict(each.attrib) for each in root.iter(f"{prefix}range")] == [
        {"min": "0", "max": "4"},
        {"min": "0", "max": "50"},
    ]


def test_croissant_has_what_its_specification_requires(tmp_path: Path) -> None:
    release = made()
    told = json.loads(metadata(release, "croissant", of_file(tmp_path, release)))
    required = ["@context", "@type", "conformsTo", "name", "description", "license", "url", "creator", "datePublished"]
    assert set(required) <= set(told)
    assert told["@type"] == "sc:Dataset"
    assert told["conformsTo"] == "http://mlcommons.org/croissant/1.1"
    (file,) = told["distribution"]
    assert {"@type", "@id", "name", "contentUrl", "encodingFormat", "sha256"} <= set(file)
    assert file["contentUrl"] == "https://a.org/a.release"
    (columns,) = told["recordSet"]
    ids = {field["@id"] for field in columns["field"]}
    assert all({"@type", "@id", "name", "dataType"} <= set(field) for field in columns["field"])
    assert all(set(row) == ids for row in columns["data"])
    assert columns["data"][2] == {
        "columns/name": "job",
        "columns/type": "text",
        "columns/values": "clerk; nurse; teacher; ?",
    }
    said = left_open("croissant", Description("a"))
    assert [f for f in required if f not in json.loads(metadata(release, "croissant", Description("a")))] == [
        *("license", "url", "creator", "datePublished")
    ]
    assert sorted(said) == ["license", "made_by", "published", "url"]


def test_dcat_has_what_its_profile_makes_mandatory(tmp_path: Path) -> None:
    release = made()
    told = json.loads(metadata(release, "dcat", of_file(tmp_path, release)))
    assert told["@type"] == "dcat:Dataset"
    assert told["dct:title"] == FULL.title
    assert release.guarantee() in told["dct:description"]
    assert told["dcat:contactPoint"]["vcard:hasEmail"] == {"@id": "mailto:dp@a.org"}
    assert told["dcat:distribution"]["dcat:accessURL"] == {"@id": "https://a.org"}
    file = told["dcat:distribution"]
    assert (
        file["spdx:checksum"]["spdx:checksumValue"]["@type"] == "xsd:hexBinary"
    )  # types that DCAT-AP's shapes ask for
    types = {"dcat:landingPage": "foaf:Document", "dct:license": "dct:LicenseDocument", "dct:publisher": "foaf:Agent"}
    assert {key: told[key]["@type"] for key in types} == types
    assert file["dcat:mediaType"]["@type"] == "dct:MediaType"
    assert file["dct:license"] == told["dct:license"]
    named = [
        key for key in json.dumps(told).split('"') if key.count(":") == 1 and key.split(":")[0] in told["@context"]
    ]
    assert {key.split(":")[0] for key in named} <= set(told["@context"])
    without = json.loads(metadata(release, "dcat", Description("a", contact="Street 1", license="Open")))
    assert without["dct:license"] == {"@type": "dct:LicenseDocument", "rdfs:label": "Open"}
    assert without["dcat:contactPoint"] == {"@type": "vcard:Kind", "vcard:fn": "Street 1", "vcard:note": "Street 1"}


@pytest.mark.parametrize(
    ("budget", "variant", "parameters"),
    [
        (PureDP(0.3), "Pure DP", {"epsilon": 0.3}),
        (ZCDP(0.1), "Zero-concentrated DP", {"rho": 0.1}),
        (ApproxDP(1.0, 1e-6), "Approximate DP", {"epsilon": 1.0, "delta": 1e-6}),
    ],
)
def test_an_entry_of_a_registry_states_the_promise(budget: Budget, variant: str, parameters: dict[str, float]) -> None:
    entry = yaml.safe_load(metadata(made(budget), "registry", FULL))
    REGISTRY.validate(entry)
    deployment = entry["deployment"]
    assert deployment["dp_variant"]["variant_name"] == variant
    loss = deployment["privacy_loss"]
    assert loss["privacy_parameters"] == parameters
    assert (loss["privacy_unit"], loss["number_of_privacy_units"]) == ("Record", 1)
    assert loss["privacy_unit_details"] == "Neighbouring relation: add-remove"
    assert "dp@a.org" in deployment["basic"]["data_curators_details"]
    assert "discrete" in deployment["implementation"]["mechanisms"]


def test_derived_parameters_of_a_promise_are_not_rounded_down() -> None:
    entry = yaml.safe_load(metadata(made(GDP(0.3)), "registry", FULL))
    rho = entry["deployment"]["privacy_loss"]["privacy_parameters"]["rho"]
    assert 0.3**2 / 2 < rho < 0.3**2 / 2 * (1 + 1e-12)


def test_an_entry_names_persons_and_what_is_not_protected() -> None:
    persons = Persons("patient", 5)
    release = made(PureDP(1.0, Neighbours.REPLACE))
    text = metadata(release, "registry", FULL)
    assert "the number of records" in yaml.safe_load(text)["deployment"]["dp_variant"]["unprotected_quantities"]
    budget = PureDP(1.0, Neighbours.REPLACE.between(persons))
    loss = yaml.safe_load(metadata(replace(release, budget=budget), "registry", FULL))["deployment"]["privacy_loss"]
    assert loss["privacy_unit"] == "Person (patient)"
    assert "at most 5 records" in loss["privacy_unit_details"]


def test_a_registry_lists_no_release_that_is_not_private() -> None:
    with pytest.raises(ConfigError, match="NOT PRIVATE: seeded"):
        metadata(made(noise=SeededNoise(1)), "registry", FULL)
    for form in ("ddi", "croissant", "dcat"):
        assert "NOT PRIVATE: seeded" in metadata(made(noise=SeededNoise(1)), form, FULL)


@pytest.mark.parametrize("form", FORMS)
def test_metadata_are_of_the_release_file_alone(form: str, tmp_path: Path) -> None:
    release = made()
    release.save(tmp_path / "a.release")
    loaded = Release.load(tmp_path / "a.release")
    assert metadata(loaded, form, FULL) == metadata(release, form, FULL)
    assert isinstance(loaded.held, StoredModel)  # no model was built for it
    write_metadata(loaded, form, FULL, tmp_path / "out")
    assert (tmp_path / "out").read_text(encoding="utf-8") == metadata(release, form, FULL)


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    release: Any = made()
    with pytest.raises(ConfigError, match="no format of metadata 'marc'"):
        metadata(release, "marc", FULL)
    with pytest.raises(ReleaseError, match="cannot be read"):
        metadata(release, "dcat", replace(FULL, file=tmp_path / "none"))
    with pytest.raises(ReleaseError, match="cannot be written"):
        write_metadata(release, "dcat", FULL, tmp_path / "none" / "a.json")
