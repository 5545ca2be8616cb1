/** Where the table of a new data set is, and how it is read. */

import { upload } from "./api.js";
import { field, h, tick } from "./dom.js";

/** The part of the form about the table. @param {(file: File | undefined) => void} chosen Called with the file that will be sent. */
export function sourcePart(chosen) {
  const [where, how] = [placePart(chosen), readingPart()];
  return {
    element: h("fieldset", {}, h("legend", {}, "Table"), ...where.elements, how.element),
    mistake: () => where.mistake() || how.mistake(),
    columns: how.columns,
    filtered: how.filtered,
    persons: how.persons,
    value: async () => ({ place: await where.value(), ...how.value() }),
  };
}

/** A file that is sent, or a place that the server reaches. @param {(file: File | undefined) => void} chosen */
function placePart(chosen) {
  const file = h("input", { type: "file", accept: ".csv,.tsv,.txt,.gz,.zip,.parquet,.feather,.xlsx,.jsonl" });
  file.addEventListener("change", () => chosen(file.files[0]));
  const place = h("input", { autocomplete: "off", spellcheck: "false", placeholder: "adult.csv or postgresql://host/db#table" });
  const [sent, there] = ["file", "place"].map((value) => h("input", { type: "radio", name: "where", value, checked: value === "file" }));
  const parts = [
    field("File", file, "CSV or Parquet. It is uploaded into the server's data folder when you register. The names in the first row of a CSV file are taken as columns; nothing else of it is looked at here."),
    field("Place", place, "A file in the server's data folder, duckdb:///file.db#table, postgresql://host/database#table without a password in it, or source:NAME for a large table that the operator has named."),
  ];
  const show = () => { [parts[0].hidden, parts[1].hidden] = [there.checked, sent.checked]; };
  [sent, there].forEach((radio) => radio.addEventListener("change", show));
  show();
  const uploaded = sending();
  return {
    elements: [h("div", { class: "choices" }, tick(sent, "Upload a file"), tick(there, "The server can reach it")), ...parts],
    mistake: () => (sent.checked ? !file.files.length && "Choose the file of the table." : !place.value.trim() && "Say where the table is.") || "",
    value: () => (sent.checked ? uploaded(file.files[0]) : place.value.trim()),
  };
}

/** Sends files: one that was sent just before, with a registration that was refused, is there already. */
function sending() {
  let sent = "";
  return async (/** @type {File} */ file) => {
    const mark = `${file.name} ${file.size} ${file.lastModified}`;
    if (sent !== mark) await upload(file.name, file);
    sent = mark;
    return file.name;
  };
}

/** Which columns and rows are read, and how. */
function readingPart() {
  const columns = h("input", { autocomplete: "off", placeholder: "all" });
  const counts = h("input", { autocomplete: "off", placeholder: "none" });
  const where = h("input", { autocomplete: "off", placeholder: "all rows" });
  const warm = h("input", { autocomplete: "off", spellcheck: "false", placeholder: "none" });
  const person = h("input", { autocomplete: "off", placeholder: "none" });
  const most = h("input", { type: "number", min: 1, step: 1, inputmode: "numeric", placeholder: "5" });
  const weight = h("input", { autocomplete: "off", placeholder: "none" });
  const largest = h("input", { type: "number", min: 1, step: 1, inputmode: "numeric", placeholder: "200" });
  const [coded, drop, parts] = [0, 0, 0].map(() => h("input", { type: "checkbox" }));
  const persons = () => ({
    ...(person.value.trim() && { person: person.value.trim(), at_most: Number(most.value) }),
    ...(weight.value.trim() && { weight: weight.value.trim(), largest_weight: Number(largest.value), ...(parts.checked && { fractional_weights: true }) }),
  });
  const alone = (/** @type {HTMLInputElement} */ name, /** @type {HTMLInputElement} */ bound) => (name.value.trim() !== "") !== (Number(bound.value) >= 1);
  const listed = () => columns.value.split(",").map((/** @type {string} */ text) => text.trim()).filter(Boolean);
  return {
    columns: () => (listed().length ? listed() : undefined),
    filtered: () => where.value.trim() !== "" || drop.checked,
    persons,
    mistake: () => {
      if (alone(person, most)) return "Name the column of persons and the most records of one together, or neither.";
      if (parts.checked && !weight.value.trim()) return "Name the column of weights that may be fractions, or take the tick away.";
      return alone(weight, largest) ? "Name the column of weights and the largest weight together, or neither." : "";
    },
    element: h("details", {}, h("summary", {}, "How it is read"), h("div", { class: "row-form" },
      field("Columns", columns, "Separated by commas."), field("Column of counts", counts, "Number of records that a row stands for."),
      field("Column of persons", person, "Who a record belongs to, where persons have several: a person is protected with all of them."), field("Most records of one", most, "Those beyond it are left out; noise grows with it."),
      field("Column of weights", weight, "How often a record counts: answers are then about the population that the records stand for."), field("Largest weight", largest, "A record with a larger one counts as often as this; noise grows with it."),
      field("Rows", where, "A condition on public columns."), field("Earlier release", warm, "A .release file of the same table in the data folder, to start from; what it spent is charged.")), tick(parts, "Weights may be fractions: each is rounded to a multiple of 1/1,024"), tick(coded, "The cells hold codes, not values"), tick(drop, "Leave out records that break a rule of the domain, one by one")),
    value: () => {
      const [count, rows, release] = [counts.value.trim(), where.value.trim(), warm.value.trim()];
      return { ...(listed().length && { columns: listed() }), ...(release && { warm: release }), ...(count && { count_column: count }), ...(coded.checked && { coded: true }), ...(rows && { where: rows }), ...(drop.checked && { violations: "drop" }),
        ...persons() };
    },
  };
}
