/** Synthetic records of the hypothesis, as a file. */

import { at, download } from "./api.js";
import { save } from "./file.js";
import { sectionHead } from "./dataset.js";
import { announce, choice, field, fill, h } from "./dom.js";
import { count } from "./format.js";
import { alarm, notice, nothingLearnt, onSubmit } from "./problems.js";

const MOST = 1_000_000;

/** @param {HTMLElement} place @param {import("./main.js").App} app @param {import("./dataset.js").DataSet} dataSet */
export async function recordsSection(place, app, { name, detail }) {
  const head = sectionHead("Synthetic records", "Records drawn from the current hypothesis: no real person's, free of charge, and as private as the answers. "
    + "What they say about conditions that were never asked about is a guess.");
  if (!detail.learnt) {
    fill(place, head, nothingLearnt(name));
    return;
  }
  const usual = Math.min(MOST, Math.max(1, Math.round(detail.total ?? 1)));
  const number = h("input", { type: "number", min: 1, max: MOST, step: 1, value: usual, inputmode: "numeric" });
  const format = choice([["csv", "CSV"], ["parquet", "Parquet"]], "csv");
  const said = h("div", {});
  const button = h("button", { class: "button primary" }, "Download");
  const form = h("form", { class: "narrow", novalidate: true },
    field("Number of records", number, `Up to ${count(MOST)}. About as many as the data hold: ${count(usual)}.`),
    field("Format", format), button, said);
  onSubmit(form, button, said, async () => {
    const n = Number(number.value);
    if (!Number.isInteger(n) || n < 1 || n > MOST) {
      fill(said, alarm("This number cannot be drawn", [`Give a whole number from 1 to ${count(MOST)}.`]));
      return;
    }
    fill(said, h("p", { class: "quiet" }, "Drawing the records\u2026"));
    save(await download(`${at(name)}/records`, { n, format: format.value }), `${name}-synthetic.${format.value}`);
    fill(said, notice("good", "The file is on its way to your downloads", [`${count(n)} synthetic records of ${name}.`]));
    announce("The download has begun.");
  });
  fill(place, head, form);
}
