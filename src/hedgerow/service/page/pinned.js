/** Pinned statements of one person about one data set: shown with what is known of their answers, which costs nothing. */

import { at, get, post, put } from "./api.js";
import { sectionHead } from "./dataset.js";
import { announce, fill, h } from "./dom.js";
import { draftOf } from "./draft.js";
import { groupsOf } from "./groups.js";
import { refused } from "./problems.js";

/** @param {string} name Of the data set. @returns {Promise<string[]>} */
const pinned = async (name) => (await get(`${at(name)}/pins`)).statements;

/**
 * Pin a statement at the end, or take it down; resolves with all that are pinned then.
 * @param {string} name @param {string} sql @param {boolean} up @returns {Promise<string[]>}
 */
async function pin(name, sql, up) {
  const others = (await pinned(name)).filter((each) => each !== sql);
  return (await put(`${at(name)}/pins`, { statements: up ? [...others, sql] : others })).statements;
}

/**
 * A button that pins a statement, or takes it down.
 * @param {string} name @param {string} sql
 */
export function pinButton(name, sql) {
  const button = h("button", { type: "button", class: "link" }, "Pin to the dashboard");
  const failed = h("span", {});
  /** @param {string[]} all */
  const show = (all) => {
    button.textContent = all.includes(sql) ? "Pinned to the dashboard" : "Pin to the dashboard";
    button.setAttribute("aria-pressed", String(all.includes(sql)));
  };
  /** @param {Promise<void>} shown */
  const told = (shown) => shown.catch((problem) => fill(failed, refused(problem)));
  button.addEventListener("click", () => told(pinned(name).then((all) => pin(name, sql, !all.includes(sql))).then((all) => {
    show(all);
    announce(all.includes(sql) ? "Pinned." : "Taken down.");
  })));
  told(pinned(name).then(show));
  return h("span", {}, button, failed);
}

/** @param {HTMLElement} place @param {import("./main.js").App} app @param {import("./dataset.js").DataSet} dataSet */
export async function pinnedSection(place, app, dataSet) {
  const list = h("div", { class: "pinned" });
  fill(place, sectionHead("Dashboard", "Statements that you have pinned, with what is known of their answers: those that were given, else the hypothesis alone. Looking costs nothing."), list);
  /** @param {string[]} statements */
  const show = (statements) => {
    fill(list, statements.length ? statements.map((sql) => card(app, dataSet, sql, () => drop(sql))) : h("p", { class: "empty" },
      "Nothing is pinned yet. ", h("a", { href: `#/d/${encodeURIComponent(dataSet.name)}/ask` }, "Ask a question"), ", and pin it below its answer."));
  };
  /** @param {string} sql */
  const drop = (sql) => pin(dataSet.name, sql, false).then(show, (problem) => fill(list, refused(problem)));
  show(await pinned(dataSet.name));
}

/** @param {import("./main.js").App} app @param {import("./dataset.js").DataSet} dataSet @param {string} sql @param {() => void} drop */
function card(app, { name }, sql, drop) {
  const result = h("div", { "aria-busy": "true" });
  const toAsk = () => {
    Object.assign(draftOf(app.draft(name)), { text: sql, byHand: true, last: undefined });
    app.go(`#/d/${encodeURIComponent(name)}/ask`);
  };
  post(`${at(name)}/tables`, { sql, free: true }).then((reply) => {
    const alone = "hypothesis only" in reply.sources;
    fill(result, groupsOf(reply, `Answer of ${sql}`), alone && h("p", { class: "hint" }, "Some of it was never asked of the data, so it has no interval. ",
      h("button", { type: "button", class: "link", on: { click: toAsk } }, "Ask the data"), ", which may cost something: the price is told first."));
  }, (problem) => fill(result, refused(problem))).finally(() => result.removeAttribute("aria-busy"));
  return h("article", { class: "pin" },
    h("div", { class: "pin-head" }, h("h3", {}, h("code", { class: "where" }, sql)),
      h("button", { type: "button", class: "link", "aria-label": `Take down ${sql}`, on: { click: drop } }, "Take down")),
    result);
}
