// The code editor of the edit page, bundled by build.sh into static/vendor/editor.min.mjs.
// It lives in a shadow root, so that its styles are constructed ones there and the page's policy stays strict.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, syntaxHighlighting, syntaxTree } from "@codemirror/language";
import { linter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const look = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "13px" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--muted)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in oklch, var(--raised) 60%, transparent)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-bg) !important" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-specialChar": { color: "var(--medium)", backgroundColor: "var(--medium-bg)" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)" },
  ".cm-tooltip": { backgroundColor: "var(--overlay)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--raised)", color: "var(--muted)", border: "none" },
});
const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--accent)" },
  { tag: tags.string, color: "var(--text)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--medium)" },
  { tag: tags.punctuation, color: "var(--muted)" },
]);

// Where a JSON pointer leads in the text: [from, to] of its value, or null.
function range(state, pointer) {
  let node = syntaxTree(state).topNode.firstChild;
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    let next = null;
    if (node?.name === "Object") {
      for (const property of node.getChildren("Property")) {
        const key = property.getChild("PropertyName");
        try {
          if (key && JSON.parse(state.sliceDoc(key.from, key.to)) === name) next = property.lastChild;
        } catch { /* half-typed: looked at again with the next change */ }
      }
    } else if (node?.name === "Array" && /^\d+$/.test(name)) {
      const values = [];
      for (let child = node.firstChild; child; child = child.nextSibling) if (!"[],".includes(child.name)) values.push(child);
      next = values[Number(name)] ?? null;
    }
    if (!next) return null;
    node = next;
  }
  return node ? [node.from, node.to] : null;
}

// Opens an editor in `place`. `changed` gets the text after each change. Returns {write, mark, focus}.
export function open(place, { text, label, changed }) {
  const root = place.attachShadow({ mode: "open" });
  const holder = document.createElement("div");
  holder.style.setProperty("height", "100%");
  root.append(holder);
  let writing = false;
  const view = new EditorView({
    parent: holder,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), foldGutter(), highlightSpecialChars(), history(), drawSelection(), bracketMatching(),
        highlightActiveLine(), highlightSelectionMatches(), search({ top: true }), EditorView.lineWrapping,
        json(), linter(jsonParseLinter(), { delay: 300 }), syntaxHighlighting(colours), look,
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
        // Tab leaves the editor: nobody is caught in it.
        keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...foldKeymap, ...lintKeymap]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !writing) changed(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    write(value) {
      writing = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
      writing = false;
    },
    mark(pointer, message) {
      const found = pointer?.startsWith("/") ? range(view.state, pointer) : null;
      const marks = found ? [{ from: found[0], to: found[1], severity: "error", message }] : [];
      view.dispatch(setDiagnostics(view.state, marks));
    },
    focus: () => view.focus(),
  };
}
