// Trips, stops, distance and time of all vehicles, by vehicle and day.
import { read } from "../api.js";
import { announce, h, keyed, setText } from "../dom.js";
import * as fleet from "../fleet.js";
import { byName, count, dayOf, dayText, distance, duration, hourMinute, isDay, rangeOf, speed, stamp, zone } from "../format.js";
import { plural, t } from "../language.js";
import { csvOf, rowsOf, totalOf, tripsCsv } from "../report.js";
import { address, note } from "../router.js";

const PAGE = 300, DAY = 86_400_000;
/** Milliseconds: a longer trip that ends after the last day is not in the report. */
const LONGEST = 2 * DAY;
/** Days of vehicles that a browser bears: some eight trips each. */
const MOST = 20_000;
const choices = { trip: t("Each trip, and the stop before it"), day: t("By vehicle and day"), vehicle: t("By vehicle"), fleet: t("By day") };

export function screen(main, parts, values) {
    const today = dayOf(fleet.now());
    let from = isDay(values.get("from")) ? values.get("from") : dayOf(fleet.now() - 6 * DAY), to = isDay(values.get("to")) ? values.get("to") : today;
    let by = Object.hasOwn(choices, values.get("by") ?? "") ? values.get("by") : "day", group = values.get("group") ?? "", query = "", most = PAGE;
    let trips = [], loading = null;

    const day = (label, value, changed) => h("label", { class: "field" }, label, h("input", { type: "date", value, onchange: (event) => isDay(event.target.value) && changed(event.target.value) }));
    const sort = h("select", { "aria-label": t("Rows"), onchange: () => { by = sort.value; note({ by }); show(); } }, Object.entries(choices).map(([value, text]) => h("option", { value, selected: value === by }, text)));
    const groups = h("select", { "aria-label": t("Group"), onchange: () => { group = groups.value; note({ group }); load(); } });
    const search = h("input", { type: "search", placeholder: t("Vehicle"), "aria-label": t("Find vehicles in the report"), oninput: () => { query = search.value; most = PAGE; show(); } });
    const trouble = h("p", { class: "notice bad", role: "alert", hidden: true });
    const total = h("p", { class: "soft", "aria-live": "polite" });
    const body = h("tbody"), sums = h("tr"), more = h("button", { type: "button", onclick: () => { most = Infinity; show(); } });
    const save = h("button", { type: "button", onclick: () => saveAs(csvOf(wanted()), "report") }, t("Save as CSV"));
    // Where they are too many for a page, the server's file has them: all that ended in the time.
    const all = h("a", {
        class: "button", download: "trips.csv", onclick: (event) => {
            if (!trouble.hidden) return;
            event.preventDefault();
            saveAs(tripsCsv(found()), "trips");
        },
    }, t("Each trip as CSV"));
    const heads = [t("Vehicle"), t("Day"), t("Trips"), t("Distance"), t("Driving"), t("Standing in trips"), t("Stops"), t("Between trips"), t("Began"), t("Ended"), t("Top speed")];
    main.append(h("div", { class: "sheet" },
        h("div", { class: "row spread" }, h("h1", {}, t("Reports")), h("div", { class: "row" }, save, all)),
        h("div", { class: "row" }, day(t("From"), from, (value) => { from = value; load(); }), day(t("To"), to, (value) => { to = value; load(); }),
            h("label", { class: "field" }, t("Rows"), sort), h("label", { class: "field" }, t("Group"), groups), h("label", { class: "field" }, t("Vehicle"), search)),
        trouble, h("div", { class: "table cards" }, h("table", {}, h("caption", { class: "hidden-text" }, t("Trips")),
            h("thead", {}, h("tr", {}, heads.map((text, index) => h("th", { scope: "col", class: index > 1 ? "number" : null }, text)))), body, h("tfoot", {}, sums))),
        total, more, h("p", { class: "soft" }, t("Days are those of {zone}; a trip belongs to the day on which it began. Driving and standing are parts of trips; what lies between them is summed within a day. ≈ is a distance that was added up from locations; others are by the vehicle's own odometer.", { zone }))));

    async function load() {
        loading?.abort();
        const mine = loading = new AbortController();
        note({ from, to });
        const vehicles = [...fleet.vehicles.values()];
        const names = [...new Set(vehicles.map((vehicle) => vehicle.group).filter(Boolean))].sort();
        groups.replaceChildren(h("option", { value: "" }, t("all")), ...names.map((name) => h("option", { selected: name === group }, name)));
        trouble.hidden = true;
        trips = [];
        const [first, last] = [rangeOf(from)[0], rangeOf(to)[1]];
        const path = (end) => `/v1/trips?${new URLSearchParams({ from: stamp(first), to: stamp(end), ...(group && { group }) })}`;
        all.href = `${path(last)}&format=csv`;
        const size = vehicles.filter((vehicle) => !group || vehicle.group === group).length * Math.ceil((last - first) / DAY);
        if (first > last) return complain(t("“From” is after “To”."));
        if (size > MOST) return complain(t("That is too much for a page: {count} days of vehicles, of at most {most}. Choose fewer days or a group, or save each trip as CSV.", { count: count(size), most: count(MOST) }));
        setText(total, t("Loading…"));
        main.setAttribute("aria-busy", "true");
        try {
            // The server goes by when trips ended; one that began in the time may have ended after it.
            const found = await read(path(last + LONGEST), { signal: mine.signal });
            trips = found.trips.filter(({ start }) => Date.parse(start) >= first && Date.parse(start) <= last);
        } catch (problem) {
            if (problem.name !== "AbortError") complain(problem.message);
            return;
        } finally {
            if (loading === mine) main.removeAttribute("aria-busy");
        }
        if (loading === mine) show();
    }

    function complain(text) {
        trouble.textContent = text;
        trouble.hidden = false;
        show();
    }

    /** Trips of the vehicles that are looked for. */
    const found = () => (query ? trips.filter(({ device, name }) => fleet.isFound({ ...fleet.vehicles.get(device), name }, query)) : trips);

    const wanted = () => {
        const rows = rowsOf(found(), by);
        return by === "vehicle" ? rows.sort(byName) : rows;
    };

    const cells = (row) => [
        String(row.trips), `${row.isEstimate ? "≈ " : ""}${distance(row.distance)}`, duration(row.driving), duration(row.idle), String(row.stops), duration(row.stopped),
        row.first === undefined ? "" : by === "vehicle" ? "" : hourMinute(row.first), row.last === undefined || by === "vehicle" ? "" : hourMinute(row.last),
        row.top === undefined ? "" : speed(row.top),
    ];

    function show() {
        const rows = wanted();
        keyed(body, rows.slice(0, most), ({ key }) => `${by} ${key}`, () => h("tr", {}, heads.map((text, index) => h(index ? "td" : "th", {
            scope: index ? null : "row", class: index > 1 ? "number nowrap" : "nowrap", "data-label": text,
        }))), (element, row) => {
            const [name, date, ...rest] = element.children;
            if (row.device === null) setText(name, t("All"));
            else if (!name.firstChild) name.append(h("a", { href: link(row) }, row.name));
            setText(date, row.day && dayText(row.day));
            rest.forEach((cell, index) => setText(cell, cells(row)[index]));
        });
        const all = totalOf(rows);
        sums.replaceChildren(h("th", { scope: "row" }, t("Sum")), h("td"), ...cells(all).map((text, index) => h("td", { class: "number nowrap", "data-label": heads[index + 2] }, text)));
        sums.hidden = !rows.length;
        setText(total, rows.length ? plural(all.trips, "{count} trip", "{count} trips") : trouble.hidden ? t("No trips in this time.") : "");
        more.hidden = rows.length <= most;
        setText(more, t("Show all {count}", { count: count(rows.length) }));
        save.disabled = !rows.length;
    }

    function link(row) {
        const [first, last] = by === "trip" ? [row.first, row.last] : row.day ? rangeOf(row.day) : [];
        return address(["vehicle", row.device], row.day ? { from: stamp(first), to: stamp(last) } : {});
    }

    function saveAs(text, name) {
        const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
        h("a", { href: url, download: `${name}-${from}-${to}.csv` }).click();
        setTimeout(() => URL.revokeObjectURL(url), 10_000);
        announce(t("The report is saved."));
    }

    // Which vehicles there are decides whether a page bears it.
    if (fleet.vehicles.size) load();
    const end = fleet.follow((news, isAll) => {
        if (isAll && !loading) load();
    });
    return {
        close() {
            end();
            loading?.abort();
        },
    };
}
