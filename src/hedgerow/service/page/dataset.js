/** One data set: its heading, its budget, and the section that the address names. */

import { at, get } from "./api.js";
import { answersSection } from "./answers.js";
import { askSection } from "./ask.js";
import { attributesSection } from "./attributes.js";
import { fill, h } from "./dom.js";
import { gauge, inShort, status, usedUp } from "./gauge.js";
import { ledgerSection } from "./ledger.js";
import { manageSection } from "./manage.js";
import { pictureSection } from "./picture.js";
import { pinnedSection } from "./pinned.js";
import { notice } from "./problems.js";
import { recordsSection } from "./records.js";
import { spendingSection } from "./spending.js";

/**
 * @typedef {object} DataSet What every section is given.
 * @property {string} name
 * @property {import("./api.js").Detail} detail
 * @property {(summary: import("./api.js").Summary) => void} changed
 */

const SECTIONS = [
  { id: "ask", title: "Ask", show: askSection },
  { id: "pinned", title: "Dashboard", show: pinnedSection },
  { id: "answers", title: "Answers", show: answersSection },
  { id: "attributes", title: "Attributes", show: attributesSection },
  { id: "picture", title: "Picture", show: pictureSection },
  { id: "records", title: "Records", show: recordsSection },
  { id: "budget", title: "Budget", show: spendingSection },
  { id: "ledger", title: "Ledger", show: ledgerSection, custodians: true },
  { id: "manage", title: "Manage", show: manageSection, custodians: true },
];

/** Whether there is room for the numbers above what there is to do. */
const roomy = matchMedia("(min-width: 42rem)");
roomy.addEventListener("change", () => document.querySelectorAll(".numbers").forEach((each) => each.toggleAttribute("open", roomy.matches)));

/** @param {HTMLElement} place @param {import("./main.js").App} app @param {string} name @param {string} section */
export async function dataSetView(place, app, name, section) {
  /** @type {import("./api.js").Detail} */
  const detail = await get(at(name));
  const open = SECTIONS.filter((entry) => app.custodian || !entry.custodians);
  const chosen = open.find((entry) => entry.id === section) ?? open[0];
  const [numbers, short, panel, state] = [h("div", { class: "facts" }), h("summary"), h("div", { class: "used-up" }), h("span")];
  const dataSet = { name, detail, changed };

  /** @param {import("./api.js").Summary} summary */
  function changed(summary) {
    Object.assign(detail, summary);
    gauge(numbers, detail);
    fill(short, inShort(detail));
    fill(state, status(summary));
    fill(panel, chosen.id === "ask" && usedUp(summary));
  }

  changed(detail);
  const body = h("section", { class: "section", "aria-labelledby": "section-title" });
  fill(place,
    h("div", { class: "set-head" }, h("h1", { tabindex: "-1" }, detail.title || name), state),
    !detail.private && stamp(), h("details", { class: "numbers", open: roomy.matches }, short, numbers), panel,
    h("nav", { class: "tabs", "aria-label": detail.title || name }, open.map((entry) => h("a", {
      href: `#/d/${encodeURIComponent(name)}/${entry.id}`, "aria-current": entry === chosen && "page",
    }, entry.title))),
    body);
  const [tabs, here] = [".tabs", ".tabs [aria-current]"].map((each) => /** @type {HTMLElement} */ (place.querySelector(each)));
  tabs.scrollLeft = here.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - here.clientWidth) / 2; // where they do not fit
  await chosen.show(body, app, dataSet);
}

/** Seeded noise can be computed again by anybody who knows the seed. */
const stamp = () => notice("alarm", "Not private", ["The noise of this data set is seeded, so it protects no one. Use it for trials only."]);

/** The heading of a section. @param {string} title @param {import("./dom.js").Child} [text] */
export function sectionHead(title, text) {
  return h("div", { class: "section-head" }, h("h2", { id: "section-title", tabindex: "-1", "data-heading": true }, title),
    text && h("p", { class: "lead" }, text));
}
