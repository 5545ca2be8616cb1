/** The current hypothesis, drawn: one attribute as bars, two as a heat map. */

import { at, get } from "./api.js";
import { bars, columns } from "./bars.js";
import { askable, named, specials } from "./conditions.js";
import { sectionHead } from "./dataset.js";
import { choice, field, fill, h } from "./dom.js";
import { count, many } from "./format.js";
import { heatMap } from "./heatmap.js";
import { nothingLearnt, refused } from "./problems.js";

const MOST_CELLS = 20_000;
const MOST_BARS = 200;

/** @typedef {{attributes: string[], labels: string[][], counts: any[], total: number}} Marginal */

/** @param {HTMLElement} place @param {import("./main.js").App} app @param {import("./dataset.js").DataSet} dataSet */
export async function pictureSection(place, app, { name, detail }) {
  const head = sectionHead("Picture", "The server's current hypothesis: its public model of the data, not the data themselves. Looking at it is free of charge.");
  if (!detail.learnt) {
    fill(place, head, nothingLearnt(name));
    return;
  }
  const draft = app.draft(name);
  const names = askable(detail).map((attribute) => attribute.name);
  const options = /** @type {[string, string][]} */ (names.map((each) => [each, each]));
  const first = choice(options, draft.first ?? names[0]);
  const second = choice([["", "none"], ...options], draft.second ?? "");
  const drawing = h("div", { class: "drawing", "aria-busy": "false" });
  let asked = 0;

  async function show() {
    asked += 1;
    const mine = asked;
    [draft.first, draft.second] = [first.value, second.value];
    const chosen = second.value && second.value !== first.value ? [first.value, second.value] : [first.value];
    const attributes = chosen.map((each) => named(askable(detail), each));
    drawing.setAttribute("aria-busy", "true");
    try {
      const shown = tooLarge(attributes) ?? figure(await get(`${at(name)}/marginals`, { attributes: chosen.map(asField).join(",") }), attributes, place);
      if (mine === asked) fill(drawing, shown);
    } catch (problem) {
      if (mine === asked) fill(drawing, refused(problem));
    } finally {
      if (mine === asked) drawing.setAttribute("aria-busy", "false");
    }
  }

  first.addEventListener("change", show);
  second.addEventListener("change", show);
  fill(place, head,
    h("div", { class: "row-form" }, field("Attribute", first), field("Across", second)), drawing);
  await show();
}

/** A name as the server takes a list of them: one with a comma stands in quotes. @param {string} name */
const asField = (name) => (/[",\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);

/** @param {import("./api.js").Attribute[]} attributes */
function tooLarge(attributes) {
  const cells = attributes.reduce((product, attribute) => product * attribute.size, 1);
  return cells <= MOST_CELLS ? null : h("p", { class: "empty" },
    `This would have ${many(cells, "cell")}, more than can be seen. Choose attributes with fewer values.`);
}

/**
 * The drawing, drawn anew when there is more or less room, and the same as a table.
 * @param {Marginal} marginal @param {import("./api.js").Attribute[]} attributes @param {HTMLElement} room
 */
function figure(marginal, attributes, room) {
  const picture = h("div", { class: "plot" });
  const drawn = () => {
    const width = Math.round(Math.max(280, Math.min(1100, picture.clientWidth || room.clientWidth)));
    if (attributes.length === 2) return heatMap(marginal, width);
    const [[name], [labels], { counts }] = [marginal.attributes, marginal.labels, marginal];
    const standing = attributes[0].kind !== "categorical" || labels.length > MOST_BARS;
    return standing ? columns(name, labels, counts, width, specials(attributes[0]).length) : bars(name, labels, counts, width);
  };
  fill(picture, drawn());
  let last = 0;
  new ResizeObserver(() => {
    if (picture.clientWidth === last) return;
    last = picture.clientWidth;
    fill(picture, drawn());
  }).observe(picture);
  const list = h("details", { class: "as-table" }, h("summary", {}, "Show as a table"));
  list.addEventListener("toggle", () => { if (list.open && !list.querySelector("table")) list.append(h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table" }, asTable(marginal))); });
  return h("figure", {}, h("figcaption", {}, h("b", {}, attributes.map((each) => each.name).join(" \u00d7 ")),
    h("span", { class: "quiet" }, ` \u00b7 counts of the hypothesis, ${count(marginal.total)} in all`)), picture, list);
}

/** @param {Marginal} marginal */
function asTable({ attributes, labels, counts }) {
  const head = attributes.length === 1 ? [attributes[0], "Count"] : [attributes.join(" / "), ...labels[1]];
  const rows = labels[0].map((label, i) => [label, ...(attributes.length === 1 ? [counts[i]] : counts[i])]);
  return h("table", { class: "plain-table" }, h("thead", {}, h("tr", {}, head.map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, rows.map(([label, ...values]) => h("tr", {}, h("th", { scope: "row" }, label), values.map((value) => h("td", { class: "n" }, count(value)))))));
}
