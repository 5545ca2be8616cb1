/** Tables of groups: which statements are asked as one, and how their answers are shown. */

import { h, table } from "./dom.js";
import { save } from "./file.js";
import { amount, atLeast, atMost, count, csv, many, percent, share } from "./format.js";
import { commonScale, intervalDrawing } from "./interval.js";

const GROUPED = /\bgroup\s+by\b|\b(?:sum|avg|median|quantile)\s*\(/i;

/** Whether a statement is answered as a table. Words inside quotes do not count. @param {string} sql */
export function asksForGroups(sql) {
  return GROUPED.test(sql.replace(/'[^']*'|"[^"]*"/g, "''"));
}

/** Whether an interval is wider than twice the answer, so that it says little. @param {(string | number | null)[]} cells */
const saysLittle = ([value, low, high]) => typeof value === "number" && typeof low === "number" && typeof high === "number" && high - low > 2 * Math.abs(value);

/** A number with the ends of its interval, rounded outward. @param {(string | number | null)[]} cells */
function number([value, low, high]) {
  const shown = (/** @type {string | number | null} */ end, few = amount, whole = Math.round) => (typeof end !== "number" ? "" : Math.abs(end) < 1000 ? few(end) : count(whole(end)));
  const interval = low === null ? "no interval" : `${shown(low, atLeast, Math.floor)} to ${shown(high, atMost, Math.ceil)}`;
  const little = saysLittle([value, low, high]);
  return h("span", { title: String(value), class: little ? "useless" : "" }, shown(value), h("span", { class: "interval-small quiet" }, ` ${interval}`),
    little && h("span", { class: "interval-small" }, " says little: wider than the answer"));
}

/** The answer of a statement. @param {import("./api.js").Groups} reply @param {string} [title] For those who do not see it. */
export function groupsOf({ names, headings, rows, sources, confidence, covers, charged, dataset }, title = "Latest answer") {
  const columns = [...names.map((name) => ({ title: name })), ...headings.flatMap((heading) => [{ title: heading, class: "n" }, { title: "", class: "drawn" }])];
  const parts = (/** @type {(string | number | null)[]} */ row) => headings.map((_, place) => row.slice(names.length + 3 * place, names.length + 3 * place + 3));
  const answers = rows.map((row) => parts(row).map(([value, low, high]) => /** @type {any} */ ({ value: value ?? 0, low, high, source: "" })));
  const scales = headings.map((_, place) => commonScale(answers.map((row) => row[place])));
  const asked = Object.entries(sources).map(([source, times]) => `${many(times, "question")} by ${source}`).join(", ");
  const cost = charged > 0 ? `${share(charged, dataset.limit, true)} of the budget charged` : "free of charge";
  const head = [...names, ...headings.flatMap((heading) => [heading, `${heading} low`, `${heading} high`])];
  const file = h("button", { type: "button", class: "link", on: { click: () => save(new Blob([csv(head, rows)], { type: "text/csv" }), `${dataset.name}.csv`) } }, "Download as CSV");
  return h("section", { class: "answer", "aria-label": title },
    table("Groups", columns, rows.map((row, at) => [
      ...row.slice(0, names.length),
      ...parts(row).flatMap((part, place) => [number(part), part[0] === null ? "" : intervalDrawing(answers[at][place], scales[place])]),
    ])),
    h("div", { class: "answer-foot" }, file, h("span", { class: "quiet" }, `${confidence === null ? "no intervals" : `${percent(confidence)} intervals`}; ${asked}; ${cost}`), confidence !== null && h("p", { class: "quiet" }, `The intervals hold ${covers}.`)));
}

/** The answer in a sentence. @param {import("./api.js").Groups} reply */
export function spokenGroups({ rows, headings }) {
  return `Answer: a table of ${many(rows.length, "row")} with ${headings.join(", ")}.`;
}
