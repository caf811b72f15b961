package scrape

import "hgld/labels"

// Imported returns the record of a landmark whose tag another program found. A tag that consists
// of white space counts as no tag.
func Imported(row labels.TagRow) labels.Record {
	r := labels.Record{Landmark: row.Landmark, Split: row.Split, Category: row.Category, Item: row.Item,
		Outcome: labels.NoTag, Source: "import"}
	if title, err := Title(r.Category); err == nil {
		r.Title = title
	}
	if tag := Normal(row.Tag); tag != "" {
		r.Outcome, r.Raw, r.Tag = labels.OK, row.Tag, tag
		r.Values = []labels.TagValue{{Raw: r.Raw, Text: r.Tag}}
	}
	return r
}
