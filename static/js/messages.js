// What is wrong with a script, in words below its line; screen readers hear it when it is announced as well.
import { Decoration, EditorView, StateEffect, StateField, WidgetType } from "../vendor/codemirror.js";
import { element } from "./dom.js";

const MOST = 5; // messages that are shown at once; the console has all of them

const setMessages = StateEffect.define();

class Message extends WidgetType {
  constructor({ kind, message, severity, fixes }, at) {
    super();
    this.severity = severity;
    this.fixes = fixes.map(({ label }, index) => ({ label, which: `${at}.${index}` }));
    this.text = ["Timeout", "Exit"].includes(kind) ? message : `${kind}: ${message}`;
  }

  eq(other) { return other.text === this.text && JSON.stringify(other.fixes) === JSON.stringify(this.fixes); }

  toDOM() {
    const text = element("p", {}, this.text);
    if (this.severity === "info") text.append(" ", element("button", { type: "button", class: "small", "data-run": "" }, "Run"));
    for (const { label, which } of this.fixes) text.append(" ", element("button", { type: "button", class: "small", "data-fix": which }, label));
    return element("div", { class: `line-message ${this.severity}` }, text);
  }
}

const messages = StateField.define({
  create: () => Decoration.none,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setMessages)) return effect.value;
    return transaction.docChanged ? value.map(transaction.changes) : value;
  },
  provide: (field) => EditorView.decorations.from(field),
});

export const problemMessages = messages;

/** Show problems below their lines, and those that have none above the first.
 * @param {EditorView} view
 * @param {{kind: string, message: string, severity: string, line?: number, fixes: {label: string}[]}[]} problems */
export function showMessages(view, problems) {
  const { doc } = view.state;
  const before = view.state.field(messages);
  if (!problems.length && !before.size) return;
  const placed = problems.slice(0, MOST).map((problem, index) => {
    const widget = new Message(problem, index);
    const at = problem.line && problem.line <= doc.lines ? doc.line(problem.line).to : 0;
    return Decoration.widget({ widget, block: true, side: at ? 1 : -1 }).range(at);
  });
  view.dispatch({ effects: setMessages.of(Decoration.set(placed, true)) });
}
