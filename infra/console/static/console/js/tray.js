// The operations tray: opened or closed by the person only, and the same on every page.
const KEY = "infra.tray";

export function toggleTray() {
  setTray(document.getElementById("tray").hidden);
}

function setTray(open) {
  const tray = document.getElementById("tray");
  if (!tray) return;
  tray.hidden = !open;
  localStorage.setItem(KEY, open ? "open" : "closed");
  document.documentElement.classList.toggle("tray-open", open);
  for (const button of document.querySelectorAll("[data-toggle-tray]")) {
    button.setAttribute("aria-expanded", String(open));
  }
}

export function startTray() {
  const wide = matchMedia("(min-width: 60rem)").matches; // over a phone's page it would hide everything
  setTray(wide && localStorage.getItem(KEY) === "open");
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-toggle-tray]")) toggleTray();
  });
}
