/** Tables of groups: which statements are asked as one, and how their answers are shown. */

import { h, table } from "./dom.js";
import { amount, atLeast, atMost, count, many, percent, share } from "./format.js";

const GROUPED = /\bgroup\s+by\b|\b(?:sum|avg|median|quantile)\s*\(/i;

/** Whether a statement is answered as a table. Words inside quotes do not count. @param {string} sql */
export function asksForGroups(sql) {
  return GROUPED.test(sql.replace(/'[^']*'|"[^"]*"/g, "''"));
}

/** A number with the ends of its interval, rounded outward. @param {(string | number | null)[]} cells */
function number([value, low, high]) {
  const shown = (/** @type {string | number | null} */ end, few = amount, whole = Math.round) => (typeof end !== "number" ? "" : Math.abs(end) < 1000 ? few(end) : count(whole(end)));
  const interval = low === null ? "no interval" : `${shown(low, atLeast, Math.floor)} to ${shown(high, atMost, Math.ceil)}`;
  return h("span", { title: String(value) }, shown(value), h("span", { class: "interval-small quiet" }, ` ${interval}`));
}

/** The answer of a statement. @param {import("./api.js").Groups} reply */
export function groupsOf({ names, headings, rows, sources, confidence, covers, charged, dataset }) {
  const columns = [...names.map((name) => ({ title: name })), ...headings.map((heading) => ({ title: heading, class: "n" }))];
  const asked = Object.entries(sources).map(([source, times]) => `${many(times, "question")} by ${source}`).join(", ");
  const cost = charged > 0 ? `${share(charged, dataset.limit)} of the budget charged` : "free of charge";
  return h("section", { class: "answer", "aria-label": "Latest answer" },
    table("Groups", columns, rows.map((row) => [
      ...row.slice(0, names.length),
      ...headings.map((_, place) => number(row.slice(names.length + 3 * place, names.length + 3 * place + 3))),
    ])),
    h("div", { class: "answer-foot" }, h("span", { class: "quiet" }, `${confidence === null ? "no intervals" : `${percent(confidence)} intervals`}; ${asked}; ${cost}`), confidence !== null && h("p", { class: "quiet" }, `The intervals hold ${covers}.`)));
}

/** The answer in a sentence. @param {import("./api.js").Groups} reply */
export function spokenGroups({ rows, headings }) {
  return `Answer: a table of ${many(rows.length, "row")} with ${headings.join(", ")}.`;
}
