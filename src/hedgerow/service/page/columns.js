/**
 * Entries of a domain as a form knows them, and as a domain file has them.
 *
 * @typedef {object} Column What could stand in a column, as it is being entered.
 * @property {string} name
 * @property {"" | "listed" | "whole" | "bins" | "days" | "hand"} kind Empty while nothing is chosen; "hand" is all that has no form.
 * @property {any[]} values Listed values.
 * @property {string} low @property {string} high Ends of a range.
 * @property {string} edges Edges of bins, separated by commas.
 * @property {boolean} wholeNumbers Whether numbers in bins are whole.
 * @property {string} levels Widths of coarser levels, separated by commas.
 * @property {boolean | string} missing @property {boolean | string} other Whether cells may be empty, or hold other values; or the text of these.
 * @property {any} spec The entry of kind "hand".
 */

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const WORD = /^[A-Za-z_][A-Za-z0-9_]*$/;
const NOT_WORDS = new Set(["true", "false", "null", "yes", "no", "on", "off", "y", "n"]);

/** @type {[string, string][]} */
export const KINDS = [["", "choose\u2026"], ["listed", "listed values"], ["whole", "whole numbers"], ["bins", "numbers in bins"], ["days", "dates"], ["hand", "other (in the text)"]];

/** @param {any} value */
export const isMapping = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** A column that is new. @param {string} name @returns {Column} */
export const newColumn = (name) => ({
  name, kind: "", values: [], low: "", high: "", edges: "", wholeNumbers: false, levels: "", missing: false, other: false, spec: undefined,
});

/** @param {string} name @param {any} spec @returns {Column} */
export function columnOf(name, spec) {
  const column = { ...newColumn(name), spec };
  const form = isMapping(spec) ? spec : { values: spec };
  const has = (/** @type {string[]} */ ...names) => Object.keys(form).every((key) => names.includes(key));
  const { values, min, max, edges, levels, missing = false, other = false, whole = false } = form;
  const common = { missing, other, levels: [levels ?? []].flat().join(", ") };
  const plain = [missing, other].every((each) => typeof each === "boolean" || typeof each === "string")
    && [levels ?? []].flat().every(Number.isInteger);
  if (plain && has("values", "missing", "other") && Array.isArray(values) && values.every((each) => typeof each !== "object")) {
    return { ...column, ...common, kind: "listed", values };
  }
  if (plain && has("min", "max", "missing", "other", "levels") && Number.isInteger(min) && Number.isInteger(max)) {
    return { ...column, ...common, kind: "whole", low: String(min), high: String(max) };
  }
  if (plain && has("min", "max", "missing", "other") && DAY.test(min) && DAY.test(max)) {
    return { ...column, ...common, kind: "days", low: min, high: max };
  }
  if (plain && has("edges", "whole", "missing", "other", "levels") && Array.isArray(edges) && edges.every(Number.isFinite) && typeof whole === "boolean") {
    return { ...column, ...common, kind: "bins", edges: edges.join(", "), wholeNumbers: whole };
  }
  return { ...column, kind: "hand" };
}

/** @param {string} text */
const numbers = (text) => text.split(",").map((part) => part.trim()).filter(Boolean).map(Number);

/** The entry of a column; undefined while it has none. @param {Column} column @returns {any} */
export function specOf(column) {
  const { kind, values, low, high, edges, wholeNumbers, levels, missing, other, spec } = column;
  const widths = numbers(levels);
  const more = { ...(missing && { missing }), ...(other && { other }) };
  const coarser = widths.length > 0 && { levels: widths };
  if (kind === "listed") return Object.keys(more).length ? { values, ...more } : values;
  if (kind === "whole") return { min: Number(low), max: Number(high), ...more, ...coarser };
  if (kind === "days") return { min: low, max: high, ...more };
  if (kind === "bins") return { edges: numbers(edges), ...(wholeNumbers && { whole: true }), ...more, ...coarser };
  return kind === "hand" ? spec : undefined;
}

/** What a column still needs; empty if nothing. @param {Column} column */
export function lacking({ name, kind, values, low, high, edges, levels }) {
  const range = kind === "whole" ? /^-?\d+$/ : DAY;
  if (kind === "") return `Choose what ${name} could hold, or remove it.`;
  if (kind === "listed" && !values.length) return `List the values of ${name}, one per line.`;
  if ((kind === "whole" || kind === "days") && !(range.test(low.trim()) && range.test(high.trim()))) return `Give the first and the last value of ${name}.`;
  if (kind === "bins" && (numbers(edges).length < 2 || !numbers(edges).every(Number.isFinite))) return `Give the edges of the bins of ${name}: numbers, separated by commas.`;
  return (kind === "whole" || kind === "bins") && !numbers(levels).every(Number.isInteger) ? `The levels of ${name} are widths: whole numbers, separated by commas.` : "";
}

// Text

/** A value on one line of YAML. @param {any} value @returns {string} */
function flow(value) {
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (isMapping(value)) return `{${Object.entries(value).map(([key, each]) => `${flow(key)}: ${flow(each)}`).join(", ")}}`;
  return typeof value === "string" && WORD.test(value) && !NOT_WORDS.has(value.toLowerCase()) ? value : JSON.stringify(value);
}

/** A domain as YAML, a line for each column. @param {Record<string, any>} content */
export function asYaml(content) {
  const nested = isNested(content);
  const lines = (/** @type {Record<string, any>} */ entries, /** @type {string} */ before) => Object.entries(entries).map(([key, each]) => `${before}${flow(key)}: ${flow(each)}\n`);
  if (!nested) return lines(content, "").join("");
  return Object.entries(content).flatMap(([key, part]) => {
    if (isMapping(part)) return [`${flow(key)}:\n`, ...lines(part, "  ")];
    return Array.isArray(part) && part.some(isMapping) ? [`${flow(key)}:\n`, ...part.map((each) => `  - ${flow(each)}\n`)] : [`${flow(key)}: ${flow(part)}\n`];
  }).join("");
}

/** Whether the columns of a domain stand under "attributes", with other sections beside them. @param {Record<string, any>} content */
export const isNested = (content) => isMapping(content.attributes) && (!["values", "min", "max", "edges"].some((key) => key in content.attributes)
  || Object.entries(content.attributes).some(([key, value]) => key !== "levels" && key !== "synonyms" && isMapping(value)));

/** Names in the first row of a CSV file. @param {string} text @returns {string[]} */
export function namesIn(text) {
  const line = text.replace(/^\ufeff/, "");
  const found = [];
  const separator = [",", ";", "\t"].map((mark) => ({ mark, times: line.split(/\r?\n/, 1)[0].split(mark).length })).sort((a, b) => b.times - a.times)[0].mark;
  for (let at = 0; ;) {
    const quoted = line.slice(at).match(/^"((?:[^"]|"")*)"/);
    const end = quoted ? at + quoted[0].length : Math.min(...[separator, "\n", "\r"].map((mark) => line.indexOf(mark, at)).filter((place) => place >= 0), line.length);
    found.push(quoted ? quoted[1].replaceAll('""', '"') : line.slice(at, end).trim());
    if (line[end] !== separator) return found.filter(Boolean);
    at = end + 1;
  }
}
