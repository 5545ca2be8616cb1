"""Metadata of a release in the formats of archives, catalogues and registries of deployments.

Everything follows from the release and from a `Description`, which holds what a release does not know: a title, who
answers for it, where it can be fetched. What neither holds is left out, or an empty text where a form has a place for
it. Nothing is read of the private table.

- **DDI-Codebook 2.5** (``ddi:codebook:2_5``), the XML of archives of social science: study and variables.
- **Croissant 1.1** (``http://mlcommons.org/croissant/1.1``), JSON-LD of repositories of machine learning.
- **DCAT 3** (``http://www.w3.org/ns/dcat#``), JSON-LD of catalogues of open data.
- **An entry of a registry of deployments**, in YAML with the fields of the registry of OpenDP
  (opendp/deployments-registry-data).
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from hedgerow.domain import Attribute, Binned, IntegerRange, arrow_schema, cells_in_words
from hedgerow.errors import ConfigError, ReleaseError
from hedgerow.quantities import at_most
from hedgerow.release.release import Release
from hedgerow.release.summary import error_sentence
from hedgerow.system import replacing

_DDI = "ddi:codebook:2_5"
_CROISSANT = "http://mlcommons.org/croissant/1.1"
_MEDIA = "application/zip"
"""What a release file is."""
_VARIANTS = {
    "pure": "Pure DP",
    "zcdp": "Zero-concentrated DP",
    "gdp": "Gaussian DP",
    "approximate": "Approximate DP",
    "subsampled": "Approximate DP",
}
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The context that Croissant 1.1 prescribes."""


@dataclass(frozen=True)
class Description:
    """What a release does not know of itself; public, as its custodian words it.

    Attributes:
        title: Name of the data set.
        made_by: Person or office that made the release and answers for it.
        contact: Their address, such as an e-mail address.
        url: Where the release is published.
        license: Address or name of the licence.
        published: Day of publication.
        file: The release file, whose name, size and SHA-256 are told.
    """

    title: str
    made_by: str = ""
    contact: str = ""
    url: str = ""
    license: str = ""
    published: date | None = None
    file: Path | None = None


def metadata(release: Release, form: str, description: Description) -> str:
    """The metadata of a release.

    Args:
        release: The release.
        form: ``"ddi"``, ``"croissant"``, ``"dcat"`` or ``"registry"``.
        description: What the release does not know.

    Returns:
        The text of a file: XML, JSON or YAML.

    Raises:
        ConfigError: The format is unknown, or a registry is to list a release that is not private.
        ReleaseError: The release file cannot be read.

    Example:
        >>> import hedgerow
        >>> domain = hedgerow.Domain((hedgerow.IntegerRange("age", 0, 9),))
        >>> table = hedgerow.Table(domain, [[3, 4] * 500])
        >>> budget, noise = hedgerow.PureDP(1.0), hedgerow.SeededNoise(0)
        >>> release = hedgerow.MWEM(rounds=1).run(table, hedgerow.Workload.marginals(domain, 1), budget, noise=noise)
        >>> json.loads(metadata(release, "dcat", Description("Ages")))["dct:title"]
        'Ages'
    """
    if form not in _WRITERS:
        known = ", ".join(map(repr, _WRITERS))
        raise ConfigError(f"there is no format of metadata {form!r}", remedy=f"give one of {known}")
    return _WRITERS[form](release, description)


def write_metadata(release: Release, form: str, description: Description, path: Path) -> None:
    """Write the metadata of a release in one step.

    Args:
        release: The release.
        form: ``"ddi"``, ``"croissant"``, ``"dcat"`` or ``"registry"``.
        description: What the release does not know.
        path: The file; its folder must exist.

    Raises:
        ConfigError: See `metadata`.
        ReleaseError: See `metadata`; or the file cannot be written.
    """
    text = metadata(release, form, description)
    try:
        with replacing(path) as beside:
            beside.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReleaseError(
            f"{path}: the metadata cannot be written: {error.strerror or error}",
            remedy="name a file in a folder that exists and has room",
        ) from error


def left_open(form: str, description: Description) -> list[str]:
    """The parts of a description that a format asks for, and that are not there.

    Args:
        form: See `metadata`.
        description: The description.

    Example:
        >>> left_open("croissant", Description("Ages", made_by="Office", url="https://a.org"))
        ['license', 'published']
    """
    return [name for name in _ASKED_FOR[form] if not getattr(description, name)]


_ASKED_FOR = {
    "ddi": ("made_by",),
    "croissant": ("made_by", "url", "license", "published"),
    "dcat": ("made_by", "contact", "license"),
    "registry": ("made_by", "contact", "published"),
}


def _abstract(release: Release) -> str:
    """What the data set is, and what is promised."""
    return (
        f"Differentially private data set of {len(release.domain.columns):,} columns about {release.total:,.0f} "
        f"records{'' if release.knows_total else ' (a noisy number)'}, made by {release.provenance.algorithm} of "
        f"Hedgerow {release.provenance.versions['hedgerow']}. {release.guarantee()}"
    )


@dataclass(frozen=True)
class _File:
    """The release file: its name, size and checksum."""

    name: str
    size: int
    sha256: str

    @classmethod
    def of(cls, description: Description) -> _File | None:
        if description.file is None:
            return None
        try:
            content = description.file.read_bytes()
        except OSError as error:
            raise ReleaseError(
                f"{description.file}: the release file cannot be read: {error.strerror or error}",
                remedy="name the file that the release was loaded from",
            ) from error
        return cls(description.file.name, len(content), hashlib.sha256(content).hexdigest())


_KINDS = {"int": "integer", "uint": "integer", "float": "number", "double": "number", "decimal": "number"}
_KINDS |= {"date": "date", "timestamp": "date"}
"""Kinds of values by the first letters of their Arrow type."""


def _kinds(release: Release) -> list[tuple[Attribute, str]]:
    """The columns of records, and what their values are: ``"integer"``, ``"number"``, ``"date"`` or ``"text"``."""
    found = []
    for column, field in zip(release.domain.columns, arrow_schema(release.domain), strict=True):
        letters = re.match("[a-z]+", str(field.type))
        found.append((column, _KINDS.get(letters[0] if letters else "", "text")))
    return found


# DDI-Codebook ---------------------------------------------------------------------------------------------------------


def _ddi(release: Release, description: Description) -> str:
    root = ET.Element("codeBook", {"xmlns": _DDI, "version": "2.5"})
    study = ET.SubElement(root, "stdyDscr")
    _ddi_citation(study, release, description)
    summary = ET.SubElement(ET.SubElement(study, "stdyInfo"), "abstract")
    summary.text = _abstract(release)
    method = ET.SubElement(study, "method")
    notes = [("privacy", release.guarantee()), ("accuracy", error_sentence(release)), ("ledger", _mechanisms(release))]
    notes += [("records left out", release.provenance.left_out)] if release.provenance.left_out else []
    for subject, text in notes:
        ET.SubElement(method, "notes", {"subject": subject}).text = text
    if description.license or description.contact:
        use = ET.SubElement(ET.SubElement(study, "dataAccs"), "useStmt")
        if description.contact:
            ET.SubElement(use, "contact", {"email": description.contact}).text = description.made_by
        if description.license:
            ET.SubElement(use, "conditions").text = description.license
    file = _File.of(description)
    if file is not None:
        _ddi_file(root, file)
    variables = ET.SubElement(root, "dataDscr")
    for number, (column, kind) in enumerate(_kinds(release), 1):
        _ddi_variable(variables, number, column, kind)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _ddi_citation(study: ET.Element, release: Release, description: Description) -> None:
    citation = ET.SubElement(study, "citation")
    ET.SubElement(ET.SubElement(citation, "titlStmt"), "titl").text = description.title
    if description.made_by:
        ET.SubElement(ET.SubElement(citation, "rspStmt"), "AuthEnty").text = description.made_by
    versions = release.provenance.versions
    production = ET.SubElement(citation, "prodStmt")
    ET.SubElement(production, "software", {"version": versions["hedgerow"]}).text = "Hedgerow"
    if description.published is not None:
        day = description.published.isoformat()
        distribution = ET.SubElement(citation, "distStmt")
        ET.SubElement(distribution, "distDate", {"date": day}).text = day
    if description.url:
        ET.SubElement(citation, "holdings", {"URI": description.url}).text = description.title


def _ddi_file(root: ET.Element, file: _File) -> None:
    text = ET.SubElement(ET.SubElement(root, "fileDscr", {"ID": "F1"}), "fileTxt")
    ET.SubElement(text, "fileName").text = file.name
    fingerprint = ET.SubElement(text, "dataFingerprint", {"type": "dataFile"})
    ET.SubElement(fingerprint, "digitalFingerprintValue").text = file.sha256
    ET.SubElement(fingerprint, "algorithmSpecification").text = "SHA-256"
    ET.SubElement(text, "fileType").text = _MEDIA


def _ddi_variable(variables: ET.Element, number: int, column: Attribute, kind: str) -> None:
    ordered = isinstance(column, IntegerRange | Binned)
    named = {"ID": f"V{number}", "name": column.name, "intrvl": "contin" if ordered else "discrete"}
    variable = ET.SubElement(variables, "var", named)
    ET.SubElement(variable, "labl").text = column.name
    if isinstance(column, IntegerRange | Binned):
        ends = {"min": column.first_text, "max": column.last_text}
        ET.SubElement(ET.SubElement(variable, "valrng"), "range", ends)
    listed = [] if ordered else [column.ordinary_label(code) for code in range(column.ordinary)]
    for label in [*listed, *([column.other] if column.other is not None else [])]:
        ET.SubElement(ET.SubElement(variable, "catgry"), "catValu").text = label
    if column.missing is not None:
        ET.SubElement(ET.SubElement(variable, "catgry", {"missing": "Y"}), "catValu").text = column.missing
    ET.SubElement(variable, "varFormat", {"type": "numeric" if kind in ("integer", "number") else "character"})


# Croissant and DCAT ---------------------------------------------------------------------------------------------------


def _croissant(release: Release, description: Description) -> str:
    file = _File.of(description)
    told: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": _CROISSANT,
        "name": description.title,
        "description": _abstract(release),
    }
    if description.made_by:
        told["creator"] = {"@type": "sc:Organization", "name": description.made_by, **_email(description)}
    told |= _given(description, url="url", license="license")
    if description.published is not None:
        told["datePublished"] = description.published.isoformat()
    if file is not None:
        told["distribution"] = [_croissant_file(file, description)]
    told["recordSet"] = [_croissant_columns(release)]
    return _json(told)


def _given(description: Description, **names: str) -> dict[str, str]:
    """The parts of a description that are there, by the names that a format has for them."""
    return {word: getattr(description, name) for name, word in names.items() if getattr(description, name)}


def _email(description: Description) -> dict[str, str]:
    return {"email": description.contact} if "@" in description.contact else {}


def _croissant_file(file: _File, description: Description) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.name,
        "name": file.name,
        "contentUrl": f"{description.url.rstrip('/')}/{file.name}" if description.url else file.name,
        "contentSize": f"{file.size} B",
        "encodingFormat": _MEDIA,
        "sha256": file.sha256,
    }


def _croissant_columns(release: Release) -> dict[str, Any]:
    """A record set that lists the columns, and stands in the metadata itself."""
    named = [("name", "Name of a column"), ("type", "Type of its values"), ("values", "Its values, or their range")]
    return {
        "@type": "cr:RecordSet",
        "@id": "columns",
        "name": "columns",
        "description": "The columns of the release",
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"columns/{name}",
                "name": f"columns/{name}",
                "description": text,
                "dataType": "sc:Text",
            }
            for name, text in named
        ],
        "data": [
            {"columns/name": column.name, "columns/type": kind, "columns/values": _values_of(column)}
            for column, kind in _kinds(release)
        ],
    }


def _values_of(column: Attribute) -> str:
    """The values of a column in words."""
    if isinstance(column, IntegerRange | Binned):
        apart = [each for each in (column.missing, column.other) if each is not None]
        return f"{column.first_text} to {column.last_text}{''.join(f'; {each}' for each in apart)}"
    return "; ".join(column.labels)


def _dcat(release: Release, description: Description) -> str:
    told: dict[str, Any] = {
        "@context": {
            "dcat": "http://www.w3.org/ns/dcat#",
            "dct": "http://purl.org/dc/terms/",
            "foaf": "http://xmlns.com/foaf/0.1/",
            "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
            "spdx": "http://spdx.org/rdf/terms#",
            "vcard": "http://www.w3.org/2006/vcard/ns#",
            "xsd": "http://www.w3.org/2001/XMLSchema#",
        },
        "@type": "dcat:Dataset",
        "dct:title": description.title,
        "dct:description": _abstract(release),
        "dcat:keyword": ["differential privacy", "synthetic data", *release.domain.names],
        "dct:provenance": {"@type": "dct:ProvenanceStatement", "rdfs:label": _mechanisms(release)},
    }
    if description.made_by:
        told["dct:publisher"] = {"@type": "foaf:Agent", "foaf:name": description.made_by}
    if description.contact:
        mail = {"vcard:hasEmail": {"@id": f"mailto:{description.contact}"}} if "@" in description.contact else {}
        named = {"vcard:fn": description.made_by or description.contact}
        note = {} if mail else {"vcard:note": description.contact}
        told["dcat:contactPoint"] = {"@type": "vcard:Kind", **named, **mail, **note}
    if description.url:
        told["dcat:landingPage"] = {"@type": "foaf:Document", "@id": description.url}
    license = {"@type": "dct:LicenseDocument", **_named(description.license)} if description.license else {}
    if license:
        told["dct:license"] = license
    if description.published is not None:
        told["dct:issued"] = {"@value": description.published.isoformat(), "@type": "xsd:date"}
    file = _File.of(description)
    if file is not None:
        sha256 = {"@value": file.sha256, "@type": "xsd:hexBinary"}
        checksum = {"spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"}, "spdx:checksumValue": sha256}
        media = f"https://www.iana.org/assignments/media-types/{_MEDIA}"
        told["dcat:distribution"] = {
            "@type": "dcat:Distribution",
            "dct:title": file.name,
            "dcat:mediaType": {"@type": "dct:MediaType", "@id": media},
            "dcat:byteSize": {"@value": str(file.size), "@type": "xsd:nonNegativeInteger"},
            "spdx:checksum": {"@type": "spdx:Checksum", **checksum},
            **({"dct:license": license} if license else {}),
            **({"dcat:accessURL": {"@id": description.url}} if description.url else {}),
        }
    return _json(told)


def _named(text: str) -> dict[str, str]:
    """A thing by its address, or by its name."""
    return {"@id" if re.match(r"[a-z][a-z0-9+.-]*:", text) else "rdfs:label": text}


def _json(told: Mapping[str, Any]) -> str:
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


# A registry of deployments --------------------------------------------------------------------------------------------


def _mechanisms(release: Release) -> str:
    """The mechanisms of the ledger, with numbers of looks."""
    looks = Counter(event.mechanism for event in release.events)
    listed = ", ".join(f"{name} ({number:,} look{'s' if number > 1 else ''})" for name, number in looks.items())
    return f"{release.provenance.algorithm}: {listed}; the ledger in the release lists each."


def _registry(release: Release, description: Description) -> str:
    import yaml

    if not release.provenance.secure:
        raise ConfigError(
            f"a registry lists deployments that are private, and this release is {release.provenance.stamp}",
            remedy="make the release anew, without a seed",
        )
    entry = {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", description.title.lower()).strip("-"),
        "deployment": {
            "basic": _registry_basics(release, description),
            "dp_variant": {
                "variant_name": _VARIANTS[release.budget.kind],
                "data_domain": f"{cells_in_words(release.domain)}: {', '.join(release.domain.names)}",
                "unprotected_quantities": _unprotected(release),
            },
            "privacy_loss": _registry_loss(release),
            "deployment_model": {
                "model_name": "Central",
                "release_type": "One release",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": release.provenance.left_out,
                "mechanisms": _mechanisms(release),
                "composition": f"Charges in {release.budget.unit}, which add up to "
                f"{at_most(release.spent)} of {at_most(release.budget.limit)}",
                "post_processing": "Answers and records are computed from the noisy values alone",
                "utility": error_sentence(release),
                "additional_information": ", ".join(f"{k} {v}" for k, v in release.provenance.versions.items()),
            },
            "administrative": {
                "status": "Draft",
                "registry_authors": [description.made_by] if description.made_by else [],
                "tier": 3,
            },
        },
    }
    return yaml.safe_dump(entry, sort_keys=False, allow_unicode=True, width=100)


def _registry_basics(release: Release, description: Description) -> dict[str, Any]:
    contact = {"data_curators_details": f"Contact: {description.contact}"} if description.contact else {}
    published = "" if description.published is None else description.published.isoformat()
    return {
        "name": description.title,
        "data_curators": [{"data_curator_name": description.made_by, "data_curator_type": ""}],
        **contact,
        "description": _abstract(release),
        "intended_use": "",
        "data_product_type": "Synthetic data",
        "data_product_region": "",
        "data_product_sector": "",
        "publication_date": published,
    }


def _registry_loss(release: Release) -> dict[str, Any]:
    """Unit and parameters of the promise, as exact as the file has them; derived ones are rounded up."""
    budget, persons = release.budget, release.budget.neighbours.persons
    numbers = budget.to_dict()
    if budget.kind == "gdp":
        parameters = {"rho": math.nextafter(numbers["mu"] ** 2 / 2.0, math.inf)}
    elif budget.kind == "zcdp":
        parameters = {"rho": float(numbers["rho"])}
    else:
        epsilon, delta = budget.approximate()
        parameters = {"epsilon": epsilon, **({"delta": delta} if delta else {})}
    unit = "Record" if persons is None or persons.column is None else f"Person ({persons.column})"
    return {
        "privacy_unit": unit,
        "privacy_unit_details": f"Neighbouring relation: {budget.neighbours.value}",
        "number_of_privacy_units": 1,
        "privacy_parameters": parameters,
        "privacy_parameters_details": release.guarantee(),
    }


def _unprotected(release: Release) -> str:
    """What the guarantee says nothing about."""
    told = ["The domain, that is the columns and values that the release lists"]
    told += ["the number of records"] if release.knows_total and not release.domain.known else []
    totals = (*release.domain.known, *release.domain.population)
    told += ["known totals: " + "; ".join(table.text for table in totals)] if totals else []
    return ", and ".join(told)


_WRITERS: dict[str, Callable[[Release, Description], str]] = {
    "ddi": _ddi,
    "croissant": _croissant,
    "dcat": _dcat,
    "registry": _registry,
}
