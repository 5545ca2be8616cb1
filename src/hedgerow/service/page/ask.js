/** Asking: the builder, the question beside it, the latest answer, and the recent ones. */

import { at, get } from "./api.js";
import { answerTable, latest, legend, spoken } from "./answers.js";
import { builder } from "./builder.js";
import { askable } from "./conditions.js";
import { sectionHead } from "./dataset.js";
import { announce, fill, h } from "./dom.js";
import { draftOf } from "./draft.js";
import { atMost, share } from "./format.js";
import { groupsOf, spokenGroups } from "./groups.js";
import { usedUp } from "./gauge.js";
import { refused } from "./problems.js";
import { questionForm, questionText } from "./question.js";
import { firstUse, term } from "./terms.js";

const RECENT = 20;

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
    dataSet.changed(dataset);
    if ("rows" in reply) {
      fill(result, groupsOf(reply));
    } else {
      [draft.last] = reply.answers;
      fill(result, latest(reply.answers[0], dataset));
    }
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
  fill(place, sectionHead("How many records meet these conditions?", how()), firstUse(dataSet.detail),
    h("div", { class: "two" },
      h("div", {}, text.aside, h("div", {}, builder(askable(dataSet.detail), draft.conditions, text.write))),
      h("div", { class: "beside" }, form, said, result)),
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
