package page

import (
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hgld/labels"
	"hgld/scrape"
)

// The limits of what an infobox says besides the tag. What exceeds them is left out: it is no fault of the page.
const (
	maxName   = 1000 // bytes of a description or a name
	maxPlaces = 16   // places around a landmark
)

// about collects what the infobox says besides the tag: the first description and image above all labelled rows, the
// row Location, and the first link to a map.
type about struct {
	labels.About

	reads part
	level int // of the element whose text is read
	text  strings.Builder

	labelled bool // a labelled row has been seen: what follows is no head of the infobox
	located  bool // the next cell is that of the row Location
	placed   bool // a row Location has been read
	link     int  // level of the open link in that cell, 0: none
}

// part is a part of an infobox with a text.
type part uint8

const (
	nothing part = iota
	description
	header
	location
)

// locationHeader is the text of the header cell for the places around a landmark, smallest first.
const locationHeader = "Location"

// start handles a start tag at a level of the infobox.
func (a *about) start(p *parser, level int) {
	switch {
	case p.name == "a":
		a.startLink(p, level)
	case p.name == "li" && a.reads == location:
		a.text.Reset() // drop white space before the first item
		a.level = level
	case a.reads != nothing:
	case p.name == "th" && hasClass(p.class, "wikidatainfobox-lcell"):
		a.labelled, a.located = true, false
		a.read(header, level)
	case p.name == "td" && a.located:
		a.located, a.placed = false, true
		a.read(location, level)
	case p.name == "div" && !a.labelled && a.Description == "" && p.class == "":
		a.read(description, level)
	}
}

// read begins to read the text of a part.
func (a *about) read(p part, level int) {
	a.reads, a.level = p, level
	a.text.Reset()
}

func (a *about) startLink(p *parser, level int) {
	href := p.href
	switch {
	case a.reads == location && a.link == 0:
		a.addPlaces(strings.Split(a.text.String(), ",")...)
		a.text.Reset()
		a.link = level
	case !a.labelled && a.Image == "" && hasClass(p.class, "mw-file-description"):
		a.Image = fileOf(href)
	case a.Coordinates == nil:
		a.Coordinates = coordinatesOf(href)
	}
}

// end handles the end of all elements above a level of the infobox.
func (a *about) end(level int) {
	if a.link > level { // a name with commas is one name
		a.addPlaces(a.text.String())
		a.text.Reset()
		a.link = 0
	}
	if a.reads == nothing || a.level <= level {
		return
	}
	switch text := scrape.Normal(a.text.String()); a.reads {
	case description:
		if len(text) <= maxName {
			a.Description = text
		}
	case header:
		a.located = text == locationHeader && !a.placed
	case location:
		a.addPlaces(strings.Split(a.text.String(), ",")...)
	}
	a.reads = nothing
}

func (a *about) addText(text []byte) {
	if a.reads != nothing {
		a.text.Write(text)
	}
}

// addPlaces adds names of places.
func (a *about) addPlaces(names ...string) {
	for _, name := range names {
		name = scrape.Normal(name)
		if name != "" && len(name) <= maxName && len(a.Place) < maxPlaces {
			a.Place = append(a.Place, name)
		}
	}
}

// result returns what was found, or nil if that is nothing.
func (a *about) result() *labels.About {
	if a.Description+a.Image == "" && a.Place == nil && a.Coordinates == nil {
		return nil
	}
	found := a.About
	return &found
}

// fileOf returns the name of the file to which a link leads, "" if it leads to none.
func fileOf(href string) string {
	_, escaped, ok := strings.Cut(href, "/wiki/File:")
	name, err := url.PathUnescape(escaped)
	if name = scrape.Normal(strings.ReplaceAll(name, "_", " ")); !ok || err != nil || len(name) > maxName {
		return ""
	}
	return name
}

// geohack matches the coordinates in a link to a map, such as 22.2728_N_114.182_E or 22_16_22.08_N_114_10_55.2_E, and
// what follows them.
var geohack = regexp.MustCompile(`^([0-9.]+(?:_[0-9.]+){0,2})_([NS])_([0-9.]+(?:_[0-9.]+){0,2})_([EW])(_.*)?$`)

// coordinatesOf returns latitude and longitude in degrees from a link to a map, or nil if it is none of the Earth.
func coordinatesOf(href string) []float64 {
	u, err := url.Parse(href)
	if err != nil || !strings.HasPrefix(u.Host, "geohack.") {
		return nil
	}
	m := geohack.FindStringSubmatch(u.Query().Get("params"))
	if m == nil {
		return nil
	}
	if _, globe, named := strings.Cut(m[5], "globe:"); named && !strings.HasPrefix(strings.ToLower(globe), "earth") {
		return nil
	}
	at := []float64{degrees(m[1], m[2] == "S"), degrees(m[3], m[4] == "W")}
	if !(math.Abs(at[0]) <= 90 && math.Abs(at[1]) <= 180) {
		return nil
	}
	return at
}

// degrees adds degrees, minutes and seconds. It returns NaN for what is no number.
func degrees(text string, negative bool) float64 {
	sum := 0.0
	for _, part := range slices.Backward(strings.Split(text, "_")) {
		v, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return math.NaN()
		}
		sum = sum/60 + v
	}
	if negative {
		return -sum
	}
	return sum
}
