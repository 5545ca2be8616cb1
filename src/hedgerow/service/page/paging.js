/** Long lists, page by page. */

import { get } from "./api.js";
import { fill, h } from "./dom.js";
import { attempt, refused } from "./problems.js";

const PAGE = 100;

/**
 * Show a list and a button for more of it.
 * @param {HTMLElement} place @param {string} path @param {string} key Under which the reply holds the entries.
 * @param {Record<string, any>} query @param {(entries: any[], reply: any) => Node} shown @param {string} empty Said of an empty list.
 */
export async function pages(place, path, key, query, shown, empty) {
  /** @type {any[]} */
  const entries = [];
  const said = h("div", {});
  const more = h("button", { type: "button", class: "button" }, "Show more");
  let cursor = "";

  async function next() {
    const reply = await get(path, { ...query, limit: PAGE, cursor });
    entries.push(...reply[key]);
    cursor = reply.next ?? "";
    fill(place, entries.length ? shown(entries, reply) : h("p", { class: "empty" }, empty), said, cursor && more);
  }

  more.addEventListener("click", () => attempt(more, said, next));
  await next().catch((problem) => fill(place, refused(problem)));
}

/**
 * The whole list.
 * @param {string} path @param {string} key @param {Record<string, any>} [query] @returns {Promise<any[]>}
 */
export async function everyPage(path, key, query = {}) {
  const entries = [];
  for (let cursor = ""; ;) {
    const reply = await get(path, { ...query, limit: PAGE, cursor });
    entries.push(...reply[key]);
    if (!reply.next) return entries;
    cursor = reply.next;
  }
}

/** @template {{name: string}} T @param {T[]} entries @returns {T[]} */
export const byName = (entries) => entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
