/** Pinned statements of one person about one data set: shown with what is known of their answers, which costs nothing. */

import { at, post } from "./api.js";
import { sectionHead } from "./dataset.js";
import { announce, fill, h } from "./dom.js";
import { draftOf } from "./draft.js";
import { groupsOf } from "./groups.js";
import { refused } from "./problems.js";

const MOST = 24;

/** @param {import("./main.js").App} app @param {string} name Of the data set. */
function shelf(app, name) {
  const key = `hedgerow-pinned:${app.me.person}:${name}`;
  /** @returns {string[]} */
  const all = () => {
    try {
      const kept = JSON.parse(localStorage.getItem(key) ?? "[]");
      return Array.isArray(kept) ? kept.filter((each) => typeof each === "string").slice(0, MOST) : [];
    } catch {
      return [];
    }
  };
  /** @param {string[]} statements */
  const keep = (statements) => localStorage.setItem(key, JSON.stringify(statements.slice(0, MOST)));
  return {
    all,
    /** @param {string} sql */ has: (sql) => all().includes(sql),
    /** @param {string} sql */ add: (sql) => keep([...all().filter((each) => each !== sql), sql]),
    /** @param {string} sql */ drop: (sql) => keep(all().filter((each) => each !== sql)),
  };
}

/**
 * A button that pins a statement, or takes it down.
 * @param {import("./main.js").App} app @param {string} name @param {string} sql
 */
export function pinButton(app, name, sql) {
  const kept = shelf(app, name);
  const button = h("button", { type: "button", class: "link" });
  const show = () => {
    button.textContent = kept.has(sql) ? "Pinned to the dashboard" : "Pin to the dashboard";
    button.setAttribute("aria-pressed", String(kept.has(sql)));
  };
  button.addEventListener("click", () => {
    if (kept.has(sql)) kept.drop(sql); else kept.add(sql);
    show();
    announce(kept.has(sql) ? "Pinned." : "Taken down.");
  });
  show();
  return button;
}

/** @param {HTMLElement} place @param {import("./main.js").App} app @param {import("./dataset.js").DataSet} dataSet */
export async function pinnedSection(place, app, dataSet) {
  const kept = shelf(app, dataSet.name);
  const list = h("div", { class: "pinned" });
  fill(place, sectionHead("Dashboard", "Statements that you have pinned in this browser, with what is known of their answers: those that were given, else the hypothesis alone. Looking costs nothing."), list);
  const show = () => {
    const statements = kept.all();
    fill(list, statements.length ? statements.map((sql) => card(app, dataSet, sql, () => { kept.drop(sql); show(); })) : h("p", { class: "empty" },
      "Nothing is pinned yet. ", h("a", { href: `#/d/${encodeURIComponent(dataSet.name)}/ask` }, "Ask a question"), ", and pin it below its answer."));
  };
  show();
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
