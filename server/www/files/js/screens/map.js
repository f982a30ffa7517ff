// Where everything is, now; and beside it, what is wrong.
import { h, keyed, setText } from "../dom.js";
import * as fleet from "../fleet.js";
import { ago, asOf, byName, count, heading, place, speed } from "../format.js";
import { order, placeless } from "../health.js";
import { t } from "../language.js";
import { L, makeMap, removeMap, setView, viewText } from "../map/base.js";
import { FencesLayer } from "../map/fences-layer.js";
import { APART, Marks, Trails } from "../map/vehicles-layer.js";
import { address, note } from "../router.js";

/** Rows of the list beside the map; more are found by the search. */
const MOST = 100;

export function screen(main, parts, values) {
    let selected = Number(values.get("vehicle")) || null, follows = values.get("follow") === "1", query = "", isPlaced;
    const search = h("input", {
        type: "search", placeholder: t("Find a vehicle"), "aria-label": t("Find a vehicle"), oninput: () => { query = search.value; fill(); },
    });
    const list = h("ul", { class: "list", "aria-label": t("Vehicles, urgent ones first") });
    const plate = h("section", { class: "plate", "aria-label": t("The vehicle that is selected"), hidden: true });
    const element = h("div", { class: "map" });
    main.append(h("h1", { class: "hidden-text" }, t("Map")), h("div", { class: "beside" },
        h("aside", { "aria-label": t("Vehicles") }, h("div", { class: "row" }, search,
            h("button", { type: "button", onclick: () => fit() }, t("Show all"))), plate, list), element));
    search.style.flex = "1";

    const map = makeMap(element, t("Map of the fleet"));
    const fences = new FencesLayer(map);
    const trails = new Trails().addTo(map), marks = new Marks().addTo(map);
    marks.selected = selected;
    isPlaced = setView(map, values.get("at"));
    map.on("moveend", () => note({ at: viewText(map) }));
    map.on("dragstart", () => { follows = false; note({ follow: "" }); showPlate(); });
    map.on("click", ({ containerPoint }) => {
        const crowd = marks.crowdAt(containerPoint);
        if (crowd) map.fitBounds(crowd, { padding: [60, 60], maxZoom: Math.max(APART, map.getZoom() + 1) });
        else select(marks.near(containerPoint)?.id ?? null);
    });
    map.on("mousemove", ({ containerPoint }) => {
        element.classList.toggle("over-vehicle", Boolean(marks.crowdAt(containerPoint) ?? marks.near(containerPoint)));
    });

    function fit() {
        const places = fleet.placed().map(({ latest }) => [latest.latitude, latest.longitude]);
        if (places.length) map.fitBounds(L.latLngBounds(places), { padding: [40, 40], maxZoom: 15, animate: false });
    }

    function select(id, moves) {
        selected = id;
        marks.selected = id;
        if (!id) follows = false;
        note({ vehicle: id ?? "", follow: follows ? "1" : "" });
        const place = placeOf(id);
        if (moves && place) map.setView([place.latitude, place.longitude], Math.max(map.getZoom(), 13));
        marks.redraw();
        showPlate();
        fill();
    }

    function placeOf(id) {
        const vehicle = fleet.vehicles.get(id);
        return vehicle && fleet.safely(vehicle, ({ latest }) => latest);
    }

    function showPlate() {
        const vehicle = fleet.vehicles.get(selected);
        plate.hidden = !vehicle || fleet.safely(vehicle, fillPlate, true);
    }

    /** Returns whether there is nothing to be seen. */
    function fillPlate(vehicle) {
        const { level, word, why } = fleet.health(vehicle);
        const { latest, status } = vehicle, old = asOf(vehicle, fleet.now());
        const aged = (text) => (text && old ? `${text} (${old})` : text);
        const fact = (name, value) => (value ? [h("dt", {}, name), h("dd", {}, value)] : []);
        const key = JSON.stringify([vehicle.name, vehicle.plate, old, level, word, why, latest, status, follows, Math.round((fleet.now() - vehicle.seen) / 1000)]);
        if (plate.dataset.key === key) return false;
        plate.dataset.key = key;
        // The buttons stay where they are: one of them may have the focus.
        const facts = h("div", {}, h("div", { class: "row spread" }, h("h2", {}, vehicle.name, vehicle.plate ? [" ", h("span", { class: "plate-number" }, vehicle.plate)] : ""), h("span", { class: `health ${level}` }, word)),
            why.length ? h("p", { class: `notice ${level}` }, why.join("; ")) : null,
            h("dl", { class: "facts" }, fact(t("Last seen"), vehicle.seen && ago((fleet.now() - vehicle.seen) / 1000)),
                fact(t("Speed"), latest?.speed !== undefined && `${speed(latest.speed)}${latest.bearing !== undefined ? `, ${heading(latest.bearing)}` : ""}`),
                fact(t("Place"), latest ? place(latest.latitude, latest.longitude) : vehicle.seen && placeless(vehicle)),
                fact(t("Pending"), aged(status?.pending === undefined ? "" : count(status.pending))),
                fact(t("Ignition"), aged(status?.ignition === undefined ? "" : status.ignition ? t("on") : t("off")))));
        if (Number(plate.dataset.vehicle) === vehicle.id) {
            plate.firstChild.replaceWith(facts);
        } else {
            plate.dataset.vehicle = vehicle.id;
            plate.replaceChildren(facts, h("div", { class: "row" },
                h("a", { class: "button", href: address(["vehicle", vehicle.id]) }, t("Show the day")),
                h("button", { type: "button", onclick: () => { follows = !follows; note({ follow: follows ? "1" : "" }); select(vehicle.id, follows); } }, t("Follow")),
                h("button", { type: "button", class: "plain", onclick: () => select(null) }, t("Close"))));
        }
        plate.querySelector("button").setAttribute("aria-pressed", String(follows));
        return false;
    }

    function fill() {
        const rows = [...fleet.vehicles.values()].filter((vehicle) => !vehicle.revoked && fleet.isFound(vehicle, query));
        const rank = new Map(rows.map((vehicle) => [vehicle, order.indexOf(fleet.health(vehicle).level)]));
        rows.sort((a, b) => rank.get(a) - rank.get(b) || byName(a, b));
        keyed(list, rows.slice(0, MOST), (vehicle) => vehicle.id, (vehicle) => h("li", {}, h("button", { type: "button", onclick: () => select(vehicle.id, true) },
            h("span", { class: "health" }), h("span", { class: "name" }, h("span"), " ", h("span", { class: "plate-number" })), h("span", { class: "soft nowrap" }), h("span", { class: "why" }))), fillRow);
    }

    const fillRow = (row, vehicle) => fleet.safely(vehicle, () => describe(row, vehicle));

    function describe(row, vehicle) {
        const { level, word, why } = fleet.health(vehicle);
        const [mark, name, seen, reasons] = row.firstChild.children;
        mark.className = `health ${level}`;
        setText(mark, word);
        setText(name.firstChild, vehicle.name);
        setText(name.lastChild, vehicle.plate ?? "");
        setText(reasons, why.join("; "));
        setText(seen, vehicle.seen ? ago((fleet.now() - vehicle.seen) / 1000) : "");
        row.firstChild.setAttribute("aria-pressed", String(vehicle.id === selected));
    }

    let filled = 0;
    function changed(news, all) {
        if (!isPlaced && fleet.placed().length) {
            isPlaced = true;
            fit();
        }
        const time = performance.now();
        if (all) trails.redraw();
        else trails.grow(news);
        const place = follows && news.has(fleet.vehicles.get(selected)) && placeOf(selected);
        if (place) map.setView([place.latitude, place.longitude], map.getZoom(), { animate: false });
        marks.redraw();
        showPlate();
        // The order of the list changes seldom enough that people can press what they see.
        if (all || time - filled > 3000) {
            filled = time;
            fill();
        } else {
            for (const row of list.children) {
                const one = fleet.vehicles.get(Number(row.dataset.key));
                if (news.has(one)) fillRow(row, one);
            }
        }
    }

    if (fleet.vehicles.size) changed(new Set(), true);
    const end = fleet.follow(changed);
    return {
        close() {
            end();
            fences.close();
            removeMap(map);
        },
        update: () => false,
    };
}
