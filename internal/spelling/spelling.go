// Package spelling compares names that people and programs spell in different ways.
package spelling

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Form returns a name in the normal form C of Unicode, in which most programs write it: é is one
// character, and not an e with an accent behind it, as in the file names of macOS. Both forms look alike
// and mean the same (Unicode Standard Annex 15).
func Form(name string) string { return norm.NFC.String(name) }

// Key is equal for names that people take for one: in either case, in any form and width of their
// characters, with other spaces, and as another spelling of the same number (7, 07, 7.0). Equal keys
// do not mean that names are the same.
func Key(name string) string {
	visible := func(r rune) rune {
		if unicode.Is(unicode.Cf, r) { // soft hyphens, joiners, marks of byte order and direction
			return -1
		}
		return r
	}
	name = cases.Fold().String(norm.NFKC.String(strings.Map(visible, name)))
	return number(strings.Join(strings.Fields(norm.NFKC.String(name)), " "))
}

// IsNumber reports whether a name is a number without sign or exponent.
func IsNumber(name string) bool {
	whole, part, _ := strings.Cut(name, ".")
	digits := func(text string) bool {
		return !strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	}
	return whole != "" && digits(whole) && digits(part)
}

// number returns a number without zeros before and behind it, and other texts unchanged.
func number(text string) string {
	if !IsNumber(text) {
		return text
	}
	whole, part, _ := strings.Cut(text, ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if part = strings.TrimRight(part, "0"); part != "" {
		whole += "." + part
	}
	return whole
}

// Twins returns the names with equal keys, in groups of at least two. Names and groups are in the order
// of the list.
func Twins(names []string) (groups [][]string) {
	first := map[string]int{} // by key: the group of a name, or −1 − its place
	for i, name := range names {
		key := Key(name)
		at, known := first[key]
		switch {
		case !known:
			first[key] = -1 - i
		case at >= 0:
			groups[at] = append(groups[at], name)
		default:
			first[key] = len(groups)
			groups = append(groups, []string{names[-1-at], name})
		}
	}
	return slices.Clip(groups)
}
