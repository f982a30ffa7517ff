// Fences drawn on the map, and sent to vehicles as commands.
import { read } from "../api.js";
import { order } from "../commands.js";
import { confirm } from "../dialog.js";
import { announce, form, h, keyed, setText } from "../dom.js";
import * as fleet from "../fleet.js";
import { byName, count } from "../format.js";
import { plural, t } from "../language.js";
import { L, makeMap, removeMap, setView, viewText } from "../map/base.js";
import { boundsOf, describe, fencesOf, Pen, shapeOf } from "../map/shapes.js";
import { Marks } from "../map/vehicles-layer.js";
import { note } from "../router.js";
import { units } from "../units.js";

/** Requests under way at once, when many vehicles are told the same. */
const ABREAST = 4;

export function screen(main, parts, values) {
    const chosen = new Set((values.get("vehicles") ?? "").split(",").map(Number).filter(Boolean));
    let query = "", shown = null;
    const element = h("div", { class: "map" });
    const search = h("input", { type: "search", placeholder: t("Find vehicles"), "aria-label": t("Find vehicles"), oninput: () => { query = search.value.toLowerCase(); fill(); } });
    const boxes = h("div", { class: "checks", role: "group", "aria-label": t("Vehicles that get the fence"), tabindex: 0 });
    const number = h("span", { class: "soft", "aria-live": "polite" });
    const known = h("div");
    const numbers = h("textarea", { name: "shape", class: "code", spellcheck: "false", "aria-describedby": "shape-help", placeholder: "52.5163 13.3777 500", onchange: take });
    const trouble = h("p", { class: "notice bad", role: "alert", hidden: true });
    const tools = ["circle", "polygon"].map((kind) => h("button", { type: "button", "aria-pressed": "false", onclick: () => begin(kind) }, kind === "circle" ? t("Draw a circle") : t("Draw a polygon")));
    const hint = h("p", { class: "soft", "aria-live": "polite" });
    const back = h("button", { type: "button", hidden: true, onclick: () => pen.back() }, t("Corner back"));
    const done = h("button", { type: "button", hidden: true, onclick: () => { pen.finish(); pen.show(); tell(); } }, t("Polygon is done"));
    const checkbox = (name, text) => h("label", { class: "choice" }, h("input", { type: "checkbox", name, checked: true }), text);
    const sheet = form({ class: "form column" }, submit,
        h("h2", {}, t("1. Draw")), h("div", { class: "row" }, tools), hint, h("div", { class: "row" }, back, done),
        h("details", {}, h("summary", {}, t("In numbers")), h("p", { class: "soft", id: "shape-help" },
            t("A circle: latitude, longitude and radius in {unit}. A polygon: latitude and longitude of a corner on each line.", { unit: units().shortSign })), numbers, trouble),
        h("h2", {}, t("2. Name")), h("label", { class: "field" }, t("Name of the fence"), h("input", { name: "name", required: true, maxlength: 100 })),
        checkbox("entry", t("Report when it is entered")), checkbox("exit", t("Report when it is left")),
        h("h2", {}, t("3. Vehicles")), search, h("div", { class: "row" }, h("button", { type: "button", onclick: () => choose(matching().map(({ id }) => id)) }, t("All of these")),
            h("button", { type: "button", onclick: () => choose([]) }, t("None")), number), boxes,
        h("button", { type: "submit", class: "primary" }, t("Send the fence")));
    main.append(h("div", { class: "beside" },
        h("aside", { "aria-label": t("A fence") }, h("h1", {}, t("Fences")), sheet, h("section", { "aria-label": t("Fences of the vehicle") }, h("h2", {}, t("Current fences")), known)), element));

    const map = makeMap(element, t("Map to draw fences on"));
    const marks = new Marks().addTo(map), existing = L.layerGroup().addTo(map);
    const pen = new Pen(map, tell);
    let isPlaced = setView(map, values.get("at"));
    map.doubleClickZoom.disable();
    map.on("moveend", () => note({ at: viewText(map) }));

    function begin(kind) {
        pen.begin(kind);
        tell();
    }

    function tell() {
        tools.forEach((tool, index) => tool.setAttribute("aria-pressed", String(!pen.isDone && pen.kind === ["circle", "polygon"][index])));
        const isPolygon = pen.kind === "polygon" && !pen.isDone;
        back.hidden = !isPolygon || !pen.points.length;
        done.hidden = !isPolygon || pen.points.length < 3;
        const fence = pen.fence();
        if (pen.kind && document.activeElement !== numbers) numbers.value = fence ? text(fence) : "";
        setText(hint, !pen.kind ? t("Or write it in numbers.")
            : pen.isDone ? describe(fence)
                : pen.kind === "circle" ? (pen.points.length ? t("Now click on its edge.") : t("Click on the map at its centre."))
                    : pen.points.length ? t("Click on the map at each corner; {count} so far.", { count: pen.points.length }) : t("Click on the map at each corner."));
    }

    function text(fence) {
        return fence.polygon ? fence.polygon.map(([lng, lat]) => `${lat} ${lng}`).join("\n")
            : `${fence.latitude} ${fence.longitude} ${Math.round(fence.radius_meters / units().short)}`;
    }

    function take() {
        const rows = numbers.value.trim().split("\n").map((line) => line.trim().split(/[\s,;]+/).map(Number));
        const isPlace = ([lat, lng]) => Math.abs(lat) <= 90 && Math.abs(lng) <= 180;
        let fence;
        if (rows.length === 1 && rows[0].length === 3 && isPlace(rows[0]) && rows[0][2] > 0) {
            fence = { latitude: rows[0][0], longitude: rows[0][1], radius_meters: rows[0][2] * units().short };
        } else if (rows.length >= 3 && rows.every((row) => row.length === 2 && isPlace(row))) {
            fence = { polygon: rows.map(([lat, lng]) => [lng, lat]) };
        }
        trouble.hidden = Boolean(fence);
        trouble.textContent = t("This is neither a circle nor a polygon.");
        if (!fence) return;
        pen.set(fence);
        map.fitBounds(boundsOf(fence), { padding: [60, 60], animate: false });
        tell();
    }

    async function submit(fields) {
        if (pen.kind === "polygon" && !pen.isDone && pen.points.length >= 3) pen.finish();
        const shape = pen.fence();
        if (!shape) throw new Error(t("Draw a circle or a polygon first."));
        if (!chosen.size) throw new Error(t("Choose at least one vehicle."));
        const id = fields.name.value.trim();
        const fence = { id, ...shape, notify_on_entry: fields.entry.checked, notify_on_exit: fields.exit.checked };
        await tellAll([...chosen], (vehicle) => order(vehicle, "add_geofences", { geofences: [fence] }));
        announce(plural(chosen.size, "{fence} waits for the next upload of {count} vehicle.", "{fence} waits for the next upload of {count} vehicles.", { fence: id }));
        fields.name.value = "";
        pen.clear();
        numbers.value = "";
        tell();
        setText(hint, t("“{fence}” is on its way: each vehicle takes it with its next upload, within five minutes unless it is set otherwise.", { fence: id }));
        shown = null;
        await showKnown();
    }

    /** What failed is named; the others have it. */
    async function tellAll(ids, action) {
        const failed = [], queue = [...ids];
        let told = 0;
        await Promise.all(Array.from({ length: ABREAST }, async () => {
            for (let id = queue.pop(); id; id = queue.pop()) {
                try {
                    await action(id);
                    setText(hint, t("{number} of {count} told…", { number: count(++told), count: count(ids.length) }));
                } catch (problem) {
                    failed.push(`${fleet.vehicles.get(id)?.name ?? id}: ${problem.message}`);
                }
            }
        }));
        if (failed.length) throw new Error(t("{number} told, {count} not. {reasons}", { number: count(told), count: count(failed.length), reasons: failed.slice(0, 3).join(" ") }));
    }

    const matching = () => [...fleet.vehicles.values()].filter(({ revoked, name }) => !revoked && name.toLowerCase().includes(query))
        .sort(byName);

    function choose(ids) {
        chosen.clear();
        for (const id of ids) chosen.add(id);
        chosenChanged();
        fill();
    }

    function chosenChanged() {
        note({ vehicles: chosen.size <= 50 ? [...chosen].join(",") : "" });
        setText(number, t("{count} chosen", { count: count(chosen.size) }));
        showKnown();
    }

    function fill() {
        const found = matching();
        // Those that are chosen come first: there may be two thousand.
        found.sort((a, b) => chosen.has(b.id) - chosen.has(a.id));
        keyed(boxes, found.slice(0, 500), ({ id }) => id, (vehicle) => h("label", { class: "choice" }, h("input", {
            type: "checkbox", onchange: (event) => {
                if (event.target.checked) chosen.add(vehicle.id);
                else chosen.delete(vehicle.id);
                chosenChanged();
            },
        }), h("span")), (row, vehicle) => {
            row.firstChild.checked = chosen.has(vehicle.id);
            setText(row.lastChild, vehicle.name);
        });
        setText(number, t("{count} chosen", { count: count(chosen.size) }));
    }

    /** With one vehicle chosen: what it has been told. */
    async function showKnown() {
        const only = chosen.size === 1 ? [...chosen][0] : null;
        if (only === shown && only) return;
        shown = only;
        existing.clearLayers();
        if (!only) {
            known.replaceChildren(h("p", { class: "soft" }, t("Choose one vehicle to see the fences that it was sent.")));
            return;
        }
        let fences;
        try {
            fences = fencesOf((await read(`/v1/devices/${only}/commands`)).commands);
        } catch (problem) {
            known.replaceChildren(h("p", { class: "notice bad" }, problem.message));
            return;
        }
        if (shown !== only) return;
        for (const { fence, isThere } of fences) {
            const shape = shapeOf(fence, isThere ? "fence" : "fence is-new");
            if (shape) existing.addLayer(shape.bindTooltip(h("span", {}, fence.id)));
        }
        if (!values.get("at") && existing.getLayers().length) {
            map.fitBounds(L.featureGroup(existing.getLayers()).getBounds(), { padding: [60, 60], maxZoom: 15, animate: false });
            isPlaced = true;
        }
        known.replaceChildren(fences.length ? h("ul", { class: "items" }, fences.map(({ fence, isThere }) => h("li", {},
            h("div", { class: "line" }, h("strong", {}, fence.id), h("span", { class: `state ${isThere ? "done" : "open"}` }, isThere ? t("there") : t("on its way"))),
            h("div", { class: "soft" }, describe(fence)), h("button", {
                type: "button", class: "danger", onclick: () => confirm(t("Remove {name}?", { name: fence.id }), t("The vehicle forgets it with its next upload."), t("Remove"), async () => {
                    await order(only, "remove_geofences", { ids: [fence.id] });
                    shown = null;
                    await showKnown();
                }),
            }, t("Remove"))))) : h("p", { class: "soft" }, t("No fence was sent to it from here.")));
    }

    tell();
    fill();
    showKnown();
    const end = fleet.follow((news, all) => {
        marks.redraw();
        if (all) fill();
        if (!isPlaced) place();
    });
    function place() {
        const latest = fleet.placed().filter(({ id }) => !chosen.size || chosen.has(id)).map((vehicle) => vehicle.latest);
        if (!latest.length) return;
        isPlaced = true;
        map.fitBounds(latest.map(({ latitude, longitude }) => [latitude, longitude]), { padding: [40, 40], maxZoom: 14, animate: false });
    }
    if (!isPlaced) place();
    return {
        close() {
            end();
            removeMap(map);
        },
    };
}
