/** The public domain: what records could hold, and what is protected. */

import { sectionHead } from "./dataset.js";
import { fill, h } from "./dom.js";
import { many } from "./format.js";
import { searchBox } from "./values.js";

const SHOWN = 8;

/** @type {Record<string, string>} */
const NEIGHBOURS = {
  "add-remove": "Whether a person's record is in the data at all, and everything in it, is protected.",
  replace: "Everything in a person's record is protected; the number of records is public.",
  "replace-then-filter": "Everything in a person's record, and whether it passes the filter, is protected; the number of records in the whole table is public.",
};

/** @type {Record<string, string>} */
const OF_PERSONS = {
  "add-remove": "Whether a person is in the data at all, and everything in all of that person's records, is protected.",
  replace: "Everything in all records of a person is protected; the number of persons is public.",
  "replace-then-filter": "Everything in all records of a person, and which of them pass the filter, is protected; the number of persons in the whole table is public.",
};

/** What neighbouring tables share, and what not. @param {import("./api.js").Detail} detail */
function protectedBy(detail) {
  const weighted = detail.weight === null || detail.largest_weight === null ? "" : ` A record counts as often as the column ${detail.weight} says, ${many(detail.largest_weight, "time")} at most${detail.fractional_weights ? ", in parts of 1/1,024" : ""}.`;
  if (detail.person === null || detail.at_most === null) return `${NEIGHBOURS[detail.neighbours] ?? ""}${weighted}`;
  return `${OF_PERSONS[detail.neighbours] ?? ""} A person is a value of the column ${detail.person}; ${many(detail.at_most, "record")} of each at most count.${weighted}`;
}

/** The kind of an attribute in words. @param {import("./api.js").Attribute} attribute */
export function kindOf(attribute) {
  if (attribute.kind === "integer") return `whole number from ${attribute.low} to ${attribute.high}`;
  return attribute.kind === "binned" ? `number in ${many(attribute.size, "bin")}` : `one of ${many(attribute.size, "value")}`;
}

/** @param {HTMLElement} place @param {import("./main.js").App} app @param {import("./dataset.js").DataSet} dataSet */
export async function attributesSection(place, app, { detail }) {
  const entries = detail.attributes.map((attribute) => ({ attribute, shown: entry(attribute, detail.derived) }));
  const none = h("p", { class: "empty", hidden: true }, "No attribute matches.");
  /** @param {string} text */
  const search = (text) => {
    const wanted = text.trim().toLowerCase();
    for (const { attribute, shown } of entries) {
      shown.hidden = ![attribute.name, ...(attribute.values ?? [])].some((word) => word.toLowerCase().includes(wanted));
    }
    none.hidden = entries.some(({ shown }) => !shown.hidden);
  };
  fill(place, sectionHead("Attributes", "The values that records of this data set could hold. They are public: they were listed without looking at the data."),
    h("div", { class: "notice plain" }, h("p", { class: "notice-title" }, "What is protected"),
      h("p", {}, protectedBy(detail)), h("p", {}, detail.statement),
      detail.left_out !== "" && h("p", {}, detail.left_out)),
    detail.attributes.length > 6 && h("div", { class: "tools" }, searchBox("Search attributes and values", search)),
    h("div", { class: "attributes" }, entries.map(({ shown }) => shown), none),
    detail.constraints.length > 0 && h("div", { class: "notice plain" }, h("p", { class: "notice-title" }, "What holds for every record"),
      h("p", {}, `${detail.records}.`), h("ul", { class: "rules" }, detail.constraints.map((rule) => h("li", {}, h("code", {}, rule))))));
}

/** What follows from an attribute, alone or with others. @param {string} name @param {import("./api.js").Derived[]} derived */
function following(name, derived) {
  const found = derived.filter((each) => each.sources[0] === name);
  const words = found.map((each) => [h("code", {}, each.name), ` (${many(each.size, "value")}${each.sources.length > 1 ? `, from ${each.sources.join(" and ")}` : ""})`]);
  return found.length > 0 && h("p", { class: "quiet" }, "also as ", words.flatMap((each, i) => (i ? [", ", ...each] : each)));
}

/** @param {import("./api.js").Attribute} attribute @param {import("./api.js").Derived[]} derived */
function entry(attribute, derived) {
  const values = attribute.kind === "integer" ? null : attribute.values;
  const chips = (/** @type {string[]} */ labels) => h("ul", { class: "chips" }, labels.map((label) => h("li", {}, label)));
  const rest = values && values.length > SHOWN + 2 ? values.slice(SHOWN) : [];
  return h("article", { class: "attribute" },
    h("h3", {}, attribute.name), h("p", { class: "quiet" }, kindOf(attribute)), following(attribute.name, derived),
    values && chips(values.slice(0, rest.length ? SHOWN : values.length)),
    rest.length > 0 && h("details", {}, h("summary", {}, `${many(rest.length, "more value")}`), chips(rest)),
    attribute.missing !== null && h("p", { class: "quiet" }, "missing: ", h("code", {}, attribute.missing)),
    attribute.other !== null && h("p", { class: "quiet" }, "all others: ", h("code", {}, attribute.other)));
}
