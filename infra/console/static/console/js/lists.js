// Rows: a place to stand (j, k), a selection (x) that survives every refresh, and bulk actions.
import { announce } from "./menus.js";

const selected = new Set();

const rows = () => [...document.querySelectorAll("tr[data-row]")];
const here = () => document.querySelector("tr[data-here]");

export function step(by) {
  const all = rows();
  if (!all.length) return;
  const at = all.indexOf(here());
  const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
  here()?.removeAttribute("data-here");
  next.setAttribute("data-here", "");
  next.scrollIntoView({ block: "nearest" });
  next.querySelector("th a, td a")?.focus({ preventScroll: true });
}

export function pick() {
  const box = here()?.querySelector("input[name=id]");
  if (box) box.click();
}

export function openRow() {
  here()?.querySelector("th a, td a")?.click();
}

function draw() {
  const present = rows().filter((row) => row.querySelector("input[name=id]"));
  for (const row of present) {
    const chosen = selected.has(row.dataset.row);
    row.querySelector("input[name=id]").checked = chosen;
    row.toggleAttribute("data-selected", chosen);
  }
  const count = present.filter((row) => selected.has(row.dataset.row)).length;
  const bar = document.querySelector("[data-bulk]");
  if (bar) {
    bar.hidden = count === 0;
    bar.querySelector("[data-bulk-count]").textContent = `${count} selected`;
  }
  const all = document.querySelector("input[data-pick-all]");
  if (all) {
    all.checked = count > 0 && count === present.length;
    all.indeterminate = count > 0 && count < present.length;
  }
}

function onChange(event) {
  const box = event.target;
  if (box.matches("input[name=id]")) {
    if (box.checked) selected.add(box.value);
    else selected.delete(box.value);
  } else if (box.matches("input[data-pick-all]")) {
    for (const row of rows()) {
      if (box.checked) selected.add(row.dataset.row);
      else selected.delete(row.dataset.row);
    }
  } else {
    if (box.closest("form[data-filter]") && box.matches("select")) box.form.requestSubmit();
    return;
  }
  draw();
  announce(document.querySelector("[data-bulk-count]")?.textContent ?? "");
}

// A refresh must not move the place, and must not undo the selection.
let place = null;

export function startLists() {
  document.addEventListener("change", onChange);
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-pick-none]")) return;
    selected.clear();
    draw();
  });
  document.addEventListener("submit", (event) => {
    // An empty filter has no business in an address that people share.
    if (!event.target.matches("form[data-filter]")) return;
    for (const field of event.target.elements) if (!field.value) field.disabled = true;
  });
  window.addEventListener("pageshow", () => {
    for (const field of document.querySelectorAll("form[data-filter] :disabled")) field.disabled = false;
  });
  document.addEventListener("htmx:beforeSwap", () => { place = here()?.dataset.row; });
  document.addEventListener("htmx:afterSettle", () => {
    if (place) document.querySelector(`tr[data-row="${place}"]`)?.setAttribute("data-here", "");
    draw();
  });
  for (const box of document.querySelectorAll("input[name=id]:checked")) selected.add(box.value);
  draw();
}
