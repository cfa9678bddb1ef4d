// `npm start` runs this first in a clone, because an old Node.js does not know the options of the
// server. It is written in syntax that an old one understands.
const [, oldest] = /(\d+\.\d+)/.exec(require('../package.json').engines.node)
const [major, minor] = process.versions.node.split('.').map(Number)
const [oldestMajor, oldestMinor] = oldest.split('.').map(Number)
if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
  console.error(`Parley needs Node.js ${oldest} or newer, this is ${process.versions.node}`)
  process.exit(1)
}
