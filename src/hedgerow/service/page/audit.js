/** Who did what, for custodians. */

import { chained, fill, h, table } from "./dom.js";
import { moment } from "./format.js";
import { pages } from "./paging.js";

const COLUMNS = [{ title: "When", class: "when" }, { title: "Person" }, { title: "Action" }, { title: "Subject" }, { title: "Details", class: "wide" }];

/** @type {Record<string, [string, string]>} What details are called, and what it means that nothing is given. */
const WORDS = { datasets: ["data sets", "all"], queries: ["questions", "no limit"], budget: ["budget", "no limit"], storage: ["bytes", "as the server grants"], expires: ["good until", "for ever"] };

/** @param {HTMLElement} place */
export async function auditView(place) {
  const list = h("div", {});
  fill(place, h("h1", { tabindex: "-1" }, "Audit"), h("p", { class: "lead" }, "Actions of people and of the server, newest first."), list);
  await pages(list, "audit", "entries", {}, (entries, { head }) => h("div", {}, chained(head), table("Audit entries", COLUMNS, entries.map(cells))), "No entries yet.");
}

/** @param {any} entry */
function cells({ at, person, action, subject, details }) {
  const told = details && Object.keys(details).length > 0;
  return [h("time", { datetime: at }, moment(at)), person ?? h("span", { class: "quiet" }, "the server"), action, subject,
    told ? Object.entries(details).map(([name, value]) => `${WORDS[name]?.[0] ?? name}: ${value === null ? WORDS[name]?.[1] ?? "none" : plain(value)}`).join(" \u00b7 ") : ""];
}

/** A value of the details in few signs. @param {any} value @returns {string} */
function plain(value) {
  if (value === null) return "none";
  if (Array.isArray(value)) return value.map(plain).join(", ");
  if (typeof value === "object") return Object.entries(value).map(([name, each]) => `${name} ${plain(each)}`).join(", ");
  return String(value);
}
