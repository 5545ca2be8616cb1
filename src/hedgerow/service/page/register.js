/** Registering a data set, for custodians. */

import { post } from "./api.js";
import { domainPart } from "./domain.js";
import { choice, field, fill, h } from "./dom.js";
import { alarm, attempt, onSubmit } from "./problems.js";
import { sourcePart } from "./source.js";

const NAME = /^[a-z0-9_-]{1,40}$/;
const BUDGETS = {
  pure: { title: "epsilon alone", parts: ["epsilon"] },
  approximate: { title: "epsilon and delta", parts: ["epsilon", "delta"] },
  concentrated: { title: "rho", parts: ["rho"] },
  gaussian: { title: "mu of Gaussian differential privacy", parts: ["mu"] },
};
const OPTIONS = [["first_release", "First release: share of the budget (0 for none)"], ["queries", "Questions to be ready for"], ["updates", "Corrections of the hypothesis"], ["threshold", "Threshold: error that is corrected (share of the records)"], ["alpha", "alpha"], ["beta", "beta"]];

/** @param {HTMLElement} place @param {import("./main.js").App} app */
export async function registerView(place, app) {
  const domain = domainPart();
  const parts = { source: sourcePart(domain.table), domain, budget: budgetPart(), options: optionsPart() };
  const preview = previewPart(parts);
  const name = namePart();
  const [said, button] = [h("div", {}), h("button", { class: "button primary" }, "Register")];
  const form = h("form", { class: "register", novalidate: true }, name.element, Object.values(parts).map((part) => part.element), preview, said, button);
  onSubmit(form, button, said, async () => {
    await domain.ready();
    const wrong = [name, parts.source, parts.domain, parts.budget].map((part) => part.mistake()).filter(Boolean);
    if (wrong.length) {
      fill(said, alarm("This cannot be registered yet", wrong));
      return;
    }
    const made = await post("datasets", {
      ...name.value(), source: await parts.source.value(), domain: parts.domain.value(), budget: parts.budget.value(), options: parts.options.value(),
    });
    app.go(`#/d/${encodeURIComponent(made.name)}/ask`);
  });
  fill(place, h("h1", { tabindex: "-1" }, "Register a data set"),
    h("p", { class: "lead" }, "Name the table, the values that its records could hold, and how much privacy may be spent on it in all. Pairs of its columns are learnt at once, with noise, for a quarter of that."), form);
}

/**
 * How exact the answers would be, before anything is spent.
 * @param {Record<string, any>} parts Of the form.
 */
function previewPart({ domain, budget, options, source }) {
  const records = h("input", { type: "number", min: 1, step: 1, inputmode: "numeric", placeholder: "50000" });
  const [said, button] = [h("div", { "aria-live": "polite" }), h("button", { type: "button", class: "button" }, "Preview")];
  button.addEventListener("click", () => attempt(button, said, async () => {
    await domain.ready();
    const wrong = [domain.mistake(), budget.mistake(), Number(records.value) >= 1 ? "" : "Give a public estimate of the number of records."].filter(Boolean);
    if (wrong.length) {
      fill(said, alarm("This cannot be previewed yet", wrong));
      return;
    }
    const columns = source.columns();
    const asked = budget.value();
    if (source.filtered() && asked.neighbours === "replace") asked.neighbours = "replace-then-filter";
    const { lines } = await post("plan", { domain: domain.value(), budget: asked, options: options.value(), records: Number(records.value), ...(columns && { columns }), ...source.persons() });
    fill(said, h("dl", { class: "plan" }, lines.flatMap((/** @type {{word: string, sentence: string}} */ line) => [h("dt", {}, line.word), h("dd", {}, line.sentence)])));
  }));
  return h("fieldset", {}, h("legend", {}, "Look before you spend"),
    h("div", { class: "row-form" }, field("Records, about", records, "A public estimate. Nothing is read and nothing is spent.")), h("div", {}, button), said);
}

/** What the data set is called, in addresses and by people. */
function namePart() {
  const name = h("input", { autocomplete: "off", spellcheck: "false", autocapitalize: "off" });
  const title = h("input", { autocomplete: "off" });
  return {
    element: h("fieldset", {}, h("legend", {}, "Name"), h("div", { class: "row-form" },
      field("Name", name, "Lower-case letters, digits, - and _; it appears in questions and addresses."), field("Title", title, "For people. Optional."))),
    mistake: () => (NAME.test(name.value.trim()) ? "" : "The name needs 1 to 40 lower-case letters, digits, - or _."),
    value: () => ({ name: name.value.trim(), title: title.value.trim() }),
  };
}

/** The privacy budget. */
function budgetPart() {
  const kind = choice(Object.entries(BUDGETS).map(([value, { title }]) => [value, title]), "pure");
  const input = (/** @type {string} */ placeholder) => h("input", { type: "number", min: 0, step: "any", inputmode: "decimal", placeholder });
  /** @type {Record<string, any>} */
  const inputs = { epsilon: input("1"), delta: input("1e-9"), rho: input("0.1"), mu: input("0.25") };
  /** @type {Record<string, HTMLElement>} */
  const fields = Object.fromEntries(Object.entries(inputs).map(([name, each]) => [name, field(name, each)]));
  const neighbours = choice([["add-remove", "presence and record"], ["replace", "the record alone"]], "add-remove");
  const parts = () => BUDGETS[/** @type {keyof typeof BUDGETS} */ (kind.value)].parts;
  const show = () => Object.entries(fields).forEach(([name, each]) => { each.hidden = !parts().includes(name); });
  kind.addEventListener("change", show);
  show();
  return {
    element: h("fieldset", {}, h("legend", {}, "Budget"), h("div", { class: "row-form" }, field("Counted in", kind), Object.values(fields), field("Protects", neighbours)),
      h("p", { class: "hint" }, "All that will ever be spent on this table; it cannot be raised later. Smaller is more private and less accurate; with a small delta, such as 1e-9, the same epsilon buys finer answers. Where the record alone is protected, the number of records is public.")),
    mistake: () => (parts().every((name) => Number(inputs[name].value) > 0) ? "" : `The budget needs ${parts().join(" and ")} above 0.`),
    value: () => ({ ...Object.fromEntries(parts().map((name) => [name, Number(inputs[name].value)])), neighbours: neighbours.value }),
  };
}

/** Options of the algorithm that have good values of their own. */
function optionsPart() {
  const inputs = OPTIONS.map(([name, title]) => ({ name, title, input: h("input", { type: "number", min: 0, step: "any", inputmode: "decimal", placeholder: "chosen for you" }) }));
  const variant = choice([["", "chosen for you"], ["4a", "4a"], ["4b", "4b"], ["4c", "4c"], ["pay-as-you-go", "pay as you go"]], "");
  const step = choice([["", "chosen for you"], ["theorem", "theorem"], ["residual", "residual"], ["refit", "refit"]], "");
  return {
    element: h("details", { class: "options" }, h("summary", {}, "Options of the algorithm"), h("div", { class: "row-form" },
      inputs.map(({ title, input }) => field(title, input)), field("Variant", variant), field("Step", step))),
    value: () => ({
      ...Object.fromEntries(inputs.filter(({ input }) => input.value !== "").map(({ name, input }) => [name, Number(input.value)])),
      ...(variant.value && { variant: variant.value }), ...(step.value && { step: step.value }),
    }),
  };
}
