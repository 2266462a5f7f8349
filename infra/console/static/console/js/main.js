// Starts the parts of the console. Every page works without any of them, only less comfortably.
import { startCommands } from "./commands.js";
import { startForms } from "./forms.js";
import { startKeyboard } from "./keyboard.js";
import { startLists } from "./lists.js";
import { startLive } from "./live.js";
import { startMenus } from "./menus.js";
import { startTheme } from "./appearance.js";
import { startTimes } from "./times.js";
import { startTray } from "./tray.js";

startTheme();
startMenus();
startTimes();
startTray();
startCommands();
startLists();
startForms();
startKeyboard();
startLive();
