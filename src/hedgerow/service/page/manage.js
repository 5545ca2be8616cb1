/** What a custodian sets about one data set: limits of analysts, and its end. */

import { at, post, put, remove } from "./api.js";
import { sectionHead } from "./dataset.js";
import { announce, choice, confirmed, field, fill, h, table } from "./dom.js";
import { amount, atMost, count, moment } from "./format.js";
import { byName, everyPage } from "./paging.js";
import { attempt, onSubmit } from "./problems.js";

const MEBIBYTE = 2 ** 20;
const COLUMNS = [{ title: "Person" }, { title: "Questions", class: "n" }, { title: "Budget share", class: "n" }, { title: "Storage", class: "n" }];

/** @param {HTMLElement} place @param {import("./main.js").App} app @param {import("./dataset.js").DataSet} dataSet */
export async function manageSection(place, app, dataSet) {
  const { name, detail } = dataSet;
  const granted = () => everyPage(`${at(name)}/grants`, "grants");
  const [people, grants] = await Promise.all([everyPage("people", "people").then(byName), granted()]);
  const list = h("div", {});
  const show = (/** @type {any[]} */ given) => fill(list, given.length
    ? table("Limits of analysts", COLUMNS, given.map((grant) => limits(grant, detail.unit)))
    : h("p", { class: "empty" }, "Nobody has limits: everyone with a token for this data set may spend all of its budget."));
  show(grants);
  fill(place, sectionHead("Manage"),
    h("h3", {}, "Limits"), h("p", { class: "lead" }, "How many questions an analyst may ask, how much of the budget they may cost, and how much "
      + "room their answers may take in the server's store. When a share of the budget is used up, the hypothesis alone answers."
      + (detail.price === null ? "" : ` An answer from the data costs ${atMost(detail.price)} ${detail.unit}; the whole budget is ${atMost(detail.limit)} ${detail.unit}.`)),
    list, limitForm(name, detail, people, async () => show(await granted())),
    detail.source && [h("h3", {}, "Where the table is"), h("dl", { class: "pairs" }, Object.entries({ ...detail.source, registered: moment(detail.created) })
      .filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false)
      .map(([key, value]) => h("div", {}, h("dt", {}, key.replaceAll("_", " ")), h("dd", {}, typeof value === "string" ? value : JSON.stringify(value)))))],
    opening(dataSet), closing(dataSet));
}

/** @param {any} grant @param {string} unit */
function limits({ person, queries, budget, storage, asked, spent, stored }, unit) {
  const of = (/** @type {string} */ used, /** @type {string | null} */ limit) => [used, h("span", { class: "quiet" }, limit === null ? ", no limit" : ` of ${limit}`)];
  return [person, of(count(asked ?? 0), queries === null ? null : count(queries)),
    of(atMost(spent ?? 0), budget === null ? null : `${atMost(budget)} ${unit}`),
    [mebibytes(stored ?? 0), h("span", { class: "quiet" }, storage === null ? ", as the server grants" : ` of ${mebibytes(storage)}`)]];
}

/** @param {number} bytes */
const mebibytes = (bytes) => (bytes < MEBIBYTE / 10 ? `${amount(Math.round(bytes / 102.4) / 10)} KiB` : `${amount(bytes / MEBIBYTE)} MiB`);

/** @param {string} name @param {import("./api.js").Detail} detail @param {any[]} people @param {() => Promise<void>} done */
function limitForm(name, detail, people, done) {
  const analysts = people.filter((person) => person.role === "analyst");
  if (!analysts.length) return h("p", {}, "There is no analyst yet. ", h("a", { href: "#/people" }, "People & tokens"), " is where you add one.");
  const person = choice(analysts.map((each) => [each.name, each.name]), analysts[0].name);
  const queries = h("input", { type: "number", min: 0, step: 1, inputmode: "numeric", placeholder: "no limit" });
  const budget = h("input", { type: "number", min: 0, step: "any", inputmode: "decimal", placeholder: "no limit" });
  const storage = h("input", { type: "number", min: 0, step: "any", inputmode: "decimal", placeholder: "as the server grants" });
  const [said, button] = [h("div", {}), h("button", { class: "button" }, "Set limits")];
  const form = h("form", { class: "row-form", novalidate: true }, field("Analyst", person), field("Questions at most", queries),
    field(`Budget share at most (${detail.unit})`, budget), field("Storage at most (MiB)", storage), button);
  onSubmit(form, button, said, async () => {
    await put(`${at(name)}/grants/${encodeURIComponent(person.value)}`, { queries: given(queries), budget: given(budget), storage: storage.value.trim() === "" ? null : Math.round(Number(storage.value) * MEBIBYTE) });
    await done();
    announce(`Limits of ${person.value} are set.`);
  });
  return h("div", {}, form, said);
}

/** @param {any} input */
const given = (input) => (input.value.trim() === "" ? null : Number(input.value));

/** An opening that failed, or waits for room on the disk. @param {import("./dataset.js").DataSet} dataSet */
function opening({ name, detail, changed }) {
  if (detail.status !== "failed" && detail.status !== "opening") return null;
  const price = detail.retry_price === null ? "nothing more" : `at most ${atMost(detail.retry_price)} ${detail.unit}`;
  const said = h("div", {});
  const [again, away] = [h("button", { type: "button", class: "button" }, "Open it"), h("button", { type: "button", class: "button danger" }, "Discard it\u2026")];
  again.addEventListener("click", () => attempt(again, said, async () => changed(await post(`${at(name)}/open`, {}))));
  away.addEventListener("click", () => attempt(away, said, async () => {
    if (!await confirmed(`Discard ${detail.title || name}?`, "What it spent stays in the audit log. Its name is free again.", "Discard")) return;
    await remove(at(name));
    location.hash = "#/";
  }));
  return h("div", {}, h("h3", {}, "Opening"), h("p", { class: "lead" }, `The data set is not open yet. To open it costs ${price}.`), again, " ", away, said);
}

/** @param {{name: string, detail: import("./api.js").Detail}} dataSet */
function deleting({ name, detail }) {
  const [said, button] = [h("div", {}), h("button", { type: "button", class: "button danger" }, "Delete it\u2026")];
  button.addEventListener("click", () => attempt(button, said, async () => {
    if (!await confirmed(`Delete ${detail.title || name}?`, "Its hypothesis and all answers are gone then. What it spent stays in the audit log. Its name cannot be used again.", "Delete permanently")) return;
    await remove(at(name));
    announce("The data set is deleted.");
    location.hash = "#/";
  }));
  return h("div", {}, h("h3", {}, "Delete"), h("p", { class: "lead" }, "This data set is closed: the hypothesis answers alone. To delete it leaves nothing but what it spent."), button, said);
}

/** @param {import("./dataset.js").DataSet} dataSet */
function closing({ name, detail, changed }) {
  if (detail.status === "closed") return deleting({ name, detail });
  const [said, button] = [h("div", {}), h("button", { type: "button", class: "button danger" }, "Close this data set\u2026")];
  const part = h("div", {}, h("h3", {}, "Close"), h("p", { class: "lead" }, "The table is not looked at again. The hypothesis, the answers and the ledger stay."), button, said);
  button.addEventListener("click", () => attempt(button, said, async () => {
    if (!await confirmed(`Close ${detail.title || name}?`, "This cannot be undone: what is left of its budget cannot be spent any more.", "Close permanently")) return;
    changed(await post(`${at(name)}/close`, {}));
    fill(part, deleting({ name, detail }));
    announce("The data set is closed.");
  }));
  return part;
}
