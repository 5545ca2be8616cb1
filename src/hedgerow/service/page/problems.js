/** Refusals and notes as the page shows them. */

import { Problem } from "./api.js";
import { h } from "./dom.js";
import { sentence } from "./format.js";

/**
 * What went wrong and what to do about it, to be read out at once.
 * @param {unknown} problem @returns {HTMLElement}
 */
export function refused(problem) {
  if (!(problem instanceof Problem)) {
    return alarm("Something went wrong on this page", [String(problem)]);
  }
  const wait = problem.wait > 0 && `You can try again in ${problem.wait} s.`;
  return alarm(problem.title || "This was refused", [sentence(problem.message), ...problem.fields.map(named), sentence(problem.remedy), wait]);
}

/** A panel that is read out at once. @param {string} title @param {(string | false | Node)[]} texts */
export function alarm(title, texts) {
  const panel = notice("alarm", title, texts);
  panel.setAttribute("role", "alert");
  return panel;
}

/**
 * A panel with a heading and paragraphs.
 * @param {"alarm" | "caution" | "good" | "plain"} kind @param {string} title @param {(string | false | Node)[]} texts
 */
export function notice(kind, title, texts) {
  return h("div", { class: `notice ${kind}` },
    h("p", { class: "notice-title" }, title),
    texts.filter(Boolean).map((text) => (typeof text === "string" ? h("p", {}, text) : text)));
}

/** In place of the hypothesis while it knows nothing: drawn, it would look like data. @param {string} name Of the data set. */
export const nothingLearnt = (name) => h("div", { class: "notice plain" }, h("p", { class: "notice-title" }, "Nothing learnt yet"),
  h("p", {}, "The hypothesis still takes every record that could exist to be equally likely, so it says nothing about the data. It learns from each question that the data answer."),
  h("p", {}, h("a", { href: `#/d/${encodeURIComponent(name)}/ask` }, "Ask a question"), " first, or have the data set start from an earlier release."));

/** @param {{where: string, reason: string}} field A field of a request that was not understood. */
function named(field) {
  return field.where ? `${field.where}: ${field.reason}` : String(field.reason);
}

/**
 * Run something that the reader started: the button is at rest meanwhile, and a refusal is shown at its place.
 * @param {HTMLElement} button @param {HTMLElement} place Where refusals are shown. @param {() => Promise<void>} action
 */
export async function attempt(button, place, action) {
  if (button.getAttribute("aria-disabled") === "true") return;
  button.setAttribute("aria-disabled", "true");
  place.replaceChildren();
  try {
    await action();
  } catch (problem) {
    place.replaceChildren(refused(problem));
  } finally {
    button.removeAttribute("aria-disabled");
  }
}

/**
 * Attempt something whenever a form is sent.
 * @param {HTMLFormElement} form @param {HTMLElement} button @param {HTMLElement} place @param {() => Promise<void>} action
 */
export function onSubmit(form, button, place, action) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(button, place, action);
  });
}
