/** What has been spent, what is left, and what it means when nothing is. */

import { draw, fill, h } from "./dom.js";
import { atLeast, atMost, count, many, sentence, share, spentOf } from "./format.js";
import { notice } from "./problems.js";
import { term } from "./terms.js";

const ALONE = "From now on the hypothesis alone answers, free of charge. Nothing checks it against the data, so its answers have no interval.";
const KEPT = "Questions that were asked before keep their answers and their intervals.";

/** A threshold above this share of the records says little. */
const COARSE = 0.2;

/** A bar from nothing to the limit. @param {number} part @param {number} limit @param {string} text */
export function bar(part, limit, text) {
  const share = limit > 0 ? Math.min(1, Math.max(0, part / limit)) : 0;
  return draw("svg", {
    class: `gauge-bar ${share >= 0.999 ? "full" : ""}`, role: "meter", "aria-valuemin": 0, "aria-valuemax": limit,
    "aria-valuenow": Math.min(part, limit), "aria-valuetext": text, "aria-label": text, width: "100%", height: 8,
  },
    draw("rect", { class: "track", width: "100%", height: 8, rx: 4 }),
    share > 0 && draw("rect", { class: "part", width: `${100 * share}%`, height: 8, rx: 4 }));
}

/** Whether the data are still looked at, in a word. @param {import("./api.js").Summary} summary */
export function status(summary) {
  const kind = { opening: "waits", failed: "shut", open: "open", "used up": "shut", closed: "shut" }[summary.status];
  return h("span", { class: `state ${kind}` }, summary.status);
}

/**
 * Budget, corrections and one's own limits.
 * @param {HTMLElement} place @param {import("./api.js").Detail} summary
 */
export function gauge(place, summary) {
  const { mine, updates } = summary;
  fill(place,
    measure("Privacy budget", summary.spent, summary.limit, spentOf(summary.spent, summary.limit, summary.unit, "spent", summary.price),
      h("a", { href: `#/d/${encodeURIComponent(summary.name)}/budget` }, "what happened to it")),
    fact(term("correction", "Corrections left"), `${count(summary.updates_left)} of ${count(updates)}`, "how often the hypothesis can still learn"),
    mine.budget !== null && measure("Your share of it", mine.spent, mine.budget, spentOf(mine.spent, mine.budget, summary.unit, "used", summary.price)),
    mine.queries !== null && measure("Your questions", mine.asked, mine.queries, `${count(mine.asked)} of ${many(mine.queries, "question")} asked`),
    summary.total !== null && (summary.neighbours === "replace" && (summary.at_most ?? 1) === 1 && (summary.weight ?? null) === null
      ? fact("Records", count(summary.total), "a public number")
      : fact("Records", `about ${count(summary.total)}`, "a noisy number")),
    summary.total !== null && summary.threshold !== null && fineness(summary.threshold, summary.total, !summary.closed));
}

/** The budget in a line, where there is no room for more. @param {import("./api.js").Summary} summary */
export function inShort({ spent, limit, updates, updates_left: left }) {
  return `${share(spent, limit, true)} of the budget spent \u00b7 ${count(left)} of ${many(updates, "correction")} left`;
}

/** From where on the data answer in place of the hypothesis. @param {number} threshold Records. @param {number} total @param {boolean} tests Whether they still do. */
function fineness(threshold, total, tests) {
  const far = `${share(threshold, total)} of all. Where the hypothesis ${tests ? "seems further off, the data answer" : "seemed further off, the data answered"}`;
  return fact(term("threshold", "Threshold"), many(Math.round(threshold), "record"), threshold > COARSE * total ? `${far}. That is coarse: the budget is small for so few records` : far);
}

/** @param {string} title @param {number} part @param {number} limit @param {string} text @param {any} [more] */
function measure(title, part, limit, text, more) {
  return h("div", { class: "fact" }, h("p", { class: "fact-title" }, title), bar(part, limit, `${title}: ${text}`), h("p", { class: "fact-text" }, text, more && [" \u00b7 ", more]));
}

/** @param {import("./dom.js").Child} title @param {string} value @param {string} text */
function fact(title, value, text) {
  return h("div", { class: "fact" }, h("p", { class: "fact-title" }, title), h("p", { class: "fact-value" }, value), h("p", { class: "fact-text" }, text));
}

/** Sentences that are there for those who unfold them. @param {...string} texts */
const more = (...texts) => h("details", {}, h("summary", {}, "What now?"), texts.map((text) => h("p", {}, text)));

/**
 * What it means that something is used up; null while nothing is.
 * @param {import("./api.js").Summary} summary
 */
export function usedUp(summary) {
  const { mine } = summary;
  if (summary.status === "opening") {
    return notice("plain", "This data set is being opened", ["The server is reading the table. Questions can be asked in a moment."]);
  }
  if (summary.status === "failed") {
    return notice("caution", "This data set could not be opened", ["What the opening may have cost is spent. Its custodian can try again, or discard it."]);
  }
  if (mine.queries !== null && mine.asked >= mine.queries) {
    return notice("caution", `You have asked all of your ${many(mine.queries, "question")}`,
      ["Further questions are refused. The picture, the synthetic records and your answers stay open to you.",
        "Ask your custodian if you need more questions."]);
  }
  if (summary.closed) {
    return notice("caution", "The data are not looked at any more", [`${sentence(summary.closed)} ${ALONE}`,
      more(KEPT, "If you need answers that are checked, ask your custodian: a further budget means registering the table again.")]);
  }
  if (mine.budget !== null && summary.price !== null && mine.budget - mine.spent < summary.price) {
    return notice("caution", mine.spent > 0 ? "Your share of the budget is used up" : "Your share of the budget is too small for an answer from the data", [
      `An answer from the data costs ${atMost(summary.price)} ${summary.unit}; ${atLeast(Math.max(0, mine.budget - mine.spent))} of your ${atMost(mine.budget)} is left.`,
      ALONE, more(KEPT, "Ask your custodian if you need a larger share.")]);
  }
  return null;
}
