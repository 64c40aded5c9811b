// <strata-view src="https://…/z/1a2b3c4d" pane="asm" theme="dark" height="480" caption="…">: a link in a page of another site.
// One script without dependencies; what it shows comes from the server of the link, in a frame.

const RULES = `
  :host { display: block; margin-block: 1em; }
  :host([hidden]) { display: none; }
  figure { margin: 0; }
  iframe { width: 100%; border: 1px solid color-mix(in srgb, currentColor 20%, transparent); border-radius: 6px; }
  figcaption { margin-top: .4em; font-size: .9em; opacity: .8; }`;
const LINK = /^https?:\/\/[^/]+(?:\/[^?#]*)?\/z\/[\w-]+$/;

class StrataView extends HTMLElement {
  static observedAttributes = ["src", "pane", "theme", "height", "caption"];

  connectedCallback() {
    if (!this.shadowRoot) this.attachShadow({ mode: "open" });
    this.draw();
  }

  attributeChangedCallback() {
    if (this.shadowRoot) this.draw();
  }

  draw() {
    const style = document.createElement("style");
    style.textContent = RULES;
    const figure = document.createElement("figure");
    const source = this.getAttribute("src") ?? "";
    figure.append(LINK.test(source) ? this.frame(source) : `strata-view: src must be a link such as https://strata.example/z/1a2b3c4d, not “${source}”`);
    const caption = this.getAttribute("caption");
    if (caption) figure.append(Object.assign(document.createElement("figcaption"), { textContent: caption }));
    this.shadowRoot.replaceChildren(style, figure);
  }

  frame(source) {
    const address = new URL(source);
    address.searchParams.set("view", "embed");
    for (const name of ["pane", "theme"]) if (this.getAttribute(name)) address.searchParams.set(name, this.getAttribute(name));
    const height = Number(this.getAttribute("height")) || 480;
    return Object.assign(document.createElement("iframe"), { src: address.href, height, loading: "lazy", title: this.getAttribute("caption") ?? "A tensor program in Strata" });
  }
}

if (!customElements.get("strata-view")) customElements.define("strata-view", StrataView);
