/** The three words of the server's own, explained where they stand. */

import { freshId, h } from "./dom.js";

/** @type {Record<string, string>} */
const TERMS = {
  hypothesis: "The server's public model of the data. It answers questions and learns from noisy answers alone, so asking it costs nothing, and it may be off.",
  threshold: "So far off, in records, must the hypothesis seem to be before the data answer in its place. The test is noisy, so this is no sharp line.",
  correction: "A fresh noisy count of the data, given where the hypothesis was too far off. The budget pays for it, and the hypothesis learns from it. Their number is limited.",
};

/** A word that says what it means when it is pressed. @param {string} word @param {string} [text] The word as it stands here. */
export function term(word, text = word) {
  const id = freshId();
  return [h("button", { type: "button", class: "term", popovertarget: id }, text),
    h("span", { id, popover: "auto", class: "explained", role: "note" }, h("b", {}, word), h("br"), TERMS[word])];
}

/** All of them, for those who are here for the first time; unfolded where there is room. @param {import("./api.js").Summary} summary */
export function firstUse({ mine }) {
  const open = mine.asked === 0 && matchMedia("(min-width: 42rem)").matches;
  return h("details", { class: "legend first-use", open }, h("summary", {}, "How answers are made"),
    h("dl", {}, Object.entries(TERMS).map(([word, meaning]) => h("div", {}, h("dt", {}, word), h("dd", {}, meaning)))));
}
