// Rebuilds static/vendor from npm: `cd static/vendor/src && npm install --ignore-scripts && node build.mjs`.
// Writes the libraries, their licences and manifest.json, which the tests hold against the files.
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
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

for (const folder of ["fonts", "licences"]) mkdirSync(join(out, folder), { recursive: true });
const libraries = [];
for (const [name, files] of Object.entries(COPIED)) {
  for (const [from, to] of files) copyFileSync(join(modules, name, from), join(out, to));
  libraries.push(entry(name, files.map(([, to]) => to)));
}

const bundle = await build({
  entryPoints: [join(here, "codemirror.js")], outfile: join(out, "codemirror.js"),
  bundle: true, format: "esm", minify: true, legalComments: "none", metafile: true, write: true,
});
const bundled = new Set();
for (const input of Object.keys(bundle.metafile.inputs)) {
  const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (match && existsSync(join(modules, match[1], "package.json"))) bundled.add(match[1]);
}
for (const name of [...bundled].sort()) libraries.push(entry(name, ["codemirror.js"]));
writeFileSync(join(out, "manifest.json"), JSON.stringify({ libraries }, null, 2) + "\n");
