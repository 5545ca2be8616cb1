/** An interval as a small drawing. */

import { draw } from "./dom.js";
import { count } from "./format.js";

/**
 * The scale that a list of answers shares: from 0 (or below) to the largest value.
 * @param {import("./api.js").Answer[]} answers @returns {[number, number]}
 */
export function commonScale(answers) {
  const ends = answers.flatMap((answer) => [answer.value, answer.low ?? answer.value, answer.high ?? answer.value]);
  const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  return high > low ? [low, high] : [0, 1];
}

/**
 * A band from low to high with a mark at the value; only the mark where there is no interval.
 * @param {import("./api.js").Answer} answer @param {[number, number]} scale
 */
export function intervalDrawing(answer, [least, most]) {
  const place = (/** @type {number} */ value) => 2 + (96 * (value - least)) / (most - least);
  const at = place(answer.value);
  const parts = [draw("line", { class: "axis", x1: "2%", x2: "98%", y1: 10, y2: 10 })];
  if (answer.low !== null && answer.high !== null) {
    const [low, high] = [place(answer.low), place(answer.high)];
    parts.push(draw("rect", { class: "band", x: `${low}%`, width: `${Math.max(0.8, high - low)}%`, y: 5, height: 10, rx: 2 }));
  }
  parts.push(draw("line", { class: "mark", x1: `${at}%`, x2: `${at}%`, y1: 2, y2: 18 }));
  return draw("svg", { class: "interval", role: "img", "aria-label": intervalText(answer), width: "100%", height: 20 }, parts);
}

/** @param {import("./api.js").Answer} answer */
export function intervalText(answer) {
  if (answer.low === null && answer.source !== "hypothesis only") return "one for each group";
  return answer.low === null || answer.high === null ? "no interval" : `${count(answer.low)} to ${count(answer.high)}`;
}
