// Who may upload: devices with their tokens, and claim codes.
import { read, request, send } from "../api.js";
import { ask, confirm, secret } from "../dialog.js";
import { announce, h, keyed, setText } from "../dom.js";
import * as fleet from "../fleet.js";
import { ago, byName, count, moment } from "../format.js";
import { plural, t } from "../language.js";
import { links } from "./links.js";

const PAGE = 200;

export function screen(main) {
    let query = "", most = PAGE;
    const search = h("input", { type: "search", placeholder: t("Name, plate, group or number"), "aria-label": t("Search devices"), oninput: () => { query = search.value.toLowerCase(); most = PAGE; fill(); } });
    const rows = h("tbody"), claims = h("tbody"), claimTrouble = h("p", { class: "notice bad", role: "alert", hidden: true });
    const more = h("button", { type: "button", onclick: () => { most = Infinity; fill(); } });
    const table = (caption, heads, body) => h("div", { class: "table cards" }, h("table", {}, h("caption", { class: "hidden-text" }, caption),
        h("thead", {}, h("tr", {}, heads.map((text) => h("th", { scope: "col", class: text === t("Added") || text === t("Created") ? "less" : null }, text)))), body));
    main.append(h("div", { class: "sheet" },
        h("div", { class: "row spread" }, h("h1", {}, t("Devices")), h("div", { class: "row" }, search, h("button", { type: "button", class: "primary", onclick: add }, t("Add a device")))),
        table(t("Devices"), [t("Device"), t("Number"), t("Added"), t("Last seen"), t("Tokens"), t("Actions")], rows), more,
        h("div", { class: "row spread" }, h("h2", {}, t("Claim codes")), h("button", { type: "button", onclick: addClaim }, t("Make a claim code"))),
        h("p", { class: "soft" }, t("A code enrols one vehicle or many: each under a name of its own, by one command, or by an image that they boot.")),
        claimTrouble, table(t("Claim codes"), [t("Code"), t("Created"), t("Valid until"), t("Uses left"), t("Actions")], claims)));

    const configuration = async (method, path, body) => {
        const answer = await request(path, { method, body, headers: { Accept: "application/toml" } });
        return answer.text();
    };

    function show(name, text) {
        secret(t("Tokens of {name}", { name }), t("Add these lines to /etc/beekond/beekond.toml on the vehicle, then run: systemctl restart beekond"), text, "beekond.toml");
    }

    function add() {
        ask(t("Add a device"), [h("label", { class: "field" }, t("Name"), h("input", { name: "name", required: true, maxlength: 100 }))], t("Add"), async (fields) => {
            const name = fields.name.value.trim();
            const text = await configuration("POST", "/v1/devices", { name });
            await fleet.load();
            setTimeout(() => show(name, text));
        });
    }

    const renew = (vehicle) => confirm(t("New tokens for {name}?", vehicle),
        t("Its present tokens stop working at once: until the new ones are in its configuration, it keeps its data and uploads nothing."), t("Make new tokens"), async () => {
            const text = await configuration("POST", `/v1/devices/${vehicle.id}/tokens`);
            setTimeout(() => show(vehicle.name, text));
        });

    const bind = (vehicle) => confirm(t("Is this {name}?", vehicle),
        t("The installation {other} uploads with its tokens. If the vehicle was set up anew, it is this one from now on, and gets its commands. If not, its tokens were copied: give the vehicle new ones.", vehicle), t("It is"), async () => {
            await send("POST", `/v1/devices/${vehicle.id}/installations`, { install_id: vehicle.other });
            await fleet.load();
            announce(t("{name} is confirmed.", vehicle));
        });

    async function edit(vehicle) {
        let groups;
        try {
            ({ groups } = await read("/v1/groups"));
        } catch (problem) {
            announce(problem.message);
            return;
        }
        const field = (label, name, value, maxlength) => h("label", { class: "field" }, label,
            h("input", { name, value: value ?? "", maxlength, required: name === "name", autocomplete: "off" }));
        const choice = h("select", { name: "group" }, h("option", { value: "" }, t("none")), groups.map(({ name }) => h("option", {}, name)));
        choice.value = vehicle.group ?? "";
        ask(t("Edit {name}", vehicle), [field(t("Name"), "name", vehicle.name, 100), field(t("Number plate"), "plate", vehicle.plate, 20),
            field(t("Note"), "note", vehicle.note, 500), h("label", { class: "field" }, t("Group"), choice)], t("Save"), async ({ name, plate, note, group }) => {
            // What stays as it is, such as a name of before today's rule, is not sent.
            const all = { name: name.value.trim(), plate: plate.value.trim(), note: note.value.trim(), group: group.value };
            const changes = Object.fromEntries(Object.entries(all).filter(([key, value]) => value !== (vehicle[key] ?? "")));
            if (!Object.keys(changes).length) return;
            await send("PATCH", `/v1/devices/${vehicle.id}`, changes);
            await fleet.load();
            announce(t("{name} is saved.", all));
        });
    }

    const remove = (vehicle) => confirm(t("Delete {name}?", vehicle),
        t("All that it has sent is deleted with it, for good: its locations, events, commands and logs. Its tokens end at once."), t("Delete it"), async () => {
            await send("DELETE", `/v1/devices/${vehicle.id}/data`);
            await fleet.load();
            announce(t("{name} is deleted.", vehicle));
        });

    const revoke = (vehicle) => confirm(t("Retire {name}?", vehicle), t("Its tokens end for good, and links to it. Its locations stay; another vehicle can have its name once this one has been renamed."), t("Retire"), async () => {
        await send("DELETE", `/v1/devices/${vehicle.id}`);
        await fleet.load();
        announce(t("{name} is retired.", vehicle));
    });

    function fill() {
        const found = [...fleet.vehicles.values()].filter(({ name, id, plate, group }) => `${name}\n${plate ?? ""}\n${group ?? ""}`.toLowerCase().includes(query) || String(id) === query)
            .sort((a, b) => Boolean(a.revoked) - Boolean(b.revoked) || byName(a, b));
        // A key with its state: what can be done with it differs.
        keyed(rows, found.slice(0, most), (vehicle) => [vehicle.id, vehicle.revoked ? "-" : vehicle.other ?? "", vehicle.name, vehicle.plate, vehicle.note, vehicle.group].join("\n"), (vehicle) => h("tr", {},
            h("th", { scope: "row" }), h("td", { class: "number", "data-label": t("number") }), h("td", { class: "nowrap less", "data-label": t("added") }), h("td", { class: "nowrap", "data-label": t("Last seen") }),
            h("td", { "data-label": t("tokens") }), h("td", { class: "actions" }, h("button", { type: "button", "aria-label": t("Edit {name}", vehicle), onclick: () => edit(vehicle) }, t("Edit")), " ", vehicle.revoked ? "" : [
                h("button", { type: "button", "aria-label": t("Share {name}", vehicle), onclick: () => links(vehicle) }, t("Share")), " ",
                vehicle.other ? [h("button", { type: "button", "aria-label": t("Confirm the installation of {name}", vehicle), onclick: () => bind(vehicle) }, t("Confirm")), " "] : "",
                h("button", { type: "button", "aria-label": t("New tokens for {name}", vehicle), onclick: () => renew(vehicle) }, t("New tokens")), " ",
                h("button", { type: "button", class: "danger", "aria-label": t("Retire {name}", vehicle), onclick: () => revoke(vehicle) }, t("Retire")), " "],
            h("button", { type: "button", class: "danger", "aria-label": t("Delete {name}", vehicle), onclick: () => remove(vehicle) }, t("Delete")))), (row, vehicle) => {
            const [name, number, added, seen, state] = row.children;
            setText(name, [vehicle.name, vehicle.plate, vehicle.group && t("group {name}", { name: vehicle.group })].filter(Boolean).join(", "));
            setText(number, String(vehicle.id));
            setText(added, vehicle.created ? moment(vehicle.created) : "");
            fleet.safely(vehicle, () => setText(seen, vehicle.seen ? ago((fleet.now() - vehicle.seen) / 1000) : t("never")));
            // Where tokens were stolen, both may be so.
            setText(state, vehicle.revoked ? t("retired") : [
                vehicle.other && t("another installation uploads with them, without commands"),
                vehicle.shownAgain && t("an old token was used again {time}: copied, restored from a backup, or stolen; if the device is silent, it needs new tokens", { time: moment(vehicle.shownAgain) }),
            ].filter(Boolean).join("; ") || t("good"));
        });
        more.hidden = found.length <= most;
        setText(more, t("Show all {count}", { count: count(found.length) }));
    }

    function addClaim() {
        const field = (label, name, value, max) => h("label", { class: "field" }, label, h("input", { name, type: "number", value, min: 1, max, required: true }));
        const rights = h("label", { class: "field" }, t("What this server may ask of them"), h("select", { name: "rights" },
            h("option", { value: "usual" }, t("Usual: position, upload, log, fences, intervals")),
            h("option", { value: "all" }, t("All: also start, stop, set moving or parked")),
            h("option", { value: "none" }, t("Nothing"))), h("span", { class: "soft" }, t("This is what the server asks for. A vehicle allows no more than “beekonctl enroll --commands” says there.")));
        ask(t("Make a claim code"), [field(t("Devices that may use it"), "uses", 10, 1_000_000), field(t("Days for which it is valid"), "days", 7, 366), rights], t("Make it"), async (fields) => {
            const wish = { usual: {}, all: { allow: "all" }, none: { allow: [] } }[fields.rights.value];
            const claim = await (await send("POST", "/v1/claims", { uses: Number(fields.uses.value), days: Number(fields.days.value), ...wish })).json();
            await fillClaims();
            const more = wish.allow === "all" ? " --commands all" : "";
            const isHere = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
            setTimeout(() => secret(t("Claim code {id}", claim), [plural(claim.uses, "For {count} device, until {time}. Run this on the vehicle; without --name it is called by its host name.",
                "For {count} devices, until {time}. Run this on a vehicle; without --name it is called by its host name.", { time: moment(Date.parse(claim.expires)) }),
            isHere ? t("The address is one of this machine alone: vehicles elsewhere need the one that they reach.") : ""].join(" "),
            `sudo beekonctl enroll ${location.origin} ${claim.code}${more} --name NAME`, null, t("Whoever has the code can enrol a vehicle.")));
        });
    }

    async function fillClaims() {
        try {
            const { claims: all } = await read("/v1/claims");
            claims.replaceChildren(...all.map((claim) => h("tr", {}, h("th", { scope: "row" }, t("Code {id}", claim)), h("td", { class: "nowrap less", "data-label": t("made") }, moment(Date.parse(claim.created))),
                h("td", { class: "nowrap", "data-label": t("until") }, moment(Date.parse(claim.expires))), h("td", { class: "number", "data-label": t("uses left") }, count(claim.uses)),
                h("td", { class: "actions" }, h("button", { type: "button", class: "danger", "aria-label": t("End code {id}", claim), onclick: () => confirm(
                    t("End code {id}?", claim), t("It can no longer be used. Devices that have used it stay."), t("End it"), async () => {
                        await send("DELETE", `/v1/claims/${claim.id}`);
                        await fillClaims();
                    }) }, t("End"))))));
            if (!all.length) claims.append(h("tr", {}, h("td", { colspan: 5, class: "soft" }, t("There are none."))));
        } catch (problem) {
            claimTrouble.textContent = problem.message;
            claimTrouble.hidden = false;
        }
    }

    fill();
    fillClaims();
    let last = 0;
    const end = fleet.follow((news, all) => {
        if (!all && performance.now() - last < 2000) return;
        last = performance.now();
        fill();
    });
    return { close: end };
}
