// Who may look, and who may change.
import { read, send, user } from "../api.js";
import { ask, confirm, secret } from "../dialog.js";
import { newPassword } from "../password.js";
import { announce, h } from "../dom.js";
import { count, moment } from "../format.js";
import { t } from "../language.js";

const roles = { reader: t("reader"), admin: t("admin") };

export function screen(main) {
    const rows = h("tbody"), groupRows = h("tbody"), trouble = h("p", { class: "notice bad", role: "alert", hidden: true });
    main.append(h("div", { class: "sheet" },
        h("div", { class: "row spread" }, h("h1", {}, t("Users")), h("button", { type: "button", class: "primary", onclick: add }, t("Add a user"))),
        h("p", { class: "soft" }, t("Readers see all vehicles, or those of some groups. Admins see all, send commands, and change devices and users.")), trouble,
        h("div", { class: "table cards" }, h("table", {}, h("caption", { class: "hidden-text" }, t("Users")),
            h("thead", {}, h("tr", {}, [t("User"), t("Role"), t("Sees"), t("Added"), t("Actions")].map((text) => h("th", { scope: "col" }, text)))), rows)),
        h("div", { class: "row spread" }, h("h2", {}, t("Groups of vehicles")), h("button", { type: "button", onclick: addGroup }, t("Add a group"))),
        h("p", { class: "soft" }, t("A vehicle is in one group, or in none: “Edit” among the devices says which.")),
        h("div", { class: "table cards" }, h("table", {}, h("caption", { class: "hidden-text" }, t("Groups")),
            h("thead", {}, h("tr", {}, [t("Group"), t("Vehicles"), t("Readers"), t("Actions")].map((text) => h("th", { scope: "col" }, text)))), groupRows))));
    let groups = [];

    /** What a reader sees: all, or the groups that are ticked. */
    const choice = (seen) => h("fieldset", { class: "form column" }, h("legend", {}, t("Vehicles that a reader sees")),
        h("label", { class: "choice" }, h("input", { type: "radio", name: "sees", value: "all", checked: !seen }), t("all")),
        h("label", { class: "choice" }, h("input", { type: "radio", name: "sees", value: "groups", checked: Boolean(seen) }), t("those of these groups:")),
        groups.map(({ name }) => h("label", { class: "choice" }, h("input", {
            type: "checkbox", name: "group", value: name, checked: Boolean(seen?.includes(name)),
            onchange: (event) => { if (event.target.checked) event.target.form.elements.sees.value = "groups"; },
        }), name)), groups.length ? "" : h("p", { class: "soft" }, t("There is no group yet.")));
    const chosen = (element) => (element.elements.sees.value === "all" ? "all"
        : [...element.querySelectorAll("input[name=group]:checked")].map((box) => box.value));

    function setGroups(name, seen) {
        ask(t("What {name} sees", { name }), [choice(seen)], t("Save"), async (fields, element) => {
            await send("PUT", `/v1/users/${encodeURIComponent(name)}/groups`, { groups: chosen(element) });
            await fill();
            announce(t("It counts at once."));
        });
    }

    function addGroup() {
        ask(t("Add a group"), [h("label", { class: "field" }, t("Name"), h("input", { name: "name", required: true, maxlength: 100, autocomplete: "off" }))], t("Add"), async (fields) => {
            await send("POST", "/v1/groups", { name: fields.name.value.trim() });
            await fill();
        });
    }

    function add() {
        ask(t("Add a user"), [h("label", { class: "field" }, t("Name"), h("input", { name: "name", required: true, maxlength: 100, autocomplete: "off" })),
            h("label", { class: "field" }, t("Role"), h("select", { name: "role" }, ["reader", "admin"].map((role) => h("option", { value: role }, roles[role])))), choice(), newPassword()], t("Add"), async (fields, element) => {
            const name = fields.name.value.trim();
            const made = await (await send("POST", "/v1/users", { name, role: fields.role.value, ...(fields.role.value === "reader" ? { groups: chosen(element) } : {}) })).json();
            await send("PUT", `/v1/users/${encodeURIComponent(name)}/password`, { password: fields.password.value });
            await fill();
            setTimeout(() => secret(t("Token of {name}", { name }), t("For programs: in 'Authorization: Bearer …'. People sign in with the password."), made.token));
        });
    }

    async function fill() {
        try {
            const [{ users }, found] = await Promise.all([read("/v1/users"), read("/v1/groups")]);
            groups = found.groups;
            groupRows.replaceChildren(...groups.map(({ name, devices, readers }) => h("tr", {}, h("th", { scope: "row" }, name),
                h("td", { class: "number", "data-label": t("vehicles") }, count(devices)), h("td", { class: "number", "data-label": t("readers") }, count(readers)),
                h("td", { class: "actions" }, h("button", { type: "button", class: "danger", "aria-label": t("Remove the group {name}", { name }), onclick: () => confirm(
                    t("Remove the group {name}?", { name }), t("Its vehicles stay, in no group. Readers who see them by this group do not see them any more."), t("Remove"), async () => {
                        await send("DELETE", `/v1/groups/${encodeURIComponent(name)}`);
                        await fill();
                    }) }, t("Remove"))))));
            if (!groups.length) groupRows.append(h("tr", {}, h("td", { colspan: 4, class: "soft" }, t("There are none."))));
            rows.replaceChildren(...users.map(({ name, role, created, groups: seen }) => h("tr", {},
                h("th", { scope: "row" }, name, name === user().name ? [" ", h("span", { class: "soft" }, t("(you)"))] : ""), h("td", {}, roles[role] ?? role),
                h("td", { "data-label": t("sees") }, seen ? seen.join(", ") || t("no vehicle") : t("all")),
                h("td", { class: "nowrap", "data-label": t("added") }, moment(Date.parse(created))), h("td", { class: "actions" },
                    role === "reader" ? [h("button", { type: "button", "aria-label": t("What {name} sees", { name }), onclick: () => setGroups(name, seen) }, t("Groups")), " "] : "",
                    h("button", { type: "button", "aria-label": t("Set the password of {name}", { name }), onclick: () => ask(t("Password of {name}", { name }), [newPassword()], t("Set it"), async (fields) => {
                        await send("PUT", `/v1/users/${encodeURIComponent(name)}/password`, { password: fields.password.value });
                        announce(t("The password of {name} is set, and {name} is signed out everywhere.", { name }));
                    }) }, t("Set password")), " ",
                    h("button", { type: "button", class: "danger", "aria-label": t("Remove {name}", { name }), disabled: name === user().name, onclick: () => confirm(
                        t("Remove {name}?", { name }), t("The token and all sessions end at once."), t("Remove"), async () => {
                            await send("DELETE", `/v1/users/${encodeURIComponent(name)}`);
                            await fill();
                        }) }, t("Remove"))))));
        } catch (problem) {
            trouble.textContent = problem.message;
            trouble.hidden = false;
        }
    }

    fill();
    return {};
}
