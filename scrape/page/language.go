package page

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"hgld/scrape"
)

// p31labels holds the label of P31 ("instance of") in 142 languages, as Wikidata had
// them in 2018: language code, tab, label. The infobox prints the label of its
// reader's language as the header of the row.
//
//go:embed p31labels.tsv
var p31labels string

// languages maps the labels in lower case to the code of a language that has it.
// English is left out.
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

// languageOf returns the code of a language other than English in which a header
// says "instance of", "" if there is none.
func languageOf(header string) string { return languages()[strings.ToLower(header)] }

// checkLanguage returns an error for a page that says, in <html lang>, that it is not
// in English: its infobox has no header "Instance of", and would be taken for one
// without a tag. A page that says nothing is not refused for that.
func checkLanguage(lang []byte) error {
	code, _, _ := strings.Cut(strings.ToLower(decode(lang)), "-")
	if code == "" || code == "en" {
		return nil
	}
	return fmt.Errorf("the page is in the language %.20q; want English, which a reader gets who sends no language",
		decode(lang))
}
