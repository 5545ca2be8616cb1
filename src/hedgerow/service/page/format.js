/** Numbers, times and tables as text. */

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const TENTHS = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const AMOUNT = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const MOMENT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** A part of a budget that is too small to matter, unless a correction can still be paid from it. */
export const NOTHING = 1e-6;

/** Whether so little is left of a limit that nothing can be paid from it. @param {number} rest @param {number} limit @param {number | null} price */
export const nothingLeft = (rest, limit, price) => rest < Math.min(NOTHING * limit, price ?? Infinity);

/** A number of records; tenths where it is small. @param {number} value */
export function count(value) {
  const text = (Math.abs(value) < 100 ? TENTHS : WHOLE).format(value);
  return text === "-0" ? "0" : text.replace("-", "\u2212");
}

/** An amount of epsilon or rho. @param {number} value */
export function amount(value) {
  return isTiny(value) ? value.toExponential(2) : AMOUNT.format(value);
}

/** @param {number} value */
const isTiny = (value) => value !== 0 && Math.abs(value) < 1e-7;

/** What is promised or spent, rounded up. @param {number} value */
export const atMost = (value) => amount(onSide(value, 1, isTiny(value) ? 3 : 4));

/** What is left, rounded down. @param {number} value */
export const atLeast = (value) => amount(onSide(value, -1, isTiny(value) ? 3 : 4));

/** The number of so many digits next to another, on one side of it. @param {number} value @param {1 | -1} side @param {number} digits */
export function onSide(value, side, digits) {
  const near = Number(value.toPrecision(digits));
  if (side * (near - value) >= 0) return near;
  const [mantissa, exponent] = value.toExponential().split("e");
  const unit = 10 ** (digits - 1);
  return Number(`${(side > 0 ? Math.ceil(Number(mantissa) * unit) : Math.floor(Number(mantissa) * unit)) / unit}e${exponent}`);
}

/** A whole number with a noun, as "1 question", "2 questions". @param {number} n @param {string} noun */
export function many(n, noun) {
  return `${WHOLE.format(n)} ${noun}${n === 1 ? "" : "s"}`;
}

/** A confidence as "95%". @param {number} value */
export function percent(value) {
  return `${AMOUNT.format(100 * value)}%`;
}

/** A part of a whole, such as the budget, as "4.9%" or "12%". @param {number} part @param {number} whole @param {boolean} [up] Whether it is rounded up. */
export function share(part, whole, up = false) {
  const value = whole > 0 ? (100 * part) / whole : 0;
  if (Math.abs(value - 100) < 1e-6) return "100%"; // sums of charges are rounded
  if (value > 0 && value < 0.1) return "under 0.1%";
  if (value > 99 && value < 100) return `${TENTHS.format(Math.floor(10 * value) / 10)}%`;
  const unit = value < 10 ? 10 : 1;
  return `${(value < 10 ? TENTHS : WHOLE).format(up ? Math.max(0, Math.ceil(unit * value - 1e-9)) / unit : value)}%`;
}

/**
 * What is spent of a limit, rounded up: the share first, for people. It is shown as all of it when what is left pays for
 * nothing, and never before: the amount has as many digits as that takes.
 * @param {number} part @param {number} limit @param {string} unit @param {string} verb @param {number | null} [price] Least that can be paid.
 */
export function spentOf(part, limit, unit, verb, price = null) {
  const whole = atMost(limit);
  if (nothingLeft(limit - part, limit, price)) return `100% ${verb}: ${whole} of ${whole} ${unit}`;
  let shown = atMost(part);
  for (let digits = 5; shown === whole && digits <= 17; digits += 1) shown = String(onSide(part, 1, digits));
  return `${share(part, limit, true)} ${verb}: ${shown} of ${whole} ${unit}`;
}

/** A moment in the reader's own time zone. @param {string | null | undefined} iso */
export function moment(iso) {
  if (!iso) return "";
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? iso : MOMENT.format(time);
}

/** A text as a sentence. @param {string} text */
export function sentence(text) {
  if (!text) return "";
  const start = text[0].toUpperCase() + text.slice(1);
  return /[.!?]$/.test(start) ? start : `${start}.`;
}

/** A text cut to so many characters. @param {string} text @param {number} most */
export function cut(text, most) {
  const characters = [...text];
  return characters.length <= most ? text : `${characters.slice(0, Math.max(1, most - 1)).join("")}\u2026`;
}

/**
 * Rows as CSV (RFC 4180). Texts that a spreadsheet would take for a formula are put behind an apostrophe.
 * @param {string[]} head @param {(string | number | null | undefined)[][]} rows
 */
export function csv(head, rows) {
  return [head, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** @param {string | number | null | undefined} value */
function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
