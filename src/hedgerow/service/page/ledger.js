/** Every touch of the private table, for custodians. */

import { adding } from "./account.js";
import { at } from "./api.js";
import { sectionHead } from "./dataset.js";
import { chained, fill, h, table } from "./dom.js";
import { NOTHING, amount, atMost, moment, nothingLeft } from "./format.js";
import { pages } from "./paging.js";

const COLUMNS = [
  { title: "For" }, { title: "What was asked", class: "wide" }, { title: "Mechanism" }, { title: "Noise scale", class: "n" },
  { title: "Charge", class: "n strong" }, { title: "When", class: "when" }, { title: "Person" },
];

/** @param {HTMLElement} place @param {import("./main.js").App} app @param {import("./dataset.js").DataSet} dataSet */
export async function ledgerSection(place, app, { name, detail }) {
  const list = h("div", {});
  fill(place, sectionHead("Ledger", "Every use of the private table, newest first. Each charge was recorded before the data were looked at."), list);
  await pages(list, `${at(name)}/ledger`, "events", {}, (events, reply) => h("div", {}, sums(reply, detail.price),
    events.length ? table("Events of the ledger", COLUMNS, events.map(cells)) : h("p", { class: "empty" }, "No events yet.")), "No events yet.");
}

/** @param {any} reply @param {number | null} price The least that can be paid. */
function sums({ limit, spent, remaining, unit, held, head }, price) {
  const counts = [spent > NOTHING * limit, !nothingLeft(remaining, limit, price), held > 0];
  const sum = adding(limit, [spent, remaining, held], counts, 1);
  const [all, ...parts] = [sum.whole, ...sum.parts].map((value) => value.toFixed(sum.decimals));
  const one = (/** @type {string} */ title, /** @type {string} */ value, /** @type {string} */ text) => h("div", { class: "fact" },
    h("p", { class: "fact-title" }, title), h("p", { class: "fact-value" }, value), h("p", { class: "fact-text" }, text));
  return h("div", {}, h("div", { class: "facts" }, one("Spent", parts[0], `${unit}, the sum of all charges`), one("Remaining", parts[1], `of ${all} ${unit}`),
    held > 0 && one("Held", parts[2], "put aside for a question that is being answered")), chained(head));
}

/** @param {any} event */
function cells(event) {
  return [event.label, event.label === "answer" ? h("code", { class: "where" }, event.target) : event.target, event.mechanism, amount(event.scale),
    atMost(event.charge), h("time", { datetime: event.at }, moment(event.at)), event.person ?? h("span", { class: "quiet" }, "the server")];
}
