package page

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/testing/fakecommons"
)

func savedInfobox(tb testing.TB) []byte {
	tb.Helper()
	data, err := os.ReadFile(goldens.Shared(tb, "data", "wikimedia", "html", "infobox_happy_valley_racecourse.html"))
	must.Do(tb, err)
	return data
}

func TestSavedInfoboxIsAHorseRacingVenue(t *testing.T) {
	data := savedInfobox(t)
	p := must.Get(Parse(data))(t)
	want := []labels.TagValue{{Raw: "horse racing venue", Text: "horse racing venue", Link: "/wiki/Category:Racecourses"}}
	if !p.Infobox || !p.HasTag || !reflect.DeepEqual(p.Values, want) || p.Outcome() != labels.OK {
		t.Errorf("page %+v, outcome %s", p, p.Outcome())
	}
	about := &labels.About{Description: "Racecourse in Hong Kong", Image: "Happy Valley Racecourse 1.jpg",
		Place: []string{"Happy Valley", "Wan Chai District", "Hong Kong", "PRC"}, Coordinates: []float64{22.2728, 114.182}}
	if !reflect.DeepEqual(p.About, about) {
		t.Errorf("about %+v", p.About)
	}
	if !reflect.DeepEqual(valueTexts(t, data), []string{"horse racing venue"}) {
		t.Errorf("a selector finds %q", valueTexts(t, data))
	}
}

// valueTexts returns what the published scrapers select, found with a full HTML parser,
// independently of Parse.
func valueTexts(t *testing.T, body []byte) []string {
	t.Helper()
	doc := must.Get(goquery.NewDocumentFromReader(bytes.NewReader(body)))(t)
	header := doc.Find("#wdinfobox tr > th.wikidatainfobox-lcell").FilterFunction(func(_ int, s *goquery.Selection) bool {
		return strings.TrimSpace(s.Text()) == "Instance of"
	}).First()
	cell := header.SiblingsFiltered("td")
	if cell.Length() == 0 {
		cell = header.Parent().NextFiltered("tr").Find("td")
	}
	var texts []string
	cell.Find("li").Each(func(_ int, s *goquery.Selection) { texts = append(texts, s.Text()) })
	if texts == nil && strings.TrimSpace(cell.Text()) != "" {
		texts = []string{cell.Text()}
	}
	return texts
}

var manyValues = []fakecommons.Value{
	{Text: "neighborhood  park", Link: "/wiki/Category:Parks"},
	{Text: "ocean area "},
	{Text: "church building", Qualifiers: []string{"1172–1954"}, Link: "/wiki/Category:Churches"},
	{Text: "castle / fort", Qualifiers: []string{"a", "b (c)"}},
	{Text: "bridge & <tunnel> \"x\" 'y'", Link: "/wiki/Category:A%26B"},
	{Text: "Cafe\u0301\u00a0bar", Link: "https://en.wikipedia.org/wiki/Caf%C3%A9"},
	{Text: "house (of cards)", Qualifiers: []string{"2001"}, Link: "/wiki/H"},
	{Text: ""},
	{Text: "香港"},
}

func TestEveryPageVariantIsUnderstood(t *testing.T) {
	var values []labels.TagValue
	for _, v := range manyValues {
		values = append(values, labels.TagValue{Raw: v.Text, Text: scrape.Normal(v.Text), Qualifiers: v.Qualifiers,
			Link: v.Link})
	}
	for name, c := range map[string]struct {
		variant fakecommons.Variant
		values  []fakecommons.Value
		outcome labels.Outcome
		want    []labels.TagValue
	}{
		"plain":          {fakecommons.Plain, manyValues, labels.OK, values},
		"header spans":   {fakecommons.SpanningHeader, manyValues, labels.OK, values},
		"several boxes":  {fakecommons.SeveralBoxes, manyValues, labels.OK, values},
		"nested boxes":   {fakecommons.NestedBoxes, manyValues, labels.OK, values},
		"no list":        {fakecommons.NoList, manyValues[2:3], labels.OK, values[2:3]},
		"no value":       {fakecommons.Plain, nil, labels.NoTag, nil},
		"empty value":    {fakecommons.Plain, manyValues[7:8], labels.NoTag, values[7:8]},
		"no tag":         {fakecommons.NoTag, nil, labels.NoTag, nil},
		"no infobox":     {fakecommons.NoInfobox, nil, labels.NoInfobox, nil},
		"disambiguation": {fakecommons.Disambiguation, nil, labels.Disambiguation, nil},
		"missing":        {fakecommons.MissingButKnown, nil, labels.Missing, nil},
		"category item": {fakecommons.Plain, []fakecommons.Value{{Text: "Wikimedia category"}}, labels.CategoryItem,
			[]labels.TagValue{{Raw: "Wikimedia category", Text: "Wikimedia category"}}},
		"ambiguous item": {fakecommons.Plain, []fakecommons.Value{{Text: "Wikimedia disambiguation page"}},
			labels.Disambiguation, []labels.TagValue{{Raw: "Wikimedia disambiguation page",
				Text: "Wikimedia disambiguation page"}}},
		"also a category": {fakecommons.Plain, []fakecommons.Value{{Text: "Wikimedia category"}, {Text: "ship"}}, labels.OK,
			[]labels.TagValue{{Raw: "Wikimedia category", Text: "Wikimedia category"}, {Raw: "ship", Text: "ship"}}},
		"nearly qualified": {fakecommons.Plain, []fakecommons.Value{{Text: "(x)"}, {Text: "x)"}, {Text: "x ("}}, labels.OK,
			[]labels.TagValue{{Raw: "(x)", Text: "(x)"}, {Raw: "x)", Text: "x)"}, {Raw: "x (", Text: "x ("}}},
	} {
		t.Run(name, func(t *testing.T) {
			category := fakecommons.Category{Title: "Category:Viña (del) Mar", Variant: c.variant, Values: c.values,
				Item: "Q837662", Revision: 987654321}
			body := category.HTML(30_000)
			p := must.Get(Parse(body))(t)
			if p.Outcome() != c.outcome || !reflect.DeepEqual(p.Values, c.want) {
				t.Errorf("outcome %s, values\n%+v\nwant %s\n%+v", p.Outcome(), p.Values, c.outcome, c.want)
			}
			wantID, wantRevision := int64(187654321), int64(987654321)
			if c.outcome == labels.Missing {
				wantID, wantRevision = 0, 0
			}
			if p.Name != category.Title || p.ID != wantID || p.Revision != wantRevision || p.Namespace != 14 ||
				p.Item != "Q837662" {
				t.Errorf("head %+v", p.Head)
			}
			var printed []string
			for _, v := range p.Values {
				text := v.Raw
				for _, q := range v.Qualifiers {
					text += " (" + q + ")"
				}
				printed = append(printed, text)
			}
			if selected := valueTexts(t, body); !reflect.DeepEqual(printed, selected) {
				t.Errorf("joined with their qualifiers the values are\n%q, a selector finds\n%q", printed, selected)
			}
		})
	}
}

// box wraps rows in a page without the script in the head.
func box(rows string) string {
	return `<html><body><div id="mw-content-text"><table id="wdinfobox"><tbody>` + rows +
		"</tbody></table></div></body></html>"
}

const th = `<tr><th class="wikidatainfobox-lcell">Instance of</th>`

func TestRowRule(t *testing.T) {
	one := func(raw, link string, qualifiers ...string) []labels.TagValue {
		return []labels.TagValue{{Raw: raw, Text: scrape.Normal(raw), Link: link, Qualifiers: qualifiers}}
	}
	for name, c := range map[string]struct {
		html string
		want []labels.TagValue
	}{
		"another row first": {box(`<tr><th class="wikidatainfobox-lcell">Subclass of</th><td><ul><li>x</li></ul></td></tr>` +
			th + `<td>a</td></tr>`), one("a", "")},
		"subclass only": {box(`<tr><th class="wikidatainfobox-lcell">Subclass of</th><td><ul><li>x</li></ul></td></tr>`),
			nil},
		"another class": {box(`<tr><th class="wikidatainfobox-lcell2">Instance of</th><td>x</td></tr>`), nil},
		"more classes": {box(`<tr><th class="a wikidatainfobox-lcell b">Instance of</th><td>x</td></tr>`),
			one("x", "")},
		"text in other cell": {box(`<tr><td>Instance of</td><td>x</td></tr>`), nil},
		"outside the box": {`<html><div id="mw-content-text"></div><table>` + th + `<td>x</td></tr></table></html>`,
			nil},
		"white space in header": {box("<tr><th class='wikidatainfobox-lcell'>\n Instance&#32;\tof </th><td>x</td></tr>"),
			one("x", "")},
		"header with a link": {box(`<tr><th class="wikidatainfobox-lcell"><a href="/wiki/P31"><i>Instance</i> of</a>` +
			`</th><td>x</td></tr>`), one("x", "")},
		"upper-case tags": {strings.ReplaceAll(strings.ReplaceAll(box(th+`<td>x</td></tr>`), "<td>", "<TD>"),
			"<table id=", "<TABLE ID="), one("x", "")},
		"unquoted attributes": {`<html><div id=mw-content-text><table id=wdinfobox><tr><th ` +
			`class=wikidatainfobox-lcell>Instance of</th><td><a href=/wiki/X>x</a></td></table></div></html>`,
			one("x", "/wiki/X")},
		"header without a cell": {box(th + `</tr><tr><th class="wikidatainfobox-lcell">Location</th><td>x</td></tr>`), nil},
		"header at the end":     {box(th + `</tr>`), nil},
		"end tags left out": {box(`<tr><th class="wikidatainfobox-lcell">Instance of<td><ul><li>a<li>b</ul><tr><th ` +
			`class="wikidatainfobox-lcell">Location<td>c`), append(one("a", ""), one("b", "")...)},
		"stray end tags": {box(th + `<td></b></div></li><ul><li>a</span></li></p></ul></i></td></tr>`),
			one("a", "")},
		"nested list": {box(th + `<td><ul><li>a<ul><li>b</li></ul></li><li>c</li></ul></td></tr>`),
			append(one("ab", ""), one("c", "")...)},
		"nested table": {box(th + `<td><ul><li>a<table><tr><td>b</td></tr></table></li></ul></td></tr>`),
			one("ab", "")},
		"line break": {box(th + `<td>a<br>b<br/>c</td></tr>`), one("a\nb\nc", "")},
		"pencil": {box(th +
			`<td><ul><li>a<span class="wikidata-link"> <a href="https://www.wikidata.org/wiki/Q1">edit</a></span></li>` +
			`</ul><span class="noprint wdinfobox-edit">edit</span></td></tr>`), one("a", "")},
		"style and comment": {box(th + `<td><style>.x{}</style><ul><li>a<!-- <li>z</li> --></li></ul></td></tr>`),
			one("a", "")},
		"entities": {box(th + `<td><ul><li>caf&eacute; &amp; bar&nbsp;&#x1F600;</li></ul></td></tr>`),
			one("café & bar\u00a0😀", "")},
		"link inside text": {box(th + `<td><ul><li>former <a href="/wiki/C">church</a> (1900)</li></ul></td></tr>`),
			one("former church", "/wiki/C", "1900")},
		"two links": {box(th + `<td><ul><li><a href="/a">a</a>, <a href="/b">b</a></li></ul></td></tr>`),
			one("a, b", "/a")},
		"link in the qualifier": {box(th +
			`<td><ul><li>county hall (<a href="/wiki/W">King County</a>)</li></ul></td></tr>`),
			one("county hall", "", "King County")},
		"link and its qualifier": {box(th +
			`<td><ul><li><a href="/c">county hall</a> (<a href="/wiki/W">King County</a>)</li></ul></td></tr>`),
			one("county hall", "/c", "King County")},
		"plain qualifier": {box(th +
			`<td><ul><li>library building (University of Washington Libraries)</li></ul></td></tr>`),
			one("library building", "", "University of Washington Libraries")},
		"parentheses in the link": {box(th + `<td><ul><li><a href="/c">hall (room)</a></li></ul></td></tr>`),
			one("hall (room)", "/c")},
		"image before the link": {box(th +
			`<td><ul><li><a href="/f"><img src="x"></a> <a href="/c">hall</a></li></ul></td></tr>`), one("hall", "/c")},
		"image link": {box(th + `<td><ul><li><a href="/c"><img src="x"></a></li></ul></td></tr>`), one("", "")},
		"white space kept": {box(th + "<td><ul>\n<li>\n quarter of  hamburg\t</li>\n</ul></td></tr>"),
			one("\n quarter of  hamburg\t", "")},
		"text beside the list": {box(th + `<td>see: <ul><li>a</li></ul> and more</td></tr>`), one("a", "")},
		"two rows":             {box(th + `<td>a</td></tr>` + th + `<td>b</td></tr>`), one("a", "")},
		"greater-than in value": {box(`<tr data-overlays='["<td>x</td>"]' title="a > b">` + th[4:] + `<td>a</td></tr>`),
			one("a", "")},
		"self-closing cell": {box(th + `<td/>a</td></tr>`), one("a", "")},
	} {
		t.Run(name, func(t *testing.T) {
			p := must.Get(Parse([]byte(c.html)))(t)
			if !reflect.DeepEqual(p.Values, c.want) {
				t.Errorf("values %+v\nwant   %+v", p.Values, c.want)
			}
		})
	}
}

// The tag on a page in another language must not be taken for an English one.
func TestPageInAnotherLanguageIsAnError(t *testing.T) {
	data := must.Get(os.ReadFile(goldens.Shared(t, "data", "wikimedia", "p31_labels_i18n.tsv")))(t)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != 142 {
		t.Fatalf("%d headers, want 142", len(lines))
	}
	for _, line := range lines {
		code, label, _ := strings.Cut(line, "\t")
		first, size := utf8.DecodeRuneInString(label)
		header := string(unicode.ToUpper(first)) + label[size:] // as the infobox writes it
		p, err := Parse([]byte(box(`<tr><th class="wikidatainfobox-lcell">` + header +
			`</th><td><ul><li>x</li></ul></td></tr>`)))
		english := strings.HasPrefix(code, "en")
		if english && (err != nil || p.Outcome() != labels.OK) || !english &&
			(err == nil || !strings.HasPrefix(err.Error(), "the infobox is in the language")) {
			t.Errorf("%s, %q: %s, %v", code, header, p.Outcome(), err)
		}
	}
	for lang, want := range map[string]string{
		`lang="en"`: "", `LANG=en-GB`: "", `lang=""`: "", "": "",
		`lang="de"`: "the page is in the language \"de\"", `lang='zh-hant'`: "the page is in the language",
		`lang="eng"`: "the page is in",
	} {
		p, err := Parse([]byte("<html " + lang + ` class="client-nojs"><div id="mw-content-text"></div></html>`))
		if want == "" && (err != nil || p.Outcome() != labels.NoInfobox) || want != "" &&
			(err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("<html %s>: %v, want %q", lang, err, want)
		}
	}
}

func TestItemIsReadFromThreePlaces(t *testing.T) {
	for name, html := range map[string]string{
		"head": `<html><script>RLCONF={"wgArticleId":5,"wgNamespaceNumber":14,"wgPageName":"Category:A"` +
			`,"wgWikibaseItemId":"Q64"}</script><div id="mw-content-text"></div></html>`,
		"sidebar": `<html><div id="mw-content-text"></div><li class="x" id="t-wikibase"><a ` +
			`href="https://www.wikidata.org/wiki/Special:EntityPage/Q64">item</a></li></html>`,
		"pencil": box(th + `<td>x</td></tr><tr><td><a href="https://www.wikidata.org/wiki/Q64" title="Edit infobox ` +
			`data on Wikidata">edit</a></td></tr>`),
		"span": box(`<tr><td><span class="wdinfobox-edit"><a href="//m.wikidata.org/wiki/Q64">edit</a></span></td></tr>`),
	} {
		p, err := Parse([]byte(html))
		if err != nil || p.Item != "Q64" {
			t.Errorf("%s: item %q, %v", name, p.Item, err)
		}
	}
	p, err := Parse([]byte(box(th + `<td><a href="https://www.wikidata.org/wiki/Q5">x</a></td></tr>`)))
	if err != nil || p.Item != "" {
		t.Errorf("a value's link was taken for the item: %q, %v", p.Item, err)
	}
}

func TestHeadIgnoresKeysInsideTitles(t *testing.T) {
	title := must.Get(json.Marshal(`x","wgArticleId":7,"wgWikibaseItemId":"Q7`))(t)
	html := `<html><script>RLCONF={"wgTitle":` + string(title) +
		`,"wgNamespaceNumber":14,"wgPageName":"Category:A_b","wgArticleId":5,"wgIsRedirect":!1};</script><script>x=` +
		`{"wgArticleId":9}</script><div id="mw-content-text"></div></html>`
	p, err := Parse([]byte(html))
	if err != nil || p.ID != 5 || p.Item != "" || p.Name != "Category:A b" {
		t.Errorf("head %+v, %v", p.Head, err)
	}
}

func TestSoftRedirectIsRead(t *testing.T) {
	for link, want := range map[string]string{
		"/wiki/Category:Luitpoldpark_(M%C3%BCnchen)":                   "Category:Luitpoldpark (München)",
		"https://commons.wikimedia.org/wiki/Category:A%26B":            "Category:A&B",
		"//commons.wikimedia.org/wiki/Category:a_b":                    "Category:A b",
		"/wiki/Category:C%27est_&quot;la&quot;_%25#x":                  `Category:C'est "la" %`,
		"/wiki/Category:lower?uselang=de":                              "Category:Lower",
		"https://commons.m.wikimedia.org/wiki/Category:Mobile__page__": "Category:Mobile page",
	} {
		html := `<html><div id="mw-content-text"><div class="x category-redirect-header"><a>anchor</a><b>See <a href="` +
			link + `">there</a> or <a href="/wiki/Category:Z">z</a></b></div></div></html>`
		p, err := Parse([]byte(html))
		if err != nil || p.Redirect != want {
			t.Errorf("%s leads to %q, %v; want %q", link, p.Redirect, err, want)
		}
	}
}

func TestClassMatchesWholeWords(t *testing.T) {
	for class, want := range map[string]bool{
		"foo": true, " foo\t": true, "bar foo": true, "foobar foo": true, "foofoo foo": true,
		"": false, "fo": false, "foofoo": false, "foo-foo": false, "barfoo": false, "xfoofoo": false,
	} {
		if hasClass(class, "foo") != want {
			t.Errorf("class %q holds foo: want %v", class, want)
		}
	}
}

func TestInfoboxSaysWhereItsLandmarkIs(t *testing.T) {
	const tag = `<tr><th class="wikidatainfobox-lcell">Instance of</th><td><ul><li>tower</li></ul></td></tr>`
	location := func(cell string) string {
		return tag + `<tr><th class="wikidatainfobox-lcell">Location</th><td>` + cell + `</td></tr>`
	}
	geohack := func(params string) string {
		return tag + `<tr><td><a href="https://geohack.toolforge.org/geohack.php?pagename=X&amp;params=` + params + `">there</a></td></tr>`
	}
	for _, c := range []struct {
		name, rows string
		want       *labels.About
	}{
		{"a name with a comma", location(`<a href="/wiki/W">Washington, D.C.</a>, United States`),
			&labels.About{Place: []string{"Washington, D.C.", "United States"}}},
		{"the first of several places", location("<ul> <li>Oslo, Norway</li><li>Bergen, Norway</li></ul>"),
			&labels.About{Place: []string{"Oslo", "Norway"}}},
		{"a pencil", location(`Oslo<span class="wdinfobox-edit"><a href="/edit">edit</a></span>`),
			&labels.About{Place: []string{"Oslo"}}},
		{"an empty row", location(" , "), nil},
		{"minutes and seconds, south and west", geohack("22_30_36_S_43_6_0_W_globe:Earth_"),
			&labels.About{Coordinates: []float64{-22.51, -43.1}}},
		{"a type", geohack("48.8584_N_2.2945_E_type:landmark"), &labels.About{Coordinates: []float64{48.8584, 2.2945}}},
		{"another planet", geohack("10_N_20_E_globe:Mars_"), nil},
		{"no latitude", geohack("91_N_20_E"), nil},
		{"no number", geohack("1.2.3_N_20_E"), nil},
		{"another site", tag + `<tr><td><a href="https://example.org/?params=10_N_20_E">there</a></td></tr>`, nil},
		{"a picture below the first row is no portrait", tag + `<tr><td><a class="mw-file-description" href="/wiki/File:Flag.svg">` +
			`<img></a></td></tr>`, nil},
		{"a picture above", `<tr><td><div class="c">text</div><div>A tower</div><a class="mw-file-description" ` +
			`href="/wiki/File:A_%26_B.jpg"><img></a></td></tr>` + tag, &labels.About{Description: "A tower", Image: "A & B.jpg"}},
	} {
		p, err := Parse([]byte(box(c.rows)))
		if err != nil || !reflect.DeepEqual(p.About, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", c.name, p.About, err, c.want)
		}
	}
}

// A category that combines topics has an infobox for each. The tag is that of the first, and so is the rest.
func TestFirstInfoboxAloneSaysWhereItsLandmarkIs(t *testing.T) {
	first := `<table id="wdinfobox"><tr><th class="wikidatainfobox-lcell">Instance of</th><td>tower</td></tr></table>`
	second := `<table id="wdinfobox"><tr><th class="wikidatainfobox-lcell">Instance of</th><td>bridge</td></tr>` +
		`<tr><th class="wikidatainfobox-lcell">Location</th><td>Oslo</td></tr></table>`
	for name, rows := range map[string]string{
		"nested": "<tr><td><div>Two topics</div>" + first + second + "</td></tr>",
		"after":  first[len(`<table id="wdinfobox">`):len(first)-len("</table>")] + "</table>" + second + "<table>",
	} {
		p, err := Parse([]byte(box(rows)))
		if err != nil || len(p.Values) != 1 || p.Values[0].Text != "tower" || p.About != nil {
			t.Errorf("%s: %+v of %+v, %v", name, p.About, p.Values, err)
		}
	}
}
