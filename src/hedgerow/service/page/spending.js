/** What happened to a budget: its parts, and its spending over time by person or by kind. */

import { PARTS, accountLine, accountOf, askedLine } from "./account.js";
import { at, get } from "./api.js";
import { ticks, drawing } from "./bars.js";
import { sectionHead } from "./dataset.js";
import { choice, draw, fill, h, table } from "./dom.js";
import { amount, atMost, cut, moment } from "./format.js";

/**
 * @typedef {{at: string, kind: string, whose: string, person: string | null, amount: number}} Entry
 * @typedef {{limit: number, unit: string, spent: number, account: import("./api.js").Account, width: number, entries: Entry[]}} Spending
 * @typedef {{name: string, look: string, total: number, steps: {x: number, y: number}[]}} Layer
 */

const MOST_PEOPLE = 5;
/** @type {Record<string, string>} Parts that have colours of their own; all else takes them in turn. */
const LOOKS = { opening: "opening", tests: "tests", you: "mine", others: "others", "all others": "others", "answers of the data": "mine" };
/** @type {Record<string, string>} */
const KINDS = { opening: "opening", corrections: "answers of the data", lost: "interrupted questions", tests: "tests" };
const COLUMNS = [{ title: "When", class: "when" }, { title: "For" }, { title: "Paid by" }, { title: "Amount", class: "n" }];

/** @param {HTMLElement} place @param {import("./main.js").App} app @param {import("./dataset.js").DataSet} dataSet */
export async function spendingSection(place, app, { name, detail }) {
  /** @type {Spending} */
  const told = await get(`${at(name)}/spending`);
  const summary = { ...detail, ...(await get(at(name))), account: told.account };
  const by = choice([["person", "person"], ["kind", "kind"]], "person");
  const figure = h("div", { class: "drawing" });
  const show = () => fill(figure, drawn(told, by.value === "person" ? payer : (entry) => KINDS[entry.kind], place));
  by.addEventListener("change", show);
  fill(place, sectionHead("What happened to the budget", "Every charge is for the data set as a whole, and here is whose questions led to it. The parts add up to the budget."),
    accountLine(summary), askedLine(summary), meanings(summary),
    h("h3", {}, "Over time"), h("div", { class: "tools" }, h("label", { class: "inline" }, h("span", {}, "By"), by)), figure);
  show();
}

/** Who paid, or what nobody paid for. @param {Entry} entry */
const payer = ({ whose, person, kind }) => (whose === "nobody" ? KINDS[kind] : whose === "mine" ? "you" : person ?? "others");

/** @param {import("./api.js").Summary} summary */
function meanings(summary) {
  const { part } = accountOf(summary);
  return h("dl", { class: "parts" }, PARTS.filter(([name]) => part[name] !== undefined).map(([name, word, meaning]) => h("div", {},
    h("dt", {}, h("span", { class: `swatch ${name}` }), word), h("dd", { class: "n" }, part[name]), h("dd", { class: "quiet" }, meaning))));
}

/**
 * The drawing, drawn anew when there is more or less room, and the same as a table.
 * @param {Spending} told @param {(entry: Entry) => string} name @param {HTMLElement} room
 */
function drawn(told, name, room) {
  if (!told.entries.length) return h("p", { class: "empty" }, "Nothing is spent yet.");
  const layers = layersOf(told.entries, name);
  const picture = h("div", { class: "plot" });
  let last = 0;
  const anew = () => {
    const width = Math.round(Math.max(280, Math.min(1100, picture.clientWidth || room.clientWidth)));
    if (width !== last) fill(picture, chart(told, layers, width));
    last = width;
  };
  anew();
  new ResizeObserver(anew).observe(picture);
  return h("figure", {}, h("figcaption", {}, h("ul", { class: "key" }, layers.map((layer) => h("li", {},
    h("span", { class: `swatch ${layer.look}` }), `${cut(layer.name, 40)} `, h("span", { class: "quiet" }, atMost(layer.total)))))), picture,
  h("details", { class: "as-table" }, h("summary", {}, "Show as a table"),
    table("Spending over time", COLUMNS, told.entries.map((each) => [moment(each.at), KINDS[each.kind], each.whose === "nobody" ? h("span", { class: "quiet" }, "nobody") : payer(each), atMost(each.amount)]))));
}

/**
 * What each has come to by the time, from the opening at the bottom to the tests at the top.
 * @param {Entry[]} entries @param {(entry: Entry) => string} name @returns {Layer[]}
 */
function layersOf(entries, name) {
  /** @type {Map<string, number>} */
  const totals = new Map();
  for (const each of entries) totals.set(name(each), (totals.get(name(each)) ?? 0) + each.amount);
  const between = [...totals.keys()].filter((each) => each !== KINDS.opening && each !== KINDS.tests)
    .sort((a, b) => (totals.get(b) ?? 0) - (totals.get(a) ?? 0));
  const few = between.slice(0, between.length > MOST_PEOPLE ? MOST_PEOPLE - 1 : MOST_PEOPLE);
  const named = (/** @type {Entry} */ each) => (totals.has(name(each)) && (few.includes(name(each)) || !between.includes(name(each))) ? name(each) : "all others");
  const names = [KINDS.opening, ...few, "all others", KINDS.tests].filter((each) => entries.some((entry) => named(entry) === each));
  return names.map((each, i) => {
    let y = 0;
    const steps = entries.filter((entry) => named(entry) === each).map((entry) => ({ x: Date.parse(entry.at), y: y += entry.amount }));
    return { name: each, look: LOOKS[each] ?? `layer-${i % MOST_PEOPLE}`, total: Math.abs(y) < 1e-12 ? 0 : y, steps };
  });
}

/** @param {Spending} told @param {Layer[]} layers @param {number} width */
function chart({ limit, unit, entries }, layers, width) {
  const [left, right, upper, lower, height] = [60, 12, 28, 44, 300];
  const [begun, now] = [Date.parse(entries[0].at), Math.max(Date.now(), Date.parse(entries[entries.length - 1].at) + 1000)];
  const x = (/** @type {number} */ time) => left + ((time - begun) / (now - begun)) * (width - left - right);
  const y = (/** @type {number} */ value) => height - lower - (Math.min(limit, Math.max(0, value)) / limit) * (height - upper - lower);
  const times = [...new Set(entries.map((each) => Date.parse(each.at)))];
  /** @param {Layer} layer @param {number} time */
  const reached = (layer, time) => layer.steps.findLast((step) => step.x <= time)?.y ?? 0;
  let floor = times.map(() => 0);
  const areas = layers.map((layer) => {
    const ceiling = times.map((time, at) => floor[at] + reached(layer, time));
    const edge = (/** @type {number[]} */ values) => times.flatMap((time, at) => [[x(time), y(values[at])], [x(times[at + 1] ?? now), y(values[at])]]);
    const points = [...edge(ceiling), ...edge(floor).reverse()].map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" ");
    floor = ceiling;
    return draw("polygon", { class: `area ${layer.look}`, points, "data-total": layer.total }, draw("title", {}, `${layer.name}: ${atMost(layer.total)} ${unit}`));
  });
  const lines = ticks(limit, 4).filter((value) => value <= limit * (1 + 1e-9));
  return drawing("Spending over time", width, height, [
    ...lines.map((value) => draw("g", {}, draw("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      draw("text", { class: "number", x: left - 8, y: y(value), "text-anchor": "end", "dominant-baseline": "central" }, amount(value)))),
    ...areas,
    draw("line", { class: "limit", x1: left, x2: width - right, y1: y(limit), y2: y(limit) }),
    draw("text", { class: "label", x: left, y: y(limit) - 10 }, `the budget: ${atMost(limit)} ${unit}`),
    draw("text", { class: "label", x: left, y: height - lower + 20 }, moment(entries[0].at)),
    draw("text", { class: "label", x: width - right, y: height - lower + 20, "text-anchor": "end" }, "now"),
  ]);
}
