import { signIn } from "../api.js";
import { form, h } from "../dom.js";
import { themeButton } from "../theme.js";

export function screen(main, started) {
    const name = h("input", { name: "name", autocomplete: "username", required: true, maxlength: 100, autocapitalize: "none" });
    main.append(h("div", { class: "sign-in" },
        h("div", { class: "row spread" }, h("h1", {}, "Sign in"), themeButton()),
        h("p", { class: "soft" }, "beekon-server: where the fleet is, and what is wrong."),
        form({ class: "form column card" }, async (fields) => {
            await signIn(fields.name.value, fields.password.value);
            started();
        },
        h("label", { class: "field" }, "Name", name),
        h("label", { class: "field" }, "Password",
            h("input", { name: "password", type: "password", autocomplete: "current-password", required: true })),
        h("button", { type: "submit", class: "primary" }, "Sign in")),
        h("p", { class: "soft" }, "No password yet? On the server: ", h("code", {}, "beekon-server user password NAME"))));
    name.focus();
    return {};
}
