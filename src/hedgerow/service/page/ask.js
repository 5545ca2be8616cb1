/** Asking: the builder, the SQL beside it, the latest answer, and the recent ones. */

import { Problem, ask, at, freshKey, get } from "./api.js";
import { answerTable, latest, spoken } from "./answers.js";
import { builder } from "./builder.js";
import { mistake, named, statement } from "./conditions.js";
import { sectionHead } from "./dataset.js";
import { announce, choice, field, fill, h } from "./dom.js";
import { amount } from "./format.js";
import { ended } from "./gauge.js";
import { alarm, attempt, notice, onSubmit, refused } from "./problems.js";

const RECENT = 20;

/**
 * @typedef {object} Draft What is being entered.
 * @property {import("./conditions.js").Condition[]} conditions
 * @property {string} text The SQL.
 * @property {boolean} byHand Whether it was edited.
 * @property {string} confidence
 * @property {import("./api.js").Answer | undefined} last The latest answer.
 * @property {{sql: string, confidence: number, key: string} | null} pending Sent, and perhaps heard.
 */

/** @param {HTMLElement} place @param {import("./main.js").App} app @param {import("./dataset.js").DataSet} dataSet */
export async function askSection(place, app, dataSet) {
  const { name, detail } = dataSet;
  /** @type {Draft} */
  const draft = Object.assign(app.draft(name), { conditions: [], confidence: "0.95", byHand: false, pending: null, ...app.draft(name) });
  let shows = 0;

  const area = h("textarea", { class: "code sql", rows: 4, spellcheck: "false", autocapitalize: "off", autocomplete: "off" });
  const note = h("div", { class: "sql-note" });
  const said = h("div", { class: "said" });
  const result = h("div", { class: "latest" });
  const past = h("div", {});
  const price = h("p", { class: "hint" });
  const confidence = choice([["0.9", "90%"], ["0.95", "95%"], ["0.99", "99%"]], draft.confidence);
  confidence.addEventListener("change", () => { draft.confidence = confidence.value; });
  const button = h("button", { class: "button primary", "aria-keyshortcuts": "Control+Enter" }, "Ask");
  const aside = h("p", { class: "aside" }, "Set aside while the text is edited by hand.");
  const built = h("div", {});

  function write() {
    if (!draft.byHand) draft.text = statement(name, detail.attributes, draft.conditions);
    area.value = draft.text;
    const back = h("button", { type: "button", class: "link", on: { click: takeBack } }, "Go back to the builder");
    fill(note, draft.byHand && h("p", {}, "Edited by hand: this text is asked as it stands, whatever the builder shows. ", back));
    aside.hidden = !draft.byHand;
  }

  function takeBack() {
    draft.byHand = false;
    write();
    area.focus();
  }

  area.addEventListener("input", () => {
    draft.text = area.value;
    if (!draft.byHand) {
      draft.byHand = true;
      write();
    }
  });

  /** What keeps the question from being sent; empty if nothing does. */
  function hindrance() {
    if (draft.byHand) return draft.text.trim() ? "" : "Write a question, or go back to the builder.";
    const wrong = draft.conditions.find((condition) => mistake(named(detail.attributes, condition.name), condition));
    return wrong ? `${wrong.name}: ${mistake(named(detail.attributes, wrong.name), wrong)}` : "";
  }

  async function send() {
    const wrong = hindrance();
    if (wrong) {
      fill(said, alarm("This cannot be asked yet", [wrong]));
      return;
    }
    const question = { sql: draft.text.trim(), confidence: Number(draft.confidence) };
    const same = draft.pending?.sql === question.sql && draft.pending.confidence === question.confidence;
    draft.pending = same && draft.pending ? draft.pending : { ...question, key: freshKey() };
    try {
      const reply = await ask(name, draft.pending, () => fill(said, notice("plain", "The connection failed", ["Trying again. The question is asked once only."])));
      draft.pending = null;
      fill(said);
      got(reply);
    } catch (problem) {
      if (!(problem instanceof Problem && problem.passes)) draft.pending = null;
      if (!(problem instanceof Problem)) throw problem;
      if (problem.status === 403) refresh();
      problem.message = problem.message.replace(/^question 1: /, "");
      throw problem;
    }
  }

  /** @param {{answers: import("./api.js").Answer[], dataset: import("./api.js").Summary}} reply */
  function got({ answers, dataset }) {
    draft.last = answers[0];
    dataSet.changed(dataset);
    fill(result, latest(answers[0], dataset));
    result.scrollIntoView({ block: "nearest" });
    showPrice();
    showRecent();
    announce(spoken(answers[0]));
  }

  /** The limits may have changed while the page was open. */
  async function refresh() {
    const summary = await get(at(name)).catch(() => null);
    if (summary) dataSet.changed(summary);
  }

  function showPrice() {
    fill(price, ended(detail) || detail.price === null ? "" : `An answer from the data costs ${amount(detail.price)} ${detail.unit}. All others are free.`);
  }

  /** What the server has, asked for anew after each answer; a reply that another one has overtaken is dropped. */
  async function showRecent() {
    shows += 1;
    const mine = shows;
    const query = { limit: RECENT, person: app.custodian ? app.me.person : undefined };
    const shown = await get(`${at(name)}/answers`, query).then(
      ({ answers }) => (answers.length ? answerTable(answers, detail, { times: false }) : h("p", { class: "empty" }, "No answers yet.")), refused);
    if (mine === shows) fill(past, shown);
  }

  const form = h("form", { class: "sql-form", novalidate: true },
    field("Question as SQL", area), note,
    h("div", { class: "ask-row" }, h("label", { class: "inline" }, h("span", {}, "Intervals hold with"), confidence),
      h("span", { class: "hint keys" }, h("kbd", {}, "Ctrl"), " + ", h("kbd", {}, "Enter")), button), price);
  onSubmit(form, button, said, send);
  place.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    attempt(button, said, send);
  });

  fill(built, builder(detail.attributes, draft.conditions, () => write()));
  write();
  showPrice();
  if (draft.last) fill(result, latest(draft.last, detail));
  fill(place, sectionHead("How many records meet these conditions?"),
    h("div", { class: "two" },
      h("div", {}, aside, built),
      h("div", { class: "beside" }, form, said, result)),
    h("h3", {}, "Your recent answers"), past);
  await showRecent();
}
