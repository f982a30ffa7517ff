// The fleet at a glance: what needs somebody comes first.
import { h, keyed, setText } from "../dom.js";
import * as fleet from "../fleet.js";
import { ago, byName, count, mileage, speed } from "../format.js";
import { counted, order, placeless } from "../health.js";
import { plural, t } from "../language.js";
import { address, note } from "../router.js";

/** Rows at first; a thousand rows that nobody reads cost time at every update. */
const PAGE = 200;

const columns = {
    health: { title: t("State"), by: (vehicle) => order.indexOf(fleet.health(vehicle).level) },
    name: { title: t("Vehicle"), by: (vehicle) => vehicle.name.toLowerCase() },
    seen: { title: t("Last seen"), by: (vehicle) => -vehicle.seen, isNumber: true },
    speed: { title: t("Speed"), by: (vehicle) => -(vehicle.latest?.speed ?? -1), isNumber: true },
    pending: { title: t("Pending"), by: (vehicle) => -(vehicle.status?.pending ?? -1), isNumber: true },
    odometer: { title: t("Odometer"), by: (vehicle) => -(vehicle.status?.odometer ?? -1), isNumber: true, isLess: true },
    version: { title: t("Version"), by: (vehicle) => vehicle.version ?? "", isLess: true },
};

export function screen(main, parts, values) {
    let query = values.get("q") ?? "", level = order.includes(values.get("health")) ? values.get("health") : "", sort = Object.hasOwn(columns, values.get("sort") ?? "") ? values.get("sort") : "health";
    let isDown = values.get("down") === "1", most = PAGE;

    const search = h("input", {
        type: "search", value: query, placeholder: t("Name, plate, note, group …"), "aria-label": t("Search vehicles"),
        oninput: () => { query = search.value; most = PAGE; change({ q: query }); },
    });
    const chips = h("div", { class: "chips", role: "group", "aria-label": t("Show only") });
    const body = h("tbody");
    const heads = Object.entries(columns).map(([name, column]) => {
        const head = h("th", { scope: "col", class: `${column.isNumber ? "number" : ""} ${column.isLess ? "less" : ""}` },
            h("button", { type: "button", onclick: () => by(name) }, column.title));
        head.dataset.name = name;
        return head;
    });
    heads.push(h("th", { scope: "col" }, t("What is wrong")));
    const found = h("p", { class: "soft", "aria-live": "polite" });
    const more = h("button", { type: "button", onclick: () => { most = Infinity; show(); } });
    main.append(h("div", { class: "sheet" },
        h("div", { class: "row spread" }, h("h1", {}, t("Fleet")), search), chips,
        h("div", { class: "table cards" }, h("table", {},
            h("caption", { class: "hidden-text" }, t("Vehicles")), h("thead", {}, h("tr", {}, heads)), body)),
        found, more));

    function by(name) {
        isDown = sort === name ? !isDown : false;
        sort = name;
        change({ sort, down: isDown ? "1" : "" });
    }

    function change(changes) {
        note(changes);
        show();
    }

    function wanted() {
        const rows = [...fleet.vehicles.values()].filter((vehicle) => {
            if (level && fleet.health(vehicle).level !== level) return false;
            return fleet.safely(vehicle, ({ id, group, model, version }) => fleet.isFound(vehicle, query, id, group, model, version), true);
        });
        const key = columns[sort].by;
        const keys = new Map(rows.map((vehicle) => [vehicle, fleet.safely(vehicle, key, "")]));
        const turn = isDown ? -1 : 1;
        return rows.sort((a, b) => {
            const [left, right] = [keys.get(a), keys.get(b)];
            if (left !== right) return (left < right ? -1 : 1) * turn;
            return byName(a, b);
        });
    }

    function showChips() {
        const counts = Object.fromEntries(order.map((name) => [name, 0]));
        for (const vehicle of fleet.vehicles.values()) counts[fleet.health(vehicle).level] += 1;
        const shown = order.filter((name) => counts[name] || name === level);
        keyed(chips, shown, (name) => name, (name) => h("button", {
            type: "button", class: name, onclick: () => { level = level === name ? "" : name; change({ health: level }); },
        }), (button, name) => {
            setText(button, counted[name](count(counts[name])));
            button.setAttribute("aria-pressed", String(level === name));
        });
    }

    function show() {
        showChips();
        for (const head of heads) {
            if (head.dataset.name === sort) head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
            else head.removeAttribute("aria-sort");
        }
        const rows = wanted();
        keyed(body, rows.slice(0, most), (vehicle) => vehicle.id, makeRow, fillRow);
        setText(found, !fleet.vehicles.size
            ? (fleet.state === "live" ? t("No vehicles yet. An admin adds them under Devices.") : t("Loading…"))
            : rows.length === fleet.vehicles.size ? plural(rows.length, "{count} vehicle", "{count} vehicles")
                : plural(fleet.vehicles.size, "{number} of {count} vehicle", "{number} of {count} vehicles", { number: count(rows.length) }));
        more.hidden = rows.length <= most;
        setText(more, t("Show all {count}", { count: count(rows.length) }));
    }

    show();
    // In the order in which people just read it, unless something has become urgent: once in a while is enough.
    let last = 0;
    const end = fleet.follow((news, all) => {
        const time = performance.now();
        if (all || time - last > 2000) {
            last = time;
            show();
        } else {
            for (const row of body.children) {
                const vehicle = fleet.vehicles.get(Number(row.dataset.key));
                if (news.has(vehicle)) fillRow(row, vehicle);
            }
        }
    });
    return { close: end, update: () => false };
}

function makeRow(vehicle) {
    return h("tr", {},
        h("td", {}, h("span")),
        h("th", { scope: "row" }, h("a", { href: address(["vehicle", vehicle.id]) }), " ", h("span", { class: "plate-number" })),
        h("td", { class: "number", "data-label": t("Last seen") }), h("td", { class: "number", "data-label": t("speed") }),
        h("td", { class: "number", "data-label": t("pending") }), h("td", { class: "number less", "data-label": t("odometer") }),
        h("td", { class: "nowrap less", "data-label": t("version") }), h("td", { class: "why" }));
}

const fillRow = (row, vehicle) => fleet.safely(vehicle, () => describe(row, vehicle));

function describe(row, vehicle) {
    const { level, word, why } = fleet.health(vehicle);
    const [state, name, seen, drives, pending, odometer, version, reasons] = row.children;
    const mark = state.firstChild;
    if (mark.className !== `health ${level}`) mark.className = `health ${level}`;
    setText(mark, word);
    setText(name.firstChild, vehicle.name);
    setText(name.lastChild, vehicle.plate ?? "");
    setText(reasons, vehicle.seen && !vehicle.latest ? [...why, placeless(vehicle)].join("; ") : why.join("; "));
    setText(seen, vehicle.seen ? ago((fleet.now() - vehicle.seen) / 1000) : "");
    setText(drives, level === "moving" && vehicle.latest.speed !== undefined ? speed(vehicle.latest.speed) : "");
    const { pending: rows, odometer: meters } = vehicle.status ?? {};
    setText(pending, rows === undefined ? "" : count(rows));
    setText(odometer, meters === undefined ? "" : mileage(meters));
    setText(version, vehicle.version ?? "");
}
