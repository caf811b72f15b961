// Package parts has the parts that several pages share in the browser: elements, a list of any length, and a map with
// a lasso. They are ES modules, which a server serves as they are and a page in one file contains as one script.
package parts

import (
	"embed"
	"io/fs"
	"regexp"
	"strings"
)

//go:embed *.js
var modules embed.FS

// Module returns the text of a module, such as "dom.js"; its error is that of [fs.ReadFile].
func Module(name string) ([]byte, error) { return fs.ReadFile(modules, name) }

// linked are the lines of a module that name others, and the words that offer names to others.
var linked = regexp.MustCompile(`(?m)^(import .*\n|export )`)

// Script joins modules, in the order in which they need one another, and a script that uses what they export. The
// names at the top of all of them must differ. Its error is that of [fs.ReadFile].
func Script(script string, names ...string) (string, error) {
	var b strings.Builder
	for _, name := range names {
		text, err := Module(name)
		if err != nil {
			return "", err
		}
		b.WriteString(linked.ReplaceAllString(string(text), "") + "\n")
	}
	return "(() => {\n'use strict';\n" + b.String() + linked.ReplaceAllString(script, "") + "})();\n", nil
}
