/** The question as it will be asked: its text, how sure its interval is to be, and the button. */

import { Problem } from "./api.js";
import { askable, statement } from "./conditions.js";
import { hindrance, send } from "./draft.js";
import { choice, field, fill, h } from "./dom.js";
import { alarm, attempt, notice, onSubmit } from "./problems.js";

/**
 * The text of a question: the builder's, until it is edited by hand.
 * @param {import("./dataset.js").DataSet} dataSet @param {import("./draft.js").Draft} draft
 */
export function questionText({ name, detail }, draft) {
  const area = h("textarea", { class: "code sql", rows: 4, spellcheck: "false", autocapitalize: "off", autocomplete: "off" });
  const note = h("div", { class: "sql-note" });
  const aside = h("p", { class: "aside" }, "Set aside while the text is edited by hand.");

  function write() {
    if (!draft.byHand) draft.text = statement(name, askable(detail), draft.conditions, draft.shape);
    area.value = draft.text;
    const back = h("button", { type: "button", class: "link", on: { click: takeBack } }, "Go back to the builder");
    fill(note, draft.byHand && h("p", {}, "Edited by hand: the text is asked as it is, whatever the builder shows. ", back));
    aside.hidden = !draft.byHand;
  }

  function takeBack() {
    draft.byHand = false;
    write();
    area.focus();
  }

  area.addEventListener("input", () => {
    draft.text = area.value;
    if (draft.byHand) return;
    draft.byHand = true;
    write();
  });
  write();
  return { area, note, aside, write };
}

/** How sure an interval is to be. @param {import("./draft.js").Draft} draft */
function confidenceChoice(draft) {
  const select = choice([["0.9", "90%"], ["0.95", "95%"], ["0.99", "99%"]], draft.confidence);
  select.addEventListener("change", () => { draft.confidence = select.value; });
  return h("label", { class: "inline" }, h("span", {}, "Intervals hold with"), select);
}

/**
 * The form that asks.
 * @param {import("./dataset.js").DataSet} dataSet @param {import("./draft.js").Draft} draft
 * @param {{text: ReturnType<typeof questionText>, price: HTMLElement, answered: (reply: any) => void, refused: () => void}} parts
 * @returns {{form: HTMLElement, said: HTMLElement, ask: () => void}}
 */
export function questionForm({ name, detail }, draft, { text, price, answered, refused }) {
  const said = h("div", { class: "said" });
  const button = h("button", { class: "button primary", "aria-keyshortcuts": "Control+Enter" }, "Ask");
  const again = () => fill(said, notice("plain", "The connection failed", ["Trying again. The question is asked only once."]));

  async function asked() {
    const wrong = hindrance(draft, askable(detail));
    if (wrong) {
      fill(said, alarm("This cannot be asked yet", [wrong]));
      return;
    }
    try {
      const reply = await send(name, draft, again);
      fill(said);
      answered(reply);
    } catch (problem) {
      if (problem instanceof Problem && problem.status === 403) refused();
      throw problem;
    }
  }

  const keys = h("span", { class: "hint keys" }, h("kbd", {}, "Ctrl"), " + ", h("kbd", {}, "Enter"));
  const form = h("form", { class: "sql-form", novalidate: true },
    field("Question as SQL", text.area), text.note, h("div", { class: "ask-row" }, confidenceChoice(draft), keys, button), price);
  onSubmit(form, button, said, asked);
  return { form, said, ask: () => { attempt(button, said, asked); } };
}
