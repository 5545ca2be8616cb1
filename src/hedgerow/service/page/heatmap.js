/** Counts of two attributes as a heat map. */

import { drawing } from "./bars.js";
import { draw } from "./dom.js";
import { count, cut } from "./format.js";

/** @param {import("./picture.js").Marginal} marginal @param {number} width */
export function heatMap({ attributes, labels, counts }, width) {
  const [down, across] = labels;
  const longest = Math.max(...down.map((label) => [...label].length));
  const left = Math.round(Math.min(longest * 8 + 16, width * 0.34));
  const upper = 30;
  const side = (width - left - 4) / across.length;
  const tall = Math.max(5, Math.min(34, Math.max(side, 16), 680 / down.length));
  const most = Math.max(...counts.flat(), 1e-9);
  const lower = 66;
  const bottom = upper + tall * down.length;
  const skip = Math.ceil(15 / tall);
  return drawing(`Counts of ${attributes.join(" by ")}`, width, bottom + lower, [
    draw("text", { class: "axis-title", x: left, y: 16 }, `${cut(attributes[0], 24)} down, ${cut(attributes[1], 24)} across`),
    ...down.map((label, i) => i % skip === 0 && draw("text", { class: "label", x: left - 10, y: upper + (i + 0.5) * tall, "text-anchor": "end", "dominant-baseline": "central" },
      draw("title", {}, label), cut(label, Math.floor((left - 14) / 8)))),
    ...down.flatMap((row, i) => across.map((column, j) => cell(row, column, counts[i][j], most, left + j * side, upper + i * tall, side, tall))),
    ...under(across, left, side, bottom),
    ...scale(most, left, bottom + 40, width),
  ]);
}

/**
 * The darker, the more; a gap between cells where there is room for one.
 * @param {string} row @param {string} column @param {number} value @param {number} most
 * @param {number} x @param {number} y @param {number} width @param {number} height
 */
function cell(row, column, value, most, x, y, width, height) {
  const gap = width > 12 && height > 12 ? 1 : 0;
  return draw("rect", {
    class: "heat", x: x.toFixed(2), y: y.toFixed(2), width: (width - gap).toFixed(2), height: (height - gap).toFixed(2),
    "fill-opacity": shade(value, most).toFixed(3), "data-count": value,
  }, draw("title", {}, `${row}, ${column}: ${count(value)}`));
}

/** @param {number} value @param {number} most */
const shade = (value, most) => 0.05 + 0.95 * Math.max(0, Math.min(1, value / most));

/** @param {string[]} labels @param {number} left @param {number} side @param {number} y */
function under(labels, left, side, y) {
  const longest = Math.min(14, Math.max(...labels.map((label) => [...label].length)));
  const wanted = longest * 7.4 + 8;
  const every = side >= 34 ? 1 : Math.max(1, Math.ceil(wanted / side));
  const letters = Math.max(2, Math.floor((every * side - 8) / 8));
  return labels.flatMap((label, i) => (i % every ? [] : [draw("text", { class: "label", x: left + (i + 0.5) * side, y: y + 18, "text-anchor": "middle" },
    draw("title", {}, label), cut(label, Math.min(14, letters)))]));
}

/** @param {number} most @param {number} left @param {number} y @param {number} width */
function scale(most, left, y, width) {
  const side = Math.min(28, (width - left - 90) / 6);
  return [
    draw("text", { class: "number", x: left, y: y + 8, "dominant-baseline": "central" }, "0"),
    ...[0, 0.2, 0.4, 0.6, 0.8, 1].map((share, i) => draw("rect", { class: "heat-key", x: left + 16 + i * side, y, width: side - 1, height: 16, "fill-opacity": shade(share, 1) })),
    draw("text", { class: "number", x: left + 24 + 6 * side, y: y + 8, "dominant-baseline": "central" }, count(most)),
  ];
}
