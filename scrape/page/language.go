package page

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"hgld/scrape"
)

// p31labels contains the label of P31 ("instance of") in 142 languages, as of 2018 on
// Wikidata: language code, tab, label. The infobox prints the label in the reader's language
// as the header of the row.
//
//go:embed p31labels.tsv
var p31labels string

// languages maps each label, in lower case, to the code of a language with that label.
// English is omitted.
var languages = sync.OnceValue(func() map[string]string {
	codes := map[string]string{}
	for line := range strings.Lines(p31labels) {
		code, label, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if label = strings.ToLower(scrape.Normal(label)); label != "" && label != strings.ToLower(Header) &&
			codes[label] == "" {
			codes[label] = code
		}
	}
	return codes
})

// languageOf returns the code of a language other than English in which a header means
// "instance of", or "" if there is none.
func languageOf(header string) string { return languages()[strings.ToLower(header)] }

// checkLanguage returns an error if <html lang> is not English. The infobox of such a page
// has no header "Instance of", so the page would seem to have no tag. A page without the
// attribute is accepted.
func checkLanguage(lang string) error {
	code, _, _ := strings.Cut(strings.ToLower(lang), "-")
	if code == "" || code == "en" {
		return nil
	}
	return fmt.Errorf("the page is in the language %.20q; want English, which the server sends if no language is "+
		"requested",
		lang)
}
