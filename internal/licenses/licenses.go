// Package licenses holds hgld's licence and those of the modules that a release contains.
package licenses

import _ "embed"

//go:generate go test -run TestEveryLinkedModuleHasItsLicense -update

//go:embed LICENSES
var all string

// All returns hgld's licence and notice, and the modules that are linked into hgld on any platform,
// with the texts of their licences and notices.
func All() string { return all }
