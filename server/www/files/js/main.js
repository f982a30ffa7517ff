// The frame of the page: who is signed in, the bar, and which screen is shown.
import { isAdmin, Problem, resume, signOut, user, whenEnded } from "./api.js";
import { announce, h, icon, setText } from "./dom.js";
import * as fleet from "./fleet.js";
import { copied } from "./dialog.js";
import { watch as watchClock } from "./clock.js";
import { watch as watchDatabase } from "./database.js";
import { watch as watchAlerts } from "./notify.js";
import { count, languageChoice, t } from "./language.js";
import { askOwnPassword } from "./password.js";
import { here } from "./router.js";
import { themeButton } from "./theme.js";
import { choices, chooseUnits, chosenUnits, whenUnitsChange } from "./units.js";
import { screen as signIn } from "./screens/sign-in.js";
import { screen as list } from "./screens/list.js";
import { screen as map } from "./screens/map.js";
import { screen as vehicle } from "./screens/vehicle.js";
import { screen as reports } from "./screens/reports.js";
import { screen as events } from "./screens/events.js";
import { screen as alerts } from "./screens/alerts.js";
import { screen as fences } from "./screens/fences.js";
import { screen as devices } from "./screens/devices.js";
import { screen as users } from "./screens/users.js";

const screens = {
    fleet: { title: t("Fleet"), make: list }, map: { title: t("Map"), make: map },
    vehicle: { title: t("Vehicle"), make: vehicle, isHidden: true },
    events: { title: t("Events"), make: events }, alerts: { title: t("Alerts"), make: alerts },
    reports: { title: t("Reports"), make: reports },
    fences: { title: t("Fences"), make: fences, isAdmins: true }, devices: { title: t("Devices"), make: devices, isAdmins: true },
    users: { title: t("Users"), make: users, isAdmins: true },
};

const main = document.getElementById("main");
const bar = document.getElementById("bar");
const odd = document.getElementById("odd");
let shown = { name: null, close: () => {} };

/** A screen gets the element to fill, and what the address says; it returns `{close, update}`. */
function show() {
    const { parts, values } = here();
    if (!user()) {
        replace("sign-in", () => signIn(main, started), t("Sign in"));
        return;
    }
    const name = Object.hasOwn(screens, parts[0] ?? "") ? parts[0] : "fleet";
    const chosen = screens[name];
    if (chosen.isAdmins && !isAdmin()) {
        replace("refused", () => {
            main.append(h("div", { class: "sheet" }, h("h1", {}, chosen.title),
                h("p", { class: "notice warn" }, t("Only admins can see this."))));
        }, chosen.title);
    } else if (shown.name === name && shown.update?.(parts, values)) {
        // The screen has followed the address by itself.
    } else {
        replace(name, () => chosen.make(main, parts, values), chosen.title);
    }
    mark(name);
}

function replace(name, make, title) {
    shown.close?.();
    shown = { name, close: () => {} };
    main.replaceChildren();
    main.scrollTop = 0;
    setText(document.querySelector("title"), `${title} – beekon`);
    try {
        shown = { name, ...make() };
    } catch (error) {
        failed(error);
    }
}

function failed(error) {
    main.replaceChildren(h("div", { class: "sheet" }, h("p", { class: "notice bad", role: "alert" },
        error instanceof Problem ? error.message : t("This screen failed: {reason}", { reason: error.message }))));
}

function mark(name) {
    for (const link of bar.querySelectorAll("nav a")) {
        const isHere = link.dataset.name === name || (name === "vehicle" && link.dataset.name === "fleet");
        if (isHere) {
            link.setAttribute("aria-current", "page");
            link.scrollIntoView({ block: "nearest", inline: "nearest" });
        } else link.removeAttribute("aria-current");
    }
}

function fillBar() {
    const links = Object.entries(screens)
        .filter(([, screen]) => !screen.isHidden && (isAdmin() || !screen.isAdmins))
        .map(([name, { title }]) => h("a", { href: `#/${name}`, "data-name": name }, title));
    const stream = h("span", { class: "stream" });
    const told = () => {
        stream.classList.toggle("is-live", fleet.state === "live");
        stream.classList.toggle("is-lost", fleet.state === "lost");
        setText(stream, { live: t("Live"), lost: t("Reconnecting"), off: t("Starting") }[fleet.state]);
    };
    fleet.follow(told);
    fleet.follow(nameBroken);
    told();
    const brand = document.querySelector("link[rel=icon]").href;
    bar.replaceChildren(
        h("span", { class: "brand" }, h("img", { src: brand, alt: "" }), "beekon"),
        h("nav", { "aria-label": t("Screens") }, links), stream,
        h("button", {
            class: "plain", type: "button", title: t("Copy the link to this view"), "aria-label": t("Copy the link to this view"),
            onclick: () => copied(location.href),
        }, icon("link")),
        h("select", { class: "plain", "aria-label": t("Units"), title: t("Units"), onchange: (event) => chooseUnits(event.target.value) },
            choices.map(([name, sign]) => h("option", { value: name, selected: name === chosenUnits() }, sign))),
        languageChoice(), themeButton(), h("button", { class: "plain who", type: "button", title: t("Signed in as {name}: change your password", { name: user().name }), onclick: askOwnPassword }, user().name),
        h("button", { class: "plain leave", type: "button", title: t("Sign out"), onclick: leave }, icon("leave"), h("span", {}, t("Sign out"))));
    bar.hidden = false;
}

/** Vehicles that the page does not understand. */
function nameBroken() {
    const names = [...fleet.broken.values()];
    odd.hidden = !names.length;
    const [first, more] = [names.slice(0, 5).join(", "), names.length - 5];
    setText(odd, !names.length ? "" : more > 0
        ? t("{names} and {count} more cannot be shown in full: this page does not understand the server's answer.", { names: first, count: count(more) })
        : t("{names} cannot be shown in full: this page does not understand the server's answer.", { names: first }));
}

async function leave() {
    try {
        await signOut();
    } catch (problem) {
        announce(problem.message);
    }
}

function started() {
    fillBar();
    fleet.open();
    watchClock();
    watchDatabase();
    watchAlerts();
    show();
}

whenEnded(() => {
    fleet.close();
    fleet.vehicles.clear();
    fleet.broken.clear();
    odd.hidden = true;
    bar.hidden = true;
    watchClock();
    watchDatabase();
    watchAlerts();
    show();
});

// The screen begins anew, at the view that the address has.
whenUnitsChange(() => {
    shown = { ...shown, update: undefined };
    show();
});

const skip = document.querySelector(".skip");
skip.textContent = t("Skip to the content");
skip.addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
});
addEventListener("hashchange", show);

try {
    if (await resume()) started();
    else show();
} catch (error) {
    failed(error);
}
