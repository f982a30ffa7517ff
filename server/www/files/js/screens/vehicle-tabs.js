// Trips, events and commands of a vehicle.
import { isAdmin, read } from "../api.js";
import { commandForm, commandItem } from "../commands.js";
import { h } from "../dom.js";
import { eventDetail, eventText } from "../events.js";
import { count, datedHourMinute, datedTimeOfDay, distance, duration, hourMinute, isOneDay, moment, speed, stamp, timeOfDay } from "../format.js";
import { t } from "../language.js";
import { note } from "../router.js";
import { speedOf, statusOf } from "../status.js";

/** Events that are listed; a day of a vehicle that has more is looked at in pieces. */
const MOST = 1000;

export class Tabs {
    constructor(id, wanted, choose, seek, commandsRead) {
        Object.assign(this, { id, choose, seek, commandsRead, trips: [], tripButtons: [], isDated: false, form: null, formKey: "", whenTrips: () => {} });
        const names = { trips: t("Trips"), events: t("Events"), commands: t("Commands") };
        this.panels = {};
        const buttons = Object.entries(names).map(([name, title]) => {
            this.panels[name] = h("div", { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, tabindex: 0 });
            return h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, onclick: () => this.open(name) }, title);
        });
        const list = h("div", { class: "tabs", role: "tablist", "aria-label": t("Of this vehicle") }, buttons);
        list.addEventListener("keydown", (event) => {
            const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
            if (!step) return;
            const next = buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length];
            next.focus();
            next.click();
        });
        this.buttons = buttons;
        this.element = h("section", { "aria-label": t("Trips, events and commands") }, list, Object.values(this.panels));
        this.open(Object.hasOwn(names, wanted ?? "") ? wanted : "trips", true);
    }

    open(name, isFirst) {
        for (const button of this.buttons) {
            const isOpen = button.id === `tab-${name}`;
            button.setAttribute("aria-selected", String(isOpen));
            button.tabIndex = isOpen ? 0 : -1;
        }
        for (const [key, panel] of Object.entries(this.panels)) panel.hidden = key !== name;
        if (!isFirst) note({ tab: name === "trips" ? "" : name });
    }

    load(from, to, signal) {
        const query = `from=${stamp(from)}&to=${new Date(to).toISOString()}`;
        this.trips = [];
        this.isDated = !isOneDay(from, to);
        this.fill("trips", async () => {
            this.trips = (await read(`/v1/devices/${this.id}/trips?${query}`, { signal })).trips;
            this.whenTrips();
            return this.tripList();
        });
        this.fill("events", async () => {
            const { events } = await read(`/v1/devices/${this.id}/events?limit=${MOST}&${query}`, { signal });
            if (!events.length) return h("p", { class: "soft" }, t("No events in this time."));
            return [events.length === MOST ? h("p", { class: "notice" }, t("Only the first {count} are shown.", { count: count(MOST) })) : "", h("ul", { class: "items" }, events.map((event) => this.event(event)))];
        });
        this.loadCommands(signal);
    }

    loadCommands(signal) {
        return this.fill("commands", async () => {
            const [{ commands }, device] = await Promise.all(["/commands", ""].map((rest) => read(`/v1/devices/${this.id}${rest}`, { signal })));
            this.commandsRead(commands);
            const again = () => this.loadCommands(), status = statusOf(device.status), isRetired = Boolean(device.revoked);
            // What was chosen in the form stays, as long as it is the same form.
            const key = JSON.stringify([isRetired, status?.commands, status?.heartbeat]);
            if (this.formKey !== key) Object.assign(this, { formKey: key, form: commandForm(this.id, { isRetired, status }, again) });
            const log = commands.find(({ command, result }) => command === "upload_log" && result?.ok);
            return [this.form, commands.length
                ? h("ul", { class: "items" }, commands.slice(0, 200).map((entry) => commandItem(this.id, entry, { takes: status?.commands, hasLog: entry === log }, again)))
                : h("p", { class: "soft" }, isAdmin() ? t("No command has been sent yet.") : t("No command has been sent yet. Admins can send commands."))];
        });
    }

    async fill(name, make) {
        const panel = this.panels[name];
        try {
            const content = await make();
            panel.replaceChildren(...[content].flat().filter(Boolean));
        } catch (error) {
            if (error.name === "AbortError") return;
            panel.replaceChildren(h("p", { class: "notice bad", role: "alert" }, error.message));
        }
    }

    tripList() {
        if (!this.trips.length) return h("p", { class: "soft" }, t("No trips in this time."));
        const buttons = this.tripButtons = this.trips.map((trip) => h("button", {
            type: "button", "aria-pressed": "false", onclick: ({ currentTarget }) => this.press(this.choose(trip) ? currentTarget : null),
        },
        h("span", { class: "line" }, h("strong", {}, this.hours(Date.parse(trip.start), Date.parse(trip.end))),
            h("strong", {}, distance(trip.distance))),
        h("span", { class: "line soft" }, h("span", {}, duration(trip.duration)),
            h("span", {}, speedOf(trip.top_speed) === undefined ? "" : t("up to {speed}", { speed: speed(trip.top_speed) })))));
        return h("ul", { class: "items" }, buttons.map((button) => h("li", {}, button)));
    }

    /** The trip that is chosen, by its button; null: none is. */
    press(chosen) {
        for (const button of this.tripButtons) button.setAttribute("aria-pressed", String(button === chosen));
    }

    /** From when to when; what has ended on the day on which it began needs one date. */
    hours(start, end) {
        const text = this.isDated ? datedHourMinute : hourMinute;
        return `${text(start)} – ${isOneDay(start, end) ? hourMinute(end) : text(end)}`;
    }

    event(event) {
        const time = Date.parse(event.timestamp);
        const detail = eventDetail(event);
        return h("li", {}, h("button", { type: "button", title: moment(time), onclick: () => this.seek(time, event) },
            h("span", { class: "line" }, h("strong", {}, eventText(event)), h("span", { class: "soft nowrap" }, this.isDated ? datedTimeOfDay(time) : timeOfDay(time)))), detail ? h("div", { class: "soft" }, detail) : null);
    }
}
