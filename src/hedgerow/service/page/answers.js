/** Answers: one as a card, many as a table, all as a file; and where each came from. */

import { at } from "./api.js";
import { save } from "./file.js";
import { sectionHead } from "./dataset.js";
import { choice, fill, h, table } from "./dom.js";
import { atMost, count, csv, many, moment, percent, sentence, share } from "./format.js";
import { commonScale, intervalDrawing, intervalText } from "./interval.js";
import { asksForGroups } from "./groups.js";
import { attempt } from "./problems.js";
import { byName, everyPage, pages } from "./paging.js";

/** @type {Record<string, [string, string]>} What sources are called, and what they mean. */
const SOURCES = {
  hypothesis: ["hypothesis", "The hypothesis' answer was tested against the data, with noise, and found close enough."],
  data: ["data", "The hypothesis was too far off, so this is a fresh noisy count of the data, at the price of a correction. The hypothesis has learned from it."],
  cache: ["cache", "This was asked before. The same answer is given again, free of charge."],
  public: ["public", "This is known without looking at any record, so it costs nothing."],
  "hypothesis only": ["hypothesis only", "The hypothesis alone answered, without a look at the data. Nothing says how close it is, so there is no interval."],
};

/** A badge that opens to say what the source means. @param {import("./api.js").Answer} answer */
function sourceOf(answer) {
  const [name, meaning] = SOURCES[answer.source] ?? [answer.source, ""];
  return h("details", { class: "source" },
    h("summary", { class: `badge ${answer.source.replaceAll(" ", "-")}`, title: meaning }, name),
    h("div", { class: "source-text" }, h("p", {}, meaning), answer.covers && h("p", {}, sentence(`its interval covers ${answer.covers}`))));
}

/** A condition, or the statement of a group of counts, or what its absence means. @param {import("./api.js").Answer} answer */
function question(answer) {
  if (answer.counts) return h("code", { class: "where" }, answer.sql);
  return answer.where && answer.where !== "true" ? h("code", { class: "where" }, answer.where) : h("span", { class: "quiet" }, "all records");
}

/** The answer in a sentence. @param {import("./api.js").Answer} answer */
export function spoken(answer) {
  const interval = answer.low === null || answer.confidence === null ? "without an interval" : `${percent(answer.confidence)} interval from ${intervalText(answer)}`;
  return `Answer: about ${count(answer.value)}, ${interval}, from: ${answer.source}.`;
}

/** The latest answer, large. @param {import("./api.js").Answer} answer @param {import("./api.js").Summary} summary */
export function latest(answer, summary) {
  const total = summary.total ?? answer.value;
  const interval = answer.low === null || answer.confidence === null
    ? h("p", { class: "interval-text" }, "no interval: nothing was checked against the data")
    : [h("p", { class: "interval-text" }, `${count(answer.low)} to ${count(answer.high ?? answer.low)}`, h("span", { class: "quiet" }, ` \u00b7 ${percent(answer.confidence)} interval`)),
      intervalDrawing(answer, commonScale([answer, { ...answer, value: total, low: null, high: null }])),
      h("p", { class: "scale-text quiet" }, h("span", {}, "0"), h("span", {}, `all ${count(total)} records`))];
  return h("section", { class: "answer", "aria-label": "Latest answer" },
    h("p", { class: "answer-question" }, question(answer)),
    h("p", { class: "answer-value", title: String(answer.value) }, count(answer.value)),
    interval,
    h("div", { class: "answer-foot" }, sourceOf(answer), h("span", { class: "quiet" }, charged(answer, summary))));
}

/** @param {import("./api.js").Answer} answer @param {import("./api.js").Summary} summary */
function charged(answer, summary) {
  return answer.charged > 0 ? `${share(answer.charged, summary.limit, true)} of the budget charged` : "free of charge";
}

/**
 * @param {import("./api.js").Answer[]} answers @param {import("./api.js").Summary} summary
 * @param {{times?: boolean, people?: boolean}} [shown]
 */
export function answerTable(answers, summary, { times = true, people = false } = {}) {
  const tail = (/** @type {import("./api.js").Answer} */ answer) => [...(times ? [h("time", { datetime: answer.at }, moment(answer.at))] : []), ...(people ? [answer.person ?? ""] : [])];
  const scale = commonScale(answers.filter((answer) => !answer.counts));
  const columns = [
    { title: "Condition", class: "wide" }, { title: "Answer", class: "n strong" }, { title: "Interval", class: "drawn" },
    { title: "Source" }, { title: `Charged (${summary.unit})`, class: "n" },
    ...(times ? [{ title: "When", class: "when" }] : []), ...(people ? [{ title: "Person" }] : []),
  ];
  return table("Answers, newest first", columns, statements(answers).map(([answer, ...others]) => (others.length ? [...taken([answer, ...others], summary), ...tail(answer)] : [
    question(answer), answer.counts ? h("span", { class: "quiet" }, many(answer.counts, "count")) : h("span", { title: String(answer.value) }, count(answer.value)),
    answer.counts ? "" : [intervalDrawing(answer, scale), h("span", { class: "interval-small" }, intervalText(answer), answer.confidence !== null && h("span", { class: "quiet" }, ` (${percent(answer.confidence)})`))],
    sourceOf(answer), answer.charged > 0 ? atMost(answer.charged) : "0",
    ...tail(answer),
  ])), "answers");
}

/**
 * Answers that one statement led to, one after the other, stand together.
 * @param {import("./api.js").Answer[]} answers @returns {import("./api.js").Answer[][]}
 */
function statements(answers) {
  /** @type {import("./api.js").Answer[][]} */
  const found = [];
  for (const answer of answers) {
    const last = found.at(-1);
    if (last && answer.sql && asksForGroups(answer.sql) && last[0].sql === answer.sql && last[0].person === answer.person) last.push(answer);
    else found.push([answer]);
  }
  return found;
}

/** What a statement took. @param {import("./api.js").Answer[]} answers @param {import("./api.js").Summary} summary */
function taken(answers, summary) {
  const charges = answers.map((answer) => answer.charged).filter((charge) => charge > 0);
  const sum = charges.reduce((whole, charge) => whole + charge, 0);
  return [h("code", { class: "where" }, answers[0].sql), h("span", { class: "quiet" }, many(answers.length, "question")), "",
    many(charges.length, "correction"), sum > 0 ? [atMost(sum), h("span", { class: "quiet" }, ` ${share(sum, summary.limit, true)}`)] : "0"];
}

/** What every source means, for those who want to know before they ask. */
export function legend() {
  return h("details", { class: "legend" }, h("summary", {}, "What the sources mean"),
    h("dl", {}, Object.entries(SOURCES).map(([source, [name, meaning]]) => h("div", {},
      h("dt", {}, h("span", { class: `badge ${source.replaceAll(" ", "-")}` }, name)), h("dd", {}, meaning)))));
}

/** @param {HTMLElement} place @param {import("./main.js").App} app @param {import("./dataset.js").DataSet} dataSet */
export async function answersSection(place, app, { name, detail }) {
  const said = h("div", {});
  const list = h("div", {});
  const people = app.custodian ? byName(await everyPage("people", "people")).map((/** @type {any} */ each) => [each.name, each.name]) : [];
  const person = choice([["", "everybody"], ...people], "");
  const query = () => ({ person: person.value });
  const button = h("button", { type: "button", class: "button" }, "Download all as CSV");
  button.addEventListener("click", () => attempt(button, said, async () => {
    save(new Blob([asCsv(await everyPage(`${at(name)}/answers`, "answers", query()))], { type: "text/csv" }), `${name}-answers.csv`);
  }));
  const show = () => pages(list, `${at(name)}/answers`, "answers", query(),
    (answers) => answerTable(answers, detail, { people: app.custodian }), "No answers yet.");
  person.addEventListener("change", show);
  fill(place, sectionHead("Answers", app.custodian ? "Every answer that was given, newest first." : "Every answer that you were given, newest first."),
    h("div", { class: "tools" }, app.custodian && h("label", { class: "inline" }, h("span", {}, "Answers of"), person), button),
    said, legend(), list);
  await show();
}

/** @param {import("./api.js").Answer[]} answers */
export function asCsv(answers) {
  const head = ["at", "person", "condition", "answer", "low", "high", "confidence", "source", "charged", "spent", "updates_left", "sql", "counts"];
  return csv(head, answers.map((each) => [each.at, each.person, each.where, each.value, each.low, each.high, each.confidence,
    each.source, each.charged, each.spent, each.updates_left, each.sql, each.counts ?? ""]));
}
