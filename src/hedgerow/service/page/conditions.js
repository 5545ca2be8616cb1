/**
 * Conditions as SQL text.
 *
 * @typedef {import("./api.js").Attribute} Attribute
 * @typedef {object} Condition On one attribute.
 * @property {string} name Of the attribute.
 * @property {Set<string>} chosen Labels that are ticked.
 * @property {boolean} not Whether all but these are meant.
 * @property {string} from Lower end of a range as it was entered.
 * @property {string} to Upper end.
 * @property {string} typed Values, one a line, where the attribute has too many to list.
 */

/** @param {string} name @returns {Condition} */
export const fresh = (name) => ({ name, chosen: new Set(), not: false, from: "", to: "", typed: "" });

/** A name as SQL. @param {string} name */
export const quotedName = (name) => `"${name.replaceAll('"', '""')}"`;

/** A text as SQL. @param {string} text */
export const quotedText = (text) => `'${text.replaceAll("'", "''")}'`;

/** Labels that mean no number or bin: the missing and the other value. @param {Attribute} attribute @returns {string[]} */
export function specials(attribute) {
  return [attribute.missing, attribute.other].filter((label) => label !== null && label !== undefined);
}

/**
 * A condition as SQL; empty while nothing is chosen.
 * @param {Attribute} attribute @param {Condition} condition @returns {string}
 */
export function clause(attribute, condition) {
  const column = quotedName(attribute.name);
  const values = attribute.values === null && attribute.kind !== "integer"
    ? condition.typed.split("\n").map((line) => line.trim()).filter(Boolean)
    : inOrder(attribute, condition.chosen);
  const among = oneOf(column, values, condition.not);
  if (attribute.kind !== "integer") return among;
  const parts = [range(column, condition.from.trim(), condition.to.trim()), among].filter(Boolean);
  return parts.length > 1 ? `(${parts.join(" OR ")})` : parts.join("");
}

/**
 * What keeps a condition from being asked; empty if nothing does.
 * @param {Attribute} attribute @param {Condition} condition @returns {string}
 */
export function mistake(attribute, condition) {
  if (attribute.kind !== "integer") return "";
  const ends = [condition.from, condition.to].map((text) => text.trim());
  if (!ends.every((text) => /^(-?\d+)?$/.test(text))) return "Both ends must be whole numbers.";
  if (ends.every(Boolean) && BigInt(ends[0]) > BigInt(ends[1])) return "The first number is above the second.";
  return "";
}

/**
 * The whole question.
 * @param {string} name Of the data set. @param {Attribute[]} attributes @param {Condition[]} conditions
 * @param {import("./draft.js").Shape} shape @returns {string}
 */
export function statement(name, attributes, conditions, { measure, of, by }) {
  const clauses = conditions.map((condition) => clause(named(attributes, condition.name), condition)).filter(Boolean);
  const where = clauses.length ? `\nWHERE ${clauses.join("\n  AND ")}` : "";
  const what = measure === "count" || !of ? "COUNT(*)" : `${measure.toUpperCase()}(${quotedName(of)})`;
  return `SELECT ${by ? `${quotedName(by)}, ` : ""}${what}\nFROM ${quotedName(name)}${where}${by ? `\nGROUP BY ${quotedName(by)}` : ""}`;
}

/** All that a question may be about: attributes, and what follows from them. @param {import("./api.js").Detail} detail @returns {Attribute[]} */
export const askable = (detail) => [...detail.attributes, ...detail.derived];

/** @param {Attribute[]} attributes @param {string} name @returns {Attribute} */
export function named(attributes, name) {
  const found = attributes.find((attribute) => attribute.name === name);
  if (!found) throw new Error(`no attribute ${name}`);
  return found;
}

/** @param {Attribute} attribute @param {Set<string>} chosen */
function inOrder(attribute, chosen) {
  const labels = attribute.kind === "integer" ? specials(attribute) : attribute.values ?? [];
  return labels.filter((label) => chosen.has(label));
}

/** @param {string} column @param {string[]} values @param {boolean} not */
function oneOf(column, values, not) {
  if (values.length === 0) return "";
  if (values.length === 1) return `${column} ${not ? "<>" : "="} ${quotedText(values[0])}`;
  return `${column} ${not ? "NOT IN" : "IN"} (${values.map(quotedText).join(", ")})`;
}

/** @param {string} column @param {string} from @param {string} to */
function range(column, from, to) {
  if (from && to) return from === to ? `${column} = ${from}` : `${column} BETWEEN ${from} AND ${to}`;
  if (from) return `${column} >= ${from}`;
  return to ? `${column} <= ${to}` : "";
}
