// New passwords: of others, and one's own.
import { changePassword } from "./api.js";
import { ask } from "./dialog.js";
import { announce, h } from "./dom.js";
import { t } from "./language.js";

/** A field for one, which suggests one as well. */
export function newPassword() {
    const field = h("input", { name: "password", type: "password", autocomplete: "new-password", minlength: 10, required: true });
    const look = h("button", { type: "button", "aria-pressed": "false", onclick: () => reveal(field.type === "password") }, t("Show it"));
    const reveal = (isShown) => {
        field.type = isShown ? "text" : "password";
        look.setAttribute("aria-pressed", String(isShown));
    };
    return h("div", { class: "form column" }, h("label", { class: "field" }, t("Password (10 characters or more)"), field),
        h("div", { class: "row" }, look, h("button", { type: "button", onclick: () => { field.value = suggestion(); reveal(true); } }, t("Suggest one"))));
}

/** Who is signed in chooses another one. */
export function askOwnPassword() {
    ask(t("Your password"), [h("label", { class: "field" }, t("Current password"),
        h("input", { name: "current", type: "password", autocomplete: "current-password", required: true })), newPassword()], t("Change it"), async (fields) => {
        await changePassword(fields.current.value, fields.password.value);
        announce(t("Your password is changed, and you are signed out everywhere else."));
    });
}

/** Eighty bits of chance, in letters and digits that are not taken for each other. */
function suggestion() {
    const letters = "abcdefghijkmnpqrstuvwxyz23456789";
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return [...bytes].map((byte, index) => (index && index % 4 === 0 ? "-" : "") + letters[byte % letters.length]).join("");
}
