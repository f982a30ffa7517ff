// Who may look, and who may change.
import { read, send, user } from "../api.js";
import { ask, confirm, secret } from "../dialog.js";
import { newPassword } from "../password.js";
import { announce, h } from "../dom.js";
import { count, moment } from "../format.js";

export function screen(main) {
    const rows = h("tbody"), groupRows = h("tbody"), trouble = h("p", { class: "notice bad", role: "alert", hidden: true });
    main.append(h("div", { class: "sheet" },
        h("div", { class: "row spread" }, h("h1", {}, "Users"), h("button", { type: "button", class: "primary", onclick: add }, "Add a user")),
        h("p", { class: "soft" }, "Readers see all vehicles, or those of some groups. Admins see all, send commands, and change devices and users."), trouble,
        h("div", { class: "table cards" }, h("table", {}, h("caption", { class: "hidden-text" }, "Users"),
            h("thead", {}, h("tr", {}, ["User", "Role", "Sees", "Added", "Actions"].map((text) => h("th", { scope: "col" }, text)))), rows)),
        h("div", { class: "row spread" }, h("h2", {}, "Groups of vehicles"), h("button", { type: "button", onclick: addGroup }, "Add a group")),
        h("p", { class: "soft" }, "A vehicle is in one group, or in none: “Edit” among the devices says which."),
        h("div", { class: "table cards" }, h("table", {}, h("caption", { class: "hidden-text" }, "Groups"),
            h("thead", {}, h("tr", {}, ["Group", "Vehicles", "Readers", "Actions"].map((text) => h("th", { scope: "col" }, text)))), groupRows))));
    let groups = [];

    /** What a reader sees: all, or the groups that are ticked. */
    const choice = (seen) => h("fieldset", { class: "form column" }, h("legend", {}, "Vehicles that a reader sees"),
        h("label", { class: "choice" }, h("input", { type: "radio", name: "sees", value: "all", checked: !seen }), "all"),
        h("label", { class: "choice" }, h("input", { type: "radio", name: "sees", value: "groups", checked: Boolean(seen) }), "those of these groups:"),
        groups.map(({ name }) => h("label", { class: "choice" }, h("input", {
            type: "checkbox", name: "group", value: name, checked: Boolean(seen?.includes(name)),
            onchange: (event) => { if (event.target.checked) event.target.form.elements.sees.value = "groups"; },
        }), name)), groups.length ? "" : h("p", { class: "soft" }, "There is no group yet."));
    const chosen = (element) => (element.elements.sees.value === "all" ? "all"
        : [...element.querySelectorAll("input[name=group]:checked")].map((box) => box.value));

    function setGroups(name, seen) {
        ask(`What ${name} sees`, [choice(seen)], "Save", async (fields, element) => {
            await send("PUT", `/v1/users/${encodeURIComponent(name)}/groups`, { groups: chosen(element) });
            await fill();
            announce(`It counts at once.`);
        });
    }

    function addGroup() {
        ask("Add a group", [h("label", { class: "field" }, "Name", h("input", { name: "name", required: true, maxlength: 100, autocomplete: "off" }))], "Add", async (fields) => {
            await send("POST", "/v1/groups", { name: fields.name.value.trim() });
            await fill();
        });
    }

    function add() {
        ask("Add a user", [h("label", { class: "field" }, "Name", h("input", { name: "name", required: true, maxlength: 100, autocomplete: "off" })),
            h("label", { class: "field" }, "Role", h("select", { name: "role" }, h("option", {}, "reader"), h("option", {}, "admin"))), choice(), newPassword()], "Add", async (fields, element) => {
            const name = fields.name.value.trim();
            const made = await (await send("POST", "/v1/users", { name, role: fields.role.value, ...(fields.role.value === "reader" ? { groups: chosen(element) } : {}) })).json();
            await send("PUT", `/v1/users/${encodeURIComponent(name)}/password`, { password: fields.password.value });
            await fill();
            setTimeout(() => secret(`Token of ${name}`, "For programs: in 'Authorization: Bearer …'. People sign in with the password.", made.token));
        });
    }

    async function fill() {
        try {
            const [{ users }, found] = await Promise.all([read("/v1/users"), read("/v1/groups")]);
            groups = found.groups;
            groupRows.replaceChildren(...groups.map(({ name, devices, readers }) => h("tr", {}, h("th", { scope: "row" }, name),
                h("td", { class: "number", "data-label": "vehicles" }, count(devices)), h("td", { class: "number", "data-label": "readers" }, count(readers)),
                h("td", { class: "actions" }, h("button", { type: "button", class: "danger", "aria-label": `Remove the group ${name}`, onclick: () => confirm(
                    `Remove the group ${name}?`, "Its vehicles stay, in no group. Readers who see them by this group do not see them any more.", "Remove", async () => {
                        await send("DELETE", `/v1/groups/${encodeURIComponent(name)}`);
                        await fill();
                    }) }, "Remove")))));
            if (!groups.length) groupRows.append(h("tr", {}, h("td", { colspan: 4, class: "soft" }, "There are none.")));
            rows.replaceChildren(...users.map(({ name, role, created, groups: seen }) => h("tr", {},
                h("th", { scope: "row" }, name, name === user().name ? h("span", { class: "soft" }, " (you)") : ""), h("td", {}, role),
                h("td", { "data-label": "sees" }, seen ? seen.join(", ") || "no vehicle" : "all"),
                h("td", { class: "nowrap", "data-label": "added" }, moment(Date.parse(created))), h("td", { class: "actions" },
                    role === "reader" ? [h("button", { type: "button", "aria-label": `What ${name} sees`, onclick: () => setGroups(name, seen) }, "Groups"), " "] : "",
                    h("button", { type: "button", "aria-label": `Set the password of ${name}`, onclick: () => ask(`Password of ${name}`, [newPassword()], "Set it", async (fields) => {
                        await send("PUT", `/v1/users/${encodeURIComponent(name)}/password`, { password: fields.password.value });
                        announce(`The password of ${name} is set, and ${name} is signed out everywhere.`);
                    }) }, "Set password"), " ",
                    h("button", { type: "button", class: "danger", "aria-label": `Remove ${name}`, disabled: name === user().name, onclick: () => confirm(
                        `Remove ${name}?`, "The token and all sessions end at once.", "Remove", async () => {
                            await send("DELETE", `/v1/users/${encodeURIComponent(name)}`);
                            await fill();
                        }) }, "Remove")))));
        } catch (problem) {
            trouble.textContent = problem.message;
            trouble.hidden = false;
        }
    }

    fill();
    return {};
}
