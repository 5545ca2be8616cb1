"""Routes about data sets: listing, registering, closing, and uploading their tables."""

import json
from collections.abc import Mapping
from typing import Any, Literal

import anyio.to_thread
from starlette.requests import Request

from hedgerow.algorithms.online_pmw import CALLS, OnlinePMW
from hedgerow.algorithms.shared import MEMORY
from hedgerow.domain import (
    Attribute,
    Binned,
    Derived,
    Domain,
    IntegerRange,
    attribute_in_words,
    cells_in_words,
    domain_to_mapping,
    ignored_in_words,
    parsed_text,
)
from hedgerow.errors import ConflictError, DataError, DomainError, ReleaseError
from hedgerow.privacy import GDP, ZCDP, ApproxDP, Budget, PureDP, budget_of_persons, split_budget
from hedgerow.queries import Neighbours
from hedgerow.release import LEFT_OUT
from hedgerow.service.http import problems
from hedgerow.service.http.admission import By, ForCustodians, ForTokens, Here, Operation, Service
from hedgerow.service.http.request_parsing import Place, parse_json
from hedgerow.service.http.requests import (
    BudgetRequest,
    Cursor,
    DomainRequest,
    FileName,
    Limit,
    Name,
    OptionsRequest,
    PlanRequest,
    RegistrationRequest,
)
from hedgerow.service.http.responses import (
    AttributeResponse,
    DerivedAttributeResponse,
    DetailResponse,
    DomainContentResponse,
    DomainResponse,
    PlanLineResponse,
    PlanResponse,
    SpendingResponse,
    SummaryListResponse,
    SummaryResponse,
    UploadResponse,
)
from hedgerow.service.http.tokens import Caller
from hedgerow.service.http.uploads import reads, removed, taken
from hedgerow.service.sessions import check_share, domain_of, persons_in, spending_of, summary_of, usual_share
from hedgerow.service.store import DataSet, Registration

_KINDS: Mapping[type[Attribute], Literal["integer", "binned"]] = {IntegerRange: "integer", Binned: "binned"}
_LISTED = 1000
"""Most values of an attribute whose labels are all listed."""


def list_data_sets(here: Here, by: By, limit: Limit = 100, cursor: Cursor = None) -> SummaryListResponse:
    """The data sets that the token opens, newest first."""
    opened = [data_set for data_set in here.store.data_sets() if by.token.reaches(data_set.name)]
    place = Place("datasets", 0, by.person.id, by.token.id)
    found, after = here.cursors.listed(place, cursor, limit, opened, lambda each: each.id)
    told = [SummaryResponse(**summary_of(here.store, data_set, by.person)) for data_set in found]
    return SummaryListResponse(datasets=told, next=after)


def check_domain(asked: DomainRequest) -> DomainResponse:
    """Read a domain from its text, or check one.

    Says what records could exist by it. No table is read, and nothing is kept.
    """
    content = _content(asked.text) if asked.domain is None else asked.domain
    domain = domain_of(content, {})
    return DomainResponse(domain=content, **_described(domain))


def _content(text: str | None) -> dict[str, Any]:
    """The content of a domain file, as strict JSON has it.

    Raises:
        DomainError: It is not a mapping.
        InvalidRequestError: It holds what JSON cannot.
    """
    try:
        found = parse_json(json.dumps(parsed_text(text or "")).encode())
    except RecursionError:
        raise DomainError("it is nested too deeply", remedy="write each column on one level") from None
    if not isinstance(found, dict):
        raise DomainError("it does not map columns to their values", remedy="write 'name: [value, ...]' per column")
    return found


def plan_data_set(asked: PlanRequest) -> PlanResponse:
    """Forecast what asking a data set would be like.

    Says how accurate its answers would be, from public numbers alone: no table is read, and nothing is spent.
    """
    domain = domain_of(asked.domain, {"columns": asked.columns})
    budget = budget_of_persons(_budget(asked.budget), persons_in(asked.model_dump()))
    first, left = _first_share(asked.options, domain, budget), budget
    if first:
        check_share(first, domain, budget)
        left = split_budget(budget, first)[1]
    plan = _config(asked.options).plan(domain, left, float(asked.records), warm=first > 0.0)
    told_here = (MEMORY, CALLS)  # free memory is not public, and no command is called
    lines = [line for line in plan.lines(asked.records) if line[0] not in told_here]
    if first:
        told = f"{100.0 * first:.3g}% of the budget, for all pairs of attributes; what follows has the rest"
        lines.insert(0, ("first release", told))
    return PlanResponse(lines=[PlanLineResponse(word=word, sentence=sentence) for word, sentence in lines])


def register_data_set(asked: RegistrationRequest, here: Here, by: By) -> DetailResponse:
    """Register a data set.

    The table is read, and its number of records is counted with noise, unless "replace" makes it public. The budget can
    never be changed.
    """
    by.check_reaches_all()
    try:
        with here.waiting():
            data_set = here.workers.register(registration(asked), by=by.person)
    except (DataError, ReleaseError) as error:  # it names the file; the folder is not public
        error.message = error.message.replace(f"{here.workers.folder.resolve()}/", "")
        raise
    return detail(here, data_set, by)


def get_data_set(name: Name, here: Here, by: By) -> DetailResponse:
    """A data set: its attributes, its budget and what was spent of it."""
    return detail(here, here.data_set(name, by), by)


def get_spending(name: Name, here: Here, by: By) -> SpendingResponse:
    """Spending of the budget over time, by kind and by person.

    Custodians see all people; analysts themselves, and all others as one.
    """
    return SpendingResponse(**spending_of(here.store, here.data_set(name, by), by.person))


def get_domain(name: Name, here: Here, by: By) -> DomainContentResponse:
    """The domain of a data set: what records could exist, as in domain files. Public knowledge; free."""
    return DomainContentResponse(domain=domain_to_mapping(here.workers.domain(here.data_set(name, by))))


def close_data_set(name: Name, here: Here, by: By) -> DetailResponse:
    """Close a data set permanently.

    The data are not looked at any more; the hypothesis still answers.
    """
    return detail(here, here.store.close_data_set(here.data_set(name, by).id, by=by.person.id), by)


def open_data_set(name: Name, here: Here, by: By) -> DetailResponse:
    """Open a data set whose opening failed, or waits for room on the disk.

    What a failed opening cost is lost, and another one costs "retry_price" of the budget at most. An opening that was
    paid for and could not be written costs nothing more.
    """
    with here.waiting():
        return detail(here, here.workers.retry(here.data_set(name, by), by=by.person), by)


def discard_data_set(name: Name, here: Here, by: By) -> None:
    """Discard a data set that was never opened, whose name is free again; or delete one that is closed.

    The hypothesis, the answers and the conditions that were asked are deleted. What was spent stays in the audit log
    and in the store's ledger, and in the server's register if there is one. The name of a data set that was open is not
    used again: tokens that name it would open another table. The private table stays where it is.
    """
    here.workers.discard(here.data_set(name, by), by=by.person)


def registration(asked: RegistrationRequest) -> Registration:
    """The registration that the store keeps.

    Raises:
        DomainError: The description of the domain is wrong.
        ConfigError: The budget or the options do not fit together.
    """
    source, budget, config = asked.source.model_dump(exclude_none=True), _budget(asked.budget), _config(asked.options)
    first = _first_share(asked.options, domain_of(asked.domain, source), budget, warm="warm" in source)
    return Registration(
        name=asked.name,
        title=asked.title,
        source={**source, "first_release": first} if first else source,
        domain=asked.domain,
        budget=budget.to_dict(),
        config=config.parameters(),
    )


def _first_share(asked: OptionsRequest, domain: Domain, budget: Budget, *, warm: bool = False) -> float:
    """The share of the budget for a first release: as it was asked for, or the usual one."""
    if asked.first_release is not None:
        return asked.first_release
    return 0.0 if warm else usual_share(_config(asked), domain, budget)


def _config(asked: OptionsRequest) -> OnlinePMW:
    return OnlinePMW(**asked.model_dump(exclude_none=True, exclude={"first_release"}))


def _budget(asked: BudgetRequest) -> Budget:
    neighbours = Neighbours.of(asked.neighbours)
    if asked.rho is not None:
        return ZCDP(asked.rho, neighbours)
    if asked.mu is not None:
        return GDP(asked.mu, neighbours)
    epsilon = asked.epsilon or 0.0
    return PureDP(epsilon, neighbours) if asked.delta is None else ApproxDP(epsilon, asked.delta, neighbours)


def detail(here: Service, data_set: DataSet, by: Caller) -> DetailResponse:
    """Everything that a caller may know of a data set."""
    domain = here.workers.domain(data_set)
    neighbours = Neighbours.of(data_set.registration.budget["neighbours"])
    persons = neighbours.persons
    weight = None if persons is None else persons.weight
    return DetailResponse(
        **summary_of(here.store, data_set, by.person),
        **_described(domain),
        left_out=" ".join(filter(None, (_records_left_out(data_set, domain), ignored_in_words(domain)))),
        neighbours=neighbours.relation.value,
        person=None if persons is None else persons.column,
        at_most=persons.at_most if persons is not None and persons.column is not None else None,
        weight=None if weight is None else weight.column,
        largest_weight=None if weight is None else weight.largest,
        fractional_weights=weight is not None and weight.fractional,
        created=data_set.created,
        source=dict(data_set.registration.source) if by.is_custodian else None,
    )


def _records_left_out(data_set: DataSet, domain: Domain) -> str:
    return LEFT_OUT[data_set.registration.source.get("violations", "refuse")] if domain.has_rules else ""


def _described(domain: Domain) -> dict[str, Any]:
    """What is said of a domain, checked or registered."""
    return {
        "attributes": [_attribute(attribute) for attribute in domain],
        "derived": [_derived(function) for function in domain.derived],
        "constraints": [rule.text for rule in domain.constraints],
        "records": cells_in_words(domain),
    }


def _attribute(attribute: Attribute) -> AttributeResponse:
    numbers = attribute if isinstance(attribute, IntegerRange) and attribute.scale is None else None
    return AttributeResponse(
        name=attribute.name,
        kind=_KINDS.get(type(attribute), "categorical"),
        values=list(attribute.labels) if attribute.size <= _LISTED else None,
        size=attribute.size,
        text=attribute_in_words(attribute),
        low=numbers.minimum if numbers is not None else None,
        high=numbers.maximum if numbers is not None else None,
        missing=attribute.missing,
        other=attribute.other,
    )


def _derived(function: Derived) -> DerivedAttributeResponse:
    described = _attribute(function.attribute).model_dump()
    return DerivedAttributeResponse(**described, sources=list(function.sources), column=function.column)


async def upload_file(file: FileName, request: Request, here: Here, by: By) -> UploadResponse:
    """Upload a table into the server's data folder, to register it from there.

    The body is the file. An existing file is never replaced.
    """
    by.check_reaches_all()
    size = await taken(request.stream(), here.settings.data_folder / file)
    await anyio.to_thread.run_sync(here.store.note, by.person.id, "upload", file, {"bytes": size})
    return UploadResponse(name=file, bytes=size)


def delete_file(file: FileName, here: Here, by: By) -> None:
    """Delete a table from the server's data folder, unless a data set that is not closed reads it."""
    by.check_reaches_all()
    open_ones = [each for each in here.store.data_sets() if each.status != "closed"]
    readers = [each.name for each in open_ones if reads(each.registration.source, file)]
    if readers:
        raise ConflictError(f"{file} is read by {', '.join(readers)}", remedy="close that first")
    removed(here.settings.data_folder / file)
    here.store.note(by.person.id, "delete upload", file)


_OF_FILES = (problems.CONFLICT, problems.NOT_THERE)
OPERATIONS = (
    Operation("GET", "/v1/datasets", list_data_sets, ForTokens),
    Operation(
        "POST", "/v1/datasets", register_data_set, ForCustodians, 201, problems=(problems.CONFLICT, problems.TABLE)
    ),
    Operation("POST", "/v1/domain", check_domain, ForCustodians),
    Operation("POST", "/v1/plan", plan_data_set, ForCustodians),
    Operation("GET", "/v1/datasets/{name}", get_data_set, ForTokens),
    Operation("GET", "/v1/datasets/{name}/domain", get_domain, ForTokens),
    Operation("GET", "/v1/datasets/{name}/spending", get_spending, ForTokens),
    Operation("POST", "/v1/datasets/{name}/close", close_data_set, ForCustodians),
    Operation(
        "POST", "/v1/datasets/{name}/open", open_data_set, ForCustodians, problems=(problems.CONFLICT, problems.TABLE)
    ),
    Operation("DELETE", "/v1/datasets/{name}", discard_data_set, ForCustodians, 204, problems=(problems.CONFLICT,)),
    Operation(
        "PUT",
        "/v1/files/{file}",
        upload_file,
        ForCustodians,
        201,
        problems=(problems.CONFLICT,),
        sent={
            "required": True,
            "description": "The file.",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        },
    ),
    Operation("DELETE", "/v1/files/{file}", delete_file, ForCustodians, 204, problems=_OF_FILES),
)
