/** Letting a person in with a few choices: who, as what, and to which data sets. */

import { at, post, put } from "./api.js";
import { announce, choice, field, fill, freshId, h, tick } from "./dom.js";
import { moment } from "./format.js";
import { alarm, onSubmit } from "./problems.js";

const QUESTIONS = 500;
const SHARE = 1 / 4;
const DAYS = 30;

/**
 * @typedef {{name: string, role: "analyst" | "custodian", title: string, limited?: boolean, everything?: boolean, means: string}} Preset
 * @type {Preset[]} The first is the safest.
 */
const PRESETS = [
  { name: "share", role: "analyst", title: "ask, within a share", limited: true, means: `An analyst who may ask ${QUESTIONS} questions of each data set, at the price of a quarter of its budget at most.` },
  { name: "ask", role: "analyst", title: "ask, without limits", means: "An analyst who may spend all of the budget of each data set. Set limits later under Manage." },
  { name: "custodian", role: "custodian", title: "look after these data sets", means: "A custodian of the chosen data sets, who sees everybody's answers, lets others in and can close them." },
  { name: "all", role: "custodian", title: "look after the whole server", everything: true, means: "A custodian like you, of all data sets, also later ones." },
];

/**
 * @param {import("./main.js").App} app @param {any[]} known People. @param {import("./api.js").Summary[]} sets
 * @param {(token: string, person: string) => any} shown The token, to be copied. @param {() => Promise<any>} refresh
 */
export function letIn(app, known, sets, shown, refresh) {
  const people = new Map(known.map((each) => [each.name, each.role]));
  const names = h("datalist", { id: freshId() }, known.map((each) => h("option", { value: each.name })));
  const who = h("input", { autocomplete: "off", spellcheck: "false", list: names.id });
  const presets = PRESETS.filter((each) => app.whole || each.role === "analyst");
  const kind = choice(presets.map((each) => [each.name, each.title]), presets[0].name);
  const boxes = sets.map((set) => h("input", { type: "checkbox", value: set.name, checked: sets.length === 1 }));
  const opens = h("fieldset", { class: "ticks" }, h("legend", {}, "Which data sets"), sets.map((set, i) => tick(boxes[i], set.title || set.name)));
  const meaning = h("p", { class: "hint" });
  const [said, made, button] = [h("div", {}), h("div", {}), h("button", { class: "button primary" }, "Let in")];
  const preset = () => presets.find((each) => each.name === kind.value) ?? presets[0];
  const show = () => {
    opens.hidden = preset().everything === true;
    fill(meaning, `${preset().means} The token lasts ${DAYS} days and can be revoked at any time.`);
  };
  kind.addEventListener("change", show);
  show();

  /** Why it cannot be done; empty if it can. @param {string} name @param {import("./api.js").Summary[]} chosen */
  function hindrance(name, chosen) {
    const { role, everything } = preset();
    const has = people.get(name);
    if (!name) return "Say who it is.";
    if (has === undefined && !app.whole) return `Nobody here is called ${name}. A custodian of all data sets adds people.`;
    if (has !== undefined && has !== role) return `${name} ${has === "removed" ? "was removed" : `is ${has === "analyst" ? "an" : "a"} ${has}`}. Change the role in the list below, or take another name.`;
    return everything || chosen.length ? "" : "Choose at least one data set.";
  }

  const form = h("form", { class: "let-in", novalidate: true }, names,
    h("div", { class: "row-form" }, field("Who", who, "A name of letters, digits and . _ @ + -, new or in the list below."), h("div", {}, field("May", kind), meaning), opens), button);
  onSubmit(form, button, said, async () => {
    const { role, everything, limited } = preset();
    const name = who.value.trim();
    const chosen = sets.filter((_, i) => boxes[i].checked);
    const wrong = hindrance(name, chosen);
    if (wrong) {
      fill(said, alarm("Nobody was let in", [wrong]));
      return;
    }
    if (!people.has(name)) {
      await post("people", { name, role });
      people.set(name, role);
    }
    for (const set of limited ? chosen : []) await put(`${at(set.name)}/grants/${encodeURIComponent(name)}`, { queries: QUESTIONS, budget: SHARE * set.limit, storage: null });
    const reply = await post("tokens", { person: name, datasets: everything ? "all" : chosen.map((set) => set.name), days: DAYS });
    fill(made, shown(reply.token, name), h("p", { class: "hint" }, `${preset().means} Until ${moment(reply.expires)}.`));
    announce("The token was made. Copy it now: it is shown once.");
    who.value = "";
    await refresh();
  });
  return h("div", {}, form, said, made);
}
