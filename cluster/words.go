package cluster

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// connectors are the words after which the name of a kind goes on about its place or purpose: "church in Norway".
var connectors = strings.Fields("of in on for with at by from to near and or de du des der la le")

// HeadWord is the word that says what a name means, without case, accents and plural: the last one before a
// preposition, a comma or a parenthesis. The curation page has the same rule.
func HeadWord(name string) string {
	words := meaning(name)
	return singular(words[len(words)-1])
}

// LastTwo are the last two words of a name up to its head word.
func LastTwo(name string) string {
	words := meaning(name)
	head := len(words) - 1
	return strings.Join(append(slices.Clone(words[max(head-1, 0):head]), singular(words[head])), " ")
}

// meaning lists the words of a name before its place or purpose, at least one.
func meaning(name string) []string {
	whole := folded(name)
	text, _, _ := strings.Cut(strings.NewReplacer("(", ",", "/", ",").Replace(whole), ",")
	words := strings.Fields(text)
	for i := 1; i < len(words); i++ {
		if slices.Contains(connectors, words[i]) {
			words = words[:i]
			break
		}
	}
	if len(words) == 0 {
		return []string{whole}
	}
	return words
}

// folded is a name in small letters without accents.
func folded(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.M, r) {
			return -1
		}
		return r
	}, norm.NFD.String(name)))
}

// singular takes the ending of an English plural from a word.
func singular(word string) string {
	switch n := len(word); {
	case n > 4 && strings.HasSuffix(word, "ies") && !strings.ContainsRune("aeiou", rune(word[n-4])):
		return word[:n-3] + "y"
	case n > 3 && strings.HasSuffix(word, "es") && endsInAny(word[:n-2], "ch", "sh", "x", "ss", "z"):
		return word[:n-2]
	case n > 3 && word[n-1] == 's' && !strings.ContainsRune("su i", rune(word[n-2])):
		return word[:n-1]
	}
	return word
}

func endsInAny(word string, endings ...string) bool {
	return slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(word, e) })
}
