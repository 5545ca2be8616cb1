/** Counts of one attribute as bars: lying ones for listed values, standing ones for numbers. */

import { draw } from "./dom.js";
import { count, cut } from "./format.js";

const ROW = 26;

/** Round numbers from 0 to the largest value or just above it. @param {number} most @param {number} about How many. @returns {number[]} */
export function ticks(most, about) {
  const raw = most / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= raw) ?? raw;
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, i) => i * step);
}

/**
 * Lying bars, one a value, in the order of the domain.
 * @param {string} name @param {string[]} labels @param {number[]} counts @param {number} width
 */
export function bars(name, labels, counts, width) {
  const longest = Math.max(...labels.map((label) => [...label].length));
  const left = Math.round(Math.min(longest * 8 + 14, width * 0.38));
  const right = 64;
  const most = Math.max(...counts, 1e-9);
  const length = (/** @type {number} */ value) => (Math.max(0, value) / most) * (width - left - right);
  return drawing(`Counts of ${name}`, width, labels.length * ROW + 4, labels.map((label, i) => draw("g", { class: "bar-row", transform: `translate(0 ${i * ROW + 2})` },
    draw("title", {}, `${label}: ${count(counts[i])}`),
    draw("rect", { class: "hit", width, height: ROW }),
    draw("text", { class: "label", x: left - 10, y: ROW / 2, "text-anchor": "end", "dominant-baseline": "central" }, cut(label, Math.floor((left - 12) / 8))),
    draw("rect", { class: "bar-mark", x: left, y: 4, width: length(counts[i]), height: ROW - 8, rx: 2, "data-count": counts[i] }),
    draw("text", { class: "number", x: left + length(counts[i]) + 8, y: ROW / 2, "dominant-baseline": "central" }, count(counts[i])))));
}

/**
 * Standing bars over an axis; neighbours are drawn as one where there are more values than room.
 * @param {string} name @param {string[]} labels @param {number[]} counts @param {number} width
 * @param {number} [apart] So many values at the end are no numbers: the missing and the other value.
 */
export function columns(name, labels, counts, width, apart = 0) {
  const [left, right, upper, lower, height] = [56, 8, 12, 48, 320];
  const room = width - left - right;
  const numbers = labels.length - apart;
  const together = Math.max(1, Math.ceil(numbers / (Math.floor(room / 2.5) - apart)));
  const groups = [...grouped(labels.slice(0, numbers), counts, together), ...grouped(labels.slice(numbers), counts.slice(numbers), 1)];
  const lines = ticks(Math.max(...groups.map((group) => group.value), 1e-9), 4);
  const most = lines[lines.length - 1];
  const step = room / groups.length;
  const y = (/** @type {number} */ value) => height - lower - (Math.max(0, value) / most) * (height - upper - lower);
  const gap = step > 6 ? 0.15 * step : step > 3 ? 1 : 0;
  return drawing(`Counts of ${name}`, width, height, [
    ...lines.map((value) => draw("g", {}, draw("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      draw("text", { class: "number", x: left - 8, y: y(value), "text-anchor": "end", "dominant-baseline": "central" }, count(value)))),
    ...groups.map((group, i) => draw("g", { class: "bar-row" }, draw("title", {}, `${group.label}: ${count(group.value)}`),
      draw("rect", { class: "hit", x: left + i * step, y: upper, width: step, height: height - upper - lower }),
      draw("rect", { class: "bar-mark", x: left + i * step + gap / 2, y: y(group.value), width: step - gap, height: height - lower - y(group.value), "data-count": group.value }))),
    ...axis(groups.map((group) => group.label), apart, left, step, height - lower),
    draw("text", { class: "axis-title", x: left + room / 2, y: height - 6, "text-anchor": "middle" },
      together > 1 ? `${name} (each bar holds ${together} values)` : name),
  ]);
}

/** @param {string[]} labels @param {number[]} counts @param {number} together */
function grouped(labels, counts, together) {
  const starts = Array.from({ length: Math.ceil(labels.length / together) }, (_, i) => i * together);
  return starts.map((start) => {
    const end = Math.min(labels.length, start + together);
    const value = counts.slice(start, end).reduce((sum, each) => sum + each, 0);
    return { label: end - start > 1 ? `${labels[start]} to ${labels[end - 1]}` : labels[start], value };
  });
}

/**
 * As many labels under the bars as there is room for, those of values apart among them.
 * @param {string[]} labels @param {number} apart @param {number} left @param {number} step @param {number} y
 */
function axis(labels, apart, left, step, y) {
  const longest = Math.min(12, Math.max(...labels.map((label) => [...label].length)));
  const every = Math.max(1, Math.ceil((longest * 7.4 + 10) / step));
  const numbers = labels.length - apart;
  const labelled = (/** @type {number} */ i) => (i < numbers ? i % every === 0 && (apart === 0 || i + every <= numbers) : i === numbers || every === 1);
  return labels.flatMap((label, i) => (!labelled(i) ? [] : [draw("text", { class: "label", x: left + (i + 0.5) * step, y: y + 18, "text-anchor": "middle" },
    draw("title", {}, label), cut(label, 12))]));
}

/** @param {string} title @param {number} width @param {number} height @param {any[]} children */
export function drawing(title, width, height, children) {
  return draw("svg", { class: "chart", role: "img", "aria-label": `${title}; the table below shows the same`, viewBox: `0 0 ${width} ${height}`, width, height }, children);
}
