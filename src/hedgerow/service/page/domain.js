/** The domain of a new data set: a form of columns and rules, and the same as text beside it; either changes the other. */

import { post } from "./api.js";
import { KINDS, asYaml, columnOf, isMapping, isNested, lacking, namesIn, newColumn, specOf } from "./columns.js";
import { choice, field, fill, h, tick } from "./dom.js";
import { cut, sentence } from "./format.js";

/** @typedef {import("./columns.js").Column} Column */

const PAUSE = 500;
const LONGEST = 50_000;
const SAMPLE = "sex: [Female, Male]\nage: {min: 0, max: 120, levels: [5]}\nward: {values: [A, B], missing: true}";

/** The part of the form about the domain. */
export function domainPart() {
  /** @type {{columns: Column[], beside: Record<string, any>, wrong: string, named: string[]}} With what the text says beside the columns, why it cannot be read, and the columns that the file of the table names. */
  const state = { columns: [], beside: {}, wrong: "", named: [] };
  const cards = h("div", { class: "conditions" });
  const rules = h("div", { class: "rule-list" });
  const offer = h("div", {});
  const said = h("p", { class: "hint", "aria-live": "polite" });
  const area = h("textarea", { class: "code domain-text", rows: 14, spellcheck: "false", placeholder: SAMPLE });
  const format = choice([["yaml", "YAML"], ["json", "JSON"]], "yaml");
  const file = h("input", { type: "file", accept: ".json,.yaml,.yml,application/json" });
  const name = h("input", { autocomplete: "off", spellcheck: "false" });
  const add = h("button", { type: "button", class: "button" }, "Add column");
  let timer = 0;
  /** What is under way about the text; a registration waits for it. @type {Promise<void>} */
  let reading = Promise.resolve();
  let changes = 0;

  /** The content of the domain, of the columns that are complete. */
  function content() {
    const attributes = Object.fromEntries(state.columns.filter((each) => !lacking(each)).map((each) => [each.name, specOf(each)]));
    return Object.keys(state.beside).length ? { attributes, ...state.beside } : attributes;
  }

  /** @param {Record<string, any>} found */
  function take(found) {
    const { attributes, ...beside } = isNested(found) ? found : { attributes: found };
    state.columns = Object.entries(attributes).map(([each, spec]) => columnOf(each, spec));
    state.beside = beside;
    form.inert = false;
    show();
  }

  function show() {
    fill(cards, state.columns.length ? state.columns.map((column) => card(column, edited, () => drop(column)))
      : h("p", { class: "empty" }, "No column yet. Choose the file of the table above, add columns here, or write the domain beside."));
    fill(rules, ruleList(state.beside, edited));
    const others = state.named.filter((each) => !state.columns.some((column) => column.name === each));
    fill(offer, others.length > 0 && h("button", { type: "button", class: "link", on: { click: () => addColumns(others) } }, `Add the file's other columns: ${cut(others.join(", "), 60)}`));
  }

  function write() {
    const found = content();
    const none = !Object.keys(isNested(found) ? found.attributes : found).length && !Object.keys(state.beside).length;
    area.value = none ? "" : format.value === "json" ? `${JSON.stringify(found, null, 2)}\n` : asYaml(found);
    state.wrong = "";
  }

  /** After a change of the form. */
  function edited() {
    write();
    later(check);
  }

  /** @param {() => Promise<void>} work */
  function later(work) {
    changes += 1;
    const mine = changes;
    clearTimeout(timer);
    reading = new Promise((done) => {
      timer = setTimeout(() => (mine === changes ? work() : Promise.resolve()).then(done), PAUSE);
    });
  }

  /** Ask the server what records could exist. */
  async function check() {
    const missing = state.columns.map(lacking).find(Boolean);
    const found = content();
    if (missing || !area.value.trim()) {
      fill(said, missing ?? "");
      return;
    }
    await post("domain", { domain: found }).then(({ records }) => fill(said, `${records}.`), refusedText);
  }

  /** Read the text, whoever wrote it. */
  async function read() {
    const text = area.value;
    if (!text.trim()) {
      state.wrong = "";
      take({});
      fill(said);
      return;
    }
    try {
      const { domain, records } = await post("domain", sent(text));
      if (text !== area.value) return;
      state.wrong = "";
      take(domain);
      fill(said, `${records}.`);
    } catch (problem) {
      if (text === area.value) state.wrong = refusedText(problem);
    }
  }

  /** @param {any} problem @returns {string} */
  function refusedText(problem) {
    const text = [sentence(problem.message ?? String(problem)), sentence(problem.remedy ?? "")].filter(Boolean).join(" ");
    fill(said, text);
    return text;
  }

  /** @param {Column} column */
  function drop(column) {
    state.columns.splice(state.columns.indexOf(column), 1);
    show();
    edited();
    name.focus();
  }

  /** @param {string[]} names */
  function addColumns(names) {
    state.columns.push(...names.filter((each) => each && !state.columns.some((column) => column.name === each)).map(newColumn));
    show();
    edited();
  }

  add.addEventListener("click", () => {
    if (!name.value.trim()) return;
    addColumns([name.value.trim()]);
    name.value = "";
    /** @type {HTMLElement | null} */ (cards.lastElementChild?.querySelector("select"))?.focus();
  });
  const form = h("div", {}, offer, cards, h("div", { class: "adder" }, h("label", { for: (name.id = "new-column") }, "Add a column named"), h("div", { class: "adder-row" }, name, add)), rules);
  const changedText = () => {
    form.inert = true; // until it says what the text says; else the next change of it would undo the text
    later(read);
  };
  area.addEventListener("input", changedText);
  format.addEventListener("change", write);
  file.addEventListener("change", async () => {
    if (!file.files.length) return;
    area.value = await file.files[0].text();
    changedText();
  });
  show();

  return {
    element: h("fieldset", { class: "domain" }, h("legend", {}, "Domain"),
      h("p", { class: "hint" }, "Say what records could hold, from public knowledge alone: what stands here may not be read off the data. The form and the text say the same; change either."),
      h("div", { class: "two" },
        form,
        h("div", { class: "beside" }, h("label", { class: "inline" }, h("span", {}, "As"), format), field("What records could hold", area), said,
          field("Load it from a file", file, "YAML or JSON, as hedgerow domain writes it.")))),
    /** The names in the first row of a table's file; nothing else of it is looked at. @param {File | undefined} table */
    table: async (table) => {
      const names = table && /\.csv$/i.test(table.name) ? namesIn(await table.slice(0, 65_536).text()) : [];
      state.named = names;
      if (state.columns.length) show();
      else addColumns(names);
    },
    ready: () => reading,
    mistake: () => state.wrong || (!area.value.trim() && !state.columns.length ? "Give the domain." : state.columns.map(lacking).find(Boolean) ?? ""),
    value: content,
  };
}

/** A text as it is sent to be read; a long one only if it is JSON. @param {string} text */
function sent(text) {
  if (text.length <= LONGEST) return { text };
  try {
    const domain = JSON.parse(text);
    if (isMapping(domain)) return { domain };
  } catch { /* it is YAML, or nothing that can be read: the server says which */ }
  return { text };
}

/** @param {Column} column @param {() => void} changed @param {() => void} onDrop */
function card(column, changed, onDrop) {
  const body = h("div", {});
  const kind = choice(KINDS.filter(([value]) => value !== "hand" || column.kind === "hand"), column.kind, { "aria-label": `${column.name} holds` });
  const show = () => fill(body, controls(column, changed));
  kind.addEventListener("change", () => {
    column.kind = /** @type {Column["kind"]} */ (kind.value);
    show();
    changed();
  });
  show();
  return h("fieldset", { class: "card" }, h("legend", {}, h("span", { class: "name" }, column.name)),
    h("button", { type: "button", class: "link drop", "aria-label": `Remove the column ${column.name}`, on: { click: onDrop } }, "Remove"),
    h("div", {}, kind, body));
}

/** The controls of a column's kind. @param {Column} column @param {() => void} changed @returns {any[]} */
function controls(column, changed) {
  const entry = (/** @type {"low" | "high" | "edges" | "levels"} */ key, /** @type {Record<string, any>} */ more = {}) => {
    const input = h("input", { value: column[key], autocomplete: "off", ...more, on: { input: () => { column[key] = input.value; changed(); } } });
    return input;
  };
  const box = (/** @type {"missing" | "other" | "wholeNumbers"} */ key, /** @type {string} */ text) => {
    const input = h("input", { type: "checkbox", checked: Boolean(column[key]), on: { change: () => { column[key] = input.checked; changed(); } } });
    return tick(input, text);
  };
  const ends = (/** @type {string} */ type) => h("div", { class: "row-form" }, field("First", entry("low", { type, step: type === "number" ? 1 : undefined })), field("Last", entry("high", { type, step: type === "number" ? 1 : undefined })));
  const coarser = field("Coarser levels", entry("levels", { placeholder: "none" }), "Widths of runs of values, as 5, 20.");
  const rest = [box("missing", "Cells may be empty"), box("other", "Other values may occur, and count as one")];
  if (column.kind === "listed") return [field("Values", valuesOf(column, changed), "One per line."), ...rest];
  if (column.kind === "whole") return [ends("number"), coarser, ...rest];
  if (column.kind === "days") return [ends("date"), ...rest];
  if (column.kind === "bins") return [field("Edges", entry("edges", { placeholder: "0, 20, 40, 100" }), "Numbers from the lowest to the highest."), box("wholeNumbers", "The numbers are whole"), coarser, ...rest];
  return column.kind === "hand" ? [h("p", { class: "card-note" }, "This entry says more than the form knows. Change it in the text.")] : [];
}

/** @param {Column} column @param {() => void} changed */
function valuesOf(column, changed) {
  const known = new Map(column.values.map((each) => [String(each), each]));
  const area = h("textarea", { rows: Math.min(8, Math.max(3, column.values.length)), spellcheck: "false", value: column.values.join("\n") });
  area.addEventListener("input", () => {
    column.values = area.value.split("\n").map((/** @type {string} */ line) => line.trim()).filter(Boolean).map((/** @type {string} */ line) => known.get(line) ?? line);
    changed();
  });
  return area;
}

/** Rules that no record breaks. @param {Record<string, any>} beside Sections beside the columns; changed in place. @param {() => void} changed */
function ruleList(beside, changed) {
  const rules = /** @type {any[]} */ (Array.isArray(beside.constraints) ? beside.constraints : []);
  const again = () => {
    if (rules.length) beside.constraints = rules;
    else delete beside.constraints;
    changed();
  };
  const list = h("div", { class: "conditions" });
  const show = () => fill(list, rules.map((rule, i) => line(rule, i)));
  const input = (/** @type {any} */ rule, /** @type {string} */ key, /** @type {string} */ label) => {
    const control = h("input", { class: "code", value: rule[key], spellcheck: "false", on: { input: () => { rule[key] = control.value; again(); } } });
    return field(label, control);
  };
  /** @param {any} rule @param {number} i */
  function line(rule, i) {
    const texts = isMapping(rule) && Object.values(rule).every((each) => typeof each === "string");
    const parts = texts && "impossible" in rule ? [input(rule, "impossible", "Impossible is")]
      : texts && "then" in rule ? [input(rule, "if", "If"), input(rule, "then", "then")]
        : [h("p", { class: "card-note" }, h("code", {}, JSON.stringify(rule)), " Change it in the text.")];
    const remove = h("button", { type: "button", class: "link drop", "aria-label": `Remove rule ${i + 1}`, on: { click: () => { rules.splice(i, 1); show(); again(); } } }, "Remove");
    return h("fieldset", { class: "card" }, h("legend", {}, h("span", { class: "name" }, `Rule ${i + 1}`)), remove, h("div", {}, parts));
  }
  const adding = (/** @type {string} */ title, /** @type {any} */ rule) => h("button", { type: "button", class: "button", on: { click: () => { rules.push({ ...rule }); show(); again(); } } }, title);
  show();
  return h("details", { open: rules.length > 0 }, h("summary", {}, "Rules that no record breaks"), list,
    h("div", { class: "choices" }, adding("Add: impossible", { impossible: "" }), adding("Add: if, then", { if: "", then: "" })));
}
