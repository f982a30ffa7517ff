// The commands that a vehicle can be sent, and what became of them.
import { isAdmin, send } from "./api.js";
import { announce, form, h } from "./dom.js";
import { moment } from "./format.js";
import { sentence, t } from "./language.js";
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
    locate: { title: t("Report its position now") },
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

const words = {
    waiting: ["open", t("waiting"), t("The command goes with the answer to the vehicle's next upload.")],
    offered: ["open", t("sent"), t("The vehicle has not reported a result yet.")],
    expired: ["failed", t("expired")], withdrawn: ["failed", t("taken back")],
};

export function describeState({ state, result }) {
    if (state !== "finished") return words[state] ?? ["open", state];
    if (result?.ok) return ["done", t("done")];
    return ["failed", t("failed"), typeof result?.error === "string" ? result.error : t("The vehicle gives no reason.")];
}

export const order = (id, command, values, seconds) => send("POST", `/v1/devices/${id}/commands`, {
    command, ...(values && { arguments: values }), ...(seconds && { expires_in: seconds }),
});

/** What the vehicle takes, for people; `takes` is undefined where it does not say. */
function describeTaken(takes) {
    if (!takes) return null;
    if (!takes.length) return h("p", { class: "notice" }, t("This vehicle takes no commands: its configuration has no [sync.commands] for this server."));
    return h("p", { class: "soft" }, t("This vehicle takes: {commands}.", { commands: takes.join(", ") }));
}

/** What to add at the vehicle so that it takes a command that it refused; null where that is not why. */
export function remedy({ command, result }, takes) {
    const error = typeof result?.error === "string" ? result.error : "", setting = /^setting_not_allowed: ([a-z0-9_.-]{1,100})/.exec(error)?.[1];
    const code = (text) => h("code", {}, text);
    const table = [" ", t("In its configuration, in [sync.commands] or the table of commands of this destination; then sudo beekonctl reload.")];
    if (setting) return h("div", {}, sentence("The server may not change this setting. At the vehicle, add it to settings = […]: {line}", { line: code(JSON.stringify(setting)) }), table);
    if (error !== "not_allowed") return null;
    if (!takes) return h("div", {}, sentence("The vehicle does not take this command. There, add it to allow = […]: {line}", { line: code(JSON.stringify(command)) }), table);
    if (takes.includes(command)) return h("div", {}, t("The vehicle takes this command by now."));
    const line = `allow = [${[...takes, command].map((name) => JSON.stringify(name)).join(", ")}]`;
    return h("div", {}, sentence("The vehicle does not take this command. The line with which it does: {line}", { line: code(line) }), table);
}

/** The form; readers get none. */
export function commandForm(id, takes, sent) {
    if (!isAdmin()) return null;
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
    h("h2", {}, t("Send a command")), describeTaken(takes), h("label", { class: "field" }, t("Command"), choice), detail,
    h("label", { class: "field" }, t("Give up after"), expiry), h("button", { type: "submit", class: "primary" }, t("Send")));
}

export function commandItem(id, entry, takes, changed) {
    const [state, text, detail] = describeState(entry);
    const trouble = h("span", { class: "notice bad", hidden: true, role: "alert" });
    const isOpen = entry.state === t("waiting") || entry.state === "offered";
    const hasDetail = Object.keys(entry.arguments ?? {}).length || (entry.result && Object.keys(entry.result.result ?? {}).length);
    return h("li", {},
        h("div", { class: "line" }, h("strong", {}, kinds[entry.command]?.title ?? (entry.command === "add_geofences" ? t("Add fences") : entry.command)),
            h("span", { class: `state ${state}` }, text)),
        detail ? h("div", {}, detail) : null, entry.state === "finished" ? remedy(entry, takes) : null,
        h("div", { class: "soft" }, t("{time}, by {author}", { time: moment(Date.parse(entry.created)), author: entry.author === OF_FLEET ? t("the fences of the fleet") : entry.author || t("the server's console") })),
        hasDetail ? h("details", {}, h("summary", {}, t("Details")),
            h("pre", { tabindex: "0", "aria-label": t("Details") }, JSON.stringify({ arguments: entry.arguments, result: entry.result }, null, 1))) : null,
        isOpen && isAdmin() ? h("button", {
            type: "button", onclick: async () => {
                try {
                    await send("DELETE", `/v1/devices/${id}/commands/${entry.id}`);
                    await changed();
                } catch (problem) {
                    trouble.textContent = problem.message;
                    trouble.hidden = false;
                }
            },
        }, t("Take back")) : null, trouble);
}
