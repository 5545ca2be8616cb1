/** The page as a whole: who is signed in, and which view the address names. */

import * as api from "./api.js";
import { auditView } from "./audit.js";
import { dataSetView } from "./dataset.js";
import { dataSetsView } from "./datasets.js";
import { h, fill } from "./dom.js";
import { peopleView } from "./people.js";
import { refused } from "./problems.js";
import { registerView } from "./register.js";
import { leftView, signIn, waysIn } from "./signin.js";

/**
 * @typedef {object} App What every view is given.
 * @property {api.Me} me
 * @property {boolean} custodian
 * @property {boolean} whole Whether the token is good for the whole server.
 * @property {(name: string) => any} draft What is being entered about a data set; it outlives the views.
 * @property {(address: string) => void} go
 */

const top = /** @type {HTMLElement} */ (document.getElementById("top"));
const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const foot = /** @type {HTMLElement} */ (document.getElementById("foot"));

const GENERAL = [
  { address: "#/", title: "Data sets", view: dataSetsView, custodians: false },
  { address: "#/people", title: "People & tokens", view: peopleView, custodians: true },
  { address: "#/register", title: "Register", view: registerView, custodians: true, whole: true },
  { address: "#/audit", title: "Audit", view: auditView, custodians: true },
];

/** @type {App | null} */
let app = null;
/** @type {Map<string, any>} */
let drafts = new Map();

/** @param {api.Me} me @returns {App} */
function appOf(me) {
  return {
    me,
    custodian: me.role === "custodian",
    whole: me.datasets === "all",
    draft: (name) => drafts.get(name) ?? drafts.set(name, {}).get(name),
    go: (address) => { if (location.hash === address) show(); else location.hash = address; },
  };
}

/** @param {api.Problem | null} why */
async function begin(why) {
  const before = app?.me.person;
  app = null;
  header();
  document.title = "Sign in \u00b7 Hedgerow";
  const me = await signIn(main, why, (await waysIn()).provider);
  if (before !== undefined && before !== me.person) drafts = new Map();
  await enter(me);
}

/** @param {api.Me} me */
async function enter(me) {
  app = appOf(me);
  header();
  if (["", "#", "#/"].includes(location.hash)) {
    const only = await onlyDataSet();
    if (only) history.replaceState(null, "", `#/d/${encodeURIComponent(only)}/ask`);
  }
  show();
}

/** With a single data set there is nothing to choose. */
async function onlyDataSet() {
  try {
    const { datasets } = await api.get("datasets");
    return datasets.length === 1 ? datasets[0].name : "";
  } catch {
    return "";
  }
}

async function signOut() {
  if (!api.token.get()) await api.remove("signin").catch(() => {});
  api.token.forget();
  drafts = new Map();
  history.replaceState(null, "", location.pathname + location.search);
  begin(null);
}

function header() {
  const brand = h("a", { class: "brand", href: "#/" }, h("img", { src: "icon.svg", alt: "", width: 28, height: 28 }), "Hedgerow");
  if (!app) {
    fill(top, h("div", { class: "bar" }, brand));
    fill(foot);
    return;
  }
  const mine = app;
  fill(top, h("div", { class: "bar" }, brand,
    h("nav", { "aria-label": "General" }, GENERAL.filter((entry) => (mine.custodian || !entry.custodians) && (mine.whole || !entry.whole))
      .map((entry) => h("a", { href: entry.address, "aria-current": location.hash === entry.address && "page" }, entry.title))),
    h("p", { class: "who" }, h("span", {}, h("b", {}, mine.me.person), mine.me.person !== mine.me.role && `, ${mine.me.role}`),
      h("button", { class: "link", type: "button", on: { click: signOut } }, "Sign out"))));
  fill(foot, h("p", {}, `Hedgerow ${mine.me.version} \u00b7 `, h("a", { href: "v1/docs" }, "the same over HTTP")));
}

/** Every view gets a place of its own, so what a view that was left learns late is seen nowhere. */
async function show() {
  if (!app) return;
  header();
  const place = h("div", { class: "view" });
  fill(main, place);
  main.setAttribute("aria-busy", "true");
  const [first, ...rest] = location.hash.replace(/^#\//, "").split("/").map(decoded);
  try {
    if (first === "d" && rest[0]) await dataSetView(place, app, rest[0], rest[1] ?? "ask");
    else await (GENERAL.find((entry) => entry.address === `#/${first}`) ?? GENERAL[0]).view(place, app);
  } catch (problem) {
    fill(place, h("h1", { tabindex: "-1" }, "This cannot be shown"), refused(problem),
      h("p", {}, h("a", { href: "#/" }, "All data sets")));
  }
  if (!place.isConnected) return;
  main.removeAttribute("aria-busy");
  const heading = place.querySelector("[data-heading]") ?? place.querySelector("h1");
  if (!heading) return;
  const titles = new Set([heading, place.querySelector("h1")].map((each) => each?.textContent));
  document.title = [...titles, "Hedgerow"].join(" \u00b7 ");
  if (shown) /** @type {HTMLElement} */ (heading).focus({ preventScroll: shown === "section" });
  shown = first === "d" ? "section" : "page";
}

/** What was shown before; nothing takes the focus when the page opens. */
let shown = "";

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

window.addEventListener("hashchange", show);
api.events.addEventListener("signed-out", (event) => {
  api.token.forget();
  if (app) begin(/** @type {CustomEvent} */ (event).detail);
});
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

/** With a token that was good a moment ago, only its end leads back to signing in. */
async function start() {
  if (!api.token.get() && !(await waysIn()).cookie) {
    begin(null);
    return;
  }
  try {
    const me = await api.get("me");
    const view = leftView();
    if (view) history.replaceState(null, "", view);
    await enter(me);
  } catch (problem) {
    if (problem instanceof api.Problem && problem.status === 401) begin(problem);
    else fill(main, h("div", { class: "view" }, h("h1", {}, "This cannot be shown"), refused(problem),
      h("button", { type: "button", class: "button", on: { click: start } }, "Try again")));
  }
}

header();
start();
