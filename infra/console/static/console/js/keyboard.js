// Shortcuts. Single keys can be switched off in the help dialog, as some people type by voice.
import { openPalette } from "./commands.js";
import { openRow, pick, step } from "./lists.js";
import { openDialog } from "./menus.js";
import { toggleTray } from "./tray.js";

const KEY = "infra.keys";

function typing(event) {
  return event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable], .terminal")
    || document.querySelector("dialog[open]");
}

const single = (action) => (event) => {
  if (localStorage.getItem(KEY) === "off" || typing(event)) return;
  event.preventDefault();
  action();
};

function go(key) {
  document.querySelector(`.side a[data-key="${key}"]`)?.click();
}

function startSwitch() {
  const box = document.getElementById("keys-switch");
  if (!box) return;
  box.checked = localStorage.getItem(KEY) !== "off";
  box.addEventListener("change", () => localStorage.setItem(KEY, box.checked ? "on" : "off"));
}

export function startKeyboard() {
  if (!document.getElementById("palette")) return;
  startSwitch();
  const bindings = {
    "$mod+KeyK": (event) => { event.preventDefault(); openPalette(); },
    "/": single(() => document.getElementById("search").focus()),
    "?": single(() => openDialog("help")),
    "Shift+?": single(() => openDialog("help")),
    "t": single(toggleTray),
    "j": single(() => step(1)),
    "k": single(() => step(-1)),
    "x": single(pick),
    "o": single(openRow),
    "c": single(() => document.querySelector("[data-create]")?.click()),
  };
  for (const link of document.querySelectorAll(".side a[data-key]")) {
    bindings[`g ${link.dataset.key}`] = single(() => go(link.dataset.key));
  }
  tinykeys.tinykeys(window, bindings);
}
