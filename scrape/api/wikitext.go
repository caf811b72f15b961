package api

import (
	"errors"
	"regexp"
	"strings"

	"hgld/scrape"
)

// redirectTemplates are the templates on Commons that mark a category redirect, in lower
// case: those that pywikibot lists, and redirects to them.
var redirectTemplates = map[string]bool{
	"category redirect": true, "categoryredirect": true, "cat redirect": true, "catredirect": true, "catredir": true,
	"cat-red": true,
	"cat red": true, "catr": true, "redirect category": true, "rediscat": true, "seecat": true, "see cat": true,
	"category move":                   true,
	"synonym taxon category redirect": true, "invalid taxon category redirect": true,
	"monotypic taxon category redirect": true,
	"endashcatredirect":                 true,
}

var comment = regexp.MustCompile(`(?s)<!--.*?(?:-->|$)`)

// redirectTarget returns the target of the first redirect template in a wikitext. It is the
// template's first argument, with or without the namespace, a colon or the brackets of a
// link.
func redirectTarget(wikitext string) (string, error) {
	text := comment.ReplaceAllString(wikitext, "")
	lastEnd := strings.LastIndex(text, "}}")
	for at := 0; ; {
		begin := strings.Index(text[at:], "{{")
		if begin < 0 {
			return "", errors.New("the category redirect has no known template")
		}
		at += begin + len("{{")
		if lastEnd < at {
			return "", errors.New("the template of the category redirect is not closed")
		}
		if !redirectTemplates[templateName(text[at:])] {
			continue
		}
		body, _, _ := strings.Cut(text[at:], "}}")
		return targetIn(strings.Split(body, "|")[1:])
	}
}

// templateName returns the name of the template whose braces were opened before text, in lower case.
// It looks at the beginning of the text only, or many open braces would take quadratic time.
func templateName(text string) string {
	text = text[:min(len(text), 200)]
	for _, end := range []string{"}}", "|"} {
		text, _, _ = strings.Cut(text, end)
	}
	name := strings.ToLower(strings.Join(strings.Fields(strings.ReplaceAll(text, "_", " ")), " "))
	return strings.TrimPrefix(name, "template:")
}

// targetIn returns the title in the first positional argument of a template.
func targetIn(arguments []string) (string, error) {
	for _, a := range arguments {
		name, value, named := strings.Cut(a, "=")
		if named && strings.TrimSpace(name) != "1" {
			continue
		}
		if !named {
			value = a
		}
		value = strings.Trim(strings.TrimSpace(value), "[]")
		value = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(value), ":"))
		if space, rest, ok := strings.Cut(value, ":"); ok && strings.EqualFold(strings.TrimSpace(space), "category") {
			value = strings.TrimSpace(rest)
		}
		if value == "" {
			break
		}
		return scrape.Title(scrape.Namespace + value)
	}
	return "", errors.New("the template of the category redirect names no target")
}
