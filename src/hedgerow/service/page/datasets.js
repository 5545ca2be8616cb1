/** The list of data sets. */

import { h, fill } from "./dom.js";
import { count, spentOf } from "./format.js";
import { bar, status } from "./gauge.js";
import { byName, everyPage } from "./paging.js";

/** @param {HTMLElement} place @param {import("./main.js").App} app */
export async function dataSetsView(place, app) {
  /** @type {import("./api.js").Summary[]} */
  const datasets = byName(await everyPage("datasets", "datasets"));
  fill(place, h("h1", { tabindex: "-1" }, "Data sets"),
    datasets.length ? h("ul", { class: "sets" }, datasets.map(entry)) : nothing(app));
}

/** @param {import("./api.js").Summary} summary */
function entry(summary) {
  const spent = spentOf(summary.spent, summary.limit, summary.unit, "spent", summary.price);
  return h("li", {}, h("a", { href: `#/d/${encodeURIComponent(summary.name)}/ask` },
    h("span", { class: "set-title" }, summary.title || summary.name), status(summary),
    h("span", { class: "quiet" }, h("code", {}, summary.name), summary.total !== null && ` \u00b7 about ${count(summary.total)} records`),
    h("span", { class: "set-budget" }, bar(summary.spent, summary.limit, spent), h("span", { class: "quiet" }, spent))));
}

/** @param {import("./main.js").App} app */
function nothing(app) {
  return h("p", { class: "lead" }, app.custodian && app.whole
    ? ["No data set is registered yet. ", h("a", { href: "#/register" }, "Register one"), "."]
    : "Your token opens no data set yet. Ask your custodian which data sets you may ask.");
}
