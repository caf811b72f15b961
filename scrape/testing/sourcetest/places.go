package sourcetest

import (
	"fmt"

	"hgld/labels"
	"hgld/scrape/testing/fakecommons"
)

// Places returns n categories of all kinds for which both sources give the same result.
// Places i and i+Kinds are of the same kind.
func Places(n int) []fakecommons.Category {
	kinds := []fakecommons.Category{
		{Values: []fakecommons.Value{{Text: "church building", Qualifiers: []string{"1172–1954"}}}},
		{Values: []fakecommons.Value{{Text: "park"}, {Text: "urban park"}}, Variant: fakecommons.SpanningHeader},
		{Values: []fakecommons.Value{{Text: "lake"}}, Variant: fakecommons.SeveralBoxes},
		{Variant: fakecommons.NoTag}, {Variant: fakecommons.Missing}, {Variant: fakecommons.Disambiguation},
		{Variant: fakecommons.SoftRedirect}, {Values: []fakecommons.Value{{Text: "Wikimedia category"}}},
		{Variant: fakecommons.RedRedirect}, {Variant: fakecommons.HardRedirect},
		{Values: []fakecommons.Value{{Text: "old mill", Rank: "deprecated"},
			{Text: "county hall", Qualifiers: []string{"1900–", "King County"}}}},
		{Values: []fakecommons.Value{{Text: "bridge"}}, Topic: "topic"},
		{Values: []fakecommons.Value{{Text: "castle / fort"}}, Merged: "merged"},
		{Values: []fakecommons.Value{{Text: "Wikimedia disambiguation page"}}},
		{Values: []fakecommons.Value{{Text: "香港的\"橋\""}}},
	}
	all := make([]fakecommons.Category, n)
	for i := range all {
		c := kinds[i%Kinds]
		c.Landmark, c.Title, c.Item = labels.LandmarkID(i), fmt.Sprintf("Category:Ort %d, Göttingen & 'x'", i),
			fmt.Sprintf("Q%d", 1000+i)
		switch {
		case c.Variant == fakecommons.SoftRedirect || c.Variant == fakecommons.HardRedirect:
			c.Target, c.Item = all[i-i%Kinds].Title, ""
		case c.Variant == fakecommons.RedRedirect:
			c.Target, c.Item = "Category:Never was", ""
		case c.Variant == fakecommons.Missing:
			c.Item = ""
		case c.Topic != "":
			c.Topic = fmt.Sprintf("Q%d", 1_000_000+i)
		case c.Merged != "":
			c.Merged = fmt.Sprintf("Q%d", 2_000_000+i)
		}
		all[i] = c
	}
	return all
}

// Kinds is the number of kinds of Places.
const Kinds = 15
