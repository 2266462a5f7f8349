// The theme switch: light, dark, or whatever the system says.
const KEY = "infra.theme";

export function setTheme(name) {
  if (name === "auto") {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(KEY, name);
    document.documentElement.dataset.theme = name;
  }
  mark();
}

function mark() {
  const current = localStorage.getItem(KEY) ?? "auto";
  for (const button of document.querySelectorAll("[data-set-theme]")) {
    button.setAttribute("aria-pressed", String(button.dataset.setTheme === current));
  }
}

export function startTheme() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-set-theme]");
    if (button) setTheme(button.dataset.setTheme);
  });
  mark();
}
