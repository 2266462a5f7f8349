// Shows times in the viewer's zone, as ages where asked, with the exact time on hover.
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const RELATIVE_FOR_SECONDS = 7 * 86400; // older than a week, a date says more than an age

function age(date, now) {
  const seconds = Math.round((date - now) / 1000);
  if (Math.abs(seconds) < 5) return "just now";
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length);
  return ago.format(Math.trunc(seconds / size), unit);
}

export function span(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

function text(element, date, now) {
  switch (element.dataset.time) {
    case "clock": return clock.format(date);
    case "exact": return day.format(date);
    case "running": return span((now - date) / 1000);
    default: return Math.abs(now - date) / 1000 < RELATIVE_FOR_SECONDS ? age(date, now) : day.format(date);
  }
}

function show(root = document) {
  const now = new Date();
  for (const element of root.querySelectorAll("time[data-time]")) {
    const date = new Date(element.dateTime);
    if (Number.isNaN(date.valueOf())) continue;
    const shown = text(element, date, now);
    if (element.textContent !== shown) element.textContent = shown;
    element.title = exact.format(date);
  }
}

export function startTimes() {
  show();
  setInterval(show, 1000);
  document.addEventListener("htmx:afterSettle", () => show());
}
