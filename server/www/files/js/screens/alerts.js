// What rules have found, and for admins the rules.
import { isAdmin, read, send } from "../api.js";
import { ask, confirm, panel, secret } from "../dialog.js";
import { announce, h } from "../dom.js";
import { alertText } from "../events.js";
import * as fleet from "../fleet.js";
import { byName, moment, speed, stamp, zone } from "../format.js";
import { chosenIn, filters, newest, queryOf } from "../newest.js";
import { t } from "../language.js";
import * as notify from "../notify.js";
import { address, note } from "../router.js";
import { units } from "../units.js";

const AROUND = 1_800_000;

/** Kinds of rules: what they are called; the types that they may wait for; what they are compared with, and how. */
const kinds = {
    geofence: { title: t("Geofence"), types: { enter: t("Geofence entered"), exit: t("Geofence left"), dwell: t("Stay in a geofence") } },
    ignition: { title: t("Ignition"), types: { on: t("Ignition on"), off: t("Ignition off") } },
    power: { title: t("External power"), types: { lost: t("External power lost"), back: t("External power back") } },
    trip: { title: t("Trip"), types: { started: t("Trip started"), ended: t("Trip ended") } },
    silence: { title: t("Silence"), limit: { name: "minutes", label: () => t("Minutes without an upload"), least: 5, most: 525_600, value: 120 }, text: (limit) => t("No upload for {count} min", { count: limit }) },
    battery: { title: t("Low battery"), limit: { name: "percent", label: () => t("Below per cent"), least: 1, most: 90, value: 20 }, text: (limit) => t("Battery below {percent} %", { percent: limit }) },
    speed: { title: t("Speed"), limit: { name: "kilometers_per_hour", label: () => t("Above {unit}", { unit: units().sign }), least: 1, most: 1000, value: 130, scale: () => units().speed / 3.6 },
        text: (limit) => t("Faster than {speed}", { speed: speed(limit / 3.6) }) },
    failing: { title: t("Failing vehicle"), text: () => t("It tracks, and its receiver does not work") },
};
/** Limits are shown in the units of whoever looks, and kept as whole numbers of km/h. */
const scale = (limit) => limit.scale?.() ?? 1;
const shown = (limit, value) => Math.max(1, Math.round(value * scale(limit)));
const titles = Object.fromEntries(Object.entries(kinds).map(([kind, { title }]) => [kind, title]));
const deliveries = {
    webhook: { waiting: ["open", t("Webhook is waiting")], sent: ["done", t("Webhook was sent")], failed: ["failed", t("Webhook has failed")] },
    mail: { waiting: ["open", t("Mail is waiting")], sent: ["done", t("Mail was sent")], failed: ["failed", t("Mail has failed")] },
};

function condition(rule) {
    const kind = Object.hasOwn(kinds, rule.kind) ? kinds[rule.kind] : null;
    if (!kind) return rule.kind;
    if (kind.text) return kind.text(rule[kind.limit?.name]);
    const type = rule.type ? kind.types[rule.type] : Object.values(kind.types).join(", ");
    return rule.fence ? `${type}: ${rule.fence}` : type;
}

const watched = (rule) => (rule.group !== undefined ? t("group {name}", { name: rule.group }) : rule.device !== undefined ? rule.device_name ?? t("device {number}", { number: rule.device }) : t("all vehicles"));

export function screen(main, parts, values) {
    const chosen = chosenIn(values, "rule");
    /** Names of rules by number: those that admins can read, and of others those that have found something. */
    const names = new Map();
    const know = ({ id, name }) => name !== undefined && names.get(id) !== name && names.set(id, name);
    const list = newest({
        path: "/v1/alerts", name: "alerts", caption: t("Alerts"), heads: [t("Time"), t("Vehicle"), t("What happened"), t("Rule"), t("Told")], nothing: t("There are no alerts."),
        query: () => queryOf(chosen),
        cells: (alert) => {
            const time = Date.parse(alert.timestamp);
            if (know(alert.rule)) refill();
            return [moment(time), h("a", { href: address(["vehicle", alert.device], { from: stamp(time - AROUND), to: stamp(time + AROUND), at: stamp(time) }) }, alert.name),
                alertText(alert), alert.rule.name ?? t("a rule that is gone"), told(alert)];
        },
    });
    const bar = h("div"), rules = h("div", { class: "form column" }), bell = h("div");
    const fill = () => {
        const rules = [...names].map(([id, name]) => ({ id: String(id), name })).sort(byName);
        if (chosen.rule && !rules.some(({ id }) => id === chosen.rule)) rules.push({ id: chosen.rule, name: chosen.rule });
        bar.replaceChildren(filters(chosen, titles, () => {
            note(chosen);
            list.load();
        }, [{ name: "rule", label: t("Rule"), options: rules.map(({ id, name }) => [id, name]) }]));
    };
    // Not while somebody chooses.
    const refill = () => bar.contains(document.activeElement) || fill();
    main.append(h("div", { class: "sheet" }, h("div", { class: "row spread" }, h("h1", {}, t("Alerts")), bell), isAdmin() ? rules : "", isAdmin() ? h("h2", {}, t("What was found")) : "",
        bar, list.element, h("p", { class: "soft" }, t("Events older than an hour when they arrive are listed, and not sent. Times are those of {zone}.", { zone }))));
    showBell(bell);
    fill();
    list.load();
    if (isAdmin()) showRules(rules, (all) => { all.forEach(know); refill(); });
    const end = fleet.follow((news, isAll) => {
        if (isAll) refill();
    });
    return {
        close() {
            end();
            list.close();
        },
    };
}

/** What became of it on its ways. */
function told({ webhook, mail, reason }) {
    const parts = [deliveries.webhook[webhook], deliveries.mail[mail]].filter(Boolean);
    if (!parts.length) return h("span", { class: "soft" }, t("listed only"));
    const states = parts.map(([look, text], index) => [index ? ", " : "", h("span", { class: `state ${look}` }, text)]);
    return h("span", {}, states, reason ? h("span", { class: "soft" }, `: ${reason}`) : []);
}

function showBell(bell) {
    if (!notify.isPossible()) {
        bell.replaceChildren(h("span", { class: "soft" }, t("Notifications need https.")));
        return;
    }
    if (notify.isDenied()) {
        bell.replaceChildren(h("span", { class: "soft" }, t("This browser does not allow notifications here.")));
        return;
    }
    const isOn = notify.isOn();
    bell.replaceChildren(h("button", {
        type: "button", "aria-pressed": String(isOn), title: t("While this page is open, the browser shows what is found."), onclick: async () => {
            await notify.turn(!isOn);
            showBell(bell);
        },
    }, t("Notifications")));
}

/** `known(rules)` is called with all that there are. */
function showRules(place, known) {
    const rows = h("tbody"), trouble = h("p", { class: "notice bad", role: "alert", hidden: true });
    let hasMailServer = true;
    place.replaceChildren(h("div", { class: "row spread" }, h("h2", {}, t("Rules")), h("button", { type: "button", class: "primary", onclick: () => edit(null) }, t("Add a rule"))), trouble,
        h("div", { class: "table cards" }, h("table", {}, h("caption", { class: "hidden-text" }, t("Rules")),
            h("thead", {}, h("tr", {}, [t("Rule"), t("Waits for"), t("Watches"), t("Tells"), t("Actions")].map((text) => h("th", { scope: "col" }, text)))), rows)));

    async function fill() {
        try {
            const { rules, mail_server: isMailSet } = await read("/v1/rules");
            hasMailServer = isMailSet;
            known(rules);
            rows.replaceChildren(...rules.map((rule) => h("tr", {}, h("th", { scope: "row" }, rule.name), h("td", {}, condition(rule)),
                h("td", { "data-label": t("watches") }, watched(rule)), h("td", { "data-label": t("tells") }, [rule.webhook, ...rule.mail].filter(Boolean).join(", ") || t("this list alone")),
                h("td", { class: "actions" }, rule.webhook || rule.mail.length ? [h("button", { type: "button", "aria-label": t("Test {name}", { name: rule.name }), onclick: ({ target }) => test(rule, target) }, t("Test")), " "] : [],
                    h("button", { type: "button", "aria-label": t("Edit {name}", { name: rule.name }), onclick: () => edit(rule) }, t("Edit")), " ",
                    h("button", { type: "button", class: "danger", "aria-label": t("Remove {name}", { name: rule.name }), onclick: () => confirm(
                        t("Remove {name}?", { name: rule.name }), t("What it has found stays listed; what was not sent yet is not sent any more."), t("Remove"), async () => {
                            await send("DELETE", `/v1/rules/${rule.id}`);
                            await fill();
                        }) }, t("Remove"))))));
            if (!rules.length) rows.append(h("tr", {}, h("td", { colspan: 5, class: "soft" }, t("There are none. A rule says what is worth an alert, and who is told."))));
            trouble.hidden = true;
        } catch (problem) {
            trouble.textContent = problem.message;
            trouble.hidden = false;
        }
    }

    /** Sends once, on each of its ways, and shows what came of it. */
    async function test(rule, button) {
        button.disabled = true;
        announce(t("The test is under way."));
        try {
            const { results } = await (await send("POST", `/v1/rules/${rule.id}/test`)).json();
            panel(t("Test of {name}", { name: rule.name }), h("ul", {}, results.map(({ address, result, reason }) => h("li", {}, `${address}: `,
                h("span", { class: `state ${result === "sent" ? "done" : "failed"}` }, result === "sent" ? t("accepted") : t("not accepted")), reason ? `: ${reason}` : ""))));
            trouble.hidden = true;
        } catch (problem) {
            trouble.textContent = problem.message;
            trouble.hidden = false;
        } finally {
            button.disabled = false;
        }
    }

    function edit(rule) {
        const old = rule ?? { name: "", kind: "geofence", mail: [], mail_interval_seconds: 300 };
        const { rows: fields, body } = fieldsOf(old, hasMailServer);
        ask(rule ? t("Edit {name}", { name: rule.name }) : t("Add a rule"), fields, rule ? t("Save") : t("Add"), async (elements) => {
            const answer = await send(rule ? "PUT" : "POST", rule ? `/v1/rules/${rule.id}` : "/v1/rules", body(elements));
            const saved = await answer.json();
            await fill();
            announce(t("The rule counts from now on."));
            if (saved.secret) {
                setTimeout(() => secret(t("Secret of {name}", { name: saved.name }), t("Whoever receives the webhook checks its signature with it."), saved.secret, null,
                    t("Anybody who has it can make webhooks that look like this server's.")));
            }
        });
    }

    fill();
}

/** The fields of a rule, and the body of the request that they make. */
function fieldsOf(old, hasMailServer) {
    const field = (label, input, hint) => {
        const element = h("label", { class: "field" }, label, input);
        if (!hint) return element;
        input.setAttribute("aria-describedby", `hint-${input.name}`);
        return h("div", {}, element, h("span", { class: "soft", id: `hint-${input.name}` }, hint));
    };
    const vehicles = [...fleet.vehicles.values()].filter(({ revoked, id }) => !revoked || id === old.device).sort(byName);
    const groups = [...new Set([old.group, ...vehicles.map(({ group }) => group)].filter(Boolean))].sort();
    const details = h("div", { class: "form column" }), names = h("datalist", { id: "fence-names" });
    const kind = h("select", { name: "kind", onchange: show }, Object.entries(titles).map(([value, text]) => h("option", { value, selected: value === old.kind }, text)));
    const target = old.group !== undefined ? `group ${old.group}` : old.device !== undefined ? `device ${old.device}` : "";
    const option = (value, text) => h("option", { value, selected: value === target }, text);

    function show() {
        const { types, limit } = kinds[kind.value], isOld = kind.value === old.kind;
        details.replaceChildren(...[
            kind.value === "geofence" && field(t("Name of the geofence"), h("input", { name: "fence", value: (isOld && old.fence) || "", maxlength: 100, autocomplete: "off", list: "fence-names" }), t("Left empty: any geofence.")),
            types && field(t("Waits for"), h("select", { name: "type" }, h("option", { value: "" }, t("any of these")),
                Object.entries(types).map(([value, text]) => h("option", { value, selected: isOld && value === old.type }, text)))),
            limit && field(limit.label(), h("input", {
                name: "limit", type: "number", min: shown(limit, limit.least), max: shown(limit, limit.most), required: true,
                value: shown(limit, (isOld && old[limit.name]) || limit.value),
            })),
        ].filter(Boolean));
        details.hidden = !details.children.length;
    }

    show();
    // Suggested, where they can be read; vehicles may have others.
    read("/v1/fences").then(({ fences }) => names.append(...fences.map(({ name }) => h("option", { value: name }))), () => {});
    return {
        rows: [
            names,
            field(t("Name"), h("input", { name: "name", value: old.name, required: true, maxlength: 100, autocomplete: "off" })), field(t("Kind"), kind), details,
            field(t("Watches"), h("select", { name: "target" }, option("", t("all vehicles")),
                groups.length ? h("optgroup", { label: t("Vehicles of a group") }, groups.map((name) => option(`group ${name}`, name))) : "",
                h("optgroup", { label: t("One vehicle") }, vehicles.map(({ id, name }) => option(`device ${id}`, name))))),
            field(t("Mail to"), h("input", { name: "mail", value: old.mail.join(", "), autocomplete: "off" }), hasMailServer
                ? t("Addresses with commas between them; left empty: no mail.") : t("This server cannot send mail yet: set smtp and smtp_from in its configuration.")),
            field(t("Minutes between two mails at least"), h("input", { name: "interval", type: "number", min: 1, max: 1440, required: true, value: Math.round(old.mail_interval_seconds / 60) })),
            old.webhook ? h("label", { class: "choice" }, h("input", { type: "checkbox", name: "keep", checked: true }), t("Keep the webhook to {address}", { address: old.webhook })) : "",
            old.webhook ? h("label", { class: "choice" }, h("input", { type: "checkbox", name: "renew" }), t("Make a new secret for it")) : "",
            field(t("Webhook"), h("input", { name: "webhook", type: "url", maxlength: 2000, autocomplete: "off", placeholder: "https://" }),
                old.webhook ? t("Another address in its place. The old one is not shown in full.") : t("Left empty: no webhook. Its secret is shown once, when the rule is saved.")),
        ],
        body(elements) {
            const [, what, value] = elements.target.value.match(/^(group|device) (.*)$/s) ?? [];
            const { types, limit } = kinds[kind.value], webhook = elements.webhook.value.trim();
            return {
                name: elements.name.value.trim(), kind: kind.value, mail: elements.mail.value.split(/[\s,;]+/).filter(Boolean), mail_interval_seconds: Number(elements.interval.value) * 60,
                ...(types && elements.type.value && { type: elements.type.value }), ...(kind.value === "geofence" && { fence: elements.fence.value.trim() }),
                ...(limit && { [limit.name]: Math.round(Number(elements.limit.value) / scale(limit)) }), ...(what === "group" && { group: value }), ...(what === "device" && { device: Number(value) }),
                // Without a word of it, it stays.
                ...(webhook || !elements.keep?.checked ? { webhook } : {}), ...(elements.renew?.checked && { secret: "new" }),
            };
        },
    };
}
