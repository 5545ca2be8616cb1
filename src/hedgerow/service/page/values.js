/** A list of values to tick, with a search where there are many. */

import { fill, h, tick } from "./dom.js";
import { many } from "./format.js";

const SEARCHED = 12;

/**
 * @param {string[]} labels @param {Set<string>} chosen Changed in place. @param {string} what Whose values they are.
 * @param {() => void} onChange @param {(label: string) => string} [remark] Said beside a value.
 * @returns {HTMLElement}
 */
export function valueList(labels, chosen, what, onChange, remark = () => "") {
  let last = -1;
  const number = h("span", { class: "quiet", "aria-live": "off" });
  const boxes = labels.map((label, i) => h("input", { type: "checkbox", checked: chosen.has(label), on: { click: (/** @type {MouseEvent} */ event) => ticked(event, i) } }));
  const rows = labels.map((label, i) => tick(boxes[i], [label, remark(label) && h("span", { class: "quiet" }, ` ${remark(label)}`)], label));
  const none = h("p", { class: "quiet", hidden: true }, "No value matches.");

  /** @param {any} event @param {number} i */
  function ticked(event, i) {
    const run = event.shiftKey && last >= 0 ? [Math.min(i, last), Math.max(i, last)] : [i, i];
    for (let each = run[0]; each <= run[1]; each += 1) if (!rows[each].hidden) mark(each, boxes[i].checked);
    last = i;
    changed();
  }

  /** @param {number} i @param {boolean} on */
  function mark(i, on) {
    boxes[i].checked = on;
    if (on) chosen.add(labels[i]);
    else chosen.delete(labels[i]);
  }

  function changed() {
    fill(number, `${chosen.size} of ${many(labels.length, "value")}`);
    onChange();
  }

  /** @param {boolean} on */
  const all = (on) => () => {
    labels.forEach((_, i) => { if (!rows[i].hidden) mark(i, on); });
    changed();
  };

  /** @param {string} text */
  function search(text) {
    const wanted = text.trim().toLowerCase();
    labels.forEach((label, i) => { rows[i].hidden = !label.toLowerCase().includes(wanted); });
    none.hidden = rows.some((row) => !row.hidden);
  }

  fill(number, `${chosen.size} of ${many(labels.length, "value")}`);
  return h("div", { class: "values" },
    labels.length > SEARCHED && searchBox(`Search the values of ${what}`, search),
    h("div", { class: "value-list", role: "group", "aria-label": `Values of ${what}` }, rows, none),
    h("p", { class: "value-tools" }, number,
      h("button", { type: "button", class: "link", on: { click: all(true) } }, "All"),
      h("button", { type: "button", class: "link", on: { click: all(false) } }, "None")));
}

/** @param {string} label @param {(text: string) => void} onInput */
export function searchBox(label, onInput) {
  const input = h("input", { type: "search", class: "search", placeholder: "Search", "aria-label": label, autocomplete: "off", spellcheck: "false" });
  input.addEventListener("input", () => onInput(input.value));
  return input;
}
