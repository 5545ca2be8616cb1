/** Signing in, with a token or with a provider of identities. */

import { Problem, get, token } from "./api.js";
import { field, h } from "./dom.js";
import { sentence } from "./format.js";
import { alarm, notice, onSubmit, refused } from "./problems.js";

const RETURN = "hedgerow-return";

/** How people sign in here. @returns {Promise<{provider: string | null, cookie: boolean}>} */
export async function waysIn() {
  try {
    return await get("signin");
  } catch {
    return { provider: null, cookie: false };
  }
}

/** The view that someone left to sign in with the provider; once. */
export function leftView() {
  const view = sessionStorage.getItem(RETURN);
  sessionStorage.removeItem(RETURN);
  return view;
}

/** @param {string} provider Its address. */
function providerButton(provider) {
  const leave = () => sessionStorage.setItem(RETURN, location.hash);
  return h("p", {}, h("a", { class: "button primary", href: "v1/oidc/start", on: { click: leave } }, `Sign in with ${new URL(provider).host}`));
}

/**
 * The form; resolves when the server has taken a token.
 * @param {HTMLElement} place @param {Problem | null} why What the server said when it refused the last token.
 * @param {string | null} provider Address of the provider of identities, if there is one.
 * @returns {Promise<import("./api.js").Me>}
 */
export function signIn(place, why, provider) {
  return new Promise((resolve) => {
    const input = h("input", {
      type: "password", autocomplete: "off", spellcheck: "false", autocapitalize: "off", required: true,
      placeholder: "hgr_\u2026", class: "code",
    });
    const said = h("div", {}, why && ended(why));
    const button = h("button", { class: provider ? "button" : "button primary" }, "Sign in");
    const shown = h("input", { type: "checkbox", on: { change: () => { input.type = shown.checked ? "text" : "password"; } } });
    const form = h("form", { class: "signin", novalidate: true },
      h("h1", {}, "Sign in"),
      h("p", { class: "lead" }, "Ask counting questions about private data, and get answers that protect every person in them."),
      said,
      provider && [providerButton(provider), h("p", { class: "quiet" }, "Or with a token:")],
      field("Token", input, "Your custodian gave it to you. It is kept in this tab only, until you sign out or close it."),
      h("label", { class: "tick" }, shown, h("span", {}, "Show the token")),
      button);
    onSubmit(form, button, said, () => tried(input, said, resolve));
    place.replaceChildren(form);
    if (!provider) input.focus();
  });
}

/** @param {any} input @param {HTMLElement} said @param {(me: import("./api.js").Me) => void} resolve */
async function tried(input, said, resolve) {
  const text = input.value.trim();
  const refuse = (/** @type {Node} */ panel) => {
    token.forget();
    said.replaceChildren(panel);
    input.setAttribute("aria-invalid", "true");
    input.focus();
  };
  if (!/^[\x21-\x7e]+$/.test(text)) {
    refuse(alarm("This is not a token", ["A token begins with hgr_ and has no blanks in it. Paste all of it."]));
    return;
  }
  token.set(text);
  try {
    resolve(await get("me"));
  } catch (problem) {
    refuse(problem instanceof Problem && problem.status === 401 ? wrong(problem) : refused(problem));
  }
}

/** @param {Problem} problem */
function wrong(problem) {
  return alarm("The server does not accept this token", [sentence(problem.message),
    "Check that you have pasted all of it. It may also have expired or been revoked: ask your custodian for a new one."]);
}

/** @param {Problem} problem */
function ended(problem) {
  return notice("caution", "You have been signed out", [sentence(problem.message), "Sign in again; what you had entered is still there."]);
}
