/** The query builder: conditions on attributes, joined by "and". */

import { clause, fresh, mistake, named, specials } from "./conditions.js";
import { choice, field, fill, freshId, h, tick } from "./dom.js";
import { kindOf } from "./attributes.js";
import { valueList } from "./values.js";

/**
 * @param {import("./api.js").Attribute[]} attributes @param {import("./conditions.js").Condition[]} conditions Changed in place.
 * @param {() => void} onChange @returns {HTMLElement}
 */
export function builder(attributes, conditions, onChange) {
  const list = h("div", { class: "conditions" });
  const select = h("select", { id: freshId() });
  const add = h("button", { type: "button", class: "button" }, "Add");
  const adder = h("div", { class: "adder" }, h("label", { for: select.id }, "Add a condition on"), h("div", { class: "adder-row" }, select, add));

  function offer() {
    const free = attributes.filter((attribute) => !conditions.some((condition) => condition.name === attribute.name));
    fill(select, free.map((attribute) => h("option", { value: attribute.name }, attribute.name)));
    adder.hidden = free.length === 0;
  }

  function show() {
    const empty = h("p", { class: "empty" }, "No condition yet: this is about all records.");
    fill(list, conditions.length ? conditions.map((condition) => card(named(attributes, condition.name), condition, onChange, () => drop(condition))) : empty);
    offer();
  }

  /** @param {import("./conditions.js").Condition} condition */
  function drop(condition) {
    conditions.splice(conditions.indexOf(condition), 1);
    show();
    onChange();
    select.focus();
  }

  add.addEventListener("click", () => {
    if (!select.value) return;
    conditions.push(fresh(select.value));
    show();
    onChange();
    /** @type {HTMLElement | null} */ (list.lastElementChild?.querySelector("input, select, textarea"))?.focus();
  });
  show();
  return h("div", { class: "builder" }, list, adder);
}

/**
 * What is asked for: a count, or a figure of a numeric attribute; of all, or for each value of an attribute.
 * @param {import("./api.js").Attribute[]} attributes @param {import("./draft.js").Shape} shape Changed in place. @param {() => void} onChange
 */
export function shapes(attributes, shape, onChange) {
  const numeric = attributes.filter((attribute) => attribute.kind !== "categorical").map(({ name }) => name);
  const measures = [["count", "number of records"], ...(numeric.length ? [["avg", "average"], ["median", "median"], ["sum", "sum"]] : [])];
  const measure = choice(measures, shape.measure);
  const of = choice(numeric.map((name) => [name, name]), shape.of || numeric[0]);
  const by = choice([["", "all together"], ...attributes.map(({ name }) => [name, name])], shape.by);
  const which = field("of", of);
  const changed = () => {
    which.hidden = measure.value === "count";
    Object.assign(shape, { measure: measure.value, of: measure.value === "count" ? "" : of.value, by: by.value });
  };
  for (const each of [measure, of, by]) each.addEventListener("change", () => { changed(); onChange(); });
  changed();
  return h("div", { class: "row-form shapes" }, field("Show", measure), which, field("For each", by));
}

/**
 * @param {import("./api.js").Attribute} attribute @param {import("./conditions.js").Condition} condition
 * @param {() => void} onChange @param {() => void} onDrop
 */
function card(attribute, condition, onChange, onDrop) {
  const note = h("p", { class: "card-note", "aria-live": "polite" });
  const remark = () => {
    const wrong = mistake(attribute, condition);
    note.classList.toggle("wrong", wrong !== "");
    fill(note, wrong || (clause(attribute, condition) ? "" : "Nothing is chosen yet, so this is not part of the question."));
  };
  const changed = () => { remark(); onChange(); };
  const body = attribute.kind === "integer" ? ranges(attribute, condition, changed) : listed(attribute, condition, changed);
  remark();
  return h("fieldset", { class: "card" },
    h("legend", {}, h("span", { class: "name" }, attribute.name), h("span", { class: "quiet" }, kindOf(attribute))),
    h("button", { type: "button", class: "link drop", "aria-label": `Remove the condition on ${attribute.name}`, on: { click: onDrop } }, "Remove"),
    body, note);
}

/** @param {import("./api.js").Attribute} attribute @param {import("./conditions.js").Condition} condition @param {() => void} changed */
function ranges(attribute, condition, changed) {
  /** @param {"from" | "to"} end @param {string} label @param {number | null} bound */
  const number = (end, label, bound) => {
    const input = h("input", {
      type: "text", inputmode: "numeric", class: "number", value: condition[end], placeholder: bound ?? "", autocomplete: "off",
      "aria-label": `${attribute.name} ${label.toLowerCase()}`,
    });
    input.addEventListener("input", () => { condition[end] = input.value; changed(); });
    return h("label", { class: "end" }, h("span", {}, label), input);
  };
  return h("div", {},
    h("div", { class: "range" }, number("from", "From", attribute.low), number("to", "To", attribute.high)),
    specials(attribute).map((label) => {
      const box = h("input", { type: "checkbox", checked: condition.chosen.has(label) });
      box.addEventListener("change", () => { condition.chosen[box.checked ? "add" : "delete"](label); changed(); });
      return tick(box, label === attribute.missing ? ["is missing ", h("code", {}, label)] : ["is another value ", h("code", {}, label)]);
    }));
}

/** @param {import("./api.js").Attribute} attribute @param {import("./conditions.js").Condition} condition @param {() => void} changed */
function listed(attribute, condition, changed) {
  const sense = choice([["is", "is one of"], ["not", "is none of"]], condition.not ? "not" : "is", { "aria-label": `${attribute.name}: which values` });
  sense.addEventListener("change", () => { condition.not = sense.value === "not"; changed(); });
  if (attribute.values === null) return h("div", {}, sense, typed(attribute, condition, changed));
  const remark = (/** @type {string} */ label) => (label === attribute.missing ? "missing" : label === attribute.other ? "all others" : "");
  return h("div", {}, sense, valueList(attribute.values, condition.chosen, attribute.name, changed, remark));
}

/** @param {import("./api.js").Attribute} attribute @param {import("./conditions.js").Condition} condition @param {() => void} changed */
function typed(attribute, condition, changed) {
  const area = h("textarea", { rows: 3, value: condition.typed, spellcheck: "false", "aria-label": `Values of ${attribute.name}, one per line` });
  area.addEventListener("input", () => { condition.typed = area.value; changed(); });
  return h("div", {}, area, h("p", { class: "hint" }, "There are too many values to list. Write one per line."));
}
