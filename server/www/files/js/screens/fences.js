// The fences of the fleet: drawn on the map, for vehicles that take them as they upload.
import { read, send } from "../api.js";
import { confirm } from "../dialog.js";
import { announce, form, h, keyed, setText } from "../dom.js";
import * as fleet from "../fleet.js";
import { byName, count } from "../format.js";
import { plural, t } from "../language.js";
import { L, makeMap, removeMap, setView, viewText } from "../map/base.js";
import { boundsOf, describe, FenceShapes, Pen } from "../map/shapes.js";
import { Marks } from "../map/vehicles-layer.js";
import { note } from "../router.js";
import { units } from "../units.js";

/** Rows of the list, and vehicles to choose from; more are found by the search. */
const MOST = 300;
/** Vehicles that are named of those that have yet to take a fence. */
const NAMED = 20;

export function screen(main, parts, values) {
    let fences = [], groups = [], rules = [], loaded = -1, query = "", selected = Number(values.get("fence")) || null, editor = null, isClosed = false;
    const element = h("div", { class: "map" });
    const search = h("input", { type: "search", placeholder: t("Find a fence"), "aria-label": t("Find a fence"), oninput: () => { query = search.value.toLowerCase(); fill(); } });
    search.style.flex = "1";
    const list = h("ul", { class: "list", "aria-label": t("Fences of the fleet") });
    const plate = h("section", { class: "plate", "aria-label": t("The fence that is selected"), hidden: true });
    const trouble = h("p", { class: "notice bad", role: "alert", hidden: true });
    const browse = h("div", { class: "column" }, h("div", { class: "row" }, search, h("button", { type: "button", class: "primary", onclick: () => edit() }, t("Draw a fence"))), trouble, plate, list);
    const aside = h("aside", { "aria-label": t("Fences") }, h("h1", {}, t("Fences")), browse);
    main.append(h("div", { class: "beside" }, aside, element));

    const map = makeMap(element, t("Map of the fences"));
    const shapes = new FenceShapes(map, ({ id }) => !editor && select(id)), marks = new Marks().addTo(map);
    let isPlaced = setView(map, values.get("at"));
    map.doubleClickZoom.disable();
    map.on("moveend", () => {
        note({ at: viewText(map) });
        draw();
    });

    async function load() {
        loaded = fleet.loads;
        try {
            [{ fences }, { groups }, { rules }] = await Promise.all(["fences", "groups", "rules"].map((name) => read(`/v1/${name}`)));
            trouble.hidden = true;
        } catch (problem) {
            setText(trouble, problem.message);
            trouble.hidden = false;
        }
        if (isClosed) return;
        if (!isPlaced) fit();
        fill();
        draw();
        showPlate();
    }

    function fit() {
        const bounds = L.latLngBounds([...fences.map(boundsOf), ...fleet.placed().map(({ latest }) => L.latLngBounds([[latest.latitude, latest.longitude]]))]
            .flatMap((one) => [one.getSouthWest(), one.getNorthEast()]));
        if (!bounds.isValid()) return;
        isPlaced = true;
        map.fitBounds(bounds, { padding: [40, 40], maxZoom: 15, animate: false });
    }

    /** For whom a fence is. */
    function whom(fence) {
        if (fence.all) return t("all vehicles");
        const names = fence.groups ?? [], single = fence.devices ?? [];
        const words = [...names.map((name) => t("group {name}", { name })), ...single.length > 3 ? [plural(single.length, "{count} vehicle", "{count} vehicles")]
            : single.map((id) => fleet.vehicles.get(id)?.name ?? t("Vehicle {id}", { id }))];
        return words.join(", ") || t("no vehicle");
    }

    /** Which rules wait for a fence by its name, in words; nothing where none does. */
    function waiting(name) {
        const names = rules.filter(({ kind, fence }) => kind === "geofence" && fence === name).map((rule) => rule.name);
        return names.length ? plural(names.length, "A rule waits for the name “{fence}”, and finds nothing any more: {names}.",
            "{count} rules wait for the name “{fence}”, and find nothing any more: {names}.", { fence: name, names: named(names) }) : "";
    }

    function fill() {
        const found = fences.filter(({ name }) => name.toLowerCase().includes(query)).sort(byName);
        keyed(list, found.slice(0, MOST), ({ id }) => id, ({ id }) => h("li", {}, h("button", { type: "button", onclick: () => select(id, true) },
            h("span"), h("span", { class: "name" }), h("span"), h("span", { class: "why" }))), (row, fence) => {
            setText(row.firstChild.children[1], fence.name);
            setText(row.firstChild.children[3], whom(fence));
            row.firstChild.setAttribute("aria-pressed", String(fence.id === selected));
        });
        if (!found.length) list.replaceChildren(h("li", { class: "soft" }, fences.length ? t("No fence has this name.") : t("There are no fences yet.")));
    }

    function draw() {
        shapes.show(fences.filter(({ id }) => id !== editor?.id).map((fence) => (
            { fence, className: fence.id === selected ? "fence is-chosen" : "fence", words: fence.name })));
    }

    function select(id, moves) {
        selected = id;
        note({ fence: id ?? "" });
        const fence = fences.find((one) => one.id === id);
        if (moves && fence) map.fitBounds(boundsOf(fence), { padding: [80, 80], maxZoom: 16, animate: false });
        fill();
        draw();
        showPlate();
    }

    async function showPlate() {
        const fence = fences.find(({ id }) => id === selected);
        plate.hidden = !fence;
        if (!fence) return plate.replaceChildren();
        const states = h("div", { "aria-live": "polite" }, h("p", { class: "soft" }, t("Reads which vehicles have it…")));
        plate.replaceChildren(h("h2", {}, fence.name), h("p", { class: "soft" }, describe(fence)), h("p", {}, t("For {whom}", { whom: whom(fence) })), h("div", { class: "row" },
            h("button", { type: "button", onclick: () => edit(fence) }, t("Change")),
            h("button", { type: "button", class: "danger", onclick: () => confirm(t("Remove {name}?", fence), [t("Vehicles forget it with their next upload."), waiting(fence.name)].filter(Boolean).join(" "), t("Remove"), async () => {
                await send("DELETE", `/v1/fences/${fence.id}`);
                selected = null;
                await load();
            }) }, t("Remove")),
            h("button", { type: "button", class: "plain", onclick: () => select(null) }, t("Close"))), states);
        try {
            const { devices } = await read(`/v1/fences/${fence.id}/devices`);
            if (selected === fence.id) states.replaceChildren(...progress(devices));
        } catch (problem) {
            states.replaceChildren(h("p", { class: "notice bad" }, problem.message));
        }
        return undefined;
    }

    function progress(devices) {
        if (!devices.length) return [h("p", { class: "soft" }, t("No vehicle is to have it."))];
        const taken = devices.filter(({ state }) => state === "taken").length;
        const open = devices.filter(({ state }) => state !== "taken");
        const summary = open.length ? plural(devices.length, "{taken} of {count} vehicle has it.", "{taken} of {count} vehicles have it.", { taken: count(taken) })
            : plural(devices.length, "The vehicle has it.", "All {count} vehicles have it.");
        const nameOf = ({ device }) => fleet.vehicles.get(device)?.name ?? t("Vehicle {id}", { id: device });
        const silent = open.filter(({ reason }) => !reason), others = open.filter(({ reason }) => reason);
        return [h("p", {}, summary), silent.length ? h("p", { class: "soft" }, t("With their next upload: {names}", { names: named(silent.map(nameOf)) })) : "",
            others.length ? h("ul", { class: "items" }, others.slice(0, NAMED).map((one) => h("li", {}, h("strong", {}, nameOf(one)), h("div", { class: "soft" }, why(one.reason)))),
                others.length > NAMED ? h("li", { class: "soft" }, t("and {count} more", { count: count(others.length - NAMED) })) : "") : ""];
    }

    const named = (names) => (names.length > NAMED ? t("{names} and {count} more", { names: names.slice(0, NAMED).join(", "), count: count(names.length - NAMED) }) : names.join(", "));

    /** A vehicle's word, for people. */
    function why(reason) {
        const [word, detail] = reason.split(/: ?(.*)/s);
        return {
            stopped_by_person: t("A person has stopped it; it takes it when they start it again."),
            not_allowed: t("Its configuration does not let this server add fences: [sync.commands] allow."),
            exists: t("Somebody at the vehicle has a fence of this name with another shape."),
            too_many: t("It has as many fences as a vehicle can have."),
            invalid_geofence: detail,
        }[word] ?? reason;
    }

    /** Draws a fence, or changes one; the list comes back when it is saved, or left. */
    function edit(fence) {
        select(fence?.id ?? null);
        editor = new Editor(fence);
        browse.hidden = true;
        aside.append(editor.element);
        editor.element.querySelector("button, input").focus();
        draw();
    }

    function leave(id) {
        editor.close();
        editor = null;
        browse.hidden = false;
        select(id ?? null);
    }

    class Editor {
        constructor(fence) {
            this.id = fence?.id;
            this.chosen = new Set(fence?.devices ?? []);
            this.query = "";
            const field = (text, ...content) => h("label", { class: "field" }, text, ...content);
            this.numbers = h("textarea", { name: "shape", class: "code", spellcheck: "false", "aria-describedby": "shape-help", placeholder: "52.5163 13.3777 500", onchange: () => this.take() });
            this.trouble = h("p", { class: "notice bad", role: "alert", hidden: true });
            this.tools = ["circle", "polygon"].map((kind) => h("button", { type: "button", "aria-pressed": "false", onclick: () => { this.pen.begin(kind); this.tell(); } }, kind === "circle" ? t("Draw a circle") : t("Draw a polygon")));
            this.warning = h("p", { class: "notice warn", role: "status", hidden: true });
            this.hint = h("p", { class: "soft", "aria-live": "polite" });
            this.back = h("button", { type: "button", hidden: true, onclick: () => this.pen.back() }, t("Corner back"));
            this.done = h("button", { type: "button", hidden: true, onclick: () => { this.pen.finish(); this.pen.show(); this.tell(); } }, t("Polygon is done"));
            const box = (name, text, checked) => h("label", { class: "choice" }, h("input", { type: "checkbox", name, checked }), text);
            const radio = (value, text, checked) => h("label", { class: "choice" }, h("input", { type: "radio", name: "whom", value, checked, onchange: () => this.choose() }), text);
            const kind = !fence || fence.all ? "all" : fence.groups?.length ? "groups" : "devices";
            this.groups = h("div", { class: "checks", role: "group", "aria-label": t("Groups that get the fence") }, groups.map(({ name }) => h("label", { class: "choice" },
                h("input", { type: "checkbox", name: "group", value: name, checked: Boolean(fence?.groups?.includes(name)) }), name)), groups.length ? "" : h("p", { class: "soft" }, t("There is no group yet.")));
            this.boxes = h("div", { class: "checks", role: "group", "aria-label": t("Vehicles that get the fence"), tabindex: 0 });
            this.number = h("span", { class: "soft", "aria-live": "polite" });
            const find = h("input", { type: "search", placeholder: t("Find vehicles"), "aria-label": t("Find vehicles"), oninput: () => { this.query = find.value.toLowerCase(); this.fill(); } });
            this.vehicles = h("div", { class: "column" }, find, this.boxes, this.number);
            this.element = form({ class: "form column" }, (fields) => this.save(fields),
                h("h2", {}, t("1. Draw")), h("div", { class: "row" }, this.tools), this.hint, h("div", { class: "row" }, this.back, this.done),
                h("details", {}, h("summary", {}, t("In numbers")), h("p", { class: "soft", id: "shape-help" },
                    t("A circle: latitude, longitude and radius in {unit}. A polygon: latitude and longitude of a corner on each line.", { unit: units().shortSign })), this.numbers, this.trouble),
                h("h2", {}, t("2. Name")), field(t("Name of the fence"), h("input", {
                    name: "name", required: true, maxlength: 100, value: fence?.name ?? "", oninput: ({ target }) => {
                        const words = fence && target.value.trim() !== fence.name ? waiting(fence.name) : "";
                        setText(this.warning, words);
                        this.warning.hidden = !words;
                    },
                })), this.warning,
                box("entry", t("Report when it is entered"), fence?.notify_on_entry ?? true), box("exit", t("Report when it is left"), fence?.notify_on_exit ?? true),
                field(t("Report a stay after so many minutes"), h("input", { name: "dwell", type: "number", min: 1, max: 525600, step: "any", value: fence?.dwell_seconds ? fence.dwell_seconds / 60 : "" })),
                h("h2", {}, t("3. Vehicles")), radio("all", t("All vehicles, those of tomorrow among them"), kind === "all"), radio("groups", t("Those of these groups"), kind === "groups"), this.groups,
                radio("devices", t("These vehicles"), kind === "devices"), this.vehicles,
                h("div", { class: "row" }, h("button", { type: "submit", class: "primary" }, t("Save the fence")), h("button", { type: "button", onclick: () => leave(this.id) }, t("Cancel"))));
            this.pen = new Pen(map, () => this.tell());
            if (fence) this.pen.set(fence);
            this.tell();
            this.choose();
            this.fill();
        }

        get whom() { return this.element.elements.whom.value; }

        choose() {
            this.groups.hidden = this.whom !== "groups";
            this.vehicles.hidden = this.whom !== "devices";
        }

        tell() {
            const pen = this.pen, isPolygon = pen.kind === "polygon" && !pen.isDone;
            this.tools.forEach((tool, index) => tool.setAttribute("aria-pressed", String(!pen.isDone && pen.kind === ["circle", "polygon"][index])));
            this.back.hidden = !isPolygon || !pen.points.length;
            this.done.hidden = !isPolygon || pen.points.length < 3;
            const fence = pen.fence();
            if (pen.kind && document.activeElement !== this.numbers) this.numbers.value = fence ? text(fence) : "";
            setText(this.hint, !pen.kind ? t("Or write it in numbers.")
                : pen.isDone ? describe(fence)
                    : pen.kind === "circle" ? (pen.points.length ? t("Now click on its edge.") : t("Click on the map at its centre."))
                        : pen.points.length ? t("Click on the map at each corner; {count} so far.", { count: pen.points.length }) : t("Click on the map at each corner."));
        }

        /** What is written in numbers. */
        take() {
            const fence = shapeIn(this.numbers.value);
            this.trouble.hidden = Boolean(fence);
            this.trouble.textContent = t("This is neither a circle nor a polygon.");
            if (!fence) return;
            this.pen.set(fence);
            map.fitBounds(boundsOf(fence), { padding: [60, 60], animate: false });
            this.tell();
        }

        fill() {
            const found = [...fleet.vehicles.values()].filter(({ revoked, name }) => !revoked && name.toLowerCase().includes(this.query)).sort(byName)
                .sort((a, b) => this.chosen.has(b.id) - this.chosen.has(a.id));
            keyed(this.boxes, found.slice(0, MOST), ({ id }) => id, (vehicle) => h("label", { class: "choice" }, h("input", {
                type: "checkbox", onchange: ({ target }) => {
                    if (target.checked) this.chosen.add(vehicle.id);
                    else this.chosen.delete(vehicle.id);
                    this.count();
                },
            }), h("span")), (row, vehicle) => {
                row.firstChild.checked = this.chosen.has(vehicle.id);
                setText(row.lastChild, vehicle.name);
            });
            this.count();
        }

        count() { setText(this.number, t("{count} chosen", { count: count(this.chosen.size) })); }

        async save(fields) {
            if (this.pen.kind === "polygon" && !this.pen.isDone && this.pen.points.length >= 3) this.pen.finish();
            const shape = this.pen.fence();
            if (!shape) throw new Error(t("Draw a circle or a polygon first."));
            const names = [...this.groups.querySelectorAll("input:checked")].map(({ value }) => value);
            const whom = { all: { all: true }, groups: { groups: names }, devices: { devices: [...this.chosen] } }[this.whom];
            if (whom.groups?.length === 0) throw new Error(t("Choose at least one group."));
            if (whom.devices?.length === 0) throw new Error(t("Choose at least one vehicle."));
            const name = fields.name.value.trim(), minutes = Number(fields.dwell.value);
            const body = { name, ...shape, notify_on_entry: fields.entry.checked, notify_on_exit: fields.exit.checked, ...minutes ? { dwell_seconds: minutes * 60 } : {}, ...whom };
            const saved = await (await send(this.id ? "PUT" : "POST", this.id ? `/v1/fences/${this.id}` : "/v1/fences", body)).json();
            await load();
            leave(saved.id);
            announce(t("{fence} is saved; each vehicle takes it with its next upload.", { fence: name }));
        }

        close() {
            this.pen.close();
            this.element.remove();
        }
    }

    fill();
    load();
    const end = fleet.follow((news, all) => {
        marks.redraw();
        if (loaded !== fleet.loads && !editor) load();
        if (all) editor?.fill();
    });
    return {
        close() {
            isClosed = true;
            end();
            removeMap(map);
        },
    };
}

/** As it is written in numbers. */
function text(fence) {
    return fence.polygon ? fence.polygon.map(([lng, lat]) => `${lat} ${lng}`).join("\n")
        : `${fence.latitude} ${fence.longitude} ${Math.round(fence.radius_meters / units().short)}`;
}

/** Undefined for what is neither a circle nor a polygon. */
function shapeIn(written) {
    const rows = written.trim().split("\n").map((line) => line.trim().split(/[\s,;]+/).map(Number));
    const isPlace = ([lat, lng]) => Math.abs(lat) <= 90 && Math.abs(lng) <= 180;
    if (rows.length === 1 && rows[0].length === 3 && isPlace(rows[0]) && rows[0][2] > 0) {
        return { latitude: rows[0][0], longitude: rows[0][1], radius_meters: rows[0][2] * units().short };
    }
    return rows.length >= 3 && rows.every((row) => row.length === 2 && isPlace(row)) ? { polygon: rows.map(([lat, lng]) => [lng, lat]) } : undefined;
}
