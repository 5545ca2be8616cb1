/** A question while it is being entered, and sending it so that it is asked once only. */

import { Problem, ask, freshKey } from "./api.js";
import { mistake, named } from "./conditions.js";

/**
 * @typedef {{measure: "count" | "avg" | "median" | "sum", of: string, by: string}} Shape What is asked for: of which attribute, and for each value of which.
 * @typedef {object} Draft What is being entered.
 * @property {import("./conditions.js").Condition[]} conditions
 * @property {Shape} shape
 * @property {string} text The SQL.
 * @property {boolean} byHand Whether it was edited.
 * @property {string} confidence
 * @property {import("./api.js").Answer | undefined} last The latest answer.
 * @property {{sql: string, confidence: number, key: string} | null} pending Sent, and perhaps heard.
 */

/** What was entered before, or nothing yet. @param {any} kept Changed in place. @returns {Draft} */
export function draftOf(kept) {
  return Object.assign(kept, { conditions: [], shape: { measure: "count", of: "", by: "" }, text: "", confidence: "0.95", byHand: false, pending: null, ...kept });
}

/** What keeps a question from being sent; empty if nothing does. @param {Draft} draft @param {import("./api.js").Attribute[]} attributes */
export function hindrance(draft, attributes) {
  if (draft.byHand) return draft.text.trim() ? "" : "Write a question, or go back to the builder.";
  const found = draft.conditions.map((condition) => [condition.name, mistake(named(attributes, condition.name), condition)]);
  const wrong = found.find(([, text]) => text);
  return wrong ? wrong.join(": ") : "";
}

/**
 * Send a question. As long as it is not known whether the server has heard it, the same question goes under the same key.
 * @param {string} name Of the data set. @param {Draft} draft @param {() => void} onRetry
 * @returns {ReturnType<typeof ask>}
 */
export async function send(name, draft, onRetry) {
  const [sql, confidence] = [draft.text.trim(), Number(draft.confidence)];
  const same = draft.pending?.sql === sql && draft.pending.confidence === confidence;
  draft.pending = same && draft.pending ? draft.pending : { sql, confidence, key: freshKey() };
  try {
    const reply = await ask(name, draft.pending, onRetry);
    draft.pending = null;
    return reply;
  } catch (problem) {
    if (!(problem instanceof Problem)) throw forgotten(draft, problem);
    problem.message = problem.message.replace(/^question 1: /, "");
    throw problem.passes ? problem : forgotten(draft, problem);
  }
}

/** A failure after which the next question has a key of its own. @param {Draft} draft @param {unknown} problem */
function forgotten(draft, problem) {
  draft.pending = null;
  return problem;
}
