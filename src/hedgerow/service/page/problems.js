/** Refusals and notes as the page shows them. */

import { Problem } from "./api.js";
import { h } from "./dom.js";

/**
 * What went wrong and what to do about it, to be read out at once.
 * @param {unknown} problem @returns {HTMLElement}
 */
export function refused(problem) {
  if (!(problem instanceof Problem)) {
    return notice("alarm", "Something went wrong on this page", [String(problem)]);
  }
  const wait = problem.wait > 0 && `You can try again in ${problem.wait} s.`;
  return notice("alarm", problem.title || "This was refused",
    [problem.message, ...problem.fields.map(named), problem.remedy, wait]);
}

/**
 * A panel with a heading and paragraphs.
 * @param {"alarm" | "caution" | "good" | "plain"} kind @param {string} title @param {(string | false | Node)[]} texts
 */
export function notice(kind, title, texts) {
  return h("div", { class: `notice ${kind}`, role: kind === "alarm" ? "alert" : undefined },
    h("p", { class: "notice-title" }, title),
    texts.filter(Boolean).map((text) => h("p", {}, text)));
}

/** @param {any} field A field of a request that was not understood. */
function named(field) {
  if (typeof field === "string") return field;
  const path = field.field ?? field.path ?? (Array.isArray(field.loc) ? field.loc.join(".") : field.loc) ?? "";
  const text = field.message ?? field.msg ?? field.detail ?? "";
  return path ? `${path}: ${text}` : String(text);
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
