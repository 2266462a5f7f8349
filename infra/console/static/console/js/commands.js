// Ctrl-K: objects and actions in one list. The server searches; this moves through what it found.
import { setTheme } from "./appearance.js";
import { openDialog } from "./menus.js";
import { toggleTray } from "./tray.js";

const ACTIONS = {
  "theme-light": () => setTheme("light"),
  "theme-dark": () => setTheme("dark"),
  "theme-auto": () => setTheme("auto"),
  tray: toggleTray,
  help: () => openDialog("help"),
};

const input = () => document.getElementById("palette-input");
const options = () => [...document.querySelectorAll("#palette-list [role=option]")];

function choose(option) {
  for (const other of options()) other.setAttribute("aria-selected", String(other === option));
  input().setAttribute("aria-activedescendant", option?.id ?? "");
  option?.scrollIntoView({ block: "nearest" });
}

function move(by) {
  const all = options();
  const at = all.findIndex((option) => option.getAttribute("aria-selected") === "true");
  choose(all[(at + by + all.length) % all.length]);
}

export function openPalette() {
  openDialog("palette");
  input().select();
  htmx.trigger(input(), "palette:open");
}

function onKey(event) {
  if (event.key === "ArrowDown") move(1);
  else if (event.key === "ArrowUp") move(-1);
  else if (event.key === "Enter") options().find((o) => o.getAttribute("aria-selected") === "true")?.click();
  else return;
  event.preventDefault();
}

export function startCommands() {
  const field = input();
  if (!field) return;
  field.addEventListener("keydown", onKey);
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id === "palette-list") choose(options()[0]);
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-open-palette]")) openPalette();
    const action = event.target.closest("[data-command]");
    if (!action) return;
    event.preventDefault();
    document.getElementById("palette").close();
    ACTIONS[action.dataset.command]();
  });
}
