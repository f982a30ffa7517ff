// The commands that a vehicle can be sent, and what became of them.
import { isAdmin, request, send } from "./api.js";
import { panel } from "./dialog.js";
import { announce, form, h } from "./dom.js";
import { duration, moment } from "./format.js";
import { t } from "./language.js";
import { OF_FLEET } from "./map/shapes.js";

const object = (text) => {
    let value;
    try {
        value = JSON.parse(text);
    } catch {
        throw new Error(t("Settings are not JSON."));
    }
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(t("Settings are not a JSON object."));
    return value;
};

const list = (text) => {
    const items = text.split(/[\n,]/).map((item) => item.trim()).filter(Boolean);
    if (!items.length) throw new Error(t("Give at least one."));
    return items;
};

/** By the name of the command: what it does, what it asks for, and the arguments made of that. */
const kinds = {
    locate: { title: t("Report its position") },
    sync: { title: t("Upload pending data") },
    start: { title: t("Start tracking") },
    stop: { title: t("Stop tracking") },
    set_motion: { title: t("Set moving or parked"), field: "motion", choices: { moving: t("moving"), stationary: t("stationary") }, take: (motion) => ({ motion }) },
    set_config: {
        title: t("Change settings"), field: t("Settings (JSON)"), example: '{"tracking.interval_seconds": 5}',
        take: (text) => ({ settings: object(text) }),
    },
    unset_config: {
        title: t("Reset settings"), field: t("Settings, one per line"), example: "tracking.interval_seconds", take: (text) => ({ keys: list(text) }),
    },
    remove_geofences: { title: t("Remove fences"), field: t("Fences, one per line"), example: "depot", take: (text) => ({ ids: list(text) }) },
    remove_all_geofences: { title: t("Remove all its fences") },
    upload_log: { title: t("Send its log") },
};

const titleOf = (command) => (command === "add_geofences" ? t("Add fences") : Object.hasOwn(kinds, command) ? kinds[command].title : command);

const words = {
    waiting: ["open", t("waiting"), t("The command goes with the answer to the vehicle's next upload.")],
    offered: ["open", t("sent"), t("The vehicle has not reported a result yet.")],
    expired: ["failed", t("expired")], withdrawn: ["failed", t("taken back")],
};

/** What became of it, by the name that a vehicle gives an error; where others are needed, its own words follow. */
const errors = {
    unknown_command: t("The vehicle does not know this command."), unsupported: t("The vehicle cannot do this."),
    not_allowed: t("The vehicle's configuration does not allow this command."), invalid_arguments: t("The vehicle does not understand what it was given"),
    unknown_setting: t("The vehicle has no such setting"), setting_not_allowed: t("The vehicle's configuration does not let this server change this setting"),
    invalid_setting: t("The vehicle refuses the value"), invalid_geofence: t("The vehicle refuses the fence"),
    exists: t("Somebody at the vehicle has a fence of this name with another shape."), id_reused: t("The vehicle has had another command of this number."),
    stopped_by_person: t("A person at the vehicle has stopped tracking."), superseded: t("Somebody has started tracking at the vehicle since."),
    expired: t("It came too late."), counter_ahead: t("The clocks of server and vehicle differ by more than a day."),
    too_soon: t("It was asked for again too soon."), no_location: t("The vehicle got no position in time."), failed: t("It failed in the vehicle"),
};

/** A vehicle's word for an error, `name` or `name: details`, for people; one that nobody knows stays as it is. */
function errorText(error) {
    const [, name, detail] = /^([a-z_]{1,40})(?:: ?(.*))?$/s.exec(error) ?? [];
    if (!Object.hasOwn(errors, name ?? "")) return error;
    return detail ? `${errors[name].replace(/\.$/, "")}: ${detail}` : errors[name];
}

export function describeState({ state, result }) {
    if (state !== "finished") return words[state] ?? ["open", state];
    if (result?.ok) return ["done", t("done")];
    return ["failed", t("failed"), typeof result?.error === "string" ? errorText(result.error) : t("The vehicle gives no reason.")];
}

export const order = (id, command, values, seconds) => send("POST", `/v1/devices/${id}/commands`, {
    command, ...(values && { arguments: values }), ...(seconds && { expires_in: seconds }),
});

/** What the vehicle takes, for people; `takes` is undefined where it does not say. */
function describeTaken(takes) {
    if (!takes) return null;
    if (!takes.length) return h("p", { class: "notice" }, t("This vehicle takes no commands: its configuration has no [sync.commands] for this server."));
    return h("p", { class: "soft" }, t("This vehicle takes: {commands}.", { commands: takes.map(titleOf).join(", ") }));
}

/** What to add at the vehicle so that it takes a command that it refused; null where that is not why. */
export function remedy({ command, result }, takes) {
    const error = typeof result?.error === "string" ? result.error : "", setting = /^setting_not_allowed: ([a-z0-9_.-]{1,100})/.exec(error)?.[1];
    const lines = (words, line) => h("div", {}, h("div", {}, words), h("pre", { tabindex: "0", "aria-label": t("What to add") }, line),
        h("div", {}, t("It belongs to [sync.commands] or the table of commands of this destination. Then run: sudo beekonctl reload")));
    if (setting) return lines(t("The server may not change this setting. In the vehicle's configuration, add to settings = […]:"), JSON.stringify(setting));
    if (error !== "not_allowed") return null;
    if (!takes) return lines(t("In the vehicle's configuration, add to allow = […]:"), JSON.stringify(command));
    if (takes.includes(command)) return h("div", {}, t("The vehicle takes this command by now."));
    return lines(t("With this line in its configuration the vehicle takes it:"), `allow = [${[...takes, command].map((name) => JSON.stringify(name)).join(", ")}]`);
}

/** When a command gets to a vehicle that is told `heartbeat` seconds; undefined: it does not say. */
function describeArrival(heartbeat) {
    const parked = heartbeat ? t("Parked, the vehicle uploads every {time} at the latest, where it has a network.", { time: duration(heartbeat) })
        : heartbeat === 0 ? t("It has no heartbeats: parked, it uploads nothing until it moves.") : "";
    return h("p", { class: "soft" }, [t("A command reaches the vehicle with its next upload."), parked].filter(Boolean).join(" "));
}

/** The form; readers get none, and nobody for a vehicle that is retired. `status` is what the vehicle said last. */
export function commandForm(id, { isRetired, status }, sent) {
    if (!isAdmin()) return null;
    if (isRetired) return h("p", { class: "notice" }, t("This vehicle is retired: it takes no commands."));
    const takes = status?.commands;
    const choice = h("select", { name: "command", onchange: () => show() },
        Object.entries(kinds).map(([name, { title }]) => h("option", { value: name }, takes && !takes.includes(name) ? t("{command} (not taken)", { command: title }) : title)));
    const detail = h("div");
    const expiry = h("select", { name: "expiry" }, [["", t("30 days")], [3600, t("an hour")], [86_400, t("a day")], [604_800, t("a week")]]
        .map(([value, text]) => h("option", { value }, text)));
    function show() {
        const { field, choices, example } = kinds[choice.value];
        detail.replaceChildren(!field ? "" : h("label", { class: "field" }, field, choices
            ? h("select", { name: "value" }, Object.entries(choices).map(([value, text]) => h("option", { value }, text)))
            : h("textarea", { name: "value", required: true, spellcheck: "false", placeholder: example, class: "code" })));
    }
    show();
    return form({ class: "form column card" }, async (fields) => {
        const kind = kinds[choice.value];
        await order(id, choice.value, kind.take?.(fields.value.value.trim()), Number(expiry.value) || undefined);
        announce(t("The command waits for the vehicle's next upload."));
        await sent();
    },
    h("h2", {}, t("Send a command")), describeArrival(status?.heartbeat), describeTaken(takes), h("label", { class: "field" }, t("Command"), choice), detail,
    h("label", { class: "field" }, t("Give up after"), expiry), h("button", { type: "submit", class: "primary" }, t("Send")));
}

/** The newest log of a vehicle, as text. */
async function showLog(id) {
    const text = await (await request(`/v1/devices/${id}/log`)).text();
    const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    const dialog = panel(t("The log of the vehicle"), h("p", {}, h("a", { class: "button", href: url, download: `log-${id}.txt` }, t("Save as a file"))),
        h("pre", { tabindex: "0", "aria-label": t("The log") }, text));
    dialog.addEventListener("close", () => URL.revokeObjectURL(url));
}

/** `hasLog`: it is the newest that has asked for the log, and the vehicle has sent one. */
export function commandItem(id, entry, { takes, hasLog }, changed) {
    const [state, text, detail] = describeState(entry);
    const trouble = h("span", { class: "notice bad", hidden: true, role: "alert" });
    const tried = (action) => async () => {
        trouble.hidden = true;
        try {
            await action();
        } catch (problem) {
            trouble.textContent = problem.message;
            trouble.hidden = false;
        }
    };
    const isOpen = entry.state === "waiting" || entry.state === "offered";
    const hasDetail = Object.keys(entry.arguments ?? {}).length || (entry.result && Object.keys(entry.result.result ?? {}).length);
    return h("li", {},
        h("div", { class: "line" }, h("strong", {}, titleOf(entry.command)),
            h("span", { class: `state ${state}` }, text)),
        detail ? h("div", {}, detail) : null, entry.state === "finished" ? remedy(entry, takes) : null,
        h("div", { class: "soft" }, t("{time}, by {author}", { time: moment(Date.parse(entry.created)), author: entry.author === OF_FLEET ? t("the fences of the fleet") : entry.author || t("the server's console") })),
        hasDetail ? h("details", {}, h("summary", {}, t("Details")),
            h("pre", { tabindex: "0", "aria-label": t("Details") }, JSON.stringify({ arguments: entry.arguments, result: entry.result }, null, 1))) : null,
        isOpen && isAdmin() ? h("button", {
            type: "button", onclick: tried(async () => {
                await send("DELETE", `/v1/devices/${id}/commands/${entry.id}`);
                await changed();
            }),
        }, t("Take back")) : null,
        hasLog && isAdmin() ? h("button", { type: "button", onclick: tried(() => showLog(id)) }, t("Show its log")) : null, trouble);
}
