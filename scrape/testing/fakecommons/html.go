package fakecommons

import (
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"

	"hgld/labels"
)

// HTML returns the category's page with about filler bytes of navigation and file lists
// around the infobox. Real pages have 107 kB on average.
func (c *Category) HTML(filler int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html class=\"client-nojs\" lang=\"en\" dir=\"ltr\">\n<head>\n<meta "+
		"charset=\"UTF-8\">\n<title>%s - Wikimedia Commons</title>\n", html.EscapeString(c.Title))
	c.head(&b)
	b.WriteString("<link rel=\"stylesheet\" href=\"/w/load.php?lang=en&amp;modules=site.styles\">\n</head>\n<body " +
		"class=\"mediawiki ltr ns-14 skin-vector-2022\">\n")
	fill(&b, "<li class=\"mw-list-item\"><a href=\"/wiki/Special:RandomInCategory/%[1]d\" title=\"Navigation "+
		"%[1]d\"><span>Navigation %[1]d</span></a></li>\n", filler/3)
	fmt.Fprintf(&b, "<h1 id=\"firstHeading\" class=\"firstHeading mw-first-heading\">%s</h1>\n",
		html.EscapeString(c.Title))
	b.WriteString("<div id=\"mw-content-text\" class=\"mw-body-content\"><div class=\"mw-content-ltr " +
		"mw-parser-output\" lang=\"en\" dir=\"ltr\">\n")
	c.content(&b)
	b.WriteString("</div>\n")
	fill(&b, "<li class=\"gallerybox\"><div class=\"thumb\"><a href=\"/wiki/File:Photo_%[1]d.jpg\"><img "+
		"alt=\"File:Photo %[1]d.jpg\" src=\"/thumb/%[1]d.jpg\" width=\"120\"></a></div></li>\n", filler-filler/3)
	c.foot(&b)
	return []byte(b.String())
}

// path returns the path of a title on this site.
func path(title string) string {
	return strings.TrimPrefix(labels.CategoryURL(title), "http://commons.wikimedia.org")
}

// fill repeats a numbered line up to a size in bytes.
func fill(b *strings.Builder, line string, size int) {
	for start, i := b.Len(), 0; b.Len()-start < size; i++ {
		fmt.Fprintf(b, line, i)
	}
}

// head writes the configuration script, minified as by MediaWiki.
func (c *Category) head(b *strings.Builder) {
	id := c.Revision - 800_000_000
	revision := c.Revision
	if c.Variant == Missing || c.Variant == MissingButKnown {
		id, revision = 0, 0
	}
	fmt.Fprintf(b, "<script>RLCONF={\"wgBreakFrames\":!1,\"wgNamespaceNumber\":14,\"wgPageName\":%s,"+
		"\"wgTitle\":%s,\"wgCurRevisionId\":%d,\"wgRevisionId\":%d,\"wgArticleId\":%d,"+
		"\"wgIsArticle\":!0,\"wgIsRedirect\":!1,\"wgCategories\":%s",
		quote(strings.ReplaceAll(c.Title, " ", "_")), quote(strings.TrimPrefix(c.Title, "Category:")), revision, revision, id,
		quote(c.categories()))
	if c.Item != "" {
		fmt.Fprintf(b, ",\"wgWikibaseItemId\":%s", quote(c.Item))
	}
	b.WriteString("};\nRLSTATE={\"site.styles\":\"ready\"};RLPAGEMODULES=[\"site\"];</script>\n")
}

// quote encodes JSON with < > & escaped, as MediaWiki does.
func quote(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and lists of strings
	}
	return string(text)
}

func (c *Category) categories() []string {
	switch c.Variant {
	case SoftRedirect, RedRedirect:
		return []string{"Category redirects"}
	case Disambiguation:
		return []string{"Disambiguation categories"}
	case NoInfobox:
		return []string{}
	}
	return []string{"Uses of Wikidata Infobox"}
}

func (c *Category) content(b *strings.Builder) {
	switch c.Variant {
	case SoftRedirect:
		fmt.Fprintf(b, "<div class=\"plainlinks category-redirect-header boilerplate\"><b>This category is located at "+
			"<a href=\"%s\" title=\"%s\">%s</a>.</b></div>\n",
			html.EscapeString(path(c.Target)), html.EscapeString(c.Target), html.EscapeString(c.Target))
	case RedRedirect:
		fmt.Fprintf(b, "<div class=\"plainlinks category-redirect-header boilerplate\"><b>This category is located at "+
			"<a href=\"/w/index.php?title=%s&amp;action=edit&amp;redlink=1\" class=\"new\" title=\"%s (page does not "+
			"exist)\">%s</a>.</b></div>\n",
			html.EscapeString(url.QueryEscape(strings.ReplaceAll(c.Target, " ", "_"))), html.EscapeString(c.Target),
			html.EscapeString(c.Target))
	case Missing, MissingButKnown:
		b.WriteString("<div class=\"noarticletext mw-content-ltr\"><p>There is currently no text in this page.</p></div>\n")
	case Disambiguation:
		b.WriteString("<p>This is a disambiguation page.</p>\n")
	case NoInfobox:
		b.WriteString("<p>A description without an infobox.</p>\n")
	case SeveralBoxes:
		c.box(b, func() { c.row(b, false) })
		other := Category{Title: "Category:Second topic", Values: []Value{{Text: "second topic"}}}
		other.box(b, func() { other.row(b, false) })
	case NestedBoxes:
		b.WriteString("<table id=\"wdinfobox\" class=\"infobox\"><tbody><tr><td colspan=\"2\">\n")
		c.box(b, func() { c.row(b, false) })
		other := Category{Title: "Category:Second topic", Values: []Value{{Text: "second topic"}}}
		other.box(b, func() { other.row(b, false) })
		b.WriteString("</td></tr></tbody></table>\n")
	case NoTag:
		c.box(b, func() {
			b.WriteString("<tr><th class=\"wikidatainfobox-lcell\">Subclass of</th><td><div class=\"plainlist\"><ul>" +
				"<li>building</li></ul></div></td></tr>")
		})
	default:
		c.box(b, func() { c.row(b, c.Variant == SpanningHeader) })
	}
}

// box writes an infobox. row writes its first labelled row.
func (c *Category) box(b *strings.Builder, row func()) {
	name := html.EscapeString(strings.TrimPrefix(c.Title, "Category:"))
	fmt.Fprintf(b, "<table class=\"fileinfotpl-type-information vevent infobox mw-collapsible\" dir=\"ltr\" "+
		"id=\"wdinfobox\"><caption class=\"fn org\" id=\"wdinfoboxcaption\"><b>%s</b></caption><tbody>", name)
	fmt.Fprintf(b, "<tr><td class=\"wdinfo_nomobile\" colspan=\"2\" style=\"text-align:center\"><div>place</div><a "+
		"class=\"mw-file-description\" href=\"%s.jpg\"><img class=\"mw-file-element\" "+
		"src=\"/thumb/%s.jpg\" width=\"230\"></a></td></tr>",
		html.EscapeString(strings.Replace(path(c.Title), "/Category:", "/File:", 1)), name)
	b.WriteString("<tr><td colspan=\"2\" style=\"text-align:center\"><b><a class=\"external text\" " +
		"href=\"/w/index.php?title=Special%3AUploadWizard\">Upload media</a></b></td></tr>")
	row()
	b.WriteString("<tr class=\"wdinfo_nomobile\"><th class=\"wikidatainfobox-lcell\">Location</th><td><a " +
		"href=\"/wiki/Category:Somewhere\">Somewhere</a>, Nowhere</td></tr>")
	b.WriteString("<tr class=\"wdinfo_nomobile\"><th class=\"wikidatainfobox-lcell\">Inception</th><td><div " +
		"class=\"plainlist\"><ul><li>1846</li></ul></div></td></tr>")
	if c.Item != "" {
		fmt.Fprintf(b, "<tr><td colspan=\"2\"><span class=\"wdinfobox-edit\"><a "+
			"href=\"https://www.wikidata.org/wiki/%s\" title=\"Edit infobox data on Wikidata\"><img src=\"/edit.svg\"></a>"+
			"</span></td></tr>", c.Item)
	}
	b.WriteString("</tbody></table>\n")
}

// row writes the row "Instance of".
func (c *Category) row(b *strings.Builder, spanning bool) {
	if spanning {
		b.WriteString("<tr><th class=\"wikidatainfobox-lcell\" colspan=\"2\">Instance of</th></tr><tr><td colspan=\"2\">")
	} else {
		b.WriteString("<tr><th class=\"wikidatainfobox-lcell\">Instance of</th><td>")
	}
	if c.Variant != NoList {
		b.WriteString("<div class=\"plainlist\"><ul>")
	}
	for _, v := range c.Values {
		if v.Rank == "deprecated" {
			continue
		}
		text := html.EscapeString(v.Text)
		if v.Link != "" {
			text = fmt.Sprintf("<a href=\"%s\" title=\"%[2]s\">%[2]s</a>", html.EscapeString(v.Link), text)
		}
		for _, q := range v.Qualifiers {
			text += " (" + html.EscapeString(q) + ")"
		}
		if c.Variant != NoList {
			text = "<li>" + text + "</li>"
		}
		b.WriteString(text)
	}
	if c.Variant != NoList {
		b.WriteString("</ul></div>")
	}
	b.WriteString("</td></tr>")
}

func (c *Category) foot(b *strings.Builder) {
	b.WriteString("</div>\n<div id=\"catlinks\" class=\"catlinks\"><div id=\"mw-normal-catlinks\"><ul>")
	for _, name := range c.categories() {
		fmt.Fprintf(b, "<li><a href=\"%s\" title=\"Category:%s\">%[2]s</a></li>", path("Category:"+name), name)
	}
	b.WriteString("</ul></div></div>\n")
	if c.Item != "" {
		fmt.Fprintf(b, "<ul><li id=\"t-wikibase\" class=\"mw-list-item\"><a "+
			"href=\"https://www.wikidata.org/wiki/Special:EntityPage/%s\">Wikidata item</a></li></ul>\n", c.Item)
	}
	b.WriteString("</body>\n</html>\n")
}
