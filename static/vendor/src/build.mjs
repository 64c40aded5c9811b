// Rebuilds static/vendor from npm: `cd static/vendor/src && npm install --ignore-scripts && node build.mjs`.
// Writes the libraries, their licences and manifest.json, which the tests hold against the files.
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = dirname(here);
const modules = join(here, "node_modules");
const FONT_FILES = [400, 500, 600, 700].map((w) => `inter-latin-${w}-normal.woff2`);
const MONO_FILES = [400, 700].map((w) => `jetbrains-mono-latin-${w}-normal.woff2`);

/** Library name -> files copied from its package, as [path in the package, path in static/vendor]. */
const COPIED = {
  "htmx.org": [["dist/htmx.min.js", "htmx.js"]],
  idiomorph: [["dist/idiomorph-ext.min.js", "idiomorph.js"]],
  "split.js": [["dist/split.es.js", "split.js"]],
  "@fontsource/inter": FONT_FILES.map((f) => [`files/${f}`, `fonts/${f}`]),
  "@fontsource/jetbrains-mono": MONO_FILES.map((f) => [`files/${f}`, `fonts/${f}`]),
};

const describe = (name) => JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8"));
const sha256 = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");

function licenceOf(name) {
  const found = readdirSync(join(modules, name)).find((file) => /^licen[cs]e/i.test(file));
  const target = `licences/${name.replace("@", "").replace("/", "-")}.txt`;
  copyFileSync(join(modules, name, found), join(out, target));
  return target;
}

function entry(name, files) {
  const { version, license } = describe(name);
  return {
    name, version, licence: license, licence_text: licenceOf(name),
    files: files.map((path) => ({ path, sha256: sha256(join(out, path)) })),
  };
}

for (const folder of ["fonts", "keys", "licences"]) mkdirSync(join(out, folder), { recursive: true });
const libraries = [];
for (const [name, files] of Object.entries(COPIED)) {
  for (const [from, to] of files) copyFileSync(join(modules, name, from), join(out, to));
  libraries.push(entry(name, files.map(([, to]) => to)));
}

/** Make a module; returns the libraries that it contains. */
async function bundle(path, options = {}) {
  const { metafile } = await build({
    entryPoints: [join(here, basename(path))], outfile: join(out, path),
    bundle: true, format: "esm", minify: true, legalComments: "none", metafile: true, write: true, ...options,
  });
  const names = Object.keys(metafile.inputs).map((input) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1]);
  return new Set(names.filter((name) => name && existsSync(join(modules, name, "package.json"))));
}

/** Lets a module use the editor that the page has, not another one. */
const editor = { name: "editor", setup: ({ onResolve }) => onResolve({ filter: /^@codemirror\// }, () => ({ path: "../codemirror.js", external: true })) };
const MODULES = { "codemirror.js": {}, "keys/vim.js": { plugins: [editor] }, "keys/emacs.js": { plugins: [editor] } };

const bundled = new Map(); // library -> the modules that contain it
for (const [path, options] of Object.entries(MODULES)) {
  for (const name of await bundle(path, options)) bundled.set(name, [...(bundled.get(name) ?? []), path]);
}
for (const name of [...bundled.keys()].sort()) libraries.push(entry(name, bundled.get(name)));
writeFileSync(join(out, "manifest.json"), JSON.stringify({ libraries }, null, 2) + "\n");
