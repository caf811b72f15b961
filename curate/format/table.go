package format

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"hgld/internal/csvfile"
)

// webPage is how pages and other XML begin. Turtle begins with an address in angle brackets.
var webPage = regexp.MustCompile(`(?i)^<(!doctype|!--|\?xml|html|head|body|table|svg|div|p|a)\b`)

// separators are those of tables beside commas, in words.
var separators = map[rune]string{';': "semicolons", '\t': "tabs"}

// plain returns a file as the formats read it. A table that semicolons or tabs separate, that begins with
// sep= or that is in UTF-16 becomes one with commas in UTF-8, with every row in its line, unless the sheet
// reads it as it is. separated is how its columns were separated, "" for commas. A web page, and JSON of
// another program, are errors, unless they are said to be suggestions: almost any text could be a list of groups.
func plain(data []byte, name, format string) (text []byte, separated string, err error) {
	start := bytes.TrimSpace(bytes.TrimPrefix(data[:min(len(data), 1<<12)], []byte("\ufeff")))
	switch {
	case bytes.Contains(start, []byte("<rdf:RDF")):
		return nil, "", fmt.Errorf("%s: SKOS in RDF/XML, which is not read; convert it to Turtle, for example with rdflib",
			name)
	case webPage.Match(start):
		return nil, "", fmt.Errorf("%s: a web page or XML, and no curation; download the file itself", name)
	case bytes.HasPrefix(start, []byte("%PDF")), bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return nil, "", fmt.Errorf("%s: a document or an archive, and no text; save it as CSV in UTF-8", name)
	case bytes.HasPrefix(start, []byte("{")), bytes.HasPrefix(start, []byte("[")):
		ours := ownJSON(data) || isJSONSuggestions(data) || format == "suggestions"
		if !ours && bytes.Contains(start, []byte(`"@context"`)) {
			return nil, "", fmt.Errorf("%s: SKOS in JSON-LD, which is not read; convert it to Turtle, for example with rdflib",
				name)
		}
		if !ours && (bytes.HasPrefix(start, []byte("{")) || json.Valid(data)) {
			return nil, "", fmt.Errorf("%s: JSON that is no hierarchy.json, draft.json, label file or suggestions of hgld", name)
		}
		return data, "", nil
	case isTurtle(data):
		return data, "", nil
	}
	wide := len(data)%2 == 0 && (bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")))
	r := csvfile.NewReader(bytes.NewReader(data))
	separator := r.Separator()
	if separator == ',' && !wide && !bytes.HasPrefix(start, []byte("sep=")) {
		return data, "", nil
	}
	if !wide && noText(data, name) != nil {
		return data, "", nil
	}
	r.Ragged()
	r.Trim()
	if text, err = withCommas(r); err != nil {
		return nil, "", csvError(name, err)
	}
	if separator == ';' && !wide && Detect(text) == "sheet" {
		return data, "", nil // with its decimal commas
	}
	return text, separators[separator], nil
}

// ownJSON reports whether a file is one of hgld's.
func ownJSON(data []byte) bool {
	for _, field := range []string{"hgld_hierarchy", "hgld_draft", "hgld_labels", "hgld_edits", "hgld_tags"} {
		if isDocument(field)(data) {
			return true
		}
	}
	return false
}

// withCommas writes a table with commas.
func withCommas(r *csvfile.Reader) ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
		if line := bytes.Count(out.Bytes(), []byte("\n")) + 1; line > 1 && r.Line() > line {
			out.WriteString(strings.Repeat("\n", r.Line()-line))
		}
		if err := w.Write(row); err != nil {
			return nil, err
		}
		w.Flush()
	}
}

// columned returns an error for a list of names in which another character separates columns: every line
// has as many of it.
func columned(names []string) error {
	for _, separator := range []string{"|", ";", "\t"} {
		n := strings.Count(names[0], separator)
		all := n > 0 && len(names) > 1
		for _, name := range names {
			all = all && strings.Count(name, separator) == n
		}
		if all {
			return fmt.Errorf("every line has %d of %.80q, so it is no list of names but a table; separate its columns by "+
				"commas", n, separator)
		}
	}
	return nil
}
