/** Asking: the builder, the question beside it, the latest answer, and the recent ones. */

import { at, get, post } from "./api.js";
import { answerTable, latest, legend, spoken } from "./answers.js";
import { builder, shapes } from "./builder.js";
import { askable } from "./conditions.js";
import { sectionHead } from "./dataset.js";
import { announce, fill, h } from "./dom.js";
import { draftOf } from "./draft.js";
import { atMost, many, share } from "./format.js";
import { asksForGroups, groupsOf, spokenGroups } from "./groups.js";
import { usedUp } from "./gauge.js";
import { pinButton } from "./pinned.js";
import { refused } from "./problems.js";
import { questionForm, questionText } from "./question.js";
import { firstUse, term } from "./terms.js";

const RECENT = 20;
const PAUSE = 400;

/** @param {HTMLElement} place @param {import("./main.js").App} app @param {import("./dataset.js").DataSet} dataSet */
export async function askSection(place, app, dataSet) {
  const draft = draftOf(app.draft(dataSet.name));
  const [result, price, past] = [h("div", { class: "latest" }), h("p", { class: "hint" }), h("div", {})];
  const showRecent = recentAnswers(past, app, dataSet);
  const text = questionText(dataSet, draft);
  const { form, said, ask } = questionForm(dataSet, draft, { text, price, answered, refused: () => renew(dataSet) });

  /** @param {{answers: import("./api.js").Answer[], dataset: import("./api.js").Summary} | import("./api.js").Groups} reply */
  function answered(reply) {
    const { dataset } = reply;
    const sent = draft.text.trim();
    dataSet.changed(dataset);
    if ("rows" in reply) {
      fill(result, groupsOf(reply));
    } else {
      [draft.last] = reply.answers;
      fill(result, latest(reply.answers[0], dataset));
    }
    result.append(pinButton(dataSet.name, sent));
    result.scrollIntoView({ block: "nearest" });
    fill(price, priceOf(dataset));
    showRecent();
    announce("rows" in reply ? spokenGroups(reply) : spoken(reply.answers[0]));
  }

  place.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    ask();
  });
  fill(price, priceOf(dataSet.detail));
  if (draft.last) fill(result, latest(draft.last, dataSet.detail));
  const toldFor = foretold(price, dataSet, draft);
  const changed = () => { text.write(); toldFor(); };
  text.area.addEventListener("input", toldFor);
  fill(place, sectionHead("What do you want to know?", how()), firstUse(dataSet.detail), result,
    h("div", { class: "two" },
      h("div", {}, text.aside, h("div", {}, shapes(askable(dataSet.detail), draft.shape, changed), builder(askable(dataSet.detail), draft.conditions, changed))),
      h("div", { class: "beside" }, form, said)),
    h("h3", {}, "Your recent answers"), legend(), past);
  await showRecent();
}

/** How an answer comes about. */
const how = () => ["The server answers from its ", ...term("hypothesis"), ". Where that is off by more than a ", ...term("threshold"),
  ", the data answer, with noise, and the budget pays for a ", ...term("correction"), "."];

/** The limits may have changed while the page was open. @param {import("./dataset.js").DataSet} dataSet */
async function renew({ name, changed }) {
  const summary = await get(at(name)).catch(() => null);
  if (summary) changed(summary);
}

/**
 * Says what a statement that leads to several questions takes at most, while it is entered and before it is asked.
 * @param {HTMLElement} price @param {import("./dataset.js").DataSet} dataSet @param {import("./draft.js").Draft} draft
 */
function foretold(price, { name, detail }, draft) {
  let wait = 0;
  let last = "";
  return () => {
    clearTimeout(wait);
    const sql = draft.text.trim();
    if (sql === last) return;
    last = sql;
    if (!asksForGroups(sql)) { fill(price, priceOf(detail)); return; }
    wait = window.setTimeout(async () => {
      const told = await post(`${at(name)}/price`, { sql }).catch(() => null);
      if (sql === last) fill(price, told && mostOf(told));
    }, PAUSE);
  };
}

/** @param {{price: {questions: number, corrections: number, cost: number, unit: string}, dataset: import("./api.js").Summary}} told */
function mostOf({ price: { questions, corrections, cost, unit }, dataset }) {
  const paid = cost > 0 ? `, up to ${share(cost, dataset.limit, true)} of the budget (${atMost(cost)} ${unit})` : "";
  return `Up to ${many(questions, "question")}, up to ${many(corrections, "correction")}${paid}.`;
}

/** What a look at the data may cost; nothing where there are no more. @param {import("./api.js").Summary} summary */
function priceOf(summary) {
  const { price, limit, unit } = summary;
  return price === null || usedUp(summary) ? "" : `An answer from the data costs ${share(price, limit, true)} of the budget (${atMost(price)} ${unit}) and one correction. All others are free.`;
}

/**
 * Shows what the server has, asked for anew each time; a reply that another one has overtaken is dropped.
 * @param {HTMLElement} past @param {import("./main.js").App} app @param {import("./dataset.js").DataSet} dataSet
 */
function recentAnswers(past, app, { name, detail }) {
  const query = { limit: RECENT, person: app.custodian ? app.me.person : undefined };
  let shows = 0;
  return async () => {
    shows += 1;
    const mine = shows;
    const shown = await get(`${at(name)}/answers`, query).then(
      ({ answers }) => (answers.length ? answerTable(answers, detail, { times: false }) : h("p", { class: "empty" }, "No answers yet.")), refused);
    if (mine === shows) fill(past, shown);
  };
}
