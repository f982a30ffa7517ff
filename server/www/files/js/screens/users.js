// Who may look, and who may change.
import { read, send, user } from "../api.js";
import { ask, confirm, secret } from "../dialog.js";
import { announce, h } from "../dom.js";
import { moment } from "../format.js";

export function screen(main) {
    const rows = h("tbody"), trouble = h("p", { class: "notice bad", role: "alert", hidden: true });
    main.append(h("div", { class: "sheet" },
        h("div", { class: "row spread" }, h("h1", {}, "Users"), h("button", { type: "button", class: "primary", onclick: add }, "Add a user")),
        h("p", { class: "soft" }, "Readers see the fleet. Admins also send commands, and change devices and users."), trouble,
        h("div", { class: "table cards" }, h("table", {}, h("caption", { class: "hidden-text" }, "Users"),
            h("thead", {}, h("tr", {}, ["User", "Role", "Added", "Actions"].map((text) => h("th", { scope: "col" }, text)))), rows))));

    const password = () => h("label", { class: "field" }, "Password (10 characters or more)",
        h("input", { name: "password", type: "password", autocomplete: "new-password", minlength: 10, required: true }));

    function add() {
        ask("Add a user", [h("label", { class: "field" }, "Name", h("input", { name: "name", required: true, maxlength: 100, autocomplete: "off" })),
            h("label", { class: "field" }, "Role", h("select", { name: "role" }, h("option", {}, "reader"), h("option", {}, "admin"))), password()], "Add", async (fields) => {
            const name = fields.name.value.trim();
            const made = await (await send("POST", "/v1/users", { name, role: fields.role.value })).json();
            await send("PUT", `/v1/users/${encodeURIComponent(name)}/password`, { password: fields.password.value });
            await fill();
            setTimeout(() => secret(`Token of ${name}`, "For programs: in 'Authorization: Bearer …'. People sign in with the password.", made.token));
        });
    }

    async function fill() {
        try {
            const { users } = await read("/v1/users");
            rows.replaceChildren(...users.map(({ name, role, created }) => h("tr", {},
                h("th", { scope: "row" }, name, name === user().name ? h("span", { class: "soft" }, " (you)") : ""), h("td", {}, role),
                h("td", { class: "nowrap", "data-label": "added" }, moment(Date.parse(created))), h("td", { class: "actions" },
                    h("button", { type: "button", "aria-label": `Set the password of ${name}`, onclick: () => ask(`Password of ${name}`, [password()], "Set it", async (fields) => {
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
