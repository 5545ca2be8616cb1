/**
 * The server's HTTP API. The token is kept in the tab's session storage and nowhere else. Who signed in with a provider
 * has theirs in a cookie that no script reads; it counts beside the header Hedgerow-Page alone.
 *
 * @typedef {{person: string, role: "custodian" | "analyst", datasets: string[] | "all", expires: string | null, version: string}} Me
 * @typedef {{queries: number | null, asked: number, budget: number | null, spent: number}} Share
 * @typedef {{opening: number, mine: number, others: number, tests: number, held: number | null, left: number}} Account
 * @typedef {{name: string, title: string, status: "opening" | "failed" | "open" | "used up" | "closed", spent: number, limit: number, unit: string, account: Account,
 *   updates: number, updates_left: number, price: number | null, threshold: number | null, total: number | null, asked: number, tested: number, learnt: boolean, closed: string, retry_price: number | null,
 *   private: boolean, statement: string, mine: Share}} Summary
 * @typedef {{name: string, kind: "categorical" | "integer" | "binned", values: string[] | null, size: number,
 *   low: number | null, high: number | null, missing: string | null, other: string | null}} Attribute
 * @typedef {Attribute & {sources: string[], column: boolean}} Derived
 * @typedef {Summary & {attributes: Attribute[], derived: Derived[], constraints: string[], records: string, left_out: string, neighbours: string, person: string | null, at_most: number | null, weight: string | null, largest_weight: number | null, fractional_weights: boolean, created: string, source?: any}} Detail
 * @typedef {{sql: string, where: string, value: number, low: number | null, high: number | null, confidence: number | null,
 *   covers: string, source: string, charged: number, spent: number, updates_left: number,
 *   id?: number, at?: string, person?: string, counts?: number | null}} Answer
 * @typedef {{names: string[], headings: string[], columns: string[], rows: (string | number | null)[][], confidence: number | null, covers: string,
 *   sources: Record<string, number>, charged: number, dataset: Summary}} Groups
 */

import { asksForGroups } from "./groups.js";

const KEY = "hedgerow-token";
const PAUSES = [400, 1200, 3000];

/** What is heard when the server no longer takes the token: the event "signed-out". */
export const events = new EventTarget();

/** Why the server did not do what was asked. */
export class Problem extends Error {
  /** @param {Record<string, any>} body A problem document (RFC 9457). @param {number} status @param {number} wait Seconds. */
  constructor(body, status, wait = 0) {
    super(String(body.detail ?? body.title ?? `The server answered ${status}.`));
    this.status = status;
    this.code = String(body.code ?? "");
    this.title = String(body.title ?? "");
    this.remedy = String(body.remedy ?? "");
    /** @type {any[]} */
    this.fields = Array.isArray(body.fields) ? body.fields : [];
    this.wait = wait;
  }

  /** Whether the same request may succeed later, and may even have been heard. */
  get passes() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

const UNREACHABLE = {
  code: "network", title: "The server cannot be reached", detail: "The connection to the server failed.",
  remedy: "Nothing that you have entered is lost. Check the connection and try again.",
};

export const token = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  /** @param {string} text */
  set: (text) => sessionStorage.setItem(KEY, text),
  forget: () => sessionStorage.removeItem(KEY),
};

/**
 * A request; resolves with the response if it went well.
 * @param {string} method @param {string} path Below /v1/. @param {{json?: any, body?: BodyInit, headers?: Record<string, string>}} [what]
 * @returns {Promise<Response>}
 */
async function send(method, path, { json, body, headers = {} } = {}) {
  /** @type {Record<string, string>} */
  const sent = { ...(token.get() ? { Authorization: `Bearer ${token.get()}` } : { "Hedgerow-Page": "1" }), ...headers };
  if (json !== undefined) sent["Content-Type"] = "application/json";
  /** @type {Response} */
  let response;
  try {
    response = await fetch(new URL(`v1/${path}`, document.baseURI), {
      method, headers: sent, body: json === undefined ? body : JSON.stringify(json), cache: "no-store", credentials: token.get() ? "omit" : "same-origin",
    });
  } catch {
    throw new Problem(UNREACHABLE, 0);
  }
  if (response.ok) return response;
  throw await refusal(response);
}

/** @param {Response} response */
async function refusal(response) {
  const body = await response.json().catch(() => ({}));
  const problem = new Problem(body ?? {}, response.status, Number(response.headers.get("Retry-After")) || 0);
  if (problem.status === 401) events.dispatchEvent(new CustomEvent("signed-out", { detail: problem }));
  return problem;
}

/** @param {string} path @param {Record<string, any>} [query] @returns {Promise<any>} */
export async function get(path, query = {}) {
  return (await send("GET", path + asked(query))).json();
}

/** @param {string} path @param {any} json @returns {Promise<any>} */
export async function post(path, json) {
  return (await send("POST", path, { json })).json();
}

/** @param {string} path @param {any} json @returns {Promise<any>} */
export async function put(path, json) {
  return (await send("PUT", path, { json })).json();
}

/** @param {string} path */
export async function remove(path) {
  await send("DELETE", path);
}

/** @param {string} name @param {File} file */
export async function upload(name, file) {
  await send("PUT", `files/${encodeURIComponent(name)}`, { body: file, headers: { "Content-Type": "application/octet-stream" } });
}

/** @param {string} path @param {Record<string, any>} query @returns {Promise<Blob>} */
export async function download(path, query) {
  return (await send("GET", path + asked(query))).blob();
}

/** @param {string} name */
export const at = (name) => `datasets/${encodeURIComponent(name)}`;

/** @param {Record<string, any>} query */
function asked(query) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : "";
}

/** A key under which a question is asked once, however often it is sent; also where there is no secure context. */
export function freshKey() {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Ask a question. When the connection fails it is sent again under the same key, so that it is never asked twice.
 * @param {string} name @param {{sql: string, confidence: number, key: string}} question @param {() => void} onRetry
 * @returns {Promise<{answers: Answer[], dataset: Summary} | Groups>}
 */
export async function ask(name, { sql, confidence, key }, onRetry) {
  const grouped = asksForGroups(sql);
  const what = { json: grouped ? { sql, confidence } : { queries: [{ sql }], confidence }, headers: { "Idempotency-Key": key } };
  for (const pause of [...PAUSES, null]) {
    try {
      return await (await send("POST", `${at(name)}/${grouped ? "tables" : "queries"}`, what)).json();
    } catch (problem) {
      if (!(problem instanceof Problem) || problem.status !== 0 || pause === null) throw problem;
      onRetry();
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
  throw new Problem(UNREACHABLE, 0);
}
