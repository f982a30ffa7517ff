// One vehicle: a stretch of its time on a map, over time, and in words.
import { h, icon, setText } from "../dom.js";
import * as fleet from "../fleet.js";
import {
    ago, asOf, count, datedTimeOfDay, dayOf, distance, duration, heading, height, isOneDay, mileage, percent, place, rangeOf, speed, stamp, timeOfDay,
} from "../format.js";
import { Chart } from "../chart.js";
import { placeless } from "../health.js";
import { t } from "../language.js";
import { L, makeMap, removeMap, setView, viewText } from "../map/base.js";
import { TrackLayer } from "../map/track-layer.js";
import { FencesLayer } from "../map/fences-layer.js";
import { fencesOf, shapeOf } from "../map/shapes.js";
import { Player } from "../player.js";
import { note } from "../router.js";
import { placeOf, wordOf } from "../status.js";
import { indexAt, joined, loadTrack, motionOf, sums } from "../track.js";
import { dayBar } from "./vehicle-days.js";
import { Tabs } from "./vehicle-tabs.js";

/** Milliseconds between two looks at what has come, and of the least that the chart shows. */
const GROWTH = 5000, CLOSEST = 60_000;
/** How near the map goes to an event. */
const EVENT_ZOOM = 14;

export function screen(main, parts, values) {
    const id = Number(parts[1]);
    let track = null, chosen = null, loading = null, isPlaced = false;
    let [from, to] = stretch(values);
    /** What chart and slider show of it. */
    let view = [from, to];
    let growth = null, grown = 0;

    const name = h("h1", {}, t("Vehicle {id}", { id })), mark = h("span", { class: "health" }), about = h("p", { class: "soft", hidden: true }), why = h("p", { class: "notice", hidden: true });
    const facts = h("dl", { class: "facts" });
    const total = { meters: h("dd"), moving: h("dd"), top: h("dd") };
    const files = Object.entries({ GPX: "gpx", GeoJSON: "geojson", CSV: "csv" }).map(([word, format]) => [format, h("a", {}, word)]);
    const save = h("p", { class: "save soft", hidden: true }, t("Save as"), files.map(([, link]) => link));
    const trouble = h("p", { class: "notice bad", role: "alert", hidden: true });
    const days = dayBar((first, last) => { [from, to] = [first, last]; chosen = null; isPlaced = false; open(); });
    const tabs = new Tabs(id, values.get("tab"), choose, seekEvent, showFences);
    const element = h("div", { class: "map" }), readout = h("p", { class: "readout" });
    const chart = new Chart((time) => { player.stop(); player.go(time); }, zoom);
    const player = new Player(moved, timeText);
    const button = (label, name, onclick) => h("button", { type: "button", "aria-label": label, title: label, onclick }, icon(name));
    const all = h("button", { type: "button", hidden: true, onclick: () => lookAt(from, Infinity) }, t("All of it"));
    const missing = h("div", { class: "sheet", hidden: true }, h("h1", {}, t("Vehicle {id}", { id })),
        h("p", { class: "notice bad", role: "alert" }, t("There is no vehicle {id}.", { id }), " ", h("a", { href: "#/fleet" }, t("All vehicles"))));
    const frame = h("div", { class: "vehicle" },
        h("div", { class: "side" },
            h("div", { class: "head" }, h("div", { class: "row spread" }, name, mark), about, why, days.element, trouble,
                h("dl", { class: "sums" }, h("div", {}, h("dt", {}, t("Distance")), total.meters),
                    h("div", {}, h("dt", {}, t("In motion")), total.moving), h("div", {}, h("dt", {}, t("Top speed")), total.top)), save),
            h("div", { class: "rest" }, tabs.element, h("section", { "aria-label": t("The vehicle") }, h("h2", {}, t("Now")), facts))),
        element, h("div", { class: "deck" }, chart.element, player.slider, h("div", { class: "controls" }, player.button, player.choice,
            button(t("Zoom out of the chart"), "minus", () => zoom(player.time, 2)), button(t("Zoom into the chart"), "plus", () => zoom(player.time, 0.5)), all, readout)));
    main.append(missing, frame);

    const map = makeMap(element, t("Map of the vehicle's track"));
    const ofFleet = new FencesLayer(map, id);
    const layer = new TrackLayer().addTo(map), fences = L.layerGroup().addTo(map), ends = L.layerGroup().addTo(map);
    const arrow = h("div", { class: "cursor-dot" });
    const dot = L.marker([0, 0], { icon: L.divIcon({ className: "", html: arrow, iconSize: [22, 22] }), interactive: false, keyboard: false });
    isPlaced = setView(map, values.get("at"));
    map.on("moveend", () => note({ at: viewText(map) }));
    map.on("click", seekNear);

    async function open(time) {
        loading?.abort();
        growth?.abort();
        growth = null;
        const mine = loading = new AbortController();
        note({ from: stamp(from), to: stamp(to) });
        days.show(from, to);
        showFiles();
        trouble.hidden = true;
        main.setAttribute("aria-busy", "true");
        tabs.load(from, to, mine.signal);
        try {
            track = await loadTrack(id, from, to, mine.signal);
        } catch (error) {
            if (error.name === "AbortError") return;
            trouble.textContent = error.message;
            trouble.hidden = false;
            track = null;
        }
        main.removeAttribute("aria-busy");
        if (track) show(time);
    }

    function show(time) {
        showSums();
        layer.show(track);
        view = [from, shownTo()];
        all.hidden = true;
        drawChart();
        ends.clearLayers();
        if (track.count) {
            if (!isPlaced) fit(0, track.count - 1);
            isPlaced = true;
            dot.addTo(map);
        } else {
            dot.remove();
            const vehicle = fleet.vehicles.get(id), latest = vehicle && fleet.safely(vehicle, (one) => one.latest);
            if (!isPlaced && latest) map.setView([latest.latitude, latest.longitude], 13, { animate: false });
        }
        player.show(...view, ...bounds(), time ?? bounds()[1]);
    }

    /** A moment of what is shown; of more than a day with its date. */
    function timeText(time) {
        return isOneDay(from, to) ? timeOfDay(time) : datedTimeOfDay(time);
    }

    /** When the first and the last location were. */
    const bounds = () => (track?.count ? [track.times[0], track.times[track.count - 1]] : [from, from]);

    /** What has come since, of a day that is not over. Nothing moves for whoever looks at another moment. */
    async function grow() {
        const vehicle = fleet.vehicles.get(id), now = fleet.now();
        const latest = vehicle && fleet.safely(vehicle, (one) => one.latest?.time);
        if (!track || growth || now < from || now > to || !(latest > bounds()[1]) || performance.now() - grown < GROWTH) return;
        const mine = growth = new AbortController();
        grown = performance.now();
        try {
            const more = await loadTrack(id, bounds()[1], to, mine.signal);
            // Another day has been opened meanwhile.
            if (growth !== mine) return;
            const [, last] = bounds();
            const before = track.count, isAtEnd = player.time >= last, isWhole = all.hidden;
            track = joined(track, more);
            if (track.count > before) {
                showSums();
                layer.show(track, layer.chosen);
                dot.addTo(map);
            }
            if (isWhole) view = [from, shownTo()];
            drawChart();
            player.range(...view, ...bounds());
            if (isAtEnd && track.count > before) player.go(bounds()[1]);
        } catch {
            // The next try is a few seconds away.
        }
        if (growth === mine) growth = null;
    }

    /** Chart and slider show this much, and the moment that is looked at. */
    function lookAt(first, last) {
        const most = shownTo();
        view = [Math.max(from, Math.round(first)), Math.min(most, Math.round(last))];
        all.hidden = view[0] <= from && view[1] > most - 1000;
        drawChart();
        player.range(...view, ...bounds());
        if (player.time < view[0] || player.time > view[1]) {
            player.stop();
            player.go(player.time);
        }
    }

    /** Around a moment, which stays where it is. */
    function zoom(time, factor) {
        if (!track) return;
        const span = Math.max(CLOSEST, Math.min(shownTo() - from, (view[1] - view[0]) * factor));
        const part = (time - view[0]) / (view[1] - view[0]);
        const first = Math.max(from, Math.min(shownTo() - span, time - span * part));
        lookAt(first, first + span);
    }

    /** What is shown, as files for other programs; the server writes them. */
    function showFiles() {
        const title = (fleet.vehicles.get(id)?.name ?? t("Vehicle {id}", { id })).replaceAll(/[^\p{L}\p{N} ._-]/gu, "_");
        for (const [format, link] of files) {
            link.href = `/v1/devices/${id}/locations?${new URLSearchParams({ from: stamp(from), to: stamp(to), format })}`;
            link.download = `${title} ${dayOf(from)}.${format}`;
        }
    }

    function showSums() {
        const { meters, moving, top } = sums(track);
        setText(total.meters, distance(meters));
        setText(total.moving, duration(moving));
        setText(total.top, track.count ? speed(top) : "–");
        save.hidden = !track.count;
    }

    /** Of today there is no more than until now. */
    const shownTo = () => Math.max(from + 60_000, Math.min(to, Math.max(fleet.now(), track?.times[track.count - 1] ?? 0)));
    const drawChart = () => chart.show(track, ...view, tabs.trips, chosen, !isOneDay(from, to));

    function fit(first, last) {
        let [south, north, west, east] = [90, -90, 999, -999];
        for (let index = first; index <= last; index++) {
            south = Math.min(south, track.latitudes[index]);
            north = Math.max(north, track.latitudes[index]);
            west = Math.min(west, track.longitudes[index]);
            east = Math.max(east, track.longitudes[index]);
        }
        map.fitBounds([[south, west], [north, east]], { padding: [30, 30], maxZoom: 16, animate: false });
    }

    function moved(time, isPlaying) {
        chart.place(time);
        if (!isPlaying) note({ t: track?.count ? stamp(time) : "" });
        if (!track?.count) {
            setText(readout, t("No locations in this time."));
            return;
        }
        const index = indexAt(track, time), next = Math.min(index + 1, track.count - 1);
        const span = track.times[next] - track.times[index];
        // Between two that lie close in time it glides; across a gap it waits.
        const part = span > 0 && span < 120_000 ? Math.max(0, Math.min(1, (time - track.times[index]) / span)) : 0;
        const latitude = track.latitudes[index] + (track.latitudes[next] - track.latitudes[index]) * part;
        const longitude = track.longitudes[index] + (track.longitudes[next] - track.longitudes[index]) * part;
        dot.setLatLng([latitude, longitude]);
        const isMoving = !Number.isNaN(track.bearings[index]) && motionOf(track, index) === "moving";
        arrow.classList.toggle("has-heading", isMoving);
        arrow.style.rotate = isMoving ? `${track.bearings[index]}deg` : "";
        if (isPlaying && !map.getBounds().pad(-0.1).contains([latitude, longitude])) map.panTo([latitude, longitude], { animate: false });
        const late = (time - track.times[index]) / 1000;
        const item = (label, text, key) => h("span", { class: key }, `${label} `, h("b", {}, text));
        readout.replaceChildren(...[
            item(t("Time"), timeText(time)),
            Number.isNaN(track.speeds[index]) ? null : item(t("Speed"), speed(track.speeds[index]), "key"),
            Number.isNaN(track.altitudes[index]) ? null : item(t("Altitude"), height(track.altitudes[index]), "key height"),
            Number.isNaN(track.bearings[index]) || motionOf(track, index) !== "moving" ? null : item(t("Heading"), heading(track.bearings[index])),
            Number.isNaN(track.accuracies[index]) ? null : item(t("Accuracy"), height(track.accuracies[index])),
            late > 120 ? h("span", { class: "soft" }, t("last location {time} before", { time: duration(late) })) : null,
        ].filter(Boolean));
    }

    /** A moment that somebody has chosen, though the chart may not show it. */
    function seek(time) {
        player.stop();
        if (time < view[0] || time > view[1]) lookAt(from, Infinity);
        player.go(time);
    }

    /** Where the vehicle was when it told of an event: there the map goes, and no trip is chosen any more. */
    function seekEvent(time, event) {
        if (chosen) {
            tabs.press(null);
            choose(chosen);
        }
        seek(time);
        ends.clearLayers();
        // Its own place, as an event may lie where no location was kept.
        const told = placeOf(event);
        const there = told ? [told.latitude, told.longitude] : track?.count ? dot.getLatLng() : null;
        if (!there) return;
        if (told) ends.addLayer(L.circleMarker(there, { radius: 6, className: "trip-end", interactive: false }));
        map.setView(there, Math.max(map.getZoom(), EVENT_ZOOM), { animate: false });
    }

    function seekNear({ containerPoint }) {
        if (!track?.count) return;
        const { view } = layer, corner = map.containerPointToLayerPoint([0, 0]).add(map.getPixelOrigin());
        const x = corner.x + containerPoint.x, y = corner.y + containerPoint.y;
        let best = -1, least = 20 * 20;
        for (let index = 0; index < track.count; index++) {
            const square = (track.xs[index] * view.scale - x) ** 2 + (track.ys[index] * view.scale - y) ** 2;
            if (square < least) [best, least] = [index, square];
        }
        if (best >= 0) seek(track.times[best]);
    }

    /** A trip of the list; the same again: all of the day. */
    function choose(trip) {
        if (!track?.count) return;
        chosen = trip && chosen?.start === trip.start ? null : trip;
        ends.clearLayers();
        if (chosen) {
            const [first, last] = [indexAt(track, Date.parse(chosen.start)), indexAt(track, Date.parse(chosen.end))];
            layer.show(track, [first, last]);
            fit(first, last);
            for (const index of [first, last]) {
                ends.addLayer(L.circleMarker([track.latitudes[index], track.longitudes[index]], { radius: 6, className: "trip-end", interactive: false }));
            }
            player.stop();
            const [start, end] = [Date.parse(chosen.start), Date.parse(chosen.end)], margin = (end - start) / 20;
            lookAt(start - margin, end + margin);
            player.go(start);
        } else {
            layer.show(track);
            fit(0, track.count - 1);
            lookAt(from, Infinity);
        }
        return chosen;
    }

    function showFences(commands) {
        fences.clearLayers();
        for (const { fence, isThere } of fencesOf(commands)) {
            const shape = shapeOf(fence, isThere ? "fence" : "fence is-new");
            // As an element: a name is text, whatever is in it.
            if (shape) fences.addLayer(shape.bindTooltip(h("span", {}, isThere ? fence.id : t("{fence} (on its way)", { fence: fence.id }))));
        }
    }

    function showNow() {
        const vehicle = fleet.vehicles.get(id);
        const isMissing = !vehicle && fleet.state === "live";
        missing.hidden = !isMissing;
        frame.hidden = isMissing;
        if (!vehicle) return;
        if (name.textContent !== vehicle.name) {
            setText(name, vehicle.name);
            showFiles();
        }
        setText(document.querySelector("title"), `${vehicle.name} – beekon`);
        const { level, word, why: reasons } = fleet.health(vehicle);
        mark.className = `health ${level}`;
        setText(mark, word);
        why.className = `notice ${level}`;
        why.hidden = !reasons.length;
        setText(why, reasons.join("; "));
        const words = [vehicle.plate, vehicle.group && t("group {name}", { name: vehicle.group })].filter(Boolean).join(", ");
        about.hidden = !words;
        setText(about, words);
        fleet.safely(vehicle, fillFacts);
    }

    function fillFacts(vehicle) {
        const { latest, status } = vehicle, old = asOf(vehicle, fleet.now());
        const aged = (text) => (text && old ? `${text} (${old})` : text);
        const rows = [
            [t("Last seen"), vehicle.seen ? ago((fleet.now() - vehicle.seen) / 1000) : t("never")],
            [t("Place"), latest ? `${place(latest.latitude, latest.longitude)}, ${ago((fleet.now() - latest.time) / 1000)}`
                : vehicle.seen && placeless(vehicle)],
            [t("Speed"), latest?.speed !== undefined && speed(latest.speed)], [t("Tracking"), aged(wordOf(status?.state))], [t("Receiver"), aged(wordOf(status?.receiver))],
            [t("Pending"), aged(status?.pending === undefined ? "" : count(status.pending))], [t("Ignition"), aged(status?.ignition === undefined ? "" : status.ignition ? t("on") : t("off"))],
            [t("Battery"), aged(status?.battery === undefined ? "" : percent(status.battery))],
            [t("Odometer"), aged(status?.odometer === undefined ? "" : mileage(status.odometer))],
            [t("Up for"), aged(status?.uptime === undefined ? "" : duration(status.uptime))],
            [t("Note"), vehicle.note], [t("Version"), vehicle.version], [t("Model"), [vehicle.model, vehicle.platform].filter(Boolean).join(", ")], [t("Number"), String(vehicle.id)],
        ].filter(([, value]) => value);
        facts.replaceChildren(...rows.flatMap(([label, value]) => [h("dt", {}, label), h("dd", {}, value)]));
    }

    tabs.whenTrips = () => track && drawChart();
    showNow();
    open(Date.parse(values.get("t") ?? "") || undefined);
    const end = fleet.follow((news, everything) => {
        if (everything || news.has(fleet.vehicles.get(id))) showNow();
        grow();
    });
    return {
        close() {
            loading?.abort();
            growth?.abort();
            player.stop();
            chart.close();
            end();
            ofFleet.close();
            main.removeAttribute("aria-busy");
            removeMap(map);
        },
        update: () => false,
    };
}

/** Of the address; else today. */
function stretch(values) {
    const [from, to] = ["from", "to"].map((key) => Date.parse(values.get(key) ?? ""));
    if (from < to && to - from <= 31 * 86_400_000) return [from, to];
    return rangeOf(dayOf(fleet.now()));
}
