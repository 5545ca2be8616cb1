/** The parts of a budget on one line that adds up, as it is shown too. */

import { h } from "./dom.js";
import { NOTHING, count, many, nothingLeft } from "./format.js";

const MOST_DECIMALS = 7;

/** @type {[keyof import("./api.js").Account, string, string][]} What parts are called, and what they mean. */
export const PARTS = [
  ["opening", "opening", "Spent before anyone asked: the number of records, and the release that it starts from, if there is one."],
  ["mine", "you", "The price of each answer of the data to you: what your answers were charged adds up to it."],
  ["others", "others", "The same of everyone else."],
  ["tests", "tests", "Tests of the hypothesis are paid ahead. This part of them has led to no correction yet."],
  ["held", "held", "Put aside for a question that is being answered: the most that it can cost."],
  ["left", "left", "Not spent."],
];

/**
 * Parts of a whole with the same number of decimals, rounded so that they add up as they are shown: the whole up, what
 * is left down, and what is spent takes the difference. A part that counts is never shown as 0, so nothing is shown as
 * spent while some of it is left.
 * @param {number} whole @param {number[]} parts @param {boolean[]} counts Which of the parts do. @param {number} rest Place of what is left.
 * @returns {{whole: number, parts: number[], decimals: number}}
 */
export function adding(whole, parts, counts, rest) {
  const size = Math.floor(Math.log10(whole));
  const least = Math.min(whole, ...parts.filter((_, i) => counts[i]));
  const decimals = Math.min(Math.max(0, 3 - size, 1 - Math.floor(Math.log10(least))), Math.max(0, MOST_DECIMALS - size), 15);
  const unit = 10 ** decimals;
  const exact = parts.map((part, i) => (counts[i] ? Math.max(0, part) * unit : 0));
  const units = exact.map((part, i) => (counts[i] ? Math.max(1, Math.floor(part)) : 0));
  const total = Math.round(whole * unit) + (Number(whole.toFixed(decimals)) < whole ? 1 : 0);
  const counted = parts.map((_, i) => i).filter((i) => counts[i]);
  const spent = counted.filter((i) => i !== rest).sort((a, b) => exact[b] - units[b] - (exact[a] - units[a]));
  const order = spent.length ? spent : counted;
  for (let missing = total - sum(units), at = 0; missing > 0 && order.length; missing -= 1, at += 1) units[order[at % order.length]] += 1;
  for (let over = sum(units) - total; over > 0; over -= 1) units[units[rest] > 1 ? rest : units.indexOf(Math.max(...units))] -= 1;
  return { whole: total / unit, parts: units.map((each) => each / unit), decimals };
}

/** @param {number[]} numbers */
const sum = (numbers) => numbers.reduce((all, each) => all + each, 0);

/** The parts of a data set's budget as texts. @param {{account: import("./api.js").Account, limit: number, price?: number | null}} told */
export function accountOf({ account, limit, price = null }) {
  const names = PARTS.map(([name]) => name).filter((name) => account[name] !== null);
  const values = names.map((name) => account[name] ?? 0);
  const counts = names.map((name, i) => (name === "left" ? !nothingLeft(values[i], limit, price) : values[i] > NOTHING * limit));
  const { whole, parts, decimals } = adding(limit, values, counts, names.indexOf("left"));
  const shown = new Intl.NumberFormat("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  const spent = sum(names.map((name, i) => (name === "held" || name === "left" ? 0 : parts[i])));
  return { limit: shown.format(whole), spent: shown.format(spent), part: Object.fromEntries(names.map((name, i) => [name, shown.format(parts[i])])) };
}

/** The budget as a sum. @param {import("./api.js").Summary} summary */
export function accountLine(summary) {
  const { limit, part } = accountOf(summary);
  const terms = PARTS.filter(([name]) => part[name] !== undefined && (name === "left" || /[1-9]/.test(part[name])));
  return h("p", { class: "account-line" }, h("b", {}, `${limit} ${summary.unit}`), " = ",
    terms.flatMap(([name, word], i) => [i > 0 && " + ", h("span", { class: "summand" }, h("span", { class: `swatch ${name}` }), `${part[name]} ${word}`)]));
}

/** Questions as a sum. @param {import("./api.js").Summary} summary */
export function askedLine({ asked, tested, mine }) {
  return h("p", { class: "account-line" }, h("b", {}, `${many(asked, "question")} asked`), ` = ${count(mine.asked)} by you + ${count(asked - mine.asked)} by others`,
    h("span", { class: "quiet" }, `; ${count(tested)} different ${tested === 1 ? "one was" : "ones were"} tested against the data`));
}
