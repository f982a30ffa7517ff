import { signIn } from "../api.js";
import { form, h } from "../dom.js";
import { languageChoice, sentence, t } from "../language.js";
import { themeButton } from "../theme.js";

export function screen(main, started) {
    const name = h("input", { name: "name", autocomplete: "username", required: true, maxlength: 100, autocapitalize: "none" });
    main.append(h("div", { class: "sign-in" },
        h("div", { class: "row spread" }, h("h1", {}, t("Sign in")), h("div", { class: "row" }, languageChoice(), themeButton())),
        h("p", { class: "soft" }, t("beekon-server: where the fleet is, and what is wrong.")),
        form({ class: "form column card" }, async (fields) => {
            await signIn(fields.name.value, fields.password.value);
            started();
        },
        h("label", { class: "field" }, t("Name"), name),
        h("label", { class: "field" }, t("Password"),
            h("input", { name: "password", type: "password", autocomplete: "current-password", required: true })),
        h("button", { type: "submit", class: "primary" }, t("Sign in"))),
        h("p", { class: "soft" }, sentence("No password yet? On the server: {command}", { command: h("code", {}, "beekon-server user password NAME") }))));
    name.focus();
    return {};
}
