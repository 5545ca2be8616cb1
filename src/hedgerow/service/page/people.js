/** People and their tokens, for custodians. */

import { post, put, remove } from "./api.js";
import { announce, choice, confirmed, field, fill, h, table, tick } from "./dom.js";
import { moment } from "./format.js";
import { byName, everyPage } from "./paging.js";
import { letIn } from "./presets.js";
import { alarm, attempt, onSubmit } from "./problems.js";

const PEOPLE = [{ title: "Name" }, { title: "Role" }, { title: "Since", class: "when" }, { title: "" }];
const TOKENS = [{ title: "Token" }, { title: "Person" }, { title: "Data sets", class: "wide" }, { title: "Note", class: "wide" }, { title: "Good until", class: "when" }, { title: "" }];

const LEAD = "Custodians may do everything. Analysts ask the data sets that their tokens open.";
const LEAD_OF_SOME = "Your token opens some data sets only, and so does every token that you make; it cannot outlive yours. "
  + "A custodian of all data sets adds people; those with a token or limits for your data sets are listed here.";

/** @param {HTMLElement} place @param {import("./main.js").App} app */
export async function peopleView(place, app) {
  const [people, tokens, makers] = [h("div", {}), h("div", {}), h("div", {})];

  async function refresh() {
    const [known, made, sets] = await Promise.all([everyPage("people", "people").then(byName), everyPage("tokens", "tokens"), everyPage("datasets", "datasets").then(byName)]);
    fill(people, table("People", PEOPLE, known.map((/** @type {any} */ each) => personRow(app, each, refresh))));
    fill(tokens, made.length ? table("Tokens", TOKENS, made.map((/** @type {any} */ each) => row(each, refresh))) : h("p", { class: "empty" }, "No tokens yet."));
    return [known, sets];
  }

  const [known, sets] = await refresh();
  const maker = (/** @type {any[]} */ all, chosen = "") => fill(makers, tokenForm(app, all, sets, refresh, chosen));
  maker(known);
  fill(place, h("h1", { tabindex: "-1" }, "People & tokens"),
    h("p", { class: "lead" }, app.whole ? LEAD : LEAD_OF_SOME),
    h("h2", {}, "Let someone in"), letIn(app, known, sets, shownOnce, async () => maker((await refresh())[0])),
    h("details", { class: "options step-by-step" }, h("summary", {}, "Step by step"),
      app.whole && [h("h3", {}, "Add a person"), personForm(async (name) => maker((await refresh())[0], name))],
      h("h3", {}, "Make a token"), makers),
    h("h2", {}, "People"), people, h("h2", {}, "Tokens"), tokens);
}

/** @param {import("./main.js").App} app @param {any} person @param {() => Promise<any>} refresh */
function personRow(app, { name, role, created }, refresh) {
  const said = h("div", {});
  /** @param {string} word @param {string} told @param {() => Promise<any>} run */
  const act = (word, told, run) => {
    const button = h("button", { type: "button", class: "link danger-text", "aria-label": `${word} ${name}` }, word);
    button.addEventListener("click", () => attempt(button, said, async () => {
      if (!await confirmed(`${word} ${name}?`, told, word)) return;
      await run();
      announce(`${name}: done.`);
      await refresh();
    }));
    return button;
  };
  const at = `people/${encodeURIComponent(name)}`;
  const other = role === "analyst" ? "custodian" : "analyst";
  const mine = !app.whole || name === app.me.person;
  return [name, role, moment(created), mine ? "" : [
    act(`Make ${other}`, other === "custodian" ? "Custodians may do everything. This holds for the tokens that there are, too." : "Analysts ask the data sets that their tokens open.", () => put(at, { role: other })), " ",
    role !== "removed" && act("Remove", "All their tokens are revoked. What they asked, and what it cost, stays.", () => remove(at)), said]];
}

/** @param {(name: string) => Promise<void>} done */
function personForm(done) {
  const name = h("input", { autocomplete: "off", required: true });
  const role = choice([["analyst", "analyst"], ["custodian", "custodian"]], "analyst");
  const [said, button] = [h("div", {}), h("button", { class: "button" }, "Add person")];
  const form = h("form", { class: "row-form", novalidate: true }, field("Name", name), field("Role", role), button);
  onSubmit(form, button, said, async () => {
    const added = name.value.trim();
    await post("people", { name: added, role: role.value });
    announce(`${added} was added.`);
    name.value = "";
    await done(added);
  });
  return h("div", {}, form, said);
}

/**
 * @param {import("./main.js").App} app @param {any[]} known @param {import("./api.js").Summary[]} sets @param {() => Promise<any>} refresh
 * @param {string} chosen Whose token it will be.
 */
function tokenForm(app, known, sets, refresh, chosen) {
  const people = known.filter((each) => each.role !== "removed" && (app.whole || each.role === "analyst" || each.name === app.me.person));
  const person = choice(people.map((each) => [each.name, each.name === each.role ? each.name : `${each.name} (${each.role})`]), chosen || (people.find((each) => each.role === "analyst") ?? people[0])?.name);
  const every = h("input", { type: "checkbox" });
  const boxes = sets.map((set) => h("input", { type: "checkbox", value: set.name }));
  every.addEventListener("change", () => boxes.forEach((box) => { box.disabled = every.checked; }));
  const days = h("input", { type: "number", min: 1, step: 1, inputmode: "numeric", placeholder: app.whole ? "30" : "30, or as long as yours" });
  const ever = h("input", { type: "checkbox" });
  ever.addEventListener("change", () => { days.disabled = ever.checked; });
  const note = h("input", { autocomplete: "off" });
  const [said, made, button] = [h("div", {}), h("div", {}), h("button", { class: "button" }, "Make token")];
  const form = h("form", { class: "row-form", novalidate: true }, field("Person", person), field("Valid for days", days), field("Note", note),
    (app.whole || app.me.expires === null) && h("fieldset", { class: "ticks" }, h("legend", {}, "Lasts"), tick(ever, "forever")),
    h("fieldset", { class: "ticks" }, h("legend", {}, "Opens"), app.whole && tick(every, "all data sets, also later ones"), sets.map((set, i) => tick(boxes[i], set.title || set.name))),
    button);
  onSubmit(form, button, said, async () => {
    const datasets = every.checked ? "all" : boxes.filter((box) => box.checked).map((box) => box.value);
    if (!datasets.length) {
      fill(said, alarm("This token would open nothing", [app.whole ? "Choose what it opens: some data sets, or all of them." : "Choose what it opens."]));
      return;
    }
    const lasts = ever.checked ? { days: "ever" } : days.value ? { days: Number(days.value) } : {};
    const reply = await post("tokens", { person: person.value, datasets, note: note.value.trim(), ...lasts });
    fill(made, shownOnce(reply.token, person.value));
    announce("The token was made. Copy it now: it is shown once.");
    await refresh();
  });
  return h("div", {}, form, said, made);
}

/** @param {string} text @param {string} person */
function shownOnce(text, person) {
  const input = h("input", { class: "code", readonly: true, value: text, "aria-label": `Token of ${person}`, on: { focus: () => input.select() } });
  const copy = h("button", { type: "button", class: "button" }, "Copy");
  copy.addEventListener("click", async () => {
    copy.textContent = await copied(input) ? "Copied" : "Select it and copy";
  });
  return h("div", { class: "notice good" }, h("p", { class: "notice-title" }, `The token of ${person}`),
    h("p", {}, "Copy it now and pass it on safely. It is shown only now: the server keeps just a hash of it."),
    h("div", { class: "adder-row" }, input, copy));
}

/** The clipboard is closed to pages over plain HTTP; the older way still works there. @param {any} input */
async function copied(input) {
  try {
    await navigator.clipboard.writeText(input.value);
    return true;
  } catch {
    input.select();
    return document.execCommand("copy");
  }
}

/** @param {any} token @param {() => Promise<any>} refresh */
function row(token, refresh) {
  const said = h("div", {});
  const button = h("button", { type: "button", class: "link danger-text", "aria-label": `Revoke the token ${token.id} of ${token.person}` }, "Revoke");
  button.addEventListener("click", () => attempt(button, said, async () => {
    if (!await confirmed("Revoke this token?", `${token.person} can no longer sign in with the token ${token.id}. This cannot be undone.`, "Revoke")) return;
    await remove(`tokens/${encodeURIComponent(token.id)}`);
    announce("The token is revoked.");
    await refresh();
  }));
  return [h("code", {}, token.id), token.person, token.datasets === "all" ? "all" : token.datasets.join(", ") || "none", token.note ?? "",
    token.revoked ? h("span", { class: "quiet" }, "revoked ", moment(token.revoked)) : moment(token.expires) || "no expiry",
    token.revoked ? "" : [button, said]];
}
